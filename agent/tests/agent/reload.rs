//! What is reloaded hot, and what is not even that.

use std::time::Duration;

use reeve_crds::Lenient;
use reeve_crds::dapr_workload::{Method, Proof};
use serde_json::json;

use crate::place::{Place, restarts, store};

#[tokio::test]
async fn a_sidecar_that_reloads_is_not_restarted_though_its_log_cannot_be_read() {
    let (place, clock) = Place::governed("hot", json!({ "settleTime": "0s" }), &[("web", "1.18.3")]).await;
    let before = place.pods_are_ready("web", 2).await;

    place.store("two", &[]).await;

    let method = |record: &reeve_crds::DaprWorkload| record.status.as_ref()?.change.as_ref()?.method.known().copied();
    place.record("deployment-web", "it reloads", |record| method(record) == Some(Method::HotReload)).await;
    clock.advance(Duration::from_secs(75));
    let record = place.is_current("deployment-web").await;
    assert_eq!((restarts(&record), place.revisions("web").await), (0, 1));
    assert_eq!(record.status.unwrap().change.unwrap().proof, Some(Lenient::from(Proof::Assumed)));
    assert_eq!(place.pods_are_ready("web", 2).await, before);
}

#[tokio::test]
async fn what_no_sidecar_reads_changes_nothing() {
    let (place, _clock) =
        Place::governed("metadata", json!({ "settleTime": "0s" }), &[("web", "1.17.0"), ("marker", "1.17.0")]).await;
    let before = place.is_current("deployment-web").await;
    let mut labelled = store("one", &[]);
    labelled["metadata"]["labels"] = json!({ "team": "x" });
    place.apply(labelled).await;
    // Seen after it by the same watch.
    let mut other = store("one", &["marker"]);
    other["metadata"]["name"] = json!("other");
    place.apply(other).await;
    place.record("deployment-marker", "it restarts", |record| restarts(record) == 1).await;
    place.is_current("deployment-marker").await;

    let after = place.is_current("deployment-web").await;
    assert_eq!(after.metadata.resource_version, before.metadata.resource_version);
    assert_eq!(place.revisions("web").await, 1);
}

#[tokio::test]
async fn ten_idle_intervals_write_nothing() {
    let (place, clock) =
        Place::governed("idle", json!({ "settleTime": "0s" }), &[("web", "1.17.0"), ("api", "1.18.3")]).await;
    place.store("two", &[]).await;
    place.record("deployment-web", "it restarts", |record| restarts(record) == 1).await;
    place.is_current("deployment-web").await;
    clock.advance(Duration::from_secs(75));
    place.is_current("deployment-api").await;
    let ours = || place.cluster().audit().matching(|event| event.user_agent == place.namespace);
    let looks = || ours().iter().filter(|event| event.uri == "/apis/dapr.io/v1alpha1").count();
    let look = async || {
        let before = looks();
        clock.advance(Duration::from_mins(1));
        reeve_tests::eventually("the agent looks again", || async {
            if looks() > before { Ok(()) } else { Err(format!("{before} times so far")) }
        })
        .await;
    };
    look().await;
    let writes = || ours().iter().filter(|event| event.is_write()).count();
    let before = writes();
    assert!(before > 4, "its writes are seen");

    for _ in 0..10 {
        look().await;
    }

    assert_eq!(writes(), before);
}
