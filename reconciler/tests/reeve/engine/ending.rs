//! What becomes of runtimes when they, or the sources that they come from, are deleted.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams};
use reeve_crds::{GitSource, Runtime, State};
use reeve_tests::until;
use serde_json::json;

use super::proxy::{Proxy, Rule};
use super::scene::{Scene, config};

const GOES: &str = "policy: { deletionPolicy: Delete, timeout: 1s }\n";

impl Scene {
    /// A runtime whose objects go with it.
    async fn mortal(prefix: &str) -> Self {
        let scene = Self::new(prefix).await;
        scene.runtime(&scene.runtime, GOES);
        scene.component("web", "1.0.0", &config("settings", "git"));
        scene
    }

    async fn patch_source(&self, patch: serde_json::Value) {
        let params = PatchParams::default();
        self.api::<GitSource>().patch("fleet", &params, &Patch::Merge(&patch)).await.unwrap();
    }

    async fn delete_source(&self) {
        self.api::<GitSource>().delete("fleet", &DeleteParams::default()).await.unwrap();
    }
}

#[tokio::test]
async fn a_source_that_is_deleted_while_it_is_suspended_takes_its_runtimes_along_if_it_says_so() {
    let scene = Scene::mortal("rests").await;
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    scene.patch_source(json!({ "spec": { "suspend": true } })).await;
    let rests = |source: &GitSource| source.status.as_ref().is_some_and(|it| it.state == Some(State::Suspended));
    until(&scene.api::<GitSource>(), "fleet", "the source is suspended", rests).await;
    scene.patch_source(json!({ "spec": { "deletionPolicy": "Delete" } })).await;
    let is_held = |source: &GitSource| source.metadata.finalizers.is_some();
    until(&scene.api::<GitSource>(), "fleet", "the source is held", is_held).await;
    scene.delete_source().await;
    scene.gone(&scene.api::<GitSource>(), "fleet").await;
    scene.gone(&scene.api::<Runtime>(), &scene.runtime).await;
    assert!(scene.there::<ConfigMap>().get_opt("settings").await.unwrap().is_none());
}

#[tokio::test]
async fn a_source_that_waits_for_its_runtimes_asks_once_for_their_deletion() {
    let scene = Scene::mortal("waits").await;
    let first = scene.push();
    scene
        .follow_with(json!({ "url": scene.repository.file_url(), "interval": "1s", "deletionPolicy": "Delete" }))
        .await;
    let proxy = Proxy::start(&scene.cluster, Rule::Pass).await;
    let _reeve = scene.reeve_through(&proxy.kubeconfig(scene.data.path()), &[]);
    scene.applied(&first).await;
    let hold = |finalizers: serde_json::Value| {
        let patch = json!({ "metadata": { "finalizers": finalizers } });
        let settings = scene.there::<ConfigMap>();
        async move { settings.patch("settings", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap() }
    };
    hold(json!(["example.com/hold"])).await;
    scene.delete_source().await;
    // Longer than the interval of the source: the patience of a runtime, and another try.
    scene.component_is("web", State::Error, "TimedOut").await;
    scene.event("Failed", &["is still there"]).await;
    let asked = proxy.deletions().iter().filter(|path| path.ends_with(&format!("/runtimes/{}", scene.runtime))).count();
    assert_eq!(asked, 1);
    hold(json!(null)).await;
    scene.gone(&scene.api::<GitSource>(), "fleet").await;
}

#[tokio::test]
async fn a_runtime_whose_source_is_gone_can_be_deleted() {
    let scene = Scene::mortal("alone").await;
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    scene.delete_source().await;
    let rests = |runtime: &Runtime| runtime.status.as_ref().is_some_and(|it| it.state == Some(State::Suspended));
    until(&scene.api::<Runtime>(), &scene.runtime, "the runtime rests", rests).await;
    scene.api::<Runtime>().delete(&scene.runtime, &DeleteParams::default()).await.unwrap();
    scene.gone(&scene.api::<Runtime>(), &scene.runtime).await;
    assert!(scene.there::<ConfigMap>().get_opt("settings").await.unwrap().is_none());
}
