//! Runtimes, and components of one, do not hold each other up.

use k8s_openapi::api::core::v1::ConfigMap;
use reeve_crds::{GitSource, Runtime, State};
use reeve_tests::until;
use serde_json::json;

use super::scene::{Scene, annotated, config};

#[tokio::test]
async fn a_runtime_that_fails_keeps_no_other_back() {
    let scene = Scene::new("isolated").await;
    let other = format!("{}-other", scene.runtime);
    scene.runtime(&other, "");
    let text = format!(
        "{{% if Runtime.name == {other:?} %}}{}{{% else %}}{}{{% endif %}}",
        config("fine", "x"),
        "apiVersion: none.example.com/v1\nkind: Nothing\nmetadata: { name: nothing }\n"
    );
    scene.component("web", "1.0.0", &text);
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied_to(&other, &first).await;
    let failed = scene.component_is("web", State::Warning, "MissingKind").await.status.unwrap();
    assert_eq!(failed.failure.unwrap().object.unwrap().name, "nothing");
    let is_told = |runtime: &Runtime| {
        runtime.status.as_ref().is_some_and(|status| status.state == Some(State::Warning) && status.failure.is_some())
    };
    until(&scene.api::<Runtime>(), &scene.runtime, "the failure shows on the runtime", is_told).await;
}

#[tokio::test]
async fn an_object_that_two_runtimes_want_stays_with_the_first_and_the_other_is_told() {
    let scene = Scene::new("claimed").await;
    scene.component("web", "1.0.0", &config("settings", "x"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    let other = format!("{}-other", scene.runtime);
    scene.runtime(&other, "");
    scene.push();
    let refused = scene.component_of(&other, "web", State::Warning, "Conflict").await.status.unwrap();
    let message = refused.failure.unwrap().message;
    assert!(message.contains(&format!("component web of runtime {}", scene.runtime)), "{message}");
    let labels = scene.there::<ConfigMap>().get("settings").await.unwrap().metadata.labels.unwrap();
    assert_eq!(labels["reeve.dev/runtime"], scene.runtime);
    scene.component_is("web", State::Ready, "Succeeded").await;
}

#[tokio::test]
async fn a_runtime_that_two_sources_have_stays_with_the_first() {
    let scene = Scene::new("two-sources").await;
    scene.component("web", "1.0.0", &config("settings", "x"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    let spec = json!({ "url": scene.repository.file_url(), "ref": { "branch": "main" }, "interval": "1h" });
    scene.apply("reeve.dev/v1alpha1", "GitSource", Some(&scene.namespace), "other", json!({ "spec": spec })).await;
    let is_refused = |source: &GitSource| {
        source.status.as_ref().and_then(|status| status.rejected.as_ref()).is_some_and(|it| it.reason == "Conflict")
    };
    let other = until(&scene.api::<GitSource>(), "other", "the other source is refused", is_refused).await;
    let message = other.status.unwrap().rejected.unwrap().message;
    assert!(message.contains("GitSource fleet"), "{message}");
    scene.component("web", "1.1.0", &config("settings", "y"));
    let second = scene.push();
    let runtime = scene.applied(&second).await;
    assert_eq!(runtime.spec.source_ref.unwrap().name, "fleet");
}

#[tokio::test]
async fn runtimes_of_one_name_in_two_namespaces_keep_apart() {
    let (ours, mut theirs) = (Scene::new("apart").await, Scene::new("apart-too").await);
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
    let scene = Scene::new("let-go").await;
    scene.component("web", "1.0.0", &config("settings", "x"));
    scene.component("kept", "1.0.0", &annotated("kept", "x", "reeve.dev/prune", "Never"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    // Renamed: the old one is gone, and its objects stayed.
    scene.repository.remove(&format!("runtimes/{}.yaml", scene.runtime)).unwrap();
    scene.runtime("renamed", "");
    let second = scene.push();
    scene.applied_to("renamed", &second).await;
    let owner = async |name: &str| {
        let labels = scene.there::<ConfigMap>().get(name).await.unwrap().metadata.labels.unwrap();
        labels["reeve.dev/runtime"].clone()
    };
    assert_eq!((owner("settings").await, owner("kept").await), ("renamed".to_owned(), "renamed".to_owned()));
    // Released: the one who had it lives on without it.
    scene.runtime("heir", "");
    let kept = annotated("kept", "x", "reeve.dev/prune", "Never");
    scene.component("kept", "1.1.0", &format!("{{% if Runtime.name == 'heir' %}}{kept}{{% endif %}}"));
    scene.component("web", "1.1.0", &config("settings-{{ Runtime.name }}", "x"));
    let third = scene.push();
    scene.applied_to("heir", &third).await;
    assert_eq!(owner("kept").await, "heir");
    assert_eq!(scene.says("kept").await.as_deref(), Some("x"));
}
