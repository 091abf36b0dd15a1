//! What leaves Git leaves the cluster, also where that is easy to miss.

use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::api::{ListParams, Patch, PatchParams};
use reeve_crds::{Runtime, RuntimeComponent, State};
use reeve_tests::{CommitId, eventually, until};
use serde_json::json;

use super::proxy::{Proxy, Rule};
use super::scene::{Scene, config, deployment};

impl Scene {
    /// Waits until the inventory has these and nothing else.
    async fn knows(&self, names: &[&str]) {
        eventually(&format!("the inventory is {names:?}"), || async {
            let inventory = self.inventory(&self.runtime).await;
            if inventory == names { Ok(()) } else { Err(format!("{inventory:?}")) }
        })
        .await;
    }

    /// Waits until the component that may not be taken away says so, and so does the runtime at this commit.
    async fn tells_of_stuck(&self, commit: &CommitId) {
        let failure = self.component_is("leaves", State::Warning, "Forbidden").await.status.unwrap().failure.unwrap();
        assert_eq!(failure.object.map(|object| object.name).as_deref(), Some("stuck"), "{}", failure.message);
        until(&self.api::<Runtime>(), &self.runtime, "the runtime names the component", |runtime| {
            let status = runtime.status.clone().unwrap_or_default();
            let applied = status.applied.is_some_and(|applied| applied.commit.as_deref() == Some(commit.as_str()));
            let named = status
                .failure
                .is_some_and(|failure| failure.component.as_deref() == Some("leaves") && failure.reason == "Forbidden");
            applied && named && status.state == Some(State::Warning)
        })
        .await;
    }
}

#[tokio::test]
async fn what_was_to_move_goes_when_the_component_that_was_to_have_it_goes_first() {
    let scene = Scene::new("moves").await;
    scene.component("leaves", "1.0.0", &config("one", "x"));
    scene.component("stays", "1.0.0", &(config("two", "x") + &config("three", "x")));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;

    scene.drop_component("leaves");
    scene.component("stays", "1.1.0", &config("three", "x"));
    scene.component("blocks", "1.0.0", &deployment("blocks", 1));
    scene.component_with("takes", "1.0.0", "{ dependsOn: [blocks] }", &(config("one", "y") + &config("two", "y")));
    scene.push();
    scene.component_is("takes", State::Processing, "DependencyNotReady").await;
    scene.gone(&scene.api::<RuntimeComponent>(), &format!("{}.leaves", scene.runtime)).await;
    scene.component_is("stays", State::Ready, "Succeeded").await;
    assert_eq!((scene.says("one").await.unwrap(), scene.says("two").await.unwrap()), ("x".into(), "x".into()));

    scene.drop_component("takes");
    scene.push();
    scene.gone(&scene.there::<ConfigMap>(), "one").await;
    scene.gone(&scene.there::<ConfigMap>(), "two").await;
    assert_eq!(scene.says("three").await.unwrap(), "x");
}

#[tokio::test]
async fn an_object_whose_write_was_given_up_is_not_forgotten_before_it_is_known_what_became_of_it() {
    let scene = Scene::new("late").await;
    scene.component("web", "1.0.0", &config("settings", "one"));
    let first = scene.push();
    scene.follow().await;
    let proxy = Proxy::start(&scene.cluster, Rule::Pass).await;
    let _reeve = scene.reeve_through(&proxy.kubeconfig(scene.data.path()), &[]);
    scene.applied(&first).await;

    proxy.set(Rule::Late { path: "/configmaps/late".to_owned() });
    scene.component("web", "1.1.0", &(config("settings", "one") + &config("late", "x")));
    scene.push();
    proxy.reached().await;
    scene.component("web", "1.2.0", &config("settings", "two"));
    let third = scene.push();
    // The new commit gives the old one up; the server does what it was asked all the same, later than everything else.
    scene.comes_to_say("settings", "two").await;
    proxy.release().await;
    scene.applied(&third).await;
    scene.gone(&scene.there::<ConfigMap>(), "late").await;
    scene.knows(&["ConfigMap/settings"]).await;
}

#[tokio::test]
async fn an_object_whose_version_is_no_longer_served_goes_all_the_same() {
    let scene = Scene::new("unserved").await;
    let group = format!("{}.example.com", scene.namespace);
    let schema = "{ openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }";
    let kind = |old: bool| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{ name: gadgets.{group} }}\nspec:\n  group: {group}\n  scope: Namespaced\n  names: {{ kind: Gadget, plural: gadgets }}\n  versions:\n    - {{ name: v1alpha1, served: {old}, storage: false, schema: {schema} }}\n    - {{ name: v1, served: true, storage: true, schema: {schema} }}\n---\n"
        )
    };
    let object =
        |name: &str| format!("apiVersion: {group}/v1alpha1\nkind: Gadget\nmetadata: {{ name: {name} }}\n---\n");
    scene.component("web", "1.0.0", &(kind(true) + &object("one") + &object("two")));
    let first = scene.push();
    scene.follow().await;
    let reeve = scene.reeve();
    scene.applied(&first).await;
    let gadgets = scene.dynamic(&format!("{group}/v1"), "Gadget", Some(&scene.target));

    // By a process that knows the old version, and by one that does not.
    scene.component("web", "1.1.0", &(kind(true) + &object("two")));
    let second = scene.push();
    scene.applied(&second).await;
    scene.gone(&gadgets, "one").await;
    reeve.terminate().await;
    scene.component("web", "1.2.0", &kind(false));
    let third = scene.push();
    let _reeve = scene.reeve();
    scene.applied(&third).await;
    assert!(gadgets.get_opt("two").await.unwrap().is_none());
}

#[tokio::test]
async fn what_leaves_git_is_named_when_it_is_gone() {
    let scene = Scene::new("named").await;
    scene.component("web", "1.0.0", &(config("goes", "x") + &config("stays", "x")));
    scene.component("other", "1.0.0", &config("with-it", "x"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    scene.component("web", "1.1.0", &config("stays", "x"));
    scene.drop_component("other");
    let second = scene.push();
    scene.applied(&second).await;
    scene.event("Pruned", &["web: deleted", &format!("ConfigMap {}/goes", scene.target)]).await;
    scene.event("Pruned", &["other: deleted", &format!("ConfigMap {}/with-it", scene.target)]).await;
}

#[tokio::test]
async fn what_goes_between_two_tries_to_delete_it_is_named_too() {
    let scene = Scene::new("between").await;
    scene.runtime(&scene.runtime, "policy: { timeout: 1s }\n");
    scene.component("web", "1.0.0", &config("held", "x"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    let finalizers = |names: &[&str]| Patch::Merge(json!({ "metadata": { "finalizers": names } }));
    let held = scene.there::<ConfigMap>();
    held.patch("held", &PatchParams::default(), &finalizers(&["example.com/hold"])).await.unwrap();
    scene.drop_component("web");
    let second = scene.push();
    scene.component_is("web", State::Error, "TimedOut").await;
    held.patch("held", &PatchParams::default(), &finalizers(&[])).await.unwrap();
    scene.applied(&second).await;
    scene.event("Pruned", &["web: deleted", &format!("ConfigMap {}/held", scene.target)]).await;
}

#[tokio::test]
async fn what_left_git_goes_although_somebody_deleted_the_inventory() {
    let scene = Scene::new("deleted").await;
    scene.component("web", "1.0.0", &(config("goes", "x") + &config("stays", "x")));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    scene.knows(&["ConfigMap/goes", "ConfigMap/stays"]).await;
    let page = format!("{}.0", scene.runtime);
    scene.cluster.kubectl(&["delete", "inventories.reeve.dev", &page, "-n", &scene.namespace]).await;
    // What comes anew has to be written down first, and so shows that the page is gone.
    scene.component("web", "1.1.0", &(config("new", "x") + &config("stays", "x")));
    let second = scene.push();
    scene.applied(&second).await;
    scene.gone(&scene.there::<ConfigMap>(), "goes").await;
    scene.knows(&["ConfigMap/new", "ConfigMap/stays"]).await;
}

#[tokio::test]
async fn a_component_that_may_not_be_taken_away_is_told_of_and_keeps_nothing_else_back() {
    let scene = Scene::new("may-not").await;
    let account = format!("{}-remover", scene.namespace);
    scene.account(&account).await;
    scene.component_with("leaves", "1.0.0", &format!("{{ serviceAccountName: {account} }}"), &config("stuck", "x"));
    scene.component("stays", "1.0.0", &config("settings", "one"));
    let first = scene.push();
    scene.follow().await;
    let reeve = scene.reeve();
    scene.applied(&first).await;
    let binding = format!("test-{account}");
    scene.cluster.kubectl(&["delete", "clusterrolebinding", &binding]).await;
    scene.cluster.kubectl(&["delete", "serviceaccount", &account, "-n", "reeve-system"]).await;

    scene.drop_component("leaves");
    scene.component("stays", "1.1.0", &config("settings", "two"));
    let second = scene.push();
    scene.tells_of_stuck(&second).await;
    scene.comes_to_say("settings", "two").await;
    scene.component("stays", "1.2.0", &config("settings", "three"));
    let third = scene.push();
    scene.tells_of_stuck(&third).await;
    scene.comes_to_say("settings", "three").await;
    let events = scene.api::<Event>().list(&ListParams::default()).await.unwrap().items;
    let told = events.iter().filter(|event| event.reason.as_deref() == Some("Forbidden")).count();
    assert_eq!(told, 1, "another commit does not make it another failure");

    // Nor by a process that never could look as that account.
    reeve.terminate().await;
    let _reeve = scene.reeve();
    scene.component("stays", "1.3.0", &config("settings", "four"));
    scene.component("comes", "1.0.0", &config("new", "x"));
    let last = scene.push();
    scene.tells_of_stuck(&last).await;
    scene.comes_to_say("settings", "four").await;
    scene.component_is("comes", State::Ready, "Succeeded").await;

    scene.account(&account).await;
    scene.applied(&last).await;
    scene.gone(&scene.there::<ConfigMap>(), "stuck").await;
    scene.knows(&["ConfigMap/new", "ConfigMap/settings"]).await;
}
