//! How traffic is led in and out, and what is left behind.

use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use reeve_crds::ScalingRule;
use reeve_crds::scaling_rule::status::TrafficMode;
use reeve_tests::{eventually, until};
use serde_json::json;

use crate::client::get;
use crate::place::{App, Place, shared};

#[tokio::test]
async fn a_deleted_rule_leaves_the_service_awake_and_direct() {
    let app = App::new(
        shared().await,
        "delete",
        json!({
            "idleAfter": "1s", "minAwake": "0s", "handOver": { "policy": "Never" },
        }),
    )
    .await;
    app.reaches(TrafficMode::Asleep).await;
    app.rules().delete("web", &DeleteParams::default()).await.unwrap();
    eventually("the rule is gone", || async {
        match app.rules().get_opt("web").await {
            Ok(None) => Ok(()),
            Ok(Some(rule)) => Err(format!("{:?}", rule.status)),
            Err(error) => Err(error.to_string()),
        }
    })
    .await;
    assert_eq!(app.replicas().await, 1);
    let service = app.services().get("web").await.unwrap();
    assert!(service.annotations().is_empty());
    let selector = service.spec.unwrap().selector.unwrap();
    assert_eq!(selector.into_iter().collect::<Vec<_>>(), [("app".to_owned(), "web".to_owned())]);
    assert_eq!(get(app.address, "/index.html").await.unwrap().body, "hello\n");
}

#[tokio::test]
async fn a_target_that_somebody_else_brings_to_zero_is_held_and_woken() {
    let spec = json!({ "idleAfter": "1h", "handOver": { "policy": "Never" } });
    let app = App::new(shared().await, "foreign", spec).await;
    app.reaches(TrafficMode::Proxied).await;
    app.scale(0).await;
    app.reaches(TrafficMode::Asleep).await;
    app.pods_are_gone().await;
    assert_eq!(get(app.address, "/index.html").await.unwrap().body, "hello\n");
}

#[tokio::test]
async fn a_suspended_rule_wakes_what_it_put_to_sleep_and_leaves_the_zero_of_a_person() {
    let spec = json!({ "idleAfter": "1s", "minAwake": "0s", "handOver": { "policy": "Never" } });
    let app = App::new(shared().await, "suspend", spec).await;
    app.reaches(TrafficMode::Asleep).await;
    app.change_rule(json!({ "spec": { "suspend": true } })).await;
    app.reaches(TrafficMode::Untouched).await;
    assert_eq!(app.replicas().await, 1);
    assert_eq!(get(app.address, "/index.html").await.unwrap().body, "hello\n");
    app.scale(0).await;
    app.pods_are_gone().await;
    assert_eq!(app.replicas().await, 0, "a zero written by a person stays");
    app.change_rule(json!({ "spec": { "suspend": false } })).await;
    app.reaches(TrafficMode::Asleep).await;
    assert_eq!(get(app.address, "/index.html").await.unwrap().body, "hello\n");
}

#[tokio::test]
async fn what_cannot_be_captured_is_named_and_left_alone() {
    let spec = json!({ "idleAfter": "1s", "minAwake": "0s", "handOver": { "policy": "Never" } });
    let app = App::new(shared().await, "affinity", spec).await;
    app.reaches(TrafficMode::Proxied).await;
    let affinity = json!({ "spec": { "sessionAffinity": "ClientIP" } });
    app.services().patch("web", &PatchParams::default(), &Patch::Merge(&affinity)).await.unwrap();
    app.reaches(TrafficMode::Untouched).await;
    let service = app.services().get("web").await.unwrap();
    assert_eq!(service.spec.unwrap().selector.unwrap().len(), 1, "given back");
    until(&app.rules(), "web", "the condition says why", |rule| message_of(rule).contains("sessionAffinity")).await;
    assert_eq!(app.replicas().await, 1);
}

#[tokio::test]
async fn a_target_with_a_service_in_no_rule_stays_awake_and_says_which() {
    let spec = json!({ "idleAfter": "1s", "minAwake": "0s", "handOver": { "policy": "Never" } });
    let app = App::new(shared().await, "uncovered", spec).await;
    let admin = json!({
        "metadata": { "name": "admin" }, "spec": { "selector": { "app": "web" }, "ports": [{ "port": 81 }] },
    });
    app.services().create(&PostParams::default(), &serde_json::from_value(admin).unwrap()).await.unwrap();
    until(&app.rules(), "web", "the condition names it", |rule| message_of(rule).contains("admin")).await;
    app.services().delete("admin", &DeleteParams::default()).await.unwrap();
    app.reaches(TrafficMode::Asleep).await;
}

/// Its replicas end for good, so it has a node of its own.
#[tokio::test]
async fn without_a_living_resolver_the_service_is_direct_and_its_target_awake() {
    let place: &'static Place = Box::leak(Box::new(Place::start().await));
    let _switch = place.switch("switch-0");
    let replicas = [place.replica(0, 0), place.replica(1, 0)];
    let spec = json!({ "idleAfter": "1s", "minAwake": "0s", "handOver": { "policy": "Never" } });
    let app = App::new(place, "open", spec).await;
    app.reaches(TrafficMode::Asleep).await;
    for replica in &replicas {
        replica.kill().unwrap();
    }
    app.reaches(TrafficMode::FailOpen).await;
    eventually("the service answers without any resolver", || get(app.address, "/index.html")).await;
    assert_eq!(app.replicas().await, 1);
    let _back = place.replica(0, 1);
    app.reaches(TrafficMode::Proxied).await;
}

fn message_of(rule: &ScalingRule) -> String {
    let conditions = rule.status.iter().flat_map(|status| &status.conditions);
    conditions.filter(|condition| condition.type_ == "Ready").map(|condition| condition.message.clone()).collect()
}
