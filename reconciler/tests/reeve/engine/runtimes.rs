//! The Runtime objects that Reeve makes of the files of a repository.

use kube::api::{DeleteParams, Patch, PatchParams};
use reeve_crds::{GitSource, Runtime, State};
use reeve_tests::{eventually, until};
use serde_json::json;

use super::proxy::{Proxy, Rule};
use super::scene::{Scene, config, definition};

fn labels(runtime: &Runtime) -> Vec<&str> {
    runtime.metadata.labels.iter().flatten().map(|(key, _)| key.as_str()).collect()
}

#[tokio::test]
async fn labels_and_policies_that_leave_a_file_leave_the_runtime_and_what_people_add_stays() {
    let scene = Scene::new("runtime-labels").await;
    let text = "labels: { tier: a, team: x }\npolicy: { concurrency: 7, prune: false }\n";
    scene.runtime(&scene.runtime, text);
    scene.component("web", "1.0.0", &config("settings", "git"));
    let first = scene.push();
    scene.follow().await;
    let reeve = scene.reeve();
    let runtime = scene.applied(&first).await;
    assert_eq!(labels(&runtime), ["team", "tier"]);
    let api = scene.api::<Runtime>();
    let by_people = Patch::Merge(json!({ "metadata": { "labels": { "people": "x" } } }));
    api.patch(&scene.runtime, &PatchParams::default(), &by_people).await.unwrap();

    scene.runtime(&scene.runtime, "labels: { team: x }\npolicy: { prune: false }\n");
    scene.push();
    let without_tier = |runtime: &Runtime| labels(runtime) == ["people", "team"] && runtime.spec.concurrency != 7;
    let runtime = until(&api, &scene.runtime, "the label and the policy go", without_tier).await;
    assert!(!runtime.spec.prune);

    // Also what left while nobody looked.
    reeve.terminate().await;
    scene.runtime(&scene.runtime, "");
    scene.push();
    let reeve = scene.reeve();
    let bare = |runtime: &Runtime| {
        let status = runtime.status.clone().unwrap_or_default();
        let is_told = status.observed_generation == runtime.metadata.generation && status.state == Some(State::Ready);
        labels(runtime) == ["people"] && runtime.spec.prune && is_told
    };
    until(&api, &scene.runtime, "the rest goes", bare).await;
    reeve.terminate().await;

    let before = api.get(&scene.runtime).await.unwrap().metadata.resource_version;
    let reeve = scene.reeve();
    eventually("the commit is in force again", || {
        let log = reeve.log();
        async move { if log.contains("accepted") { Ok(()) } else { Err(log) } }
    })
    .await;
    reeve.terminate().await;
    let after = api.get(&scene.runtime).await.unwrap().metadata.resource_version;
    assert_eq!(after, before, "an idle restart wrote something");
}

#[tokio::test]
async fn a_runtime_names_the_file_that_it_moved_to() {
    let scene = Scene::new("runtime-moves").await;
    scene.runtime(&scene.runtime, "");
    scene.component("web", "1.0.0", &config("settings", "git"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    let before = scene.versions().await.remove("ConfigMap/settings").unwrap();
    scene.repository.remove(&format!("runtimes/{}.yaml", scene.runtime)).unwrap();
    let moved = format!("runtimes/eu/{}.yaml", scene.runtime);
    scene.write(&moved, "kind: Runtime\n");
    scene.push();
    let names_it = |runtime: &Runtime| runtime.spec.file.as_deref() == Some(&*moved);
    until(&scene.api::<Runtime>(), &scene.runtime, "the file is named", names_it).await;
    assert_eq!(scene.versions().await["ConfigMap/settings"], before, "its objects are what they were");
}

fn capable(runtime: &Runtime) -> Option<(&str, &str)> {
    let conditions = runtime.status.as_ref()?.conditions.iter();
    let mut capable = conditions.filter(|condition| condition.type_ == "Capable");
    capable.next().map(|condition| (condition.status.as_str(), condition.message.as_str()))
}

#[tokio::test]
async fn a_cluster_that_is_not_what_the_file_declares_is_told_and_keeps_nothing_back() {
    let scene = Scene::new("capable").await;
    let group = format!("{}.example.com", scene.namespace);
    let declare = |version: &str| {
        let text = format!("capabilities: {{ kubernetesVersion: {version:?}, apiVersions: [{group}/v1/Widget] }}\n");
        scene.runtime(&scene.runtime, &text);
    };
    declare("v1.2.3");
    scene.component("web", "1.0.0", &config("settings", "git"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    let api = scene.api::<Runtime>();
    let lacks_both = |runtime: &Runtime| {
        capable(runtime).is_some_and(|(status, message)| {
            status == "False" && message.contains("says v1.2.3") && message.contains("Widget")
        })
    };
    let runtime = until(&api, &scene.runtime, "both are told", lacks_both).await;
    let found = runtime.status.unwrap().applier.unwrap().kubernetes_version.unwrap();
    scene.event("Incapable", &["v1.2.3", &found]).await;

    declare(&found);
    scene.component("kinds", "1.0.0", &definition(&group, "Widget"));
    scene.push();
    let has_all = |runtime: &Runtime| capable(runtime).is_some_and(|(status, _)| status == "True");
    until(&api, &scene.runtime, "the file is right, and its own component brought the kind", has_all).await;

    scene.runtime(&scene.runtime, "");
    scene.push();
    until(&api, &scene.runtime, "nothing is declared", |runtime| capable(runtime).is_none()).await;
}

#[tokio::test]
async fn a_runtime_whose_target_is_not_served_is_told_so_and_goes_with_its_file() {
    let scene = Scene::new("unserved").await;
    let target = "target: { type: KubeConfig, kubeConfigSecretRef: { name: other, key: kubeconfig } }\n";
    scene.runtime("elsewhere", target);
    scene.component("web", "1.0.0", &config("settings", "git"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    let api = scene.api::<Runtime>();
    let is_told = |runtime: &Runtime| {
        let status = runtime.status.as_ref();
        status.is_some_and(|status| status.conditions.iter().any(|condition| condition.reason == "Unsupported"))
    };
    until(&api, "elsewhere", "it is told that its target is not served", is_told).await;
    scene.repository.remove("runtimes/elsewhere.yaml").unwrap();
    scene.push();
    scene.gone(&api, "elsewhere").await;
}

#[tokio::test]
async fn a_runtime_that_cannot_be_written_keeps_a_commit_from_no_other_and_gets_it_when_it_can_be() {
    const HOLDER: &str = "example.com/held";
    let scene = Scene::new("held").await;
    let other = format!("{}-other", scene.runtime);
    scene.runtime(&other, "");
    scene.component("web", "1.0.0", &config("settings-{{ Runtime.name }}", "one"));
    let first = scene.push();
    scene.follow().await;
    let reeve = scene.reeve();
    scene.applied(&first).await;
    scene.applied_to(&other, &first).await;
    let api = scene.api::<Runtime>();
    let hold = json!([{ "op": "add", "path": "/metadata/finalizers/-", "value": HOLDER }]);
    let hold = Patch::<()>::Json(serde_json::from_value(hold).unwrap());
    api.patch(&scene.runtime, &PatchParams::default(), &hold).await.unwrap();
    let going = api.delete(&scene.runtime, &DeleteParams::default()).await.unwrap().left().unwrap();
    let is_let_go = |runtime: &Runtime| runtime.metadata.finalizers.as_deref() == Some(&[HOLDER.to_owned()]);
    until(&api, &scene.runtime, "only the other finalizer holds it", is_let_go).await;

    scene.component("web", "1.1.0", &config("settings-{{ Runtime.name }}", "two"));
    let second = scene.push();
    scene.applied_to(&other, &second).await;
    let is_told = |source: &GitSource| {
        let status = source.status.clone().unwrap_or_default();
        assert_eq!(status.rejected, None);
        let ready = status.conditions.into_iter().find(|condition| condition.type_ == "Ready");
        let names_both = |message: &str| message.contains(&scene.runtime) && message.contains(HOLDER);
        let is_in_force = status.commit.is_some_and(|commit| commit.id == second.as_str());
        is_in_force && ready.is_some_and(|ready| ready.reason == "Invalid" && names_both(&ready.message))
    };
    until(&scene.api::<GitSource>(), "fleet", "what keeps it from being written is told", is_told).await;
    scene.event("Invalid", &[&format!("cannot write Runtime {}:", scene.runtime), HOLDER]).await;
    assert_eq!(scene.says(&format!("settings-{}", scene.runtime)).await.as_deref(), Some("one"));

    let release = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    api.patch(&scene.runtime, &PatchParams::default(), &release).await.unwrap();
    let runtime = scene.applied(&second).await;
    assert_ne!(runtime.metadata.uid, going.metadata.uid);
    assert_eq!(scene.says(&format!("settings-{}", scene.runtime)).await.as_deref(), Some("two"));
    let is_fine = |source: &GitSource| source.status.as_ref().is_some_and(|it| it.state == Some(State::Ready));
    until(&scene.api::<GitSource>(), "fleet", "it is fine again", is_fine).await;
    let told = reeve.log().lines().filter(|line| line.contains("cannot write Runtime")).count();
    assert_eq!(told, 1, "{}", reeve.log());
}

#[tokio::test]
async fn a_runtime_that_reeve_may_not_write_is_tried_again_while_the_rest_of_the_commit_is_done() {
    let scene = Scene::new("unwritable").await;
    let (refused, leaving) = (format!("a-{}", scene.runtime), format!("b-{}", scene.runtime));
    scene.runtime(&refused, "");
    scene.runtime(&leaving, "");
    scene.component("web", "1.0.0", &config("settings-{{ Runtime.name }}", "one"));
    let first = scene.push();
    scene.follow().await;
    let proxy = Proxy::start(&scene.cluster, Rule::Pass).await;
    let _reeve = scene.reeve_through(&proxy.kubeconfig(scene.data.path()), &[]);
    for runtime in [&scene.runtime, &refused, &leaving] {
        scene.applied_to(runtime, &first).await;
    }
    proxy.set(Rule::Refuse { code: 403, path: format!("/runtimes/{refused}") });
    scene.runtime(&refused, "labels: { tier: a }\n");
    scene.repository.remove(&format!("runtimes/{leaving}.yaml")).unwrap();
    scene.component("web", "1.1.0", &config("settings-{{ Runtime.name }}", "two"));
    let second = scene.push();
    scene.applied(&second).await;
    scene.gone(&scene.api::<Runtime>(), &leaving).await;
    scene.event("Forbidden", &[&format!("cannot write Runtime {refused}:")]).await;
    assert_eq!(scene.says(&format!("settings-{refused}")).await.as_deref(), Some("one"));

    proxy.set(Rule::Pass);
    let runtime = scene.applied_to(&refused, &second).await;
    assert_eq!(labels(&runtime), ["tier"]);
    let is_fine = |source: &GitSource| {
        let status = source.status.clone().unwrap_or_default();
        status.state == Some(State::Ready) && status.rejected.is_none()
    };
    until(&scene.api::<GitSource>(), "fleet", "it is fine again", is_fine).await;
}
