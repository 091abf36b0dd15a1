//! Objects that were there before.

use k8s_openapi::api::core::v1::ConfigMap;
use reeve_crds::State;
use serde_json::json;

use super::fixture::{Fixture, config};

#[tokio::test]
async fn what_another_tool_applies_is_taken_over_only_if_the_policy_says_so() {
    let fixture = Fixture::new("adopt").await;
    fixture.apply("v1", "ConfigMap", Some(&fixture.target), "settings", json!({ "data": { "say": "theirs" } })).await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    fixture.component("other", "1.0.0", &config("other", "git"));
    fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    let refused = fixture.component_is("web", State::Warning, "Conflict").await.status.unwrap().failure.unwrap();
    assert!(refused.message.contains("somebody") && refused.message.contains("data.say"), "{}", refused.message);
    fixture.component_is("other", State::Ready, "Succeeded").await;
    assert_eq!(fixture.says("settings").await.unwrap(), "theirs");
    fixture.runtime(&fixture.runtime, "policy: { adoption: Always }\n");
    fixture.push();
    fixture.comes_to_say("settings", "git").await;
    fixture.component_is("web", State::Ready, "Succeeded").await;
}

#[tokio::test]
async fn what_exists_already_is_refused_if_the_policy_says_so() {
    let fixture = Fixture::new("never").await;
    fixture.runtime(&fixture.runtime, "policy: { adoption: Never }\n");
    fixture.cluster.kubectl(&["create", "configmap", "settings", "-n", &fixture.target]).await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    let refused = fixture.component_is("web", State::Warning, "Conflict").await.status.unwrap().failure.unwrap();
    assert!(refused.message.contains("exists already"), "{}", refused.message);
    assert!(refused.message.contains("set policy.adoption: Unowned in the runtime's file"), "{}", refused.message);
    assert_eq!(fixture.says("settings").await, None);
}

#[tokio::test]
async fn a_field_that_kubectl_applied_goes_when_it_leaves_git() {
    let fixture = Fixture::new("takeover").await;
    let file = fixture.data.path().join("settings.yaml");
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: settings, namespace: {} }}\ndata: {{ say: git, old: x }}\n",
        fixture.target
    );
    std::fs::write(&file, &text).unwrap();
    fixture.cluster.kubectl(&["apply", "-f", file.to_str().unwrap()]).await;
    fixture.component(
        "web",
        "1.0.0",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: settings }\ndata: { say: git, old: x }\n",
    );
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.component("web", "1.1.0", &config("settings", "git"));
    let second = fixture.push();
    fixture.applied(&second).await;
    let data = fixture.there::<ConfigMap>().get("settings").await.unwrap().data.unwrap();
    assert_eq!(data.keys().collect::<Vec<_>>(), ["say"]);
}

#[tokio::test]
async fn what_cannot_change_is_made_anew_only_if_the_policy_says_so() {
    let fixture = Fixture::new("immutable").await;
    let frozen = |say: &str| format!("{}immutable: true\n", config("settings", say).trim_end_matches("---\n"));
    fixture.component("web", "1.0.0", &frozen("one"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.component("web", "1.1.0", &frozen("two"));
    fixture.push();
    let refused = fixture.component_is("web", State::Warning, "Immutable").await.status.unwrap().failure.unwrap();
    assert_eq!(refused.object.unwrap().name, "settings");
    assert!(refused.message.contains("policy.recreate: OnImmutable in the runtime's file"), "{}", refused.message);
    fixture.runtime(&fixture.runtime, "policy: { recreate: OnImmutable }\n");
    fixture.push();
    fixture.comes_to_say("settings", "two").await;
    fixture.component_is("web", State::Ready, "Succeeded").await;
}
