//! When a component is ready.

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Patch, PatchParams};
use reeve_crds::State;
use reeve_tests::eventually;
use serde_json::json;

use super::scene::{Scene, config, definition, deployment};

#[tokio::test]
async fn health_that_does_not_come_in_time_is_an_error_until_it_comes() {
    let scene = Scene::new("late").await;
    scene.component_with("web", "1.0.0", "{ timeout: 2s }", &deployment("web", 1));
    scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    let status = scene.component_is("web", State::Error, "TimedOut").await.status.unwrap();
    assert_eq!(status.unhealthy[0].object.name, "web");
    assert_eq!(status.failure.unwrap().reason, "TimedOut");
    scene.component_with("web", "1.1.0", "{ timeout: 2s }", &deployment("web", 0));
    let second = scene.push();
    scene.applied(&second).await;
    scene.component_is("web", State::Ready, "Succeeded").await;
}

#[tokio::test]
async fn a_chart_says_when_its_own_kind_is_healthy() {
    let scene = Scene::new("rule").await;
    let group = format!("{}.example.com", scene.namespace);
    let object = format!("apiVersion: {group}/v1\nkind: Gadget\nmetadata: {{ name: gadget }}\nspec: {{ a: 1 }}\n---\n");
    scene.component("web", "1.0.0", &(definition(&group, "Gadget") + &object));
    let rule = format!(
        "kind: Health\nrules:\n  - apiVersion: {group}/v1\n    kind: Gadget\n    current: status.mood == 'good'\n    failed: status.mood == 'bad'\n"
    );
    scene.write("charts/web/1.0.0/health.yaml", &rule);
    scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    let gadgets = scene.dynamic(&format!("{group}/v1"), "Gadget", Some(&scene.target));
    eventually("the gadget is there", || async { gadgets.get("gadget").await }).await;
    let mood = |mood: &str| Patch::Merge(json!({ "status": { "mood": mood } }));
    gadgets.patch_status("gadget", &PatchParams::default(), &mood("bad")).await.unwrap();
    scene.component_is("web", State::Error, "Unhealthy").await;
    gadgets.patch_status("gadget", &PatchParams::default(), &mood("good")).await.unwrap();
    scene.component_is("web", State::Ready, "Succeeded").await;
}

#[tokio::test]
async fn replicas_of_a_scaling_rule_s_target_are_not_drift() {
    let scene = Scene::new("scaled").await;
    let service = "apiVersion: v1\nkind: Service\nmetadata: { name: web }\nspec: { selector: { app: web }, ports: [{ port: 80 }] }\n---\n";
    let rule = "apiVersion: reeve.dev/v1alpha1\nkind: ScalingRule\nmetadata: { name: web }\nspec:\n  services: [{ name: web }]\n  scaleTarget: { apiVersion: apps/v1, kind: Deployment, name: web }\n---\n";
    let text = |say: &str| deployment("web", 0) + service + rule + &config("probe", say);
    scene.component("web", "1.0.0", &text("one"));
    scene.write("charts/web/1.0.0/health.yaml", "kind: Health\nrules:\n  - { apiVersion: reeve.dev/v1alpha1, kind: ScalingRule, current: 'true' }\n  - { apiVersion: apps/v1, kind: Deployment, current: 'true' }\n");
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    let params = PatchParams { field_manager: Some("reeve-resolver".to_owned()), ..PatchParams::default() };
    let patch = json!({ "spec": { "replicas": 3 } });
    scene.there::<Deployment>().patch("web", &params, &Patch::Merge(&patch)).await.unwrap();
    scene.meddle("probe", "hand").await;
    scene.comes_to_say("probe", "one").await;
    let replicas = || async { scene.there::<Deployment>().get("web").await.unwrap().spec.unwrap().replicas };
    assert_eq!(replicas().await, Some(3));
    scene.component("web", "1.1.0", &text("two"));
    scene.write("charts/web/1.1.0/health.yaml", "kind: Health\nrules:\n  - { apiVersion: reeve.dev/v1alpha1, kind: ScalingRule, current: 'true' }\n  - { apiVersion: apps/v1, kind: Deployment, current: 'true' }\n");
    let second = scene.push();
    scene.applied(&second).await;
    assert_eq!(replicas().await, Some(3));
}
