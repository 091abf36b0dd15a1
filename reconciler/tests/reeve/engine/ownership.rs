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

use super::fixture::{Fixture, annotated, config, deployment};

impl Fixture {
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
    let fixture = Fixture::new("shared").await;
    let runtimes: Vec<String> = (0..6).map(|number| format!("{}-{number}", fixture.runtime)).collect();
    fixture.repository.remove(&format!("runtimes/{}.yaml", fixture.runtime)).unwrap();
    for name in &runtimes {
        fixture.runtime(name, "policy: { maxBackoff: 2s, adoption: Always }\n");
    }
    fixture.component("web", "1.0.0", &config("shared", "{{ Runtime.name }}"));
    fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    let owner = fixture.only_owner(&runtimes).await;
    fixture.comes_to_say("shared", &owner).await;
    fixture.bears("shared", &owner).await;

    // The owner lets it go with its object, and one of the others gets it.
    let text = format!("{{% if Runtime.name != {owner:?} %}}{}{{% endif %}}", config("shared", "{{ Runtime.name }}"));
    fixture.component("web", "1.1.0", &text);
    fixture.push();
    let others: Vec<String> = runtimes.into_iter().filter(|name| *name != owner).collect();
    let next = fixture.only_owner(&others).await;
    fixture.comes_to_say("shared", &next).await;
    fixture.bears("shared", &next).await;
}

#[tokio::test]
async fn of_two_processes_that_adopt_one_object_only_one_is_ever_ready() {
    let (one, mut other) = (Fixture::new("process-one").await, Fixture::new("process-two").await);
    other.target.clone_from(&one.target);
    let left = json!({ "data": { "say": "nobody's" } });
    one.apply("v1", "ConfigMap", Some(&one.target), "left", left).await;
    // Nobody means to keep it: both may have it, and both would have to force.
    let managed = json!({ "metadata": { "managedFields": [{}] } });
    let edit = PatchParams { field_manager: Some("somebody".to_owned()), ..PatchParams::default() };
    one.there::<ConfigMap>().patch("left", &edit, &Patch::Merge(&managed)).await.unwrap();
    let say = json!({ "data": { "say": "somebody's" } });
    one.there::<ConfigMap>().patch("left", &edit, &Patch::Merge(&say)).await.unwrap();
    for fixture in [&one, &other] {
        fixture.component("web", "1.0.0", &config("left", &fixture.runtime));
        fixture.push();
        fixture.follow().await;
    }
    let _reeves = (one.reeve(), other.reeve());
    let states = async |fixture: &Fixture| {
        let component = fixture.api::<RuntimeComponent>().get_opt(&format!("{}.web", fixture.runtime)).await.unwrap();
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
    let fixture = Fixture::new("stolen").await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    fixture.component("reported", "1.0.0", &annotated("reported", "git", "reeve.dev/drift", "Report"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;

    fixture.steal_label("settings").await;
    fixture.bears("settings", &fixture.runtime).await;
    fixture.event("Drifted", &["settings", "metadata.labels.reeve.dev/runtime", "kubectl-label", "put right"]).await;

    // Where it is not put right it stays known: edited, deleted, and gone from Git.
    fixture.steal_label("reported").await;
    let drifted = fixture.component_is("reported", State::Warning, "Drifted").await.status.unwrap().drift.unwrap();
    assert_eq!(drifted.examples[0].fields, ["metadata.labels.reeve.dev/runtime"]);
    fixture.there::<ConfigMap>().delete("reported", &DeleteParams::default()).await.unwrap();
    fixture.comes_to_say("reported", "git").await;
    fixture.steal_label("reported").await;
    fixture.component_is("reported", State::Warning, "Drifted").await;
    fixture.drop_component("reported");
    let second = fixture.push();
    fixture.gone(&fixture.there::<ConfigMap>(), "reported").await;
    fixture.applied(&second).await;
}

#[tokio::test]
async fn an_object_without_managers_and_with_a_strange_label_is_still_known() {
    let fixture = Fixture::new("stripped").await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let strip = json!({ "metadata": { "managedFields": [{}], "labels": { "reeve.dev/runtime": "ghost" } } });
    fixture.there::<ConfigMap>().patch("settings", &PatchParams::default(), &Patch::Merge(&strip)).await.unwrap();
    fixture.bears("settings", &fixture.runtime).await;
    fixture.meddle("settings", "hand").await;
    fixture.comes_to_say("settings", "git").await;
}

/// The managers that applied something to an object.
fn appliers(object: &impl kube::ResourceExt) -> Vec<String> {
    let applied = object.managed_fields().iter().filter(|entry| entry.operation.as_deref() == Some("Apply"));
    applied.filter_map(|entry| entry.manager.clone()).collect()
}

impl Fixture {
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
    let fixture = Fixture::new("earlier").await;
    fixture.component("web", "1.0.0", &(deployment("web", 0) + &config("settings", "one") + &config("changes", "one")));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    reeve.terminate().await;
    fixture.as_before::<Deployment>("web").await;
    fixture.as_before::<ConfigMap>("settings").await;
    fixture.as_before::<ConfigMap>("changes").await;
    let before = fixture.there::<Deployment>().get("web").await.unwrap();
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: changes }\ndata: { other: two }\n---\n";
    fixture.component("web", "1.1.0", &(deployment("web", 0) + &config("settings", "one") + text));
    let second = fixture.push();

    let reeve = fixture.reeve();
    fixture.applied(&second).await;
    let ours = format!("reeve:{}/{}", fixture.namespace, fixture.runtime);
    let after = fixture.there::<Deployment>().get("web").await.unwrap();
    assert_eq!(appliers(&after), std::slice::from_ref(&ours));
    assert_eq!((after.uid(), after.metadata.generation), (before.uid(), before.metadata.generation));
    for name in ["settings", "changes"] {
        assert_eq!(appliers(&fixture.there::<ConfigMap>().get(name).await.unwrap()), std::slice::from_ref(&ours));
    }
    let data = fixture.there::<ConfigMap>().get("changes").await.unwrap().data.unwrap();
    assert_eq!(data, [("other".to_owned(), "two".to_owned())].into(), "what left Git left the object");
    reeve.terminate().await;
    let versions = fixture.versions().await;
    let _reeve = fixture.reeve();
    fixture.meddle("settings", "hand").await;
    fixture.comes_to_say("settings", "one").await;
    let now = fixture.versions().await;
    assert_eq!(versions["ConfigMap/changes"], now["ConfigMap/changes"], "once is enough");
}

#[tokio::test]
async fn a_job_of_another_runtime_is_neither_deleted_nor_taken() {
    let fixture = Fixture::new("jobs-apart").await;
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: { name: setup, annotations: { helm.sh/hook: pre-install, helm.sh/hook-delete-policy: hook-failed } }\nspec:\n  suspend: true\n  template:\n    spec: { restartPolicy: Never, containers: [{ name: a, image: '{{ Runtime.name }}' }] }\n---\n";
    fixture.component("web", "1.0.0", job);
    fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    let first = until(&fixture.there::<Job>(), "setup", "the Job is there", |_| true).await;
    let other = format!("{}-other", fixture.runtime);
    fixture.runtime(&other, "policy: { maxBackoff: 1s }\n");
    fixture.push();
    let refused = fixture.component_of(&other, "web", State::Warning, "Conflict").await.status.unwrap();
    let message = refused.failure.unwrap().message;
    assert!(
        message.contains(&format!("component web of runtime {}/{}", fixture.namespace, fixture.runtime)),
        "{message}"
    );
    assert_eq!(fixture.there::<Job>().get("setup").await.unwrap().uid(), first.uid());
}
