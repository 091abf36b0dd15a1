//! What leaves Git leaves the cluster, also where that is easy to miss.

use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use reeve_crds::runtime::policy::DeletionPolicy;
use reeve_crds::{GitSource, Runtime, RuntimeComponent, State};
use reeve_tests::{CommitId, eventually, until};
use serde_json::json;

use super::fixture::{Fixture, annotated, config, definition, deployment, gadgets};
use super::proxy::{Proxy, Rule};

impl Fixture {
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
    let fixture = Fixture::new("moves").await;
    fixture.component("leaves", "1.0.0", &config("one", "x"));
    fixture.component("stays", "1.0.0", &(config("two", "x") + &config("three", "x")));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;

    fixture.drop_component("leaves");
    fixture.component("stays", "1.1.0", &config("three", "x"));
    fixture.component("blocks", "1.0.0", &deployment("blocks", 1));
    fixture.component_with("takes", "1.0.0", "{ dependsOn: [blocks] }", &(config("one", "y") + &config("two", "y")));
    fixture.push();
    fixture.component_is("takes", State::Processing, "DependencyNotReady").await;
    fixture.gone(&fixture.api::<RuntimeComponent>(), &format!("{}.leaves", fixture.runtime)).await;
    fixture.component_is("stays", State::Ready, "Succeeded").await;
    assert_eq!((fixture.says("one").await.unwrap(), fixture.says("two").await.unwrap()), ("x".into(), "x".into()));

    fixture.drop_component("takes");
    fixture.push();
    fixture.gone(&fixture.there::<ConfigMap>(), "one").await;
    fixture.gone(&fixture.there::<ConfigMap>(), "two").await;
    assert_eq!(fixture.says("three").await.unwrap(), "x");
}

#[tokio::test]
async fn an_object_whose_write_was_given_up_is_not_forgotten_before_it_is_known_what_became_of_it() {
    let fixture = Fixture::new("late").await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let proxy = Proxy::start(&fixture.cluster, Rule::Pass).await;
    let _reeve = fixture.reeve_through(&proxy.kubeconfig(fixture.data.path()), &[]);
    fixture.applied(&first).await;

    proxy.set(Rule::Late { path: "/configmaps/late".to_owned() });
    fixture.component("web", "1.1.0", &(config("settings", "one") + &config("late", "x")));
    fixture.push();
    proxy.reached().await;
    fixture.component("web", "1.2.0", &config("settings", "two"));
    let third = fixture.push();
    // The new commit gives the old one up; the server does what it was asked all the same, later than everything else.
    fixture.comes_to_say("settings", "two").await;
    proxy.release().await;
    fixture.applied(&third).await;
    fixture.gone(&fixture.there::<ConfigMap>(), "late").await;
    fixture.knows(&["ConfigMap/settings"]).await;
}

#[tokio::test]
async fn an_object_whose_version_is_no_longer_served_goes_all_the_same() {
    let fixture = Fixture::new("unserved").await;
    let group = format!("{}.example.com", fixture.namespace);
    let object =
        |name: &str| format!("apiVersion: {group}/v1alpha1\nkind: Gadget\nmetadata: {{ name: {name} }}\n---\n");
    fixture.component("web", "1.0.0", &(gadgets(&group, true) + &object("one") + &object("two")));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    let there = fixture.dynamic(&format!("{group}/v1"), "Gadget", Some(&fixture.target));

    // By a process that knows the old version, and by one that does not.
    fixture.component("web", "1.1.0", &(gadgets(&group, true) + &object("two")));
    let second = fixture.push();
    fixture.applied(&second).await;
    fixture.gone(&there, "one").await;
    reeve.terminate().await;
    fixture.component("web", "1.2.0", &gadgets(&group, false));
    let third = fixture.push();
    let _reeve = fixture.reeve();
    fixture.applied(&third).await;
    assert!(there.get_opt("two").await.unwrap().is_none());
}

#[tokio::test]
async fn what_leaves_git_is_named_when_it_is_gone() {
    let fixture = Fixture::new("named").await;
    fixture.component("web", "1.0.0", &(config("goes", "x") + &config("stays", "x")));
    fixture.component("other", "1.0.0", &config("with-it", "x"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.component("web", "1.1.0", &config("stays", "x"));
    fixture.drop_component("other");
    let second = fixture.push();
    fixture.applied(&second).await;
    fixture.event("Pruned", &["web: deleted", &format!("ConfigMap {}/goes", fixture.target)]).await;
    fixture.event("Pruned", &["other: deleted", &format!("ConfigMap {}/with-it", fixture.target)]).await;
}

#[tokio::test]
async fn what_leaves_git_goes_although_somebody_took_its_labels_away() {
    let fixture = Fixture::new("stripped").await;
    fixture.component("web", "1.0.0", &(config("one", "x") + &config("all", "x") + &config("stays", "x")));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    reeve.terminate().await;
    let api = fixture.there::<ConfigMap>();
    let one = json!({ "metadata": { "labels": { "app.kubernetes.io/managed-by": null } } });
    api.patch("one", &PatchParams::default(), &Patch::Merge(one)).await.unwrap();
    let all = json!([
        { "op": "remove", "path": "/metadata/labels" },
        { "op": "replace", "path": "/metadata/managedFields", "value": [{}] },
    ]);
    let all = Patch::Json::<()>(serde_json::from_value(all).unwrap());
    api.patch("all", &PatchParams::default(), &all).await.unwrap();
    fixture.component("web", "1.1.0", &config("stays", "x"));
    let second = fixture.push();
    let _reeve = fixture.reeve();
    fixture.applied(&second).await;
    for name in ["one", "all"] {
        fixture.gone(&api, name).await;
        fixture.event("Pruned", &[&format!("ConfigMap {}/{name}", fixture.target)]).await;
    }
}

/// As `kubectl replace --force` with an edited copy does it: the labels are ours, the object is not.
#[tokio::test]
async fn what_leaves_git_and_was_made_anew_by_somebody_stays_and_is_named() {
    let fixture = Fixture::new("anew").await;
    fixture.runtime(&fixture.runtime, "policy: { drift: { mode: Ignore } }\n");
    fixture.component("web", "1.0.0", &(config("copied", "x") + &config("stays", "x")));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    reeve.terminate().await;
    let api = fixture.there::<ConfigMap>();
    let mut copy = api.get("copied").await.unwrap();
    copy.metadata.uid = None;
    copy.metadata.resource_version = None;
    copy.metadata.managed_fields = None;
    api.delete("copied", &DeleteParams::default()).await.unwrap();
    let uid = api.create(&PostParams::default(), &copy).await.unwrap().metadata.uid;
    fixture.component("web", "1.1.0", &config("stays", "x"));
    let second = fixture.push();
    let _reeve = fixture.reeve();
    fixture.applied(&second).await;
    fixture.event("Left", &["web: ", &format!("ConfigMap {}/copied left Git and stays", fixture.target)]).await;
    assert_eq!(api.get("copied").await.unwrap().metadata.uid, uid);
}

#[tokio::test]
async fn what_goes_between_two_tries_to_delete_it_is_named_too() {
    let fixture = Fixture::new("between").await;
    fixture.runtime(&fixture.runtime, "policy: { timeout: 1s }\n");
    fixture.component("web", "1.0.0", &config("held", "x"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let finalizers = |names: &[&str]| Patch::Merge(json!({ "metadata": { "finalizers": names } }));
    let held = fixture.there::<ConfigMap>();
    held.patch("held", &PatchParams::default(), &finalizers(&["example.com/hold"])).await.unwrap();
    fixture.drop_component("web");
    let second = fixture.push();
    fixture.component_is("web", State::Error, "TimedOut").await;
    held.patch("held", &PatchParams::default(), &finalizers(&[])).await.unwrap();
    fixture.applied(&second).await;
    fixture.event("Pruned", &["web: deleted", &format!("ConfigMap {}/held", fixture.target)]).await;
}

#[tokio::test]
async fn what_left_git_goes_although_somebody_deleted_the_inventory() {
    let fixture = Fixture::new("deleted").await;
    fixture.component("web", "1.0.0", &(config("goes", "x") + &config("stays", "x")));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.knows(&["ConfigMap/goes", "ConfigMap/stays"]).await;
    let page = format!("{}.0", fixture.runtime);
    fixture.cluster.kubectl(&["delete", "inventories.reeve.dev", &page, "-n", &fixture.namespace]).await;
    // What comes anew has to be written down first, and so shows that the page is gone.
    fixture.component("web", "1.1.0", &(config("new", "x") + &config("stays", "x")));
    let second = fixture.push();
    fixture.applied(&second).await;
    fixture.gone(&fixture.there::<ConfigMap>(), "goes").await;
    fixture.knows(&["ConfigMap/new", "ConfigMap/stays"]).await;
}

#[tokio::test]
async fn a_component_that_may_not_be_taken_away_is_told_of_and_keeps_nothing_else_back() {
    let fixture = Fixture::new("may-not").await;
    let account = format!("{}-remover", fixture.namespace);
    fixture.account(&account).await;
    fixture.component_with("leaves", "1.0.0", &format!("{{ serviceAccountName: {account} }}"), &config("stuck", "x"));
    fixture.component("stays", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    let binding = format!("test-{account}");
    fixture.cluster.kubectl(&["delete", "clusterrolebinding", &binding]).await;
    fixture.cluster.kubectl(&["delete", "serviceaccount", &account, "-n", "reeve-system"]).await;

    fixture.drop_component("leaves");
    fixture.component("stays", "1.1.0", &config("settings", "two"));
    let second = fixture.push();
    fixture.tells_of_stuck(&second).await;
    fixture.comes_to_say("settings", "two").await;
    fixture.component("stays", "1.2.0", &config("settings", "three"));
    let third = fixture.push();
    fixture.tells_of_stuck(&third).await;
    fixture.comes_to_say("settings", "three").await;
    let events = fixture.api::<Event>().list(&ListParams::default()).await.unwrap().items;
    let told = events.iter().filter(|event| event.reason.as_deref() == Some("Forbidden")).count();
    assert_eq!(told, 1, "another commit does not make it another failure");

    // Nor by a process that never could look as that account.
    reeve.terminate().await;
    let _reeve = fixture.reeve();
    fixture.component("stays", "1.3.0", &config("settings", "four"));
    fixture.component("comes", "1.0.0", &config("new", "x"));
    let last = fixture.push();
    fixture.tells_of_stuck(&last).await;
    fixture.comes_to_say("settings", "four").await;
    fixture.component_is("comes", State::Ready, "Succeeded").await;

    fixture.account(&account).await;
    fixture.applied(&last).await;
    fixture.gone(&fixture.there::<ConfigMap>(), "stuck").await;
    fixture.knows(&["ConfigMap/new", "ConfigMap/settings"]).await;
}

#[tokio::test]
async fn the_mirror_of_a_repository_that_nothing_follows_any_more_is_removed() {
    let fixture = Fixture::new("mirrors").await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    let mirrors = || {
        let entries = std::fs::read_dir(fixture.data.path().join("mirrors")).unwrap().flatten();
        entries.filter(|entry| entry.path().join("current").is_symlink()).count()
    };
    assert_eq!(mirrors(), 1);
    let are_gone = || async { if mirrors() == 0 { Ok(()) } else { Err("it is still there") } };
    fixture.api::<GitSource>().delete("fleet", &DeleteParams::default()).await.unwrap();
    eventually("its mirror is removed", are_gone).await;

    fixture.follow().await;
    eventually("it is fetched again", || async { if mirrors() == 1 { Ok(()) } else { Err("no mirror") } }).await;
    reeve.terminate().await;
    fixture.api::<GitSource>().delete("fleet", &DeleteParams::default()).await.unwrap();
    let _reeve = fixture.reeve();
    eventually("what was deleted meanwhile is removed at the start", are_gone).await;
}

/// Where nobody wrote down who wrote what, the API server calls everything older than the next apply somebody else's.
#[tokio::test]
async fn a_field_that_leaves_git_goes_although_somebody_cleared_who_wrote_what() {
    let fixture = Fixture::new("cleared").await;
    fixture.component("web", "1.0.0", &config("settings", "x").replace("data: { say", "data: { gone: here, say"));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    reeve.terminate().await;
    let api = fixture.there::<ConfigMap>();
    let cleared = json!({ "metadata": { "managedFields": [{}] } });
    api.patch("settings", &PatchParams::default(), &Patch::Merge(cleared)).await.unwrap();
    fixture.component("web", "1.1.0", &config("settings", "x"));
    let second = fixture.push();
    let _reeve = fixture.reeve();
    fixture.applied(&second).await;
    eventually("the field is gone", || async {
        let data = api.get("settings").await.unwrap().data.unwrap_or_default();
        if data.contains_key("gone") { Err(format!("{data:?}")) } else { Ok(()) }
    })
    .await;
}

#[tokio::test]
async fn an_object_that_left_git_while_its_kind_was_not_served_goes_when_it_is_served_again() {
    let fixture = Fixture::new("not-served").await;
    let group = format!("{}.example.com", fixture.namespace);
    let served = |served: bool| definition(&group, "Gadget").replace("served: true", &format!("served: {served}"));
    let object = format!("apiVersion: {group}/v1\nkind: Gadget\nmetadata: {{ name: one }}\n---\n");
    fixture.component("kinds", "1.0.0", &served(true));
    fixture.component("web", "1.0.0", &(object + &config("settings", "x")));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let gadgets = fixture.dynamic(&format!("{group}/v1"), "Gadget", Some(&fixture.target));
    fixture.component("kinds", "1.1.0", &served(false));
    fixture.push();
    eventually("the kind is not served", || async { gadgets.get("one").await.err().ok_or("it is") }).await;

    fixture.component("web", "1.1.0", &config("settings", "x"));
    fixture.push();
    let name = format!("{}.web", fixture.runtime);
    until(&fixture.api::<RuntimeComponent>(), &name, "it says what it waits for", |component| {
        let failure = component.status.as_ref().and_then(|status| status.failure.as_ref());
        failure.is_some_and(|failure| failure.message.contains("no version of its kind is served"))
    })
    .await;
    fixture.component("kinds", "1.2.0", &served(true));
    let last = fixture.push();
    fixture.applied(&last).await;
    assert!(gadgets.get_opt("one").await.unwrap().is_none());
}

#[tokio::test]
async fn what_git_says_of_a_runtime_is_put_back_and_counts_when_its_file_goes() {
    let fixture = Fixture::new("live-policy").await;
    let renamed = format!("{}-b", fixture.runtime);
    fixture.runtime(&renamed, "policy: { deletionPolicy: Orphan }\n");
    fixture.component("web", "1.0.0", &config("{{ Runtime.name }}", "x"));
    let first = fixture.push();
    fixture.follow_with(json!({ "url": fixture.repository.file_url(), "interval": "1s" })).await;
    let reeve = fixture.reeve();
    fixture.applied_to(&renamed, &first).await;
    let runtimes = fixture.api::<Runtime>();
    let deletes = json!({ "spec": { "deletionPolicy": "Delete" } });
    let (params, patch) = (PatchParams::default(), Patch::Merge(&deletes));
    runtimes.patch(&renamed, &params, &patch).await.unwrap();
    let keeps = |runtime: &Runtime| runtime.spec.deletion_policy == DeletionPolicy::Orphan;
    until(&runtimes, &renamed, "it is put back", keeps).await;

    reeve.terminate().await;
    runtimes.patch(&renamed, &params, &patch).await.unwrap();
    fixture.repository.remove(&format!("runtimes/{renamed}.yaml")).unwrap();
    fixture.push();
    let _reeve = fixture.reeve();
    fixture.gone(&runtimes, &renamed).await;
    assert_eq!(fixture.says(&renamed).await.as_deref(), Some("x"), "Git said that its objects stay");
}

#[tokio::test]
async fn an_object_stays_that_is_to_stay_although_somebody_took_its_annotation_away() {
    let fixture = Fixture::new("unmarked").await;
    fixture.runtime(&fixture.runtime, "policy: { drift: { mode: Report } }\n");
    fixture.component("web", "1.0.0", &(annotated("kept", "x", "reeve.dev/prune", "Never") + &config("gone", "x")));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let unmarked = json!({ "metadata": { "annotations": { "reeve.dev/prune": null } } });
    fixture.there::<ConfigMap>().patch("kept", &PatchParams::default(), &Patch::Merge(unmarked)).await.unwrap();
    fixture.component("web", "1.1.0", &config("new", "x"));
    let second = fixture.push();
    fixture.applied(&second).await;
    fixture.gone(&fixture.there::<ConfigMap>(), "gone").await;
    assert_eq!(fixture.says("kept").await.as_deref(), Some("x"));
}
