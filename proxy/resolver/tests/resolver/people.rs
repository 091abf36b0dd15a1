//! What people ask a rule for: a wake, a sleep, and what it would have saved.

use http::StatusCode;
use kube::api::{Patch, PatchParams};
use reeve_crds::scaling_rule::status::TrafficMode;
use reeve_tests::{until, within};
use serde_json::json;

use crate::client::get;
use crate::place::{App, shared};

async fn ask(app: &App, annotation: &str, token: &str) {
    let patch = json!({ "metadata": { "annotations": { annotation: token } } });
    app.rules().patch("web", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
}

#[tokio::test]
async fn a_person_puts_a_target_to_sleep_before_its_time_and_wakes_it_without_a_request() {
    let spec = json!({ "idleAfter": "1h", "minAwake": "1h", "handOver": { "policy": "Never" } });
    let app = App::new(shared().await, "asked", spec).await;
    app.reaches(TrafficMode::Proxied).await;
    ask(&app, "reeve.dev/sleep", "once").await;
    let rule = app.reaches(TrafficMode::Asleep).await;
    println!("asleep after {:?}", rule.status.unwrap().mode_changes);
    assert_eq!(app.replicas().await, 0);
    until(&app.rules(), "web", "the sleep is answered", |rule| {
        rule.status.as_ref().and_then(|status| status.last_handled_sleep_at.as_deref()) == Some("once")
    })
    .await;
    ask(&app, "reeve.dev/wake", "twice").await;
    let rule = until(&app.rules(), "web", "the wake is answered", |rule| {
        rule.status.as_ref().and_then(|status| status.last_handled_wake_at.as_deref()) == Some("twice")
    })
    .await;
    let cold_start = rule.status.unwrap().last_cold_start.unwrap();
    assert_eq!((cold_start.cause.as_deref(), cold_start.replicas), (Some("reeve wake"), Some(1)));
    app.reaches(TrafficMode::Proxied).await;
    let answer = get(app.address, "/index.html").await.unwrap();
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(app.replicas().await, 1, "what was asked once is done once");
}

#[tokio::test]
async fn a_rule_that_observes_says_what_it_would_have_saved_and_touches_nothing() {
    let place = shared().await;
    let app = App::observed(place, "observe", json!({ "idleAfter": "5s", "minAwake": "0s", "mode": "Observe" })).await;
    let slept = |rule: &reeve_crds::ScalingRule| {
        let observed = rule.status.as_ref()?.observed.clone()?;
        Some((observed.sleeps, observed.wakes, std::time::Duration::from(observed.asleep?.known().copied()?)))
    };
    let long = std::time::Duration::from_mins(5);
    let rule = within(long, "it would have slept", || async {
        let rule = app.rules().get("web").await.map_err(|error| error.to_string())?;
        match slept(&rule) {
            Some((1, 0, asleep)) if asleep > std::time::Duration::ZERO => Ok(rule),
            _ => Err(format!("{:?}", rule.status)),
        }
    })
    .await
    .unwrap();
    let status = rule.status.unwrap();
    println!("observed {:?}: {}", status.observed, status.conditions[0].message);
    assert_eq!(status.mode.unwrap().known().copied(), Some(TrafficMode::Untouched));
    assert_eq!(app.replicas().await, 1);
    let service = app.services().get("web").await.unwrap();
    assert_eq!(service.spec.unwrap().selector.unwrap().len(), 1, "the Service is as it was");
    assert!(rule.metadata.finalizers.is_none());
    // Called again, for long enough that the kubelet counts it.
    let rule = within(long, "it would have been woken", || async {
        for _ in 0..200 {
            get(app.address, "/index.html").await?;
        }
        let rule = app.rules().get("web").await.map_err(|error| error.to_string())?;
        if matches!(slept(&rule), Some((1, 1, _))) { Ok(rule) } else { Err(format!("{:?}", rule.status)) }
    })
    .await
    .unwrap();
    println!("observed {:?}", rule.status.unwrap().observed);
}
