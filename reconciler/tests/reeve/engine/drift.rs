//! What somebody changes by hand.

use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace};
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use reeve_crds::{RuntimeComponent, State};
use reeve_tests::{eventually, until};
use serde_json::json;

use super::fixture::{Fixture, annotated, config};

impl Fixture {
    /// Changes a `ConfigMap` of the target as somebody else.
    pub(super) async fn meddle(&self, name: &str, say: &str) {
        let params = PatchParams { field_manager: Some("meddler".to_owned()), ..PatchParams::default() };
        let patch = json!({ "data": { "say": say } });
        self.there::<ConfigMap>().patch(name, &params, &Patch::Merge(&patch)).await.unwrap();
    }

    pub(super) async fn comes_to_say(&self, name: &str, say: &str) {
        eventually(&format!("{name} says {say}"), || async {
            let says = self.says(name).await;
            if says.as_deref() == Some(say) { Ok(()) } else { Err(format!("{says:?}")) }
        })
        .await;
    }
}

#[tokio::test]
async fn drift_is_put_right_and_told_with_who_what_and_when() {
    let fixture = Fixture::new("drift").await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.meddle("settings", "hand").await;
    fixture.comes_to_say("settings", "git").await;
    let note = fixture.event("Drifted", &["ConfigMap", "settings", "data.say", "meddler", " at 20", "put right"]).await;
    assert!(note.contains("changed by meddler"), "{note}");
    let component = fixture.component_is("web", State::Ready, "Succeeded").await.status.unwrap();
    assert_eq!(component.drift.unwrap().examples[0].manager.as_deref(), Some("meddler"));
}

#[tokio::test]
async fn drift_of_a_namespace_is_told_and_left_when_it_is_contested_like_any_other() {
    let fixture = Fixture::new("drift-of-namespace").await;
    let name = format!("{}-own", fixture.target);
    let namespace = |name: &str, mode: &str| {
        format!(
            "apiVersion: v1\nkind: Namespace\nmetadata: {{ name: {name}, labels: {{ say: git }}, annotations: {{ reeve.dev/drift: {mode} }} }}\n---\n"
        )
    };
    let told = format!("{name}-told");
    fixture.component("web", "1.0.0", &(namespace(&name, "Repair") + &namespace(&told, "Report")));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let namespaces: Api<Namespace> = Api::all(fixture.client.clone());
    let change = |name: String, say: u32| {
        let (namespaces, label) =
            (namespaces.clone(), json!({ "metadata": { "labels": { "say": format!("hand{say}") } } }));
        async move { namespaces.patch(&name, &PatchParams::default(), &Patch::Merge(&label)).await.unwrap() }
    };
    change(told.clone(), 0).await;
    fixture.event("Drifted", &["Namespace", &told, "say"]).await;
    for round in 1..=3 {
        change(name.clone(), round).await;
        let is_right =
            |namespace: &Namespace| namespace.metadata.labels.as_ref().is_some_and(|all| all["say"] == "git");
        until(&namespaces, &name, "it is put right", is_right).await;
    }
    fixture.event("Drifted", &["Namespace", &name, "put right"]).await;
    change(name.clone(), 4).await;
    fixture.event("Drifted", &[&name, "left for now"]).await;
    // With what is only told there are two.
    let stands = |component: &RuntimeComponent| {
        let status = component.status.clone().unwrap_or_default();
        status.state == Some(State::Warning) && status.drift.is_some_and(|drift| drift.objects == 2)
    };
    let component = format!("{}.web", fixture.runtime);
    until(&fixture.api::<RuntimeComponent>(), &component, "both stand", stands).await;
}

#[tokio::test]
async fn what_was_put_right_is_told_although_the_component_fails() {
    let fixture = Fixture::new("drift-failing").await;
    let nowhere = config("lost", "git").replace("name: lost", "name: lost, namespace: nowhere-at-all");
    fixture.component("web", "1.0.0", &(config("settings", "git") + &nowhere));
    fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.component_is("web", State::Error, "MissingNamespace").await;
    fixture.meddle("settings", "hand").await;
    fixture.comes_to_say("settings", "git").await;
    fixture.event("Drifted", &["ConfigMap", "settings", "meddler", "put right"]).await;
    let repaired: (&str, &[(&str, &str)]) = ("reeve_drift_total", &[("outcome", "repaired")]);
    reeve.shows(&[(repaired, 1.0)]).await;
}

#[tokio::test]
async fn an_object_that_somebody_deletes_is_made_anew_and_told_whatever_the_policy() {
    let fixture = Fixture::new("deleted").await;
    fixture.component(
        "web",
        "1.0.0",
        &(config("settings", "git") + &annotated("reported", "git", "reeve.dev/drift", "Report")),
    );
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    for name in ["settings", "reported"] {
        fixture.there::<ConfigMap>().delete(name, &DeleteParams::default()).await.unwrap();
        fixture.comes_to_say(name, "git").await;
        fixture.event("Drifted", &["ConfigMap", name, "deleted by somebody; made anew"]).await;
    }
    let repaired: (&str, &[(&str, &str)]) = ("reeve_drift_total", &[("outcome", "repaired")]);
    reeve.shows(&[(repaired, 2.0)]).await;
    // What is deleted each time is made anew less and less often, until somebody asks for it.
    for _ in 0..2 {
        fixture.there::<ConfigMap>().delete("settings", &DeleteParams::default()).await.unwrap();
        fixture.comes_to_say("settings", "git").await;
    }
    fixture.there::<ConfigMap>().delete("settings", &DeleteParams::default()).await.unwrap();
    fixture.event("Drifted", &["settings", "not made anew for now"]).await;
    fixture.component_is("web", State::Warning, "Drifted").await;
    assert_eq!(fixture.says("settings").await, None);
    let ask = json!({ "metadata": { "annotations": { "reeve.dev/reconcile": "now" } } });
    let component = format!("{}.web", fixture.runtime);
    let api = fixture.api::<reeve_crds::RuntimeComponent>();
    api.patch(&component, &PatchParams::default(), &Patch::Merge(&ask)).await.unwrap();
    fixture.comes_to_say("settings", "git").await;
}

#[tokio::test]
async fn an_object_that_lost_the_label_by_which_it_is_watched_gets_it_back_and_is_not_called_deleted() {
    let fixture = Fixture::new("unwatched").await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let settings = fixture.there::<ConfigMap>();
    let label = "app.kubernetes.io/managed-by";
    let theirs = settings.get("settings").await.unwrap();
    let change = json!({ "metadata": { "labels": { label: "helm" } } });
    settings.patch("settings", &PatchParams::default(), &Patch::Merge(&change)).await.unwrap();
    fixture.event("Drifted", &["settings", label, "put right"]).await;
    let ours = settings.get("settings").await.unwrap();
    assert_eq!((ours.metadata.uid, &*ours.metadata.labels.unwrap()[label]), (theirs.metadata.uid, "reeve"));
    let notes = fixture.api::<Event>().list(&ListParams::default()).await.unwrap().items;
    let notes: Vec<String> = notes.into_iter().filter_map(|event| event.message).collect();
    assert!(!notes.iter().any(|note| note.contains("deleted by somebody")), "{notes:?}");
}

#[tokio::test]
async fn drift_that_is_only_reported_stands_until_the_policy_changes() {
    let fixture = Fixture::new("report").await;
    fixture.runtime(&fixture.runtime, "policy: { drift: { mode: Report } }\n");
    fixture.component(
        "web",
        "1.0.0",
        &(config("settings", "git")
            + &annotated("free", "git", "reeve.dev/drift", "Ignore")
            + &annotated("strict", "git", "reeve.dev/drift", "Repair")),
    );
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.meddle("free", "hand").await;
    fixture.meddle("settings", "hand").await;
    fixture.meddle("strict", "hand").await;
    fixture.comes_to_say("strict", "git").await;
    let component = fixture.component_is("web", State::Warning, "Drifted").await.status.unwrap();
    assert_eq!(component.drift.unwrap().objects, 1);
    fixture.event("Drifted", &["settings", "left as it is"]).await;
    assert_eq!(fixture.says("settings").await.unwrap(), "hand");
    assert_eq!(fixture.says("free").await.unwrap(), "hand");
    fixture.runtime(&fixture.runtime, "");
    fixture.push();
    fixture.comes_to_say("settings", "git").await;
    fixture.component_is("web", State::Ready, "Succeeded").await;
    assert_eq!(fixture.says("free").await.unwrap(), "hand");
}

#[tokio::test]
async fn drift_during_downtime_is_found_at_the_start() {
    let fixture = Fixture::new("downtime").await;
    fixture.component("web", "1.0.0", &config("settings", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    reeve.terminate().await;
    fixture.meddle("settings", "hand").await;
    let _reeve = fixture.reeve();
    fixture.comes_to_say("settings", "git").await;
    fixture.event("Drifted", &["meddler"]).await;
}
