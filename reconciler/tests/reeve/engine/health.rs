//! When a component is ready.

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Patch, PatchParams};
use reeve_crds::Reason;
use reeve_crds::{RuntimeComponent, State};
use reeve_tests::{eventually, until};
use serde_json::json;

use super::fixture::{Fixture, config, definition, deployment};

#[tokio::test]
async fn health_that_does_not_come_in_time_is_an_error_until_it_comes() {
    let fixture = Fixture::new("late").await;
    fixture.component_with("web", "1.0.0", "{ timeout: 2s }", &deployment("web", 1));
    fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    let status = fixture.component_is("web", State::Error, "TimedOut").await.status.unwrap();
    assert_eq!(status.unhealthy[0].object.name, "web");
    assert_eq!(status.failure.unwrap().reason, Reason::TimedOut);
    fixture.component_with("web", "1.1.0", "{ timeout: 2s }", &deployment("web", 0));
    let second = fixture.push();
    fixture.applied(&second).await;
    fixture.component_is("web", State::Ready, "Succeeded").await;
}

#[tokio::test]
async fn a_chart_says_when_its_own_kind_is_healthy() {
    let fixture = Fixture::new("rule").await;
    let group = format!("{}.example.com", fixture.namespace);
    let object = format!("apiVersion: {group}/v1\nkind: Gadget\nmetadata: {{ name: gadget }}\nspec: {{ a: 1 }}\n---\n");
    fixture.component("web", "1.0.0", &(definition(&group, "Gadget") + &object));
    let rule = format!(
        "kind: Health\nrules:\n  - apiVersion: {group}/v1\n    kind: Gadget\n    current: status.mood == 'good'\n    failed: status.mood == 'bad'\n"
    );
    fixture.write("charts/web/1.0.0/health.yaml", &rule);
    fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    let gadgets = fixture.dynamic(&format!("{group}/v1"), "Gadget", Some(&fixture.target));
    eventually("the gadget is there", || async { gadgets.get("gadget").await }).await;
    let mood = |mood: &str| Patch::Merge(json!({ "status": { "mood": mood } }));
    gadgets.patch_status("gadget", &PatchParams::default(), &mood("bad")).await.unwrap();
    fixture.component_is("web", State::Error, "Unhealthy").await;
    gadgets.patch_status("gadget", &PatchParams::default(), &mood("good")).await.unwrap();
    fixture.component_is("web", State::Ready, "Succeeded").await;
}

#[tokio::test]
async fn a_rule_that_changes_counts_although_the_object_does_not() {
    let fixture = Fixture::new("other-rule").await;
    let group = format!("{}.example.com", fixture.namespace);
    let object = format!("apiVersion: {group}/v1\nkind: Gadget\nmetadata: {{ name: gadget }}\n---\n");
    let component = |version: &str, mood: &str| {
        fixture.component("web", version, &(definition(&group, "Gadget") + &object));
        let rule = format!("  - apiVersion: {group}/v1\n    kind: Gadget\n    current: status.mood == '{mood}'\n");
        fixture.write(&format!("charts/web/{version}/health.yaml"), &format!("kind: Health\nrules:\n{rule}"));
    };
    component("1.0.0", "good");
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    let gadgets = fixture.dynamic(&format!("{group}/v1"), "Gadget", Some(&fixture.target));
    eventually("the gadget is there", || async { gadgets.get("gadget").await }).await;
    let good = Patch::Merge(json!({ "status": { "mood": "good" } }));
    let version =
        gadgets.patch_status("gadget", &PatchParams::default(), &good).await.unwrap().metadata.resource_version;
    fixture.applied(&first).await;

    component("1.1.0", "great");
    let second = fixture.push();
    let name = format!("{}.web", fixture.runtime);
    let status = until(&fixture.api::<RuntimeComponent>(), &name, "the new rule counts", |component| {
        let status = component.status.clone().unwrap_or_default();
        status.applied.is_some_and(|applied| applied.commit.as_deref() == Some(second.as_str()))
            && !status.unhealthy.is_empty()
    })
    .await
    .status
    .unwrap();
    assert_eq!(status.state, Some(State::Processing));
    let good = status.last_good.unwrap();
    assert_eq!(good.commit.as_deref(), Some(first.as_str()), "it was never ready by the new rule");

    // A chart that changes although it is released, which the fleet allows, is no new version to apply.
    let fleet = std::fs::read_to_string(fixture.repository.work_tree().join("fleet.yaml")).unwrap();
    component("1.1.0", "good");
    fixture.write("fleet.yaml", &(fleet + "policy: { releasedCharts: Warning }\n"));
    fixture.push();
    fixture.component_is("web", State::Ready, "Succeeded").await;
    assert_eq!(gadgets.get("gadget").await.unwrap().metadata.resource_version, version, "nothing was written");
}

#[tokio::test]
async fn what_was_not_healthy_is_not_so_after_a_restart_either() {
    let fixture = Fixture::new("still-ill").await;
    fixture.component_with("web", "1.0.0", "{ timeout: 1s }", &deployment("web", 1));
    fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.component_is("web", State::Error, "TimedOut").await;
    reeve.terminate().await;
    let _reeve = fixture.reeve();
    fixture.component_with("web", "1.1.0", "{ timeout: 1s }", &(deployment("web", 1) + &config("settings", "one")));
    let second = fixture.push();
    until(&fixture.api::<RuntimeComponent>(), &format!("{}.web", fixture.runtime), "it is late again", |component| {
        let status = component.status.clone().unwrap_or_default();
        assert!(status.last_good.is_none(), "it never was healthy");
        let applied = status.applied.is_some_and(|applied| applied.commit.as_deref() == Some(second.as_str()));
        applied && status.state == Some(State::Error)
    })
    .await;
}

#[tokio::test]
async fn a_pod_that_finds_no_node_fails_when_its_time_is_up_although_nothing_happens() {
    let fixture = Fixture::new("no-node").await;
    let pod =
        "apiVersion: v1\nkind: Pod\nmetadata: { name: web }\nspec: { containers: [{ name: web, image: web }] }\n---\n";
    fixture.component("web", "1.0.0", pod);
    fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    let failed = fixture.component_is("web", State::Error, "Unhealthy").await.status.unwrap();
    assert!(failed.unhealthy[0].message.as_deref().unwrap().starts_with("Unschedulable"), "{failed:?}");
}

#[tokio::test]
async fn replicas_of_a_scaling_rule_s_target_are_not_drift() {
    let fixture = Fixture::new("scaled").await;
    let service = "apiVersion: v1\nkind: Service\nmetadata: { name: web }\nspec: { selector: { app: web }, ports: [{ port: 80 }] }\n---\n";
    let rule = "apiVersion: reeve.dev/v1alpha1\nkind: ScalingRule\nmetadata: { name: web }\nspec:\n  services: [{ name: web }]\n  scaleTarget: { apiVersion: apps/v1, kind: Deployment, name: web }\n---\n";
    let text = |say: &str| deployment("web", 0) + service + rule + &config("probe", say);
    fixture.component("web", "1.0.0", &text("one"));
    fixture.write("charts/web/1.0.0/health.yaml", "kind: Health\nrules:\n  - { apiVersion: reeve.dev/v1alpha1, kind: ScalingRule, current: 'true' }\n  - { apiVersion: apps/v1, kind: Deployment, current: 'true' }\n");
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let params = PatchParams { field_manager: Some("reeve-resolver".to_owned()), ..PatchParams::default() };
    let patch = json!({ "spec": { "replicas": 3 } });
    fixture.there::<Deployment>().patch("web", &params, &Patch::Merge(&patch)).await.unwrap();
    fixture.meddle("probe", "hand").await;
    fixture.comes_to_say("probe", "one").await;
    let replicas = || async { fixture.there::<Deployment>().get("web").await.unwrap().spec.unwrap().replicas };
    assert_eq!(replicas().await, Some(3));
    fixture.component("web", "1.1.0", &text("two"));
    fixture.write("charts/web/1.1.0/health.yaml", "kind: Health\nrules:\n  - { apiVersion: reeve.dev/v1alpha1, kind: ScalingRule, current: 'true' }\n  - { apiVersion: apps/v1, kind: Deployment, current: 'true' }\n");
    let second = fixture.push();
    fixture.applied(&second).await;
    assert_eq!(replicas().await, Some(3));
}
