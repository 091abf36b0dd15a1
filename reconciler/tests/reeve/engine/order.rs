//! What must be there before something else.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use reeve_crds::{RuntimeComponent, State};
use reeve_tests::until;
use serde_json::json;

use super::fixture::{Fixture, config, definition, deployment};

#[tokio::test]
async fn a_component_begins_when_those_it_depends_on_are_ready() {
    let fixture = Fixture::new("order").await;
    fixture.component("base", "1.0.0", &deployment("base", 1));
    fixture.component_with("top", "1.0.0", "{ dependsOn: [base] }", &config("top", "x"));
    fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    let waits = fixture.component_is("top", State::Processing, "DependencyNotReady").await.status.unwrap();
    assert_eq!(waits.waits_for, ["base"]);
    let is_awaited = |base: &RuntimeComponent| {
        let unhealthy = base.status.iter().flat_map(|status| &status.unhealthy);
        unhealthy.map(|unhealthy| &unhealthy.object.name).eq(["base"])
    };
    let name = format!("{}.base", fixture.runtime);
    until(&fixture.api::<RuntimeComponent>(), &name, "what is awaited is named", is_awaited).await;
    assert_eq!(fixture.says("top").await, None);
    assert!(fixture.there::<Deployment>().get_opt("base").await.unwrap().is_some());
    fixture.component("base", "1.1.0", &deployment("base", 0));
    fixture.push();
    fixture.comes_to_say("top", "x").await;
    fixture.component_is("top", State::Ready, "Succeeded").await;
}

#[tokio::test]
async fn a_kind_is_there_before_its_objects_in_one_component_and_across() {
    let fixture = Fixture::new("kinds").await;
    let group = format!("{}.example.com", fixture.namespace);
    let thing = |kind: &str, name: &str| {
        format!("apiVersion: {group}/v1\nkind: {kind}\nmetadata: {{ name: {name} }}\nspec: {{ a: 1 }}\n---\n")
    };
    fixture.component("both", "1.0.0", &(thing("Gadget", "same") + &definition(&group, "Gadget")));
    fixture.component("zz-kinds", "1.0.0", &definition(&group, "Widget"));
    fixture.component("a-user", "1.0.0", &thing("Widget", "other"));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    for (kind, name) in [("Gadget", "same"), ("Widget", "other")] {
        let found = fixture.dynamic(&format!("{group}/v1"), kind, Some(&fixture.target)).get_opt(name).await.unwrap();
        assert!(found.is_some(), "{kind}");
    }
    assert!(!reeve.log().contains("MissingKind"), "nothing fails on the way:\n{}", reeve.log());
}

#[tokio::test]
async fn a_namespace_of_one_component_is_there_before_the_objects_of_another() {
    let fixture = Fixture::new("spaces").await;
    let space = format!("{}-made", fixture.namespace);
    fixture.component(
        "zz-space",
        "1.0.0",
        &format!("apiVersion: v1\nkind: Namespace\nmetadata: {{ name: {space} }}\n"),
    );
    fixture.component_with("app", "1.0.0", &format!("{{ namespace: {space} }}"), &config("inside", "x"));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    let inside: kube::Api<ConfigMap> = kube::Api::namespaced(fixture.client.clone(), &space);
    assert!(inside.get_opt("inside").await.unwrap().is_some());
    assert!(!reeve.log().contains("WARN"), "nothing fails on the way:\n{}", reeve.log());
}

#[tokio::test]
async fn asking_to_reconcile_is_answered() {
    let fixture = Fixture::new("asked").await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    let ask = |value: &str| json!({ "metadata": { "annotations": { "reeve.dev/reconcile": value } } });
    let params = PatchParams::default();
    let component = format!("{}.web", fixture.runtime);
    fixture.api::<reeve_crds::Runtime>().patch(&fixture.runtime, &params, &Patch::Merge(&ask("a"))).await.unwrap();
    fixture.api::<RuntimeComponent>().patch(&component, &params, &Patch::Merge(&ask("b"))).await.unwrap();
    fixture.api::<reeve_crds::GitSource>().patch("fleet", &params, &Patch::Merge(&ask("c"))).await.unwrap();
    let handled = |value: Option<&String>, wanted: &str| value.map(String::as_str) == Some(wanted);
    until(
        &fixture.api::<reeve_crds::Runtime>(),
        &fixture.runtime,
        "the runtime answers",
        |found: &reeve_crds::Runtime| {
            handled(found.status.as_ref().and_then(|status| status.last_handled_reconcile_at.as_ref()), "a")
        },
    )
    .await;
    until(&fixture.api::<RuntimeComponent>(), &component, "the component answers", |found: &RuntimeComponent| {
        handled(found.status.as_ref().and_then(|status| status.last_handled_reconcile_at.as_ref()), "b")
    })
    .await;
    until(&fixture.api::<reeve_crds::GitSource>(), "fleet", "the source answers", |found: &reeve_crds::GitSource| {
        handled(found.status.as_ref().and_then(|status| status.last_handled_reconcile_at.as_ref()), "c")
    })
    .await;
    reeve.terminate().await;
    fixture
        .api::<reeve_crds::Runtime>()
        .patch(&fixture.runtime, &params, &Patch::Merge(&ask("while down")))
        .await
        .unwrap();
    let _reeve = fixture.reeve();
    until(
        &fixture.api::<reeve_crds::Runtime>(),
        &fixture.runtime,
        "what was asked while nobody heard it",
        |found: &reeve_crds::Runtime| {
            handled(found.status.as_ref().and_then(|status| status.last_handled_reconcile_at.as_ref()), "while down")
        },
    )
    .await;
}

#[tokio::test]
async fn an_object_that_does_not_go_keeps_no_other_component_from_its_turn() {
    let fixture = Fixture::new("turns").await;
    fixture.runtime(&fixture.runtime, "policy: { concurrency: 1 }\n");
    let held = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: held, finalizers: [example.com/hold] }\n---\n";
    fixture.component("stuck", "1.0.0", &format!("{held}{}", config("beside", "one")));
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let there = fixture.there::<ConfigMap>();
    let uid = there.get("held").await.unwrap().metadata.uid;
    there.delete("held", &kube::api::DeleteParams::default()).await.unwrap();
    fixture.component("stuck", "1.1.0", &format!("{held}{}", config("beside", "two")));
    fixture.push();
    fixture.comes_to_say("beside", "two").await;
    fixture.component("web", "1.1.0", &config("settings", "two"));
    let last = fixture.push();
    fixture.comes_to_say("settings", "two").await;
    fixture.component_is("web", State::Ready, "Succeeded").await;
    assert_eq!(there.get("held").await.unwrap().metadata.uid, uid, "it has not gone yet");
    let let_go = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    there.patch("held", &PatchParams::default(), &let_go).await.unwrap();
    fixture.applied(&last).await;
    assert_ne!(there.get("held").await.unwrap().metadata.uid, uid, "it was made anew");
    there.patch("held", &PatchParams::default(), &let_go).await.unwrap();
}

#[tokio::test]
async fn a_kind_that_comes_back_with_another_scope_is_known_by_that() {
    let fixture = Fixture::new("scope").await;
    let group = format!("{}.example.com", fixture.namespace);
    let goes = "metadata: { annotations: { reeve.dev/prune: Always }, ";
    let kind = definition(&group, "Gadget").replace("metadata: { ", goes);
    let object = format!("apiVersion: {group}/v1\nkind: Gadget\nmetadata: {{ name: gadget }}\n---\n");
    fixture.component("web", "1.0.0", &(kind.clone() + &object));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.component("web", "1.1.0", &config("settings", "x"));
    let second = fixture.push();
    fixture.applied(&second).await;
    fixture.component("web", "1.2.0", &(kind.replace("scope: Namespaced", "scope: Cluster") + &object));
    let third = fixture.push();
    fixture.applied(&third).await;
    assert!(fixture.dynamic(&format!("{group}/v1"), "Gadget", None).get_opt("gadget").await.unwrap().is_some());
}

#[tokio::test]
async fn asking_to_reconcile_what_fails_is_answered_too() {
    let fixture = Fixture::new("asked-failing").await;
    fixture.component("web", "1.0.0", "apiVersion: none.example.com/v1\nkind: Nothing\nmetadata: { name: nothing }\n");
    fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    let before = fixture.component_is("web", State::Warning, "MissingKind").await.status.unwrap().failure.unwrap();
    let (api, component) = (fixture.api::<RuntimeComponent>(), format!("{}.web", fixture.runtime));
    let ask = json!({ "metadata": { "annotations": { "reeve.dev/reconcile": "now" } } });
    api.patch(&component, &PatchParams::default(), &Patch::Merge(&ask)).await.unwrap();
    let answers = |component: &RuntimeComponent| {
        let status = component.status.as_ref();
        status.is_some_and(|status| status.last_handled_reconcile_at.as_deref() == Some("now"))
    };
    until(&api, &component, "the component answers", answers).await;

    // A commit that changes nothing of it is no new failure.
    fixture.component("other", "1.0.0", &config("other", "x"));
    fixture.push();
    fixture.component_is("other", State::Ready, "Succeeded").await;
    let after = api.get(&component).await.unwrap().status.unwrap().failure.unwrap();
    assert_eq!((after.since, after.revision), (before.since, before.revision));
}
