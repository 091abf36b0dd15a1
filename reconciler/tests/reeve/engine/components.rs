//! The objects of components: they say what Git says, whoever made or changed them, and cost the API server little.

use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use reeve_crds::{Inventory, Runtime, RuntimeComponent, State};
use reeve_tests::{eventually, until};
use serde_json::json;

use super::fixture::{Fixture, config};
use super::proxy::{Proxy, Rule};

#[tokio::test]
async fn what_leaves_a_component_leaves_its_object_and_what_people_set_stays() {
    let fixture = Fixture::new("spec").await;
    fixture.component("base", "1.0.0", &config("base", "git"));
    fixture.component_with("web", "1.0.0", "{ dependsOn: [base], timeout: 2m }", &config("settings", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let (api, name) = (fixture.api::<RuntimeComponent>(), format!("{}.web", fixture.runtime));
    let object = api.get(&name).await.unwrap();
    assert_eq!((object.spec.depends_on.len(), object.spec.timeout.is_some()), (1, true));
    let theirs = json!({ "metadata": { "labels": { "team": "shop" } }, "spec": { "suspend": false } });
    api.patch(&name, &PatchParams::default(), &Patch::Merge(theirs)).await.unwrap();

    fixture.component("web", "1.1.0", &config("settings", "second"));
    let second = fixture.push();
    fixture.applied(&second).await;
    let is_told = |component: &RuntimeComponent| component.spec.version == "1.1.0";
    let object = until(&api, &name, "the version is told", is_told).await;
    assert_eq!((object.spec.depends_on.len(), object.spec.timeout), (0, None));
    assert_eq!(object.spec.suspend, Some(false));
    assert_eq!(object.metadata.labels.unwrap()["team"], "shop");
}

#[tokio::test]
async fn an_object_that_is_there_when_it_is_to_be_made_is_made_right() {
    let fixture = Fixture::new("first").await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let proxy = Proxy::start(&fixture.cluster, Rule::Late { path: "/runtimecomponents".to_owned() }).await;
    let _reeve = fixture.reeve_through(&proxy.kubeconfig(fixture.data.path()), &[]);
    proxy.reached().await;
    // As when the answer to an earlier try got lost.
    let spec = json!({ "runtime": fixture.runtime, "component": "web", "chart": "other", "version": "0.9.0" });
    let name = format!("{}.web", fixture.runtime);
    let object = json!({
        "apiVersion": "reeve.dev/v1alpha1", "kind": "RuntimeComponent", "metadata": { "name": name }, "spec": spec,
    });
    let api = fixture.api::<RuntimeComponent>();
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    proxy.release().await;

    fixture.applied(&first).await;
    let object = fixture.component_is("web", State::Ready, "Succeeded").await;
    assert_eq!((object.spec.chart.as_str(), object.spec.version.as_str()), ("web", "1.0.0"));
    assert_eq!(object.metadata.owner_references.map(|owners| owners.len()), Some(1));
}

#[tokio::test]
async fn of_what_reeve_alone_writes_whole_the_api_server_keeps_no_books() {
    let fixture = Fixture::new("books").await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;

    let component = fixture.component_is("web", State::Ready, "Succeeded").await;
    let managed = component.metadata.managed_fields.unwrap_or_default();
    let of_status = managed.iter().find(|entry| entry.subresource.as_deref() == Some("status")).unwrap();
    assert_eq!(of_status.fields_v1.as_ref().unwrap().0, json!({ "f:status": {} }));

    let pages = fixture.api::<Inventory>();
    let name = pages.list(&ListParams::default()).await.unwrap().items.remove(0).metadata.name.unwrap();
    let is_stored = |page: &Inventory| page.spec.counts.applied == 1;
    let page = until(&pages, &name, "the page is replaced", is_stored).await;
    assert_eq!(page.metadata.managed_fields, None);
    assert!(page.metadata.owner_references.is_none() && page.metadata.labels.is_some());
}

#[tokio::test]
async fn what_somebody_else_writes_into_a_spec_is_put_right() {
    let fixture = Fixture::new("edited").await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let (api, name) = (fixture.api::<RuntimeComponent>(), format!("{}.web", fixture.runtime));
    let edit = json!({ "spec": { "version": "9.9.9", "serviceAccountName": "root", "suspend": false } });
    api.patch(&name, &PatchParams::default(), &Patch::Merge(edit)).await.unwrap();
    let is_right = |component: &RuntimeComponent| {
        (component.spec.version.as_str(), &component.spec.service_account_name) == ("1.0.0", &None)
    };
    let object = until(&api, &name, "the spec is Git's again", is_right).await;
    assert_eq!(object.spec.suspend, Some(false), "this belongs to people");
}

#[tokio::test]
async fn a_component_whose_spec_is_refused_tells_all_the_same_how_it_is_doing() {
    let fixture = Fixture::new("moved").await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    // No kind is allowed there, and where a component goes cannot be changed.
    fixture.component_with("web", "1.1.0", "{ target: ControlPlane }", &config("settings", "second"));
    fixture.push();
    fixture.component_is("web", State::Warning, "Refused").await;
    fixture.event("Invalid", &["RuntimeComponent", "cannot be written", "spec.target"]).await;
}

#[tokio::test]
async fn a_change_is_not_told_to_be_applied_while_something_of_it_is_suspended() {
    let fixture = Fixture::new("waits").await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    fixture.component("other", "1.0.0", &config("other", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let name = format!("{}.web", fixture.runtime);
    fixture.suspend::<RuntimeComponent>(&name, true).await;
    fixture.component_is("web", State::Suspended, "Suspended").await;
    fixture.component("web", "1.1.0", &config("settings", "second"));
    fixture.component("other", "1.1.0", &config("other", "second"));
    let second = fixture.push();
    fixture.comes_to_say("other", "second").await;
    let runtimes = fixture.api::<Runtime>();
    let is_told = |runtime: &Runtime| {
        let status = runtime.status.clone().unwrap_or_default();
        status.state == Some(State::Ready)
            && status.desired.is_some_and(|desired| desired.commit.as_deref() == Some(second.as_str()))
    };
    let runtime = until(&runtimes, &fixture.runtime, "the rest is done", is_told).await;
    let told = |runtime: &Runtime| runtime.status.iter().flat_map(|status| &status.history).count();
    assert_eq!(told(&runtime), 1, "{:?}", runtime.status.unwrap().history);
    fixture.suspend::<RuntimeComponent>(&name, false).await;
    let runtime = fixture.applied(&second).await;
    assert_eq!(told(&runtime), 2);
}

#[tokio::test]
async fn a_policy_that_refuses_the_objects_of_components_is_told_of_and_waited_for() {
    let fixture = Fixture::new("policy").await;
    let (kind, group) = ("ValidatingAdmissionPolicy", "admissionregistration.k8s.io/v1");
    let rules = json!([{ "apiGroups": ["reeve.dev"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["runtimecomponents"] }]);
    let here = json!({ "matchLabels": { "kubernetes.io/metadata.name": fixture.namespace } });
    let policy = json!({ "spec": {
        "matchConstraints": { "resourceRules": rules, "namespaceSelector": here },
        "validations": [{ "expression": "false", "message": "not on Fridays" }],
    } });
    fixture.apply(group, kind, None, &fixture.namespace, policy).await;
    let binding = json!({ "spec": { "policyName": fixture.namespace, "validationActions": ["Deny"] } });
    fixture.apply(group, "ValidatingAdmissionPolicyBinding", None, &fixture.namespace, binding).await;
    let api = fixture.api::<RuntimeComponent>();
    let spec = json!({ "runtime": "none", "component": "none", "chart": "none", "version": "1.0.0" });
    let probe: RuntimeComponent = serde_json::from_value(json!({
        "apiVersion": "reeve.dev/v1alpha1", "kind": "RuntimeComponent", "metadata": { "name": "probe" }, "spec": spec,
    }))
    .unwrap();
    let asking = PostParams { dry_run: true, ..PostParams::default() };
    eventually("the policy counts", || async {
        api.create(&asking, &probe).await.map_or(Ok(()), |_| Err("it is taken"))
    })
    .await;

    fixture.component("web", "1.0.0", &config("settings", "git"));
    fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.event("RefusedByWebhook", &["RuntimeComponent", "cannot be written", "not on Fridays"]).await;
    fixture
        .dynamic(group, "ValidatingAdmissionPolicyBinding", None)
        .delete(&fixture.namespace, &DeleteParams::default())
        .await
        .unwrap();
    fixture.component_is("web", State::Ready, "Succeeded").await;
}
