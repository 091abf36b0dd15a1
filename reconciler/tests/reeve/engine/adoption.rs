//! Objects that were there before.

use k8s_openapi::api::core::v1::ConfigMap;
use reeve_crds::State;
use serde_json::json;

use super::scene::{Scene, config};

#[tokio::test]
async fn what_another_tool_applies_is_taken_over_only_if_the_policy_says_so() {
    let scene = Scene::new("adopt").await;
    scene.apply("v1", "ConfigMap", Some(&scene.target), "settings", json!({ "data": { "say": "theirs" } })).await;
    scene.component("web", "1.0.0", &config("settings", "git"));
    scene.component("other", "1.0.0", &config("other", "git"));
    scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    let refused = scene.component_is("web", State::Warning, "Conflict").await.status.unwrap().failure.unwrap();
    assert!(refused.message.contains("somebody") && refused.message.contains("data.say"), "{}", refused.message);
    scene.component_is("other", State::Ready, "Succeeded").await;
    assert_eq!(scene.says("settings").await.unwrap(), "theirs");
    scene.runtime(&scene.runtime, "policy: { adoption: Always }\n");
    scene.push();
    scene.comes_to_say("settings", "git").await;
    scene.component_is("web", State::Ready, "Succeeded").await;
}

#[tokio::test]
async fn what_exists_already_is_refused_if_the_policy_says_so() {
    let scene = Scene::new("never").await;
    scene.runtime(&scene.runtime, "policy: { adoption: Never }\n");
    scene.cluster.kubectl(&["create", "configmap", "settings", "-n", &scene.target]).await;
    scene.component("web", "1.0.0", &config("settings", "git"));
    scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    let refused = scene.component_is("web", State::Warning, "Conflict").await.status.unwrap().failure.unwrap();
    assert!(refused.message.contains("exists already"), "{}", refused.message);
    assert!(refused.message.contains("set policy.adoption: Unowned in the runtime's file"), "{}", refused.message);
    assert_eq!(scene.says("settings").await, None);
}

#[tokio::test]
async fn a_field_that_kubectl_applied_goes_when_it_leaves_git() {
    let scene = Scene::new("takeover").await;
    let file = scene.data.path().join("settings.yaml");
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: settings, namespace: {} }}\ndata: {{ say: git, old: x }}\n",
        scene.target
    );
    std::fs::write(&file, &text).unwrap();
    scene.cluster.kubectl(&["apply", "-f", file.to_str().unwrap()]).await;
    scene.component(
        "web",
        "1.0.0",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: settings }\ndata: { say: git, old: x }\n",
    );
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    scene.component("web", "1.1.0", &config("settings", "git"));
    let second = scene.push();
    scene.applied(&second).await;
    let data = scene.there::<ConfigMap>().get("settings").await.unwrap().data.unwrap();
    assert_eq!(data.keys().collect::<Vec<_>>(), ["say"]);
}

#[tokio::test]
async fn what_cannot_change_is_made_anew_only_if_the_policy_says_so() {
    let scene = Scene::new("immutable").await;
    let frozen = |say: &str| format!("{}immutable: true\n", config("settings", say).trim_end_matches("---\n"));
    scene.component("web", "1.0.0", &frozen("one"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    scene.component("web", "1.1.0", &frozen("two"));
    scene.push();
    let refused = scene.component_is("web", State::Warning, "Immutable").await.status.unwrap().failure.unwrap();
    assert_eq!(refused.object.unwrap().name, "settings");
    assert!(refused.message.contains("policy.recreate: OnImmutable in the runtime's file"), "{}", refused.message);
    scene.runtime(&scene.runtime, "policy: { recreate: OnImmutable }\n");
    scene.push();
    scene.comes_to_say("settings", "two").await;
    scene.component_is("web", State::Ready, "Succeeded").await;
}
