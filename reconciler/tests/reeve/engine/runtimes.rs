//! The Runtime objects that Reeve makes of the files of a repository.

use kube::api::{DeleteParams, Patch, PatchParams};
use reeve_crds::{GitSource, Runtime, State};
use reeve_tests::{eventually, until};
use serde_json::json;

use super::fixture::{Fixture, config, definition};
use super::proxy::{Proxy, Rule};

fn labels(runtime: &Runtime) -> Vec<&str> {
    runtime.metadata.labels.iter().flatten().map(|(key, _)| key.as_str()).collect()
}

#[tokio::test]
async fn labels_and_policies_that_leave_a_file_leave_the_runtime_and_what_people_add_stays() {
    let fixture = Fixture::new("runtime-labels").await;
    let text = "labels: { tier: a, team: x }\npolicy: { concurrency: 7, prune: false }\n";
    fixture.runtime(&fixture.runtime, text);
    fixture.component("web", "1.0.0", &config("settings", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    let runtime = fixture.applied(&first).await;
    assert_eq!(labels(&runtime), ["team", "tier"]);
    let api = fixture.api::<Runtime>();
    let by_people = Patch::Merge(json!({ "metadata": { "labels": { "people": "x" } } }));
    api.patch(&fixture.runtime, &PatchParams::default(), &by_people).await.unwrap();

    fixture.runtime(&fixture.runtime, "labels: { team: x }\npolicy: { prune: false }\n");
    fixture.push();
    let without_tier = |runtime: &Runtime| labels(runtime) == ["people", "team"] && runtime.spec.concurrency != 7;
    let runtime = until(&api, &fixture.runtime, "the label and the policy go", without_tier).await;
    assert!(!runtime.spec.prune);

    // Also what left while nobody looked.
    reeve.terminate().await;
    fixture.runtime(&fixture.runtime, "");
    fixture.push();
    let reeve = fixture.reeve();
    let bare = |runtime: &Runtime| {
        let status = runtime.status.clone().unwrap_or_default();
        let is_told = status.observed_generation == runtime.metadata.generation && status.state == Some(State::Ready);
        labels(runtime) == ["people"] && runtime.spec.prune && is_told
    };
    until(&api, &fixture.runtime, "the rest goes", bare).await;
    reeve.terminate().await;

    let before = api.get(&fixture.runtime).await.unwrap().metadata.resource_version;
    let reeve = fixture.reeve();
    eventually("the commit is in force again", || {
        let log = reeve.log();
        async move { if log.contains("accepted") { Ok(()) } else { Err(log) } }
    })
    .await;
    reeve.terminate().await;
    let after = api.get(&fixture.runtime).await.unwrap().metadata.resource_version;
    assert_eq!(after, before, "an idle restart wrote something");
}

#[tokio::test]
async fn a_runtime_names_the_file_that_it_moved_to() {
    let fixture = Fixture::new("runtime-moves").await;
    fixture.runtime(&fixture.runtime, "");
    fixture.component("web", "1.0.0", &config("settings", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let before = fixture.versions().await.remove("ConfigMap/settings").unwrap();
    fixture.repository.remove(&format!("runtimes/{}.yaml", fixture.runtime)).unwrap();
    let moved = format!("runtimes/eu/{}.yaml", fixture.runtime);
    fixture.write(&moved, "kind: Runtime\n");
    fixture.push();
    let names_it = |runtime: &Runtime| runtime.spec.file.as_deref() == Some(&*moved);
    until(&fixture.api::<Runtime>(), &fixture.runtime, "the file is named", names_it).await;
    assert_eq!(fixture.versions().await["ConfigMap/settings"], before, "its objects are what they were");
}

fn capable(runtime: &Runtime) -> Option<(&str, &str)> {
    let conditions = runtime.status.as_ref()?.conditions.iter();
    let mut capable = conditions.filter(|condition| condition.type_ == "Capable");
    capable.next().map(|condition| (condition.status.as_str(), condition.message.as_str()))
}

#[tokio::test]
async fn a_cluster_that_is_not_what_the_file_declares_is_told_and_keeps_nothing_back() {
    let fixture = Fixture::new("capable").await;
    let group = format!("{}.example.com", fixture.namespace);
    let declare = |version: &str| {
        let text = format!("capabilities: {{ kubernetesVersion: {version:?}, apiVersions: [{group}/v1/Widget] }}\n");
        fixture.runtime(&fixture.runtime, &text);
    };
    declare("v1.2.3");
    fixture.component("web", "1.0.0", &config("settings", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let api = fixture.api::<Runtime>();
    let lacks_both = |runtime: &Runtime| {
        capable(runtime).is_some_and(|(status, message)| {
            status == "False" && message.contains("says v1.2.3") && message.contains("Widget")
        })
    };
    let runtime = until(&api, &fixture.runtime, "both are told", lacks_both).await;
    let found = runtime.status.unwrap().applier.unwrap().kubernetes_version.unwrap();
    fixture.event("Incapable", &["v1.2.3", &found]).await;

    declare(&found);
    fixture.component("kinds", "1.0.0", &definition(&group, "Widget"));
    fixture.push();
    let has_all = |runtime: &Runtime| capable(runtime).is_some_and(|(status, _)| status == "True");
    until(&api, &fixture.runtime, "the file is right, and its own component brought the kind", has_all).await;

    fixture.runtime(&fixture.runtime, "");
    fixture.push();
    until(&api, &fixture.runtime, "nothing is declared", |runtime| capable(runtime).is_none()).await;
}

#[tokio::test]
async fn a_runtime_whose_target_is_not_served_is_told_so_and_goes_with_its_file() {
    let fixture = Fixture::new("unserved").await;
    fixture.runtime("elsewhere", "target: { type: Agent }\n");
    fixture.component("web", "1.0.0", &config("settings", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let api = fixture.api::<Runtime>();
    let is_told = |runtime: &Runtime| {
        let status = runtime.status.as_ref();
        status.is_some_and(|status| status.conditions.iter().any(|condition| condition.reason == "Unsupported"))
    };
    until(&api, "elsewhere", "it is told that its target is not served", is_told).await;
    fixture.repository.remove("runtimes/elsewhere.yaml").unwrap();
    fixture.push();
    fixture.gone(&api, "elsewhere").await;
}

#[tokio::test]
async fn a_runtime_that_cannot_be_written_keeps_a_commit_from_no_other_and_gets_it_when_it_can_be() {
    const HOLDER: &str = "example.com/held";
    let fixture = Fixture::new("held").await;
    let other = format!("{}-other", fixture.runtime);
    fixture.runtime(&other, "");
    fixture.component("web", "1.0.0", &config("settings-{{ Runtime.name }}", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.applied_to(&other, &first).await;
    let api = fixture.api::<Runtime>();
    let hold = json!([{ "op": "add", "path": "/metadata/finalizers/-", "value": HOLDER }]);
    let hold = Patch::<()>::Json(serde_json::from_value(hold).unwrap());
    api.patch(&fixture.runtime, &PatchParams::default(), &hold).await.unwrap();
    let going = api.delete(&fixture.runtime, &DeleteParams::default()).await.unwrap().left().unwrap();
    let is_let_go = |runtime: &Runtime| runtime.metadata.finalizers.as_deref() == Some(&[HOLDER.to_owned()]);
    until(&api, &fixture.runtime, "only the other finalizer holds it", is_let_go).await;

    fixture.component("web", "1.1.0", &config("settings-{{ Runtime.name }}", "two"));
    let second = fixture.push();
    fixture.applied_to(&other, &second).await;
    let is_told = |source: &GitSource| {
        let status = source.status.clone().unwrap_or_default();
        assert_eq!(status.rejected, None);
        let ready = status.conditions.into_iter().find(|condition| condition.type_ == "Ready");
        let names_both = |message: &str| message.contains(&fixture.runtime) && message.contains(HOLDER);
        let is_in_force = status.commit.is_some_and(|commit| commit.id == second.as_str());
        is_in_force && ready.is_some_and(|ready| ready.reason == "Invalid" && names_both(&ready.message))
    };
    until(&fixture.api::<GitSource>(), "fleet", "what keeps it from being written is told", is_told).await;
    fixture.event("Invalid", &[&format!("cannot write Runtime {}:", fixture.runtime), HOLDER]).await;
    assert_eq!(fixture.says(&format!("settings-{}", fixture.runtime)).await.as_deref(), Some("one"));

    let release = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    api.patch(&fixture.runtime, &PatchParams::default(), &release).await.unwrap();
    let runtime = fixture.applied(&second).await;
    assert_ne!(runtime.metadata.uid, going.metadata.uid);
    assert_eq!(fixture.says(&format!("settings-{}", fixture.runtime)).await.as_deref(), Some("two"));
    let is_fine = |source: &GitSource| source.status.as_ref().is_some_and(|it| it.state == Some(State::Ready));
    until(&fixture.api::<GitSource>(), "fleet", "it is fine again", is_fine).await;
    let told = reeve.log().lines().filter(|line| line.contains("cannot write Runtime")).count();
    assert_eq!(told, 1, "{}", reeve.log());
}

#[tokio::test]
async fn a_runtime_that_reeve_may_not_write_is_tried_again_while_the_rest_of_the_commit_is_done() {
    let fixture = Fixture::new("unwritable").await;
    let (refused, leaving) = (format!("a-{}", fixture.runtime), format!("b-{}", fixture.runtime));
    fixture.runtime(&refused, "");
    fixture.runtime(&leaving, "");
    fixture.component("web", "1.0.0", &config("settings-{{ Runtime.name }}", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let proxy = Proxy::start(&fixture.cluster, Rule::Pass).await;
    let _reeve = fixture.reeve_through(&proxy.kubeconfig(fixture.data.path()), &[]);
    for runtime in [&fixture.runtime, &refused, &leaving] {
        fixture.applied_to(runtime, &first).await;
    }
    proxy.set(Rule::Refuse { code: 403, path: format!("/runtimes/{refused}") });
    fixture.runtime(&refused, "labels: { tier: a }\n");
    fixture.repository.remove(&format!("runtimes/{leaving}.yaml")).unwrap();
    fixture.component("web", "1.1.0", &config("settings-{{ Runtime.name }}", "two"));
    let second = fixture.push();
    fixture.applied(&second).await;
    fixture.gone(&fixture.api::<Runtime>(), &leaving).await;
    fixture.event("Forbidden", &[&format!("cannot write Runtime {refused}:")]).await;
    assert_eq!(fixture.says(&format!("settings-{refused}")).await.as_deref(), Some("one"));

    proxy.set(Rule::Pass);
    let runtime = fixture.applied_to(&refused, &second).await;
    assert_eq!(labels(&runtime), ["tier"]);
    let is_fine = |source: &GitSource| {
        let status = source.status.clone().unwrap_or_default();
        status.state == Some(State::Ready) && status.rejected.is_none()
    };
    until(&fixture.api::<GitSource>(), "fleet", "it is fine again", is_fine).await;
}
