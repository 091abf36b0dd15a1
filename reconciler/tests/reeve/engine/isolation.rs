//! Runtimes, and components of one, do not hold each other up.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams};
use reeve_crds::{GitSource, Runtime, State};
use reeve_tests::until;
use serde_json::json;

use super::fixture::{Fixture, annotated, config};

#[tokio::test]
async fn a_runtime_that_fails_keeps_no_other_back() {
    let fixture = Fixture::new("isolated").await;
    let other = format!("{}-other", fixture.runtime);
    fixture.runtime(&other, "");
    let text = format!(
        "{{% if Runtime.name == {other:?} %}}{}{{% else %}}{}{{% endif %}}",
        config("fine", "x"),
        "apiVersion: none.example.com/v1\nkind: Nothing\nmetadata: { name: nothing }\n"
    );
    fixture.component("web", "1.0.0", &text);
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied_to(&other, &first).await;
    let failed = fixture.component_is("web", State::Warning, "MissingKind").await.status.unwrap();
    assert_eq!(failed.failure.unwrap().object.unwrap().name, "nothing");
    let is_told = |runtime: &Runtime| {
        runtime.status.as_ref().is_some_and(|status| status.state == Some(State::Warning) && status.failure.is_some())
    };
    until(&fixture.api::<Runtime>(), &fixture.runtime, "the failure shows on the runtime", is_told).await;
}

#[tokio::test]
async fn an_object_that_two_runtimes_want_stays_with_the_first_and_the_other_is_told() {
    let fixture = Fixture::new("claimed").await;
    fixture.component("web", "1.0.0", &config("settings", "x"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let other = format!("{}-other", fixture.runtime);
    fixture.runtime(&other, "");
    fixture.push();
    let refused = fixture.component_of(&other, "web", State::Warning, "Conflict").await.status.unwrap();
    let message = refused.failure.unwrap().message;
    assert!(message.contains(&format!("component web of runtime {}", fixture.runtime)), "{message}");
    let labels = fixture.there::<ConfigMap>().get("settings").await.unwrap().metadata.labels.unwrap();
    assert_eq!(labels["reeve.dev/runtime"], fixture.runtime);
    fixture.component_is("web", State::Ready, "Succeeded").await;
}

#[tokio::test]
async fn a_runtime_that_two_sources_have_stays_with_the_first() {
    let fixture = Fixture::new("two-sources").await;
    fixture.component("web", "1.0.0", &config("settings", "x"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let spec = json!({ "url": fixture.repository.file_url(), "ref": { "branch": "main" }, "interval": "1h" });
    fixture.apply("reeve.dev/v1alpha1", "GitSource", Some(&fixture.namespace), "other", json!({ "spec": spec })).await;
    let is_refused = |source: &GitSource| {
        source.status.as_ref().and_then(|status| status.rejected.as_ref()).is_some_and(|it| it.reason == "Conflict")
    };
    let other = until(&fixture.api::<GitSource>(), "other", "the other source is refused", is_refused).await;
    let message = other.status.unwrap().rejected.unwrap().message;
    assert!(message.contains("GitSource fleet"), "{message}");
    fixture.component("web", "1.1.0", &config("settings", "y"));
    let second = fixture.push();
    let runtime = fixture.applied(&second).await;
    assert_eq!(runtime.spec.source_ref.unwrap().name, "fleet");

    // When the first lets it go, the other is judged again, though its commit is the same.
    fixture.api::<GitSource>().delete("fleet", &DeleteParams::default()).await.unwrap();
    fixture.gone(&fixture.api::<GitSource>(), "fleet").await;
    let ask = json!({ "metadata": { "annotations": { "reeve.dev/reconcile": "now" } } });
    fixture.api::<GitSource>().patch("other", &PatchParams::default(), &Patch::Merge(&ask)).await.unwrap();
    let is_accepted = |source: &GitSource| !is_refused(source);
    until(&fixture.api::<GitSource>(), "other", "the other source is not refused any more", is_accepted).await;
    fixture.api::<Runtime>().delete(&fixture.runtime, &DeleteParams::default()).await.unwrap();
    until(&fixture.api::<Runtime>(), &fixture.runtime, "the other has it", |runtime| {
        runtime.spec.source_ref.as_ref().is_some_and(|source| source.name == "other")
    })
    .await;
}

#[tokio::test]
async fn runtimes_of_one_name_in_two_namespaces_keep_apart() {
    let (ours, mut theirs) = (Fixture::new("apart").await, Fixture::new("apart-too").await);
    theirs.repository.remove(&format!("runtimes/{}.yaml", theirs.runtime)).unwrap();
    (theirs.runtime, theirs.target) = (ours.runtime.clone(), ours.target.clone());
    theirs.runtime(&theirs.runtime, "");
    ours.component("web", "1.0.0", &config("settings", "ours"));
    let first = ours.push();
    ours.follow().await;
    let _reeves = (ours.reeve(), theirs.reeve());
    ours.applied(&first).await;

    theirs.component("web", "1.0.0", &[config("settings", "theirs"), config("more", "theirs")].concat());
    theirs.push();
    theirs.follow().await;
    let refused = theirs.component_is("web", State::Warning, "Conflict").await.status.unwrap();
    let message = refused.failure.unwrap().message;
    assert!(message.contains(&format!("component web of runtime {}/{}", ours.namespace, ours.runtime)), "{message}");
    assert_eq!(theirs.says("more").await.as_deref(), Some("theirs"));

    // What another has is not taken away with what is ours, nor what we have with what is theirs.
    theirs.drop_component("web");
    theirs.component("other", "1.0.0", &config("more", "still theirs"));
    let moved = theirs.push();
    theirs.applied(&moved).await;
    assert_eq!(ours.says("settings").await.as_deref(), Some("ours"));
    ours.drop_component("web");
    let gone = ours.push();
    ours.applied(&gone).await;
    assert_eq!(ours.says("settings").await, None);
    assert_eq!(theirs.says("more").await.as_deref(), Some("still theirs"));
}

#[tokio::test]
async fn what_a_runtime_let_go_of_may_be_had_by_another() {
    let fixture = Fixture::new("let-go").await;
    fixture.component("web", "1.0.0", &config("settings", "x"));
    fixture.component("kept", "1.0.0", &annotated("kept", "x", "reeve.dev/prune", "Never"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    // Renamed: the old one is gone, and its objects stayed.
    fixture.repository.remove(&format!("runtimes/{}.yaml", fixture.runtime)).unwrap();
    fixture.runtime("renamed", "");
    let second = fixture.push();
    fixture.applied_to("renamed", &second).await;
    let owner = async |name: &str| {
        let labels = fixture.there::<ConfigMap>().get(name).await.unwrap().metadata.labels.unwrap();
        labels["reeve.dev/runtime"].clone()
    };
    assert_eq!((owner("settings").await, owner("kept").await), ("renamed".to_owned(), "renamed".to_owned()));
    // Released: the one who had it lives on without it.
    fixture.runtime("heir", "");
    let kept = annotated("kept", "x", "reeve.dev/prune", "Never");
    fixture.component("kept", "1.1.0", &format!("{{% if Runtime.name == 'heir' %}}{kept}{{% endif %}}"));
    fixture.component("web", "1.1.0", &config("settings-{{ Runtime.name }}", "x"));
    let third = fixture.push();
    fixture.applied_to("heir", &third).await;
    assert_eq!(owner("kept").await, "heir");
    assert_eq!(fixture.says("kept").await.as_deref(), Some("x"));
}
