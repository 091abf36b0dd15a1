//! What the API server refuses is told with object and reason, and keeps no other component back.

use reeve_crds::State;
use serde_json::json;

use super::scene::{Scene, config};

async fn refused(
    prefix: &str,
    manifests: &str,
    options: &str,
    state: State,
    reason: &str,
) -> (Scene, super::reeve::Reeve, reeve_crds::outcome::Failure) {
    let scene = Scene::new(prefix).await;
    scene
        .apply(
            "v1",
            "ResourceQuota",
            Some(&scene.target),
            "no-secrets",
            json!({ "spec": { "hard": { "secrets": "0" } } }),
        )
        .await;
    scene.component_with("bad", "1.0.0", options, manifests);
    scene.component("fine", "1.0.0", &config("fine", "x"));
    scene.push();
    scene.follow().await;
    let reeve = scene.reeve();
    let failure = scene.component_is("bad", state, reason).await.status.unwrap().failure.unwrap();
    scene.component_is("fine", State::Ready, "Succeeded").await;
    (scene, reeve, failure)
}

#[tokio::test]
async fn a_kind_that_nobody_serves() {
    let text = "apiVersion: none.example.com/v1\nkind: Nothing\nmetadata: { name: nothing }\n";
    let (scene, _reeve, failure) = refused("missing-kind", text, "{}", State::Warning, "MissingKind").await;
    assert_eq!(failure.object.unwrap().name, "nothing");
    assert!(failure.message.contains("none.example.com/v1 Nothing is not served"), "{}", failure.message);
    scene.event("MissingKind", &["nothing"]).await;
}

#[tokio::test]
async fn a_namespace_that_is_not_there_until_somebody_makes_it() {
    let text = config("lost", "x");
    let (scene, _reeve, failure) =
        refused("missing-space", &text, "{ namespace: reeve-nowhere-at-all }", State::Error, "MissingNamespace").await;
    assert!(failure.message.contains("reeve-nowhere-at-all"), "{}", failure.message);
    scene.apply("v1", "Namespace", None, "reeve-nowhere-at-all", json!({})).await;
    scene.component_is("bad", State::Ready, "Succeeded").await;
}

#[tokio::test]
async fn a_quota_that_is_used_up() {
    let text = "apiVersion: v1\nkind: Secret\nmetadata: { name: hidden }\n";
    let (scene, _reeve, failure) = refused("quota", text, "{}", State::Error, "QuotaExceeded").await;
    assert_eq!(failure.object.unwrap().name, "hidden");
    scene.cluster.kubectl(&["delete", "resourcequota", "no-secrets", "-n", &scene.target]).await;
    scene.component_is("bad", State::Ready, "Succeeded").await;
    scene.event("Recovered", &["applied and healthy again"]).await;
}

#[tokio::test]
async fn an_account_that_may_not_until_it_may() {
    let text = config("denied", "x");
    let name = format!("nobody-{:08x}", std::process::id());
    let (scene, _reeve, failure) =
        refused("forbidden", &text, &format!("{{ serviceAccountName: {name} }}"), State::Warning, "Forbidden").await;
    assert!(failure.message.contains(&name), "{}", failure.message);
    scene.account(&name).await;
    scene.component_is("bad", State::Ready, "Succeeded").await;
    assert_eq!(scene.says("denied").await.unwrap(), "x");
}

#[tokio::test]
async fn an_admission_policy_that_refuses() {
    let scene = Scene::new("admission").await;
    let name = scene.namespace.clone();
    let rule = json!({ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"] });
    let spec = json!({
        "matchConstraints": { "resourceRules": [rule] },
        "validations": [{ "expression": "!has(object.data) || !('say' in object.data) || object.data.say != 'forbidden word'", "message": "that word is not allowed" }],
    });
    scene
        .apply("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", None, &name, json!({ "spec": spec }))
        .await;
    let selector = json!({ "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": scene.target } } });
    let binding = json!({ "spec": { "policyName": name, "validationActions": ["Deny"], "matchResources": selector } });
    scene.apply("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", None, &name, binding).await;
    let try_it = json!({ "data": { "say": "forbidden word" } });
    reeve_tests::eventually("the policy is in force", || async {
        let api = scene.dynamic("v1", "ConfigMap", Some(&scene.target));
        let object =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "probe" }, "data": try_it["data"] });
        let params = kube::api::PatchParams::apply("somebody").dry_run();
        match api.patch("probe", &params, &kube::api::Patch::Apply(&object)).await {
            Err(_) => Ok(()),
            Ok(_) => Err("it lets it pass"),
        }
    })
    .await;
    scene.component("bad", "1.0.0", &config("said", "forbidden word"));
    scene.component("fine", "1.0.0", &config("fine", "x"));
    scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.component_is("fine", State::Ready, "Succeeded").await;
    let failed = reeve_tests::until(
        &scene.api::<reeve_crds::RuntimeComponent>(),
        &format!("{}.bad", scene.runtime),
        "it is refused",
        |found: &reeve_crds::RuntimeComponent| found.status.as_ref().is_some_and(|status| status.failure.is_some()),
    )
    .await;
    let failure = failed.status.unwrap().failure.unwrap();
    assert_eq!(failure.object.unwrap().name, "said");
    assert!(failure.message.contains("that word is not allowed"), "{}", failure.message);
    scene.component("bad", "1.1.0", &config("said", "kind word"));
    scene.push();
    scene.component_is("bad", State::Ready, "Succeeded").await;
}
