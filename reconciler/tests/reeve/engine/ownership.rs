//! An object has one owner, whoever asks first, whatever its labels say, and whichever version applied it.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use reeve_crds::{RuntimeComponent, State};
use reeve_tests::{eventually, until};
use serde_json::{Value, json};

use super::scene::{Scene, annotated, config, deployment};

impl Scene {
    /// Makes an object's label name a runtime that is none, as `kubectl label --overwrite` does.
    async fn steal_label(&self, name: &str) {
        let label = ["label", "configmap", name, "--overwrite", "reeve.dev/runtime=ghost", "-n", &self.target];
        self.cluster.kubectl(&label).await;
    }

    async fn bears(&self, name: &str, runtime: &str) {
        until(&self.there::<ConfigMap>(), name, "the label is ours", |object| {
            object.labels().get("reeve.dev/runtime").is_some_and(|label| label == runtime)
        })
        .await;
    }

    /// The one component `web` that is ready, once all of these runtimes' are ready or refused.
    async fn only_owner(&self, runtimes: &[String]) -> String {
        eventually("one runtime has the object and all others are told so", || async {
            let components = self.api::<RuntimeComponent>().list(&ListParams::default()).await.unwrap();
            let states: BTreeMap<String, (Option<State>, String)> = components
                .into_iter()
                .map(|component| {
                    let status = component.status.unwrap_or_default();
                    let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready");
                    (
                        component.spec.runtime,
                        (status.state, ready.map(|ready| ready.reason.clone()).unwrap_or_default()),
                    )
                })
                .collect();
            let of = |wanted: (State, &str)| -> Vec<&String> {
                let is_so = |runtime: &&String| {
                    states
                        .get(*runtime)
                        .is_some_and(|(state, reason)| (*state, &**reason) == (Some(wanted.0), wanted.1))
                };
                runtimes.iter().filter(is_so).collect()
            };
            let (ready, refused) = (of((State::Ready, "Succeeded")), of((State::Warning, "Conflict")));
            assert!(ready.len() <= 1, "two owners of one object: {ready:?}");
            match ready[..] {
                [owner] if refused.len() + 1 == runtimes.len() => Ok(owner.clone()),
                _ => Err(format!("{states:?}")),
            }
        })
        .await
    }
}

#[tokio::test]
async fn of_runtimes_that_want_one_object_only_one_is_ever_ready() {
    let scene = Scene::new("shared").await;
    let runtimes: Vec<String> = (0..6).map(|number| format!("{}-{number}", scene.runtime)).collect();
    scene.repository.remove(&format!("runtimes/{}.yaml", scene.runtime)).unwrap();
    for name in &runtimes {
        scene.runtime(name, "policy: { maxBackoff: 2s, adoption: Always }\n");
    }
    scene.component("web", "1.0.0", &config("shared", "{{ Runtime.name }}"));
    scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    let owner = scene.only_owner(&runtimes).await;
    scene.comes_to_say("shared", &owner).await;
    scene.bears("shared", &owner).await;

    // The owner lets it go with its object, and one of the others gets it.
    let text = format!("{{% if Runtime.name != {owner:?} %}}{}{{% endif %}}", config("shared", "{{ Runtime.name }}"));
    scene.component("web", "1.1.0", &text);
    scene.push();
    let others: Vec<String> = runtimes.into_iter().filter(|name| *name != owner).collect();
    let next = scene.only_owner(&others).await;
    scene.comes_to_say("shared", &next).await;
    scene.bears("shared", &next).await;
}

#[tokio::test]
async fn of_two_processes_that_adopt_one_object_only_one_is_ever_ready() {
    let (one, mut other) = (Scene::new("process-one").await, Scene::new("process-two").await);
    other.target.clone_from(&one.target);
    let left = json!({ "data": { "say": "nobody's" } });
    one.apply("v1", "ConfigMap", Some(&one.target), "left", left).await;
    // Nobody means to keep it: both may have it, and both would have to force.
    let managed = json!({ "metadata": { "managedFields": [{}] } });
    let edit = PatchParams { field_manager: Some("somebody".to_owned()), ..PatchParams::default() };
    one.there::<ConfigMap>().patch("left", &edit, &Patch::Merge(&managed)).await.unwrap();
    let say = json!({ "data": { "say": "somebody's" } });
    one.there::<ConfigMap>().patch("left", &edit, &Patch::Merge(&say)).await.unwrap();
    for scene in [&one, &other] {
        scene.component("web", "1.0.0", &config("left", &scene.runtime));
        scene.push();
        scene.follow().await;
    }
    let _reeves = (one.reeve(), other.reeve());
    let states = async |scene: &Scene| {
        let component = scene.api::<RuntimeComponent>().get_opt(&format!("{}.web", scene.runtime)).await.unwrap();
        component.and_then(|component| component.status?.state)
    };
    let owner = eventually("one of the two has it, and the other is told", || async {
        match (states(&one).await, states(&other).await) {
            (Some(State::Ready), Some(State::Ready)) => panic!("both are ready"),
            (Some(State::Ready), Some(State::Warning)) => Ok(&one.runtime),
            (Some(State::Warning), Some(State::Ready)) => Ok(&other.runtime),
            states => Err(format!("{states:?}")),
        }
    })
    .await;
    one.comes_to_say("left", owner).await;
}

#[tokio::test]
async fn a_changed_label_is_drift_and_hides_no_object() {
    let scene = Scene::new("stolen").await;
    scene.component("web", "1.0.0", &config("settings", "git"));
    scene.component("reported", "1.0.0", &annotated("reported", "git", "reeve.dev/drift", "Report"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;

    scene.steal_label("settings").await;
    scene.bears("settings", &scene.runtime).await;
    scene.event("Drifted", &["settings", "metadata.labels.reeve.dev/runtime", "kubectl-label", "put right"]).await;

    // Where it is not put right it stays known: edited, deleted, and gone from Git.
    scene.steal_label("reported").await;
    let drifted = scene.component_is("reported", State::Warning, "Drifted").await.status.unwrap().drift.unwrap();
    assert_eq!(drifted.examples[0].fields, ["metadata.labels.reeve.dev/runtime"]);
    scene.there::<ConfigMap>().delete("reported", &DeleteParams::default()).await.unwrap();
    scene.comes_to_say("reported", "git").await;
    scene.steal_label("reported").await;
    scene.component_is("reported", State::Warning, "Drifted").await;
    scene.drop_component("reported");
    let second = scene.push();
    scene.gone(&scene.there::<ConfigMap>(), "reported").await;
    scene.applied(&second).await;
}

#[tokio::test]
async fn an_object_without_managers_and_with_a_strange_label_is_still_known() {
    let scene = Scene::new("stripped").await;
    scene.component("web", "1.0.0", &config("settings", "git"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    let strip = json!({ "metadata": { "managedFields": [{}], "labels": { "reeve.dev/runtime": "ghost" } } });
    scene.there::<ConfigMap>().patch("settings", &PatchParams::default(), &Patch::Merge(&strip)).await.unwrap();
    scene.bears("settings", &scene.runtime).await;
    scene.meddle("settings", "hand").await;
    scene.comes_to_say("settings", "git").await;
}

/// The managers that applied something to an object.
fn appliers(object: &impl kube::ResourceExt) -> Vec<String> {
    let applied = object.managed_fields().iter().filter(|entry| entry.operation.as_deref() == Some("Apply"));
    applied.filter_map(|entry| entry.manager.clone()).collect()
}

impl Scene {
    /// Gives what a runtime applied to the field manager of earlier versions.
    async fn as_before<K>(&self, name: &str)
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
            + Clone
            + serde::de::DeserializeOwned
            + std::fmt::Debug,
    {
        let api = self.there::<K>();
        let mut managed = api.get(name).await.unwrap().managed_fields().to_vec();
        for entry in managed.iter_mut().filter(|entry| entry.manager.iter().any(|name| name.starts_with("reeve:"))) {
            entry.manager = Some("reeve".to_owned());
        }
        let patch: Patch<Value> = Patch::Merge(json!({ "metadata": { "managedFields": managed } }));
        api.patch(name, &PatchParams::default(), &patch).await.unwrap();
        assert_eq!(appliers(&api.get(name).await.unwrap()), ["reeve"]);
    }
}

#[tokio::test]
async fn what_an_earlier_version_applied_is_taken_over_once_and_rolls_nothing() {
    let scene = Scene::new("earlier").await;
    scene.component("web", "1.0.0", &(deployment("web", 0) + &config("settings", "one") + &config("changes", "one")));
    let first = scene.push();
    scene.follow().await;
    let reeve = scene.reeve();
    scene.applied(&first).await;
    reeve.terminate().await;
    scene.as_before::<Deployment>("web").await;
    scene.as_before::<ConfigMap>("settings").await;
    scene.as_before::<ConfigMap>("changes").await;
    let before = scene.there::<Deployment>().get("web").await.unwrap();
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: changes }\ndata: { other: two }\n---\n";
    scene.component("web", "1.1.0", &(deployment("web", 0) + &config("settings", "one") + text));
    let second = scene.push();

    let reeve = scene.reeve();
    scene.applied(&second).await;
    let ours = format!("reeve:{}/{}", scene.namespace, scene.runtime);
    let after = scene.there::<Deployment>().get("web").await.unwrap();
    assert_eq!(appliers(&after), [ours.clone()]);
    assert_eq!((after.uid(), after.metadata.generation), (before.uid(), before.metadata.generation));
    for name in ["settings", "changes"] {
        assert_eq!(appliers(&scene.there::<ConfigMap>().get(name).await.unwrap()), [ours.clone()]);
    }
    let data = scene.there::<ConfigMap>().get("changes").await.unwrap().data.unwrap();
    assert_eq!(data, [("other".to_owned(), "two".to_owned())].into(), "what left Git left the object");
    reeve.terminate().await;
    let versions = scene.versions().await;
    let _reeve = scene.reeve();
    scene.meddle("settings", "hand").await;
    scene.comes_to_say("settings", "one").await;
    let now = scene.versions().await;
    assert_eq!(versions["ConfigMap/changes"], now["ConfigMap/changes"], "once is enough");
}

#[tokio::test]
async fn a_job_of_another_runtime_is_neither_deleted_nor_taken() {
    let scene = Scene::new("jobs-apart").await;
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: { name: setup, annotations: { helm.sh/hook: pre-install, helm.sh/hook-delete-policy: hook-failed } }\nspec:\n  suspend: true\n  template:\n    spec: { restartPolicy: Never, containers: [{ name: a, image: '{{ Runtime.name }}' }] }\n---\n";
    scene.component("web", "1.0.0", job);
    scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    let first = until(&scene.there::<Job>(), "setup", "the Job is there", |_| true).await;
    let other = format!("{}-other", scene.runtime);
    scene.runtime(&other, "policy: { maxBackoff: 1s }\n");
    scene.push();
    let refused = scene.component_of(&other, "web", State::Warning, "Conflict").await.status.unwrap();
    let message = refused.failure.unwrap().message;
    assert!(message.contains(&format!("component web of runtime {}/{}", scene.namespace, scene.runtime)), "{message}");
    assert_eq!(scene.there::<Job>().get("setup").await.unwrap().uid(), first.uid());
}
