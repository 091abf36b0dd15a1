//! Killed at any write, the agent restarts nothing twice and misses nothing.

use serde_json::json;

use crate::agent::Agent;
use crate::place::{Place, is_current, restarts};
use crate::proxy::Proxy;

const APPS: [&str; 2] = ["web", "api"];

/// Kills the agent at its k-th write after a change, and looks where the next one ends. False if there are fewer writes.
async fn crash(at: usize, lands: bool) -> bool {
    let place = Place::new("kill").await;
    place.policy(json!({ "settleTime": "0s", "maxConcurrentRestarts": 1 })).await;
    place.store("one", &[]).await;
    for app in APPS {
        place.deployment(app, "1.17.0", 2).await;
        place.pods_are_ready(app, 2).await;
    }
    let first = place.agent();
    for app in APPS {
        place.is_current(&format!("deployment-{app}")).await;
    }
    first.kill();
    place.store("two", &[]).await;
    let proxy = Proxy::start(place.cluster(), at, lands).await;
    let killed = Agent::start(&proxy.kubeconfig(place.folder.path()), place.folder.path(), &place.args());
    let was_reached = tokio::select! {
        () = proxy.reached() => true,
        () = all_restarted(&place) => false,
    };
    killed.kill();

    let _next = place.agent();
    all_restarted(&place).await;
    for app in APPS {
        let what = format!("{app}, killed at write {at}, which landed: {lands}");
        assert_eq!(place.revisions(app).await, 2, "{what}");
        place.pods_are_ready(app, 2).await;
        let record = place.is_current(&format!("deployment-{app}")).await;
        assert_eq!(restarts(&record), 1, "{what}");
    }
    was_reached
}

async fn all_restarted(place: &Place) {
    for app in APPS {
        let name = format!("deployment-{app}");
        place.record(&name, "it restarted", |record| restarts(record) > 0 && is_current(record)).await;
    }
}

#[tokio::test]
async fn an_agent_that_is_killed_between_record_and_restart_restarts_exactly_once() {
    // The first write is the record, the second the template.
    assert!(crash(1, true).await);
    assert!(crash(2, false).await);
}

#[tokio::test]
async fn an_agent_that_is_killed_when_the_template_has_its_token_restarts_nothing_twice() {
    assert!(crash(2, true).await);
    assert!(crash(4, true).await);
}

#[tokio::test]
#[ignore = "many processes: make soak"]
async fn every_write_of_a_restart_may_be_the_last() {
    let mut steps = 0;
    for lands in [false, true] {
        let mut at = 1;
        while crash(at, lands).await {
            at += 1;
        }
        steps += at - 1;
        assert!(at > 4, "there are only {at} writes");
    }
    eprintln!("agent killed at {steps} steps: double restarts 0, missed 0");
}
