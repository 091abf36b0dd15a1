//! What the API server refuses is told with object and reason, and keeps no other component back.

use kube::api::{DeleteParams, Patch, PatchParams};
use reeve_crds::State;
use reeve_tests::eventually;
use serde_json::json;

use super::fixture::{Fixture, config};

async fn refused(
    prefix: &str,
    manifests: &str,
    options: &str,
    state: State,
    reason: &str,
) -> (Fixture, super::reeve::Reeve, reeve_crds::outcome::Failure) {
    let fixture = Fixture::new(prefix).await;
    fixture
        .apply(
            "v1",
            "ResourceQuota",
            Some(&fixture.target),
            "no-secrets",
            json!({ "spec": { "hard": { "secrets": "0" } } }),
        )
        .await;
    fixture.component_with("bad", "1.0.0", options, manifests);
    fixture.component("fine", "1.0.0", &config("fine", "x"));
    fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    let failure = fixture.component_is("bad", state, reason).await.status.unwrap().failure.unwrap();
    fixture.component_is("fine", State::Ready, "Succeeded").await;
    (fixture, reeve, failure)
}

#[tokio::test]
async fn a_kind_that_nobody_serves() {
    let text = "apiVersion: none.example.com/v1\nkind: Nothing\nmetadata: { name: nothing }\n";
    let (fixture, _reeve, failure) = refused("missing-kind", text, "{}", State::Warning, "MissingKind").await;
    assert_eq!(failure.object.unwrap().name, "nothing");
    assert!(failure.message.contains("none.example.com/v1 Nothing is not served"), "{}", failure.message);
    fixture.event("MissingKind", &["nothing"]).await;
}

#[tokio::test]
async fn a_namespace_that_is_not_there_until_somebody_makes_it() {
    let text = config("lost", "x");
    let (fixture, _reeve, failure) =
        refused("missing-space", &text, "{ namespace: reeve-nowhere-at-all }", State::Error, "MissingNamespace").await;
    assert!(failure.message.contains("reeve-nowhere-at-all"), "{}", failure.message);
    fixture.apply("v1", "Namespace", None, "reeve-nowhere-at-all", json!({})).await;
    fixture.component_is("bad", State::Ready, "Succeeded").await;
}

#[tokio::test]
async fn a_quota_that_is_used_up() {
    let text = "apiVersion: v1\nkind: Secret\nmetadata: { name: hidden }\n";
    let (fixture, _reeve, failure) = refused("quota", text, "{}", State::Error, "QuotaExceeded").await;
    assert_eq!(failure.object.unwrap().name, "hidden");
    let component = fixture.component_is("bad", State::Error, "QuotaExceeded").await;
    let status = serde_json::to_value(component.status).unwrap();
    assert_eq!(status["health"]["summary"], "0/1", "what is not there is not healthy: {status}");
    fixture.cluster.kubectl(&["delete", "resourcequota", "no-secrets", "-n", &fixture.target]).await;
    fixture.component_is("bad", State::Ready, "Succeeded").await;
    fixture.event("Recovered", &["applied and healthy again"]).await;
}

#[tokio::test]
async fn an_account_that_may_not_until_it_may() {
    let text = config("denied", "x");
    let name = format!("nobody-{:08x}", std::process::id());
    let (fixture, _reeve, failure) =
        refused("forbidden", &text, &format!("{{ serviceAccountName: {name} }}"), State::Warning, "Forbidden").await;
    assert!(failure.message.contains(&name), "{}", failure.message);
    fixture.account(&name).await;
    fixture.component_is("bad", State::Ready, "Succeeded").await;
    assert_eq!(fixture.says("denied").await.unwrap(), "x");
}

#[tokio::test]
async fn an_admission_policy_that_refuses() {
    let fixture = Fixture::new("admission").await;
    let name = fixture.namespace.clone();
    let rule = json!({ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"] });
    let spec = json!({
        "matchConstraints": { "resourceRules": [rule] },
        "validations": [{ "expression": "!has(object.data) || !('say' in object.data) || object.data.say != 'forbidden word'", "message": "that word is not allowed" }],
    });
    fixture
        .apply("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", None, &name, json!({ "spec": spec }))
        .await;
    let selector = json!({ "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": fixture.target } } });
    let binding = json!({ "spec": { "policyName": name, "validationActions": ["Deny"], "matchResources": selector } });
    fixture.apply("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", None, &name, binding).await;
    let try_it = json!({ "data": { "say": "forbidden word" } });
    reeve_tests::eventually("the policy is in force", || async {
        let api = fixture.dynamic("v1", "ConfigMap", Some(&fixture.target));
        let object =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "probe" }, "data": try_it["data"] });
        let params = kube::api::PatchParams::apply("somebody").dry_run();
        match api.patch("probe", &params, &kube::api::Patch::Apply(&object)).await {
            Err(_) => Ok(()),
            Ok(_) => Err("it lets it pass"),
        }
    })
    .await;
    fixture.component("bad", "1.0.0", &config("said", "forbidden word"));
    fixture.component("fine", "1.0.0", &config("fine", "x"));
    fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.component_is("fine", State::Ready, "Succeeded").await;
    let failed = reeve_tests::until(
        &fixture.api::<reeve_crds::RuntimeComponent>(),
        &format!("{}.bad", fixture.runtime),
        "it is refused",
        |found: &reeve_crds::RuntimeComponent| found.status.as_ref().is_some_and(|status| status.failure.is_some()),
    )
    .await;
    let failure = failed.status.unwrap().failure.unwrap();
    assert_eq!(failure.object.unwrap().name, "said");
    assert!(failure.message.contains("that word is not allowed"), "{}", failure.message);
    fixture.component("bad", "1.1.0", &config("said", "kind word"));
    fixture.push();
    fixture.component_is("bad", State::Ready, "Succeeded").await;
}

#[tokio::test]
async fn a_policy_that_repeats_the_value_of_a_secret_is_not_repeated() {
    let fixture = Fixture::new("repeats").await;
    let selector = json!({ "matchLabels": { "kubernetes.io/metadata.name": fixture.target } });
    let rules =
        json!([{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"] }]);
    let validations = json!([{ "expression": "false", "messageExpression": "'weak: ' + object.data.password" }]);
    let policy = json!({ "spec": {
        "matchConstraints": { "resourceRules": rules, "namespaceSelector": selector }, "validations": validations,
    } });
    let (group, name) = ("admissionregistration.k8s.io/v1", fixture.target.as_str());
    fixture.apply(group, "ValidatingAdmissionPolicy", None, name, policy).await;
    let binding = json!({ "spec": { "policyName": name, "validationActions": ["Deny"] } });
    fixture.apply(group, "ValidatingAdmissionPolicyBinding", None, name, binding).await;
    let secret =
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "probe" }, "data": { "password": "" } });
    let params = PatchParams { dry_run: true, ..PatchParams::apply("somebody") };
    eventually("the policy is known", || async {
        let there = fixture.dynamic("v1", "Secret", Some(&fixture.target));
        there.patch("probe", &params, &Patch::Apply(&secret)).await.map_or(Ok(()), |_| Err("accepted"))
    })
    .await;

    fixture.component(
        "bad",
        "1.0.0",
        "apiVersion: v1\nkind: Secret\nmetadata: { name: db }\nstringData: { password: hunter2-hunter2 }\n",
    );
    fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    let failure =
        fixture.component_is("bad", State::Warning, "RefusedByWebhook").await.status.unwrap().failure.unwrap();
    assert!(failure.message.ends_with("weak: (a value of the Secret)"), "{}", failure.message);
    let told = fixture.event("RefusedByWebhook", &["weak"]).await;
    let log = reeve.log();
    for said in [told, log] {
        assert!(!said.contains("hunter2") && !said.contains("aHVudGVyMi1odW50ZXIy"), "{said}");
    }
    for kind in ["ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"] {
        fixture.dynamic(group, kind, None).delete(name, &DeleteParams::default()).await.unwrap();
    }
}
