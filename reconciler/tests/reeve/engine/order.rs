//! What must be there before something else.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use reeve_crds::{RuntimeComponent, State};
use reeve_tests::until;
use serde_json::json;

use super::scene::{Scene, config, definition, deployment};

#[tokio::test]
async fn a_component_begins_when_those_it_depends_on_are_ready() {
    let scene = Scene::new("order").await;
    scene.component("base", "1.0.0", &deployment("base", 1));
    scene.component_with("top", "1.0.0", "{ dependsOn: [base] }", &config("top", "x"));
    scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    let waits = scene.component_is("top", State::Processing, "DependencyNotReady").await.status.unwrap();
    assert_eq!(waits.waits_for, ["base"]);
    let is_awaited = |base: &RuntimeComponent| {
        let unhealthy = base.status.iter().flat_map(|status| &status.unhealthy);
        unhealthy.map(|unhealthy| &unhealthy.object.name).eq(["base"])
    };
    let name = format!("{}.base", scene.runtime);
    until(&scene.api::<RuntimeComponent>(), &name, "what is awaited is named", is_awaited).await;
    assert_eq!(scene.says("top").await, None);
    assert!(scene.there::<Deployment>().get_opt("base").await.unwrap().is_some());
    scene.component("base", "1.1.0", &deployment("base", 0));
    scene.push();
    scene.comes_to_say("top", "x").await;
    scene.component_is("top", State::Ready, "Succeeded").await;
}

#[tokio::test]
async fn a_kind_is_there_before_its_objects_in_one_component_and_across() {
    let scene = Scene::new("kinds").await;
    let group = format!("{}.example.com", scene.namespace);
    let thing = |kind: &str, name: &str| {
        format!("apiVersion: {group}/v1\nkind: {kind}\nmetadata: {{ name: {name} }}\nspec: {{ a: 1 }}\n---\n")
    };
    scene.component("both", "1.0.0", &(thing("Gadget", "same") + &definition(&group, "Gadget")));
    scene.component("zz-kinds", "1.0.0", &definition(&group, "Widget"));
    scene.component("a-user", "1.0.0", &thing("Widget", "other"));
    let first = scene.push();
    scene.follow().await;
    let reeve = scene.reeve();
    scene.applied(&first).await;
    for (kind, name) in [("Gadget", "same"), ("Widget", "other")] {
        let found = scene.dynamic(&format!("{group}/v1"), kind, Some(&scene.target)).get_opt(name).await.unwrap();
        assert!(found.is_some(), "{kind}");
    }
    assert!(!reeve.log().contains("MissingKind"), "nothing fails on the way:\n{}", reeve.log());
}

#[tokio::test]
async fn a_namespace_of_one_component_is_there_before_the_objects_of_another() {
    let scene = Scene::new("spaces").await;
    let space = format!("{}-made", scene.namespace);
    scene.component("zz-space", "1.0.0", &format!("apiVersion: v1\nkind: Namespace\nmetadata: {{ name: {space} }}\n"));
    scene.component_with("app", "1.0.0", &format!("{{ namespace: {space} }}"), &config("inside", "x"));
    let first = scene.push();
    scene.follow().await;
    let reeve = scene.reeve();
    scene.applied(&first).await;
    let inside: kube::Api<ConfigMap> = kube::Api::namespaced(scene.client.clone(), &space);
    assert!(inside.get_opt("inside").await.unwrap().is_some());
    assert!(!reeve.log().contains("WARN"), "nothing fails on the way:\n{}", reeve.log());
}

#[tokio::test]
async fn asking_to_reconcile_is_answered() {
    let scene = Scene::new("asked").await;
    scene.component("web", "1.0.0", &config("settings", "git"));
    let first = scene.push();
    scene.follow().await;
    let reeve = scene.reeve();
    scene.applied(&first).await;
    let ask = |value: &str| json!({ "metadata": { "annotations": { "reeve.dev/reconcile": value } } });
    let params = PatchParams::default();
    let component = format!("{}.web", scene.runtime);
    scene.api::<reeve_crds::Runtime>().patch(&scene.runtime, &params, &Patch::Merge(&ask("a"))).await.unwrap();
    scene.api::<RuntimeComponent>().patch(&component, &params, &Patch::Merge(&ask("b"))).await.unwrap();
    scene.api::<reeve_crds::GitSource>().patch("fleet", &params, &Patch::Merge(&ask("c"))).await.unwrap();
    let handled = |value: Option<&String>, wanted: &str| value.map(String::as_str) == Some(wanted);
    until(&scene.api::<reeve_crds::Runtime>(), &scene.runtime, "the runtime answers", |found: &reeve_crds::Runtime| {
        handled(found.status.as_ref().and_then(|status| status.last_handled_reconcile_at.as_ref()), "a")
    })
    .await;
    until(&scene.api::<RuntimeComponent>(), &component, "the component answers", |found: &RuntimeComponent| {
        handled(found.status.as_ref().and_then(|status| status.last_handled_reconcile_at.as_ref()), "b")
    })
    .await;
    until(&scene.api::<reeve_crds::GitSource>(), "fleet", "the source answers", |found: &reeve_crds::GitSource| {
        handled(found.status.as_ref().and_then(|status| status.last_handled_reconcile_at.as_ref()), "c")
    })
    .await;
    reeve.terminate().await;
    scene.api::<reeve_crds::Runtime>().patch(&scene.runtime, &params, &Patch::Merge(&ask("while down"))).await.unwrap();
    let _reeve = scene.reeve();
    until(
        &scene.api::<reeve_crds::Runtime>(),
        &scene.runtime,
        "what was asked while nobody heard it",
        |found: &reeve_crds::Runtime| {
            handled(found.status.as_ref().and_then(|status| status.last_handled_reconcile_at.as_ref()), "while down")
        },
    )
    .await;
}

#[tokio::test]
async fn an_object_that_does_not_go_keeps_no_other_component_from_its_turn() {
    let scene = Scene::new("turns").await;
    scene.runtime(&scene.runtime, "policy: { concurrency: 1 }\n");
    let held = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: held, finalizers: [example.com/hold] }\n---\n";
    scene.component("stuck", "1.0.0", &format!("{held}{}", config("beside", "one")));
    scene.component("web", "1.0.0", &config("settings", "one"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    let there = scene.there::<ConfigMap>();
    let uid = there.get("held").await.unwrap().metadata.uid;
    there.delete("held", &kube::api::DeleteParams::default()).await.unwrap();
    scene.component("stuck", "1.1.0", &format!("{held}{}", config("beside", "two")));
    scene.push();
    scene.comes_to_say("beside", "two").await;
    scene.component("web", "1.1.0", &config("settings", "two"));
    let last = scene.push();
    scene.comes_to_say("settings", "two").await;
    scene.component_is("web", State::Ready, "Succeeded").await;
    assert_eq!(there.get("held").await.unwrap().metadata.uid, uid, "it has not gone yet");
    let let_go = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    there.patch("held", &PatchParams::default(), &let_go).await.unwrap();
    scene.applied(&last).await;
    assert_ne!(there.get("held").await.unwrap().metadata.uid, uid, "it was made anew");
    there.patch("held", &PatchParams::default(), &let_go).await.unwrap();
}

#[tokio::test]
async fn a_kind_that_comes_back_with_another_scope_is_known_by_that() {
    let scene = Scene::new("scope").await;
    let group = format!("{}.example.com", scene.namespace);
    let goes = "metadata: { annotations: { reeve.dev/prune: Always }, ";
    let kind = definition(&group, "Gadget").replace("metadata: { ", goes);
    let object = format!("apiVersion: {group}/v1\nkind: Gadget\nmetadata: {{ name: gadget }}\n---\n");
    scene.component("web", "1.0.0", &(kind.clone() + &object));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    scene.component("web", "1.1.0", &config("settings", "x"));
    let second = scene.push();
    scene.applied(&second).await;
    scene.component("web", "1.2.0", &(kind.replace("scope: Namespaced", "scope: Cluster") + &object));
    let third = scene.push();
    scene.applied(&third).await;
    assert!(scene.dynamic(&format!("{group}/v1"), "Gadget", None).get_opt("gadget").await.unwrap().is_some());
}

#[tokio::test]
async fn asking_to_reconcile_what_fails_is_answered_too() {
    let scene = Scene::new("asked-failing").await;
    scene.component("web", "1.0.0", "apiVersion: none.example.com/v1\nkind: Nothing\nmetadata: { name: nothing }\n");
    scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    let before = scene.component_is("web", State::Warning, "MissingKind").await.status.unwrap().failure.unwrap();
    let (api, component) = (scene.api::<RuntimeComponent>(), format!("{}.web", scene.runtime));
    let ask = json!({ "metadata": { "annotations": { "reeve.dev/reconcile": "now" } } });
    api.patch(&component, &PatchParams::default(), &Patch::Merge(&ask)).await.unwrap();
    let answers = |component: &RuntimeComponent| {
        let status = component.status.as_ref();
        status.is_some_and(|status| status.last_handled_reconcile_at.as_deref() == Some("now"))
    };
    until(&api, &component, "the component answers", answers).await;

    // A commit that changes nothing of it is no new failure.
    scene.component("other", "1.0.0", &config("other", "x"));
    scene.push();
    scene.component_is("other", State::Ready, "Succeeded").await;
    let after = api.get(&component).await.unwrap().status.unwrap().failure.unwrap();
    assert_eq!((after.since, after.revision), (before.since, before.revision));
}
