//! Secrets that components are resolved with.

use serde_json::{Value, json};

use crate::place::{Place, restarts, store};

const VALUE: &str = "geheim-geheim";

fn secret(value: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "redis" }, "stringData": { "password": value } })
}

fn with_secret() -> Value {
    let mut component = store("one", &[]);
    let reference = json!({ "name": "redisPassword", "secretKeyRef": { "name": "redis", "key": "password" } });
    component["spec"]["metadata"].as_array_mut().unwrap().push(reference);
    component
}

#[tokio::test]
async fn a_missing_secret_keeps_a_restart_and_a_changed_one_asks_for_it() {
    let (place, _clock) = Place::governed("secret", json!({ "settleTime": "0s" }), &[("web", "1.17.0")]).await;
    place.apply(with_secret()).await;
    let record = place.is_blocked("deployment-web", "MissingSecret").await;
    let message = record.status.unwrap().blocked.unwrap().message;
    assert!(message.starts_with(&format!("Secret {}/redis, or a key of it", place.namespace)), "{message}");

    place.apply(secret(VALUE)).await;

    place.record("deployment-web", "it restarts", |record| restarts(record) == 1).await;
    place.is_current("deployment-web").await;
    let mut labelled = secret(VALUE);
    labelled["metadata"]["labels"] = json!({ "team": "x" });
    place.apply(labelled).await;
    place.apply(secret("another")).await;
    let record = place.record("deployment-web", "it restarts again", |record| restarts(record) == 2).await;
    assert_eq!(record.status.unwrap().change.unwrap().rule.as_deref(), Some("R11"));
    let record = place.is_current("deployment-web").await;
    assert_eq!((restarts(&record), place.revisions("web").await), (2, 3));
    let text = serde_json::to_string(&record).unwrap();
    assert!(!text.contains(VALUE) && !text.contains("another"), "{text}");
}

#[tokio::test]
async fn a_lost_key_for_hashes_or_a_lost_record_restarts_nothing() {
    let place = Place::new("lost").await;
    place.policy(json!({ "settleTime": "0s" })).await;
    place.apply(secret(VALUE)).await;
    place.apply(with_secret()).await;
    for app in ["web", "api"] {
        place.deployment(app, "1.17.0", 1).await;
        place.pods_are_ready(app, 1).await;
    }
    let agent = place.agent();
    let before = place.is_current("deployment-web").await.status.unwrap();
    place.is_current("deployment-api").await;
    agent.kill();
    place.cluster().kubectl(&["delete", "secret", "reeve-agent-hash-key", "-n", &place.dapr]).await;
    place.cluster().kubectl(&["delete", "dw", "deployment-api", "-n", &place.namespace]).await;
    place.store("one", &["api"]).await;

    let _next = place.agent();

    // What was not lost is still seen: the store left one app and changed for the other.
    let record = place.record("deployment-web", "it restarts", |record| restarts(record) == 1).await;
    assert_ne!(record.status.unwrap().hash_key, before.hash_key);
    let lost = place.is_current("deployment-api").await;
    assert_eq!((restarts(&lost), place.revisions("api").await), (0, 1));
}
