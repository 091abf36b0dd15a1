//! Objects that were there before.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use reeve_crds::State;
use reeve_tests::eventually;
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

#[tokio::test]
async fn what_another_tool_applies_is_not_deleted_to_be_made_anew() {
    let fixture = Fixture::new("not-ours").await;
    // Nothing that it applies is what Git wants otherwise.
    let theirs = json!({ "data": { "theirs": "precious" }, "immutable": true });
    let before = fixture.apply("v1", "ConfigMap", Some(&fixture.target), "settings", theirs).await;
    fixture.runtime(&fixture.runtime, "policy: { recreate: OnImmutable, maxBackoff: 1s }\n");
    fixture.component("web", "1.0.0", &config("settings", "git"));
    fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    let refused = fixture.component_is("web", State::Warning, "Conflict").await.status.unwrap().failure.unwrap();
    assert!(refused.message.contains("it is applied by somebody"), "{}", refused.message);
    assert_eq!(fixture.there::<ConfigMap>().get("settings").await.unwrap().metadata.uid, before.metadata.uid);
    fixture.runtime(&fixture.runtime, "policy: { recreate: OnImmutable, adoption: Always }\n");
    fixture.push();
    fixture.comes_to_say("settings", "git").await;
}

#[tokio::test]
async fn what_a_policy_would_not_let_in_again_is_not_deleted() {
    let fixture = Fixture::new("refused-anew").await;
    let frozen = |say: &str| format!("{}immutable: true\n", config("settings", say).trim_end_matches("---\n"));
    fixture.runtime(&fixture.runtime, "policy: { recreate: OnImmutable, maxBackoff: 2s }\n");
    fixture.component("web", "1.0.0", &frozen("one"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let uid = fixture.there::<ConfigMap>().get("settings").await.unwrap().metadata.uid;
    let rules = json!({ "spec": {
        "matchConstraints": { "resourceRules": [{
            "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"],
        }]},
        "validations": [{
            "expression": "object.metadata.name != 'settings' || object.?data.?say.orValue('') != 'two'",
            "message": "two is not allowed",
        }],
    }});
    let name = &fixture.target;
    let admission = "admissionregistration.k8s.io/v1";
    fixture.apply(admission, "ValidatingAdmissionPolicy", None, name, rules).await;
    let place = json!({ "kubernetes.io/metadata.name": name });
    let binding = json!({ "spec": {
        "policyName": name, "validationActions": ["Deny"],
        "matchResources": { "namespaceSelector": { "matchLabels": place } },
    }});
    fixture.apply(admission, "ValidatingAdmissionPolicyBinding", None, name, binding).await;
    eventually("the policy is in force", || async {
        let params = PostParams { dry_run: true, ..PostParams::default() };
        let refused: ConfigMap =
            serde_json::from_value(json!({ "metadata": { "name": "settings" }, "data": { "say": "two" } })).unwrap();
        let said = fixture.there::<ConfigMap>().create(&params, &refused).await.unwrap_err().to_string();
        if said.contains("two is not allowed") { Ok(()) } else { Err(said) }
    })
    .await;

    fixture.component("web", "1.1.0", &frozen("two"));
    fixture.push();
    let failure = fixture.component_is("web", State::Warning, "RefusedByWebhook").await.status.unwrap().failure;
    assert!(failure.unwrap().message.contains("two is not allowed"));
    assert_eq!(fixture.there::<ConfigMap>().get("settings").await.unwrap().metadata.uid, uid, "it was deleted");
    fixture
        .dynamic(admission, "ValidatingAdmissionPolicyBinding", None)
        .delete(name, &DeleteParams::default())
        .await
        .unwrap();
    fixture.comes_to_say("settings", "two").await;
}

/// A `ConfigMap` with the marks of a Helm release.
fn installed(fixture: &Fixture, name: &str, release: &str) -> ConfigMap {
    let marks = json!({ "meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": fixture.target });
    let labels = json!({ "app.kubernetes.io/managed-by": "Helm" });
    let metadata = json!({ "name": name, "labels": labels, "annotations": marks });
    let object =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "say": "helm", "old": "x" } });
    serde_json::from_value(object).unwrap()
}

#[tokio::test]
async fn objects_of_the_release_that_a_component_replaces_are_taken_over_whole() {
    let fixture = Fixture::new("release").await;
    let maps = fixture.there::<ConfigMap>();
    // Helm 3 creates, Helm 4 applies; Flux does either under its own name.
    let by = PostParams { field_manager: Some("helm".to_owned()), ..PostParams::default() };
    maps.create(&by, &installed(&fixture, "three", "shop")).await.unwrap();
    for (name, manager) in [("four", "helm"), ("flux", "helm-controller")] {
        let apply = Patch::Apply(installed(&fixture, name, "shop"));
        maps.patch(name, &PatchParams::apply(manager), &apply).await.unwrap();
    }
    let names = ["three", "four", "flux"];
    let uids = async || {
        let mut uids = Vec::new();
        for name in names {
            uids.push(maps.get(name).await.unwrap().uid());
        }
        uids
    };
    let before = uids().await;
    let manifests: String = names.iter().map(|name| config(name, "git")).collect();
    fixture.component_with("web", "1.0.0", "{ releaseName: shop }", &manifests);
    let commit = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&commit).await;
    assert_eq!(uids().await, before);
    for name in names {
        let map = maps.get(name).await.unwrap();
        assert_eq!(map.data.clone().unwrap().into_iter().collect::<Vec<_>>(), [("say".to_owned(), "git".to_owned())]);
        assert_eq!(map.labels()["app.kubernetes.io/managed-by"], "reeve");
        assert!(!map.annotations().keys().any(|key| key.starts_with("meta.helm.sh/")), "{:?}", map.annotations());
        let managers: Vec<_> = map.managed_fields().iter().filter_map(|entry| entry.manager.as_deref()).collect();
        assert!(managers.iter().all(|manager| manager.starts_with("reeve:")), "{managers:?}");
    }
}

#[tokio::test]
async fn objects_of_another_release_are_taken_over_only_if_the_policy_says_so() {
    let fixture = Fixture::new("foreign").await;
    let by = PostParams { field_manager: Some("helm".to_owned()), ..PostParams::default() };
    let maps = fixture.there::<ConfigMap>();
    maps.create(&by, &installed(&fixture, "settings", "shop")).await.unwrap();
    fixture.component("web", "1.0.0", &config("settings", "git"));
    fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    let refused = fixture.component_is("web", State::Warning, "Conflict").await.status.unwrap().failure.unwrap();
    let release = format!("belongs to Helm release {}/shop", fixture.target);
    assert!(refused.message.contains(&release), "{}", refused.message);
    assert_eq!(fixture.says("settings").await.unwrap(), "helm");
    assert!(maps.get("settings").await.unwrap().annotations().contains_key("meta.helm.sh/release-name"));
    fixture.runtime(&fixture.runtime, "policy: { adoption: Always }\n");
    fixture.push();
    fixture.comes_to_say("settings", "git").await;
    fixture.component_is("web", State::Ready, "Succeeded").await;
}
