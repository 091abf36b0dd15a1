//! `reeve get scaling`, `reeve wake` and `reeve sleep`.

use kube::ResourceExt as _;
use reeve_crds::ScalingRule;
use serde_json::{Value, json};

use crate::cli_cluster::fixture::{CliFixture, state, with};

async fn rule(fixture: &CliFixture, name: &str, spec: Value, status: Value) -> ScalingRule {
    let spec = with(json!({ "services": [{ "name": name }], "idleAfter": "5m" }), spec);
    fixture.make(json!({ "metadata": { "name": name }, "spec": spec, "status": status })).await
}

#[tokio::test]
async fn a_list_of_rules_says_what_sleeps_and_what_was_saved() {
    let fixture = CliFixture::new("scaling").await;
    let asleep = json!({
        "mode": "Asleep", "replicas": 0, "held": 0, "totals": { "sleeps": 3, "wakes": 2, "asleep": "14h10m", "refused": 0 },
        "lastColdStart": { "total": "1.2s", "cause": "GET /orders" },
        "target": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" },
    });
    rule(&fixture, "web", json!({}), with(state("Ready", "Succeeded", "asleep"), asleep)).await;
    let observed =
        json!({ "mode": "Untouched", "observed": { "sleeps": 1, "wakes": 1, "asleep": "2h", "refused": 0 } });
    rule(&fixture, "api", json!({ "mode": "Observe" }), with(state("Ready", "Succeeded", "observes"), observed)).await;
    let told = fixture.reeve(&["get", "scaling"]).await.with(0);
    let words: Vec<Vec<&str>> = told.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[0][..5], ["NAME", "STATE", "REASON", "MODE", "REPLICAS"]);
    assert_eq!(words[1][..10], ["api", "Ready", "Succeeded", "Observe", "-", "-", "5m", "-", "-", "2h"]);
    assert_eq!(words[2][..10], ["web", "Ready", "Succeeded", "Asleep", "0", "0", "5m", "-", "1.2s", "14h10m"]);
    let wide = fixture.reeve(&["get", "sr", "web", "-o", "wide"]).await.with(0);
    assert!(wide.out.contains("Deployment/web") && wide.out.contains("GET /orders"), "{}", wide.out);
}

#[tokio::test]
async fn a_rule_is_asked_by_an_annotation_and_waited_for() {
    let fixture = CliFixture::new("wake").await;
    rule(&fixture, "web", json!({}), state("Ready", "Succeeded", "")).await;
    let told = fixture.reeve(&["wake", "web"]).await.with(0);
    assert_eq!(told.out, "scalingrule/web asked to wake\n");
    assert!(fixture.api::<ScalingRule>().get("web").await.unwrap().annotations().contains_key("reeve.dev/wake"));
    let late = fixture.reeve(&["sleep", "web", "--wait", "--timeout", "1s"]).await.with(2);
    assert!(late.err.contains("it was not done within 1 s"), "{}", late.err);
    let asked = fixture.api::<ScalingRule>().get("web").await.unwrap().annotations()["reeve.dev/sleep"].clone();
    let answered = async {
        reeve_tests::until(&fixture.api::<ScalingRule>(), "web", "it is asked again", |rule| {
            rule.annotations()["reeve.dev/sleep"] != asked
        })
        .await;
        let token = fixture.api::<ScalingRule>().get("web").await.unwrap().annotations()["reeve.dev/sleep"].clone();
        fixture.report::<ScalingRule>("web", json!({ "mode": "Asleep", "lastHandledSleepAt": token })).await;
    };
    let asked = async { fixture.reeve(&["sleep", "web", "--wait"]).await.with(0).out };
    let (told, ()) = tokio::join!(asked, answered);
    assert_eq!(told, "scalingrule/web asked to sleep\nscalingrule/web sleeps\n");
}

#[tokio::test]
async fn a_rule_that_scales_nothing_is_not_asked() {
    let fixture = CliFixture::new("wake-not").await;
    rule(&fixture, "web", json!({ "suspend": true }), state("Suspended", "Suspended", "")).await;
    rule(&fixture, "api", json!({ "mode": "Observe" }), state("Ready", "Succeeded", "")).await;
    let told = fixture.reeve(&["wake", "web", "api"]).await.with(1);
    let wanted = "scalingrule/web is suspended: it scales nothing\nscalingrule/api only observes: it scales nothing\n";
    assert_eq!(told.out, wanted);
    fixture.reeve(&["wake", "no-such-rule"]).await.with(2);
}
