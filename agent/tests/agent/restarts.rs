//! What restarts for which change, and how often.

use serde_json::json;

use crate::place::{Place, restarts};

#[tokio::test]
async fn an_affected_deployment_restarts_exactly_once_and_one_that_is_not_stays() {
    let place = Place::new("restart").await;
    place.policy(json!({ "settleTime": "1s" })).await;
    place.store("one", &["web"]).await;
    for app in ["web", "other"] {
        place.deployment(app, "1.17.0", 2).await;
        place.pods_are_ready(app, 2).await;
    }
    let _agent = place.agent();
    place.is_current("deployment-web").await;
    let other = place.is_current("deployment-other").await;
    let before = place.pods_are_ready("web", 2).await;
    let untouched = place.pods_are_ready("other", 2).await;

    place.store("two", &["web"]).await;

    let record = place.record("deployment-web", "it restarted", |record| restarts(record) == 1).await;
    let change = record.status.unwrap().change.unwrap();
    assert_eq!(change.rule.as_deref(), Some("R1"));
    assert_eq!(change.message.as_deref(), Some("Component statestore changed, and daprd 1.17.0 does not reload"));
    let record = place.is_current("deployment-web").await;
    assert_eq!((restarts(&record), place.revisions("web").await), (1, 2));
    let after = place.pods_are_ready("web", 2).await;
    assert!(before.iter().all(|uid| !after.contains(uid)), "{before:?} {after:?}");
    assert_eq!(place.pods_are_ready("other", 2).await, untouched);
    let still = place.is_current("deployment-other").await;
    assert_eq!(still.metadata.resource_version, other.metadata.resource_version);
}
