//! A rule that chooses Services makes a rule of its own for each target.

use kube::ResourceExt;
use kube::api::{DeleteParams, PostParams};
use reeve_crds::ScalingRule;
use reeve_crds::scaling_rule::status::{Selection, TrafficMode};
use reeve_tests::{eventually, until};
use serde_json::{Value, json};

use crate::place::{App, shared};

fn rule(name: &str, spec: Value) -> ScalingRule {
    ScalingRule::new(name, serde_json::from_value(spec).unwrap())
}

fn selection(rule: &ScalingRule) -> Option<Selection> {
    rule.status.as_ref()?.selection.clone()
}

async fn names(app: &App) -> Vec<String> {
    let rules = app.rules().list(&kube::api::ListParams::default()).await.unwrap();
    rules.items.iter().map(ResourceExt::name_any).collect()
}

/// A Service and a Deployment without replicas.
async fn add(app: &App, name: &str, spec: Value) {
    let mut service = json!({
        "metadata": { "name": name }, "spec": { "selector": { "app": name }, "ports": [{ "port": 80 }] },
    });
    for (key, value) in spec.as_object().unwrap() {
        service["spec"][key] = value.clone();
    }
    app.services().create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
    let deployment = json!({
        "metadata": { "name": name },
        "spec": {
            "replicas": 0,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "none", "image": "none" }] },
            },
        },
    });
    app.deployments().create(&PostParams::default(), &serde_json::from_value(deployment).unwrap()).await.unwrap();
}

#[tokio::test]
async fn a_rule_that_chooses_makes_one_rule_for_each_target_and_takes_them_along() {
    let app = App::ruled(shared().await, "selection", json!({ "handOver": { "policy": "Never" } }), 0, 0).await;
    app.deploy().await;
    add(&app, "api", json!({})).await;
    add(&app, "db", json!({ "clusterIP": "None" })).await;
    let spec = json!({ "selector": {}, "idleAfter": "1h", "handOver": { "policy": "Never" } });
    app.rules().create(&PostParams::default(), &rule("all", spec)).await.unwrap();

    let all = until(&app.rules(), "all", "its target is ready and asleep", |all| {
        selection(all).is_some_and(|found| (found.targets, found.ready, found.asleep) == (1, 1, 1))
    })
    .await;
    let excluded = selection(&all).unwrap().excluded;
    let excluded: Vec<_> = excluded.iter().map(|one| (one.name.as_str(), one.reason.as_str())).collect();
    assert_eq!(excluded[1], ("web", "the rule web lists it"), "a rule that lists it wins");
    assert!(excluded[0].0 == "db" && excluded[0].1.contains("headless"), "{excluded:?}");
    assert_eq!(names(&app).await, ["all", "all-api", "web"]);
    let child = app.rules().get("all-api").await.unwrap();
    assert_eq!(child.spec.scale_target.unwrap().name, "api");
    let captured = app.services().get("api").await.unwrap().spec.unwrap().selector.unwrap();
    assert_eq!(captured["reeve.dev/captured"], "all-api");

    // A Service that leads to the target and is not chosen keeps it awake, and the parent names the rule.
    let admin = json!({
        "metadata": { "name": "admin" },
        "spec": { "selector": { "app": "api" }, "clusterIP": "None", "ports": [{ "port": 81 }] },
    });
    app.services().create(&PostParams::default(), &serde_json::from_value(admin).unwrap()).await.unwrap();
    until(&app.rules(), "all", "the laggard is named", |all| {
        selection(all).is_some_and(|found| {
            found.laggards.iter().any(|one| one.name == "all-api" && one.reason == "UncoveredService")
        })
    })
    .await;
    app.services().delete("admin", &DeleteParams::default()).await.unwrap();

    app.change_rule(json!({ "spec": { "suspend": true } })).await;
    app.reaches(TrafficMode::Untouched).await;
    app.rules().delete("web", &DeleteParams::default()).await.unwrap();
    until(&app.rules(), "all-web", "what no rule lists any more is chosen", |_| true).await;

    app.deployments().delete("api", &DeleteParams::default()).await.unwrap();
    eventually("a rule goes with its target", || async {
        let left = names(&app).await;
        if left == ["all", "all-web"] { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
    app.rules().delete("all", &DeleteParams::default()).await.unwrap();
    eventually("its rules go with it", || async {
        let left = names(&app).await;
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
    let service = app.services().get("api").await.unwrap();
    assert_eq!(service.spec.unwrap().selector.unwrap().len(), 1, "given back");
}
