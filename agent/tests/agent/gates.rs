//! What keeps a restart, and what lets it go on.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::place::{Place, blocked, restarts};

#[tokio::test]
async fn no_more_workloads_restart_at_once_than_the_policy_allows() {
    let apps: Vec<String> = (0..5).map(|number| format!("app-{number}")).collect();
    let all: Vec<(&str, &str)> = apps.iter().map(|app| (app.as_str(), "1.17.0")).collect();
    let policy = json!({ "settleTime": "0s", "maxConcurrentRestarts": 2 });
    let (place, _clock) = Place::governed("budget", policy, &all).await;
    for app in &apps {
        place.kubelet.fail(app);
    }

    place.store("two", &[]).await;

    for app in &apps[..2] {
        place.record(&format!("deployment-{app}"), "it restarts", |record| restarts(record) == 1).await;
    }
    for app in &apps[2..] {
        place.is_blocked(&format!("deployment-{app}"), "Queued").await;
        assert_eq!(place.revisions(app).await, 1, "{app}");
    }
    // Each that comes back gives its place to one other.
    for (number, app) in apps.iter().enumerate() {
        place.kubelet.recover(&place.namespace, app).await;
        place.is_current(&format!("deployment-{app}")).await;
        if let Some(next) = apps.get(number + 2) {
            place.record(&format!("deployment-{next}"), "it restarts", |record| restarts(record) == 1).await;
        }
        for waiting in apps.iter().skip(number + 3) {
            assert_eq!(place.revisions(waiting).await, 1, "{waiting} waits for its place");
        }
    }
    for app in &apps {
        assert_eq!(place.revisions(app).await, 2, "{app}");
    }
}

#[tokio::test]
async fn restarts_stop_at_the_first_workload_that_does_not_come_back_and_go_on_when_it_does() {
    let policy = json!({ "settleTime": "0s", "maxConcurrentRestarts": 1 });
    let (place, clock) = Place::governed("stop", policy, &[("api", "1.17.0"), ("web", "1.17.0")]).await;
    place.kubelet.fail("api");
    place.store("two", &[]).await;
    place.record("deployment-api", "it restarts", |record| restarts(record) == 1).await;
    place.is_blocked("deployment-web", "Queued").await;

    clock.advance(Duration::from_mins(10));

    let failed = place.is_blocked("deployment-api", "Unhealthy").await;
    let message = failed.status.unwrap().blocked.unwrap().message;
    assert!(
        message.ends_with(
            "/api restarted and is not ready; Component statestore changed, and daprd 1.17.0 does not reload"
        ),
        "{message}"
    );
    place.is_blocked("deployment-web", "Unhealthy").await;
    assert_eq!(place.revisions("web").await, 1);
    let events = place.cluster().kubectl(&["get", "events", "-n", &place.namespace, "-o", "wide"]).await;
    assert!(events.contains("Blocked") && events.contains("deployment/api"), "{events}");

    place.kubelet.recover(&place.namespace, "api").await;
    place.is_current("deployment-api").await;
    place.is_current("deployment-web").await;
    assert_eq!((place.revisions("api").await, place.revisions("web").await), (2, 2));
}

#[tokio::test]
async fn a_disruption_budget_that_a_restart_could_breach_keeps_it() {
    let (place, _clock) = Place::governed("pdb", json!({ "settleTime": "0s" }), &[("web", "1.17.0")]).await;
    let strategy = json!({ "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": 1, "maxSurge": 0 } });
    place.workload("Deployment", "web", "1.17.0", json!({ "replicas": 2, "strategy": strategy })).await;
    let budget = |least: u32| {
        json!({ "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": "web" },
            "spec": { "minAvailable": least, "selector": { "matchLabels": { "app": "web" } } } })
    };
    place.apply(budget(2)).await;
    place.store("two", &[]).await;
    let record = place.is_blocked("deployment-web", "DisruptionBudget").await;
    let message = record.status.unwrap().blocked.unwrap().message;
    assert!(message.contains("takes away up to 1 pods at once, and PodDisruptionBudget web allows 0"), "{message}");
    assert_eq!(place.revisions("web").await, 1);

    place.apply(budget(1)).await;

    place.record("deployment-web", "it restarts", |record| restarts(record) == 1 && blocked(record).is_empty()).await;
    place.is_current("deployment-web").await;
    assert_eq!(place.revisions("web").await, 2);
}

#[tokio::test]
async fn nothing_restarts_while_no_injector_is_ready() {
    let (place, _clock) = Place::governed("injector", json!({ "settleTime": "0s" }), &[("web", "1.17.0")]).await;
    let deployments: Api<Deployment> = Api::namespaced(place.client(), &place.dapr);
    let scale = async |replicas: u32| {
        let patch = json!({ "spec": { "replicas": replicas } });
        deployments.patch("dapr-sidecar-injector", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    };
    scale(0).await;
    reeve_tests::until(&deployments, "dapr-sidecar-injector", "it is gone", |one| {
        one.status.as_ref().is_some_and(|status| status.ready_replicas.is_none())
    })
    .await;
    place.store("two", &[]).await;
    place.is_blocked("deployment-web", "InjectorDown").await;
    assert_eq!(place.revisions("web").await, 1);

    scale(1).await;

    place.record("deployment-web", "it restarts", |record| restarts(record) == 1).await;
    place.is_current("deployment-web").await;
}

#[tokio::test]
async fn changes_within_the_settle_time_are_one_restart() {
    let (place, clock) = Place::governed("settle", json!({ "settleTime": "30s" }), &[("web", "1.17.0")]).await;
    place.store("two", &[]).await;
    place.is_blocked("deployment-web", "Settling").await;
    let resiliency = json!({ "apiVersion": "dapr.io/v1alpha1", "kind": "Resiliency", "metadata": { "name": "retries" },
        "spec": { "policies": {}, "targets": {} } });
    place.apply(resiliency).await;
    place.store("three", &[]).await;
    place
        .record("deployment-web", "both changes are known", |record| {
            let change = record.status.as_ref().and_then(|status| status.change.as_ref());
            change.and_then(|change| change.message.as_deref()).is_some_and(|message| message.contains("and 1 more"))
        })
        .await;
    assert_eq!(place.revisions("web").await, 1);

    clock.advance(Duration::from_secs(30));

    place.record("deployment-web", "it restarts", |record| restarts(record) == 1).await;
    let record = place.is_current("deployment-web").await;
    assert_eq!((restarts(&record), place.revisions("web").await), (1, 2));
}

#[tokio::test]
async fn a_workload_is_told_apart_by_its_own_policy() {
    let (place, _clock) = Place::governed("policy", json!({ "settleTime": "0s" }), &[("web", "1.17.0")]).await;
    let object = json!({ "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "web", "annotations": { "reeve.dev/dapr-reload": "HotOnly" } } });
    let deployments: Api<Deployment> = Api::namespaced(place.client(), &place.namespace);
    deployments.patch("web", &PatchParams::apply("person"), &Patch::Apply(&object)).await.unwrap();
    place
        .record("deployment-web", "the policy is known", |record| {
            let reload = record.status.as_ref().and_then(|status| status.reload.as_ref());
            reload.is_some_and(|reload| format!("{:?}", reload.known()) == "Some(HotOnly)")
        })
        .await;

    place.store("two", &[]).await;

    place.is_blocked("deployment-web", "Policy").await;
    assert_eq!(place.revisions("web").await, 1);
    let table = place.cluster().kubectl(&["get", "dw", "-n", &place.namespace]).await;
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["NAME", "APP", "STATE", "REASON", "PODS", "METHOD", "WHY", "BLOCKED", "AGE"]);
    assert_eq!(lines[1][..6], ["deployment-web", "web", "Warning", "Blocked", "0/2", "Policy"], "{table}");
}
