//! What becomes of runtimes when they, or the sources that they come from, are deleted.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{DeleteParams, Patch, PatchParams};
use reeve_crds::{GitSource, Runtime, State};
use reeve_tests::until;
use serde_json::json;

use super::fixture::{Fixture, config};
use super::proxy::{Proxy, Rule};

const GOES: &str = "policy: { deletionPolicy: Delete, timeout: 1s }\n";

impl Fixture {
    /// A runtime whose objects go with it.
    async fn mortal(prefix: &str) -> Self {
        let fixture = Self::new(prefix).await;
        fixture.runtime(&fixture.runtime, GOES);
        fixture.component("web", "1.0.0", &config("settings", "git"));
        fixture
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
    let fixture = Fixture::mortal("rests").await;
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.patch_source(json!({ "spec": { "suspend": true } })).await;
    let rests = |source: &GitSource| source.status.as_ref().is_some_and(|it| it.state == Some(State::Suspended));
    until(&fixture.api::<GitSource>(), "fleet", "the source is suspended", rests).await;
    fixture.patch_source(json!({ "spec": { "deletionPolicy": "Delete" } })).await;
    let is_held = |source: &GitSource| source.metadata.finalizers.is_some();
    until(&fixture.api::<GitSource>(), "fleet", "the source is held", is_held).await;
    fixture.delete_source().await;
    fixture.gone(&fixture.api::<GitSource>(), "fleet").await;
    fixture.gone(&fixture.api::<Runtime>(), &fixture.runtime).await;
    assert!(fixture.there::<ConfigMap>().get_opt("settings").await.unwrap().is_none());
}

#[tokio::test]
async fn a_runtime_that_is_deleted_waits_for_no_source_that_rests() {
    let fixture = Fixture::mortal("rests-on").await;
    fixture.component_with("api", "1.0.0", "{ dependsOn: [web] }", &config("api-{{ Runtime.name }}", "git"));
    fixture.chart("web", "1.0.0", &config("{{ Runtime.name }}", "git"));
    let other = format!("{}-other", fixture.runtime);
    fixture.runtime(&other, GOES);
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.applied_to(&other, &first).await;
    fixture.patch_source(json!({ "spec": { "suspend": true } })).await;
    let rests = |source: &GitSource| source.status.as_ref().is_some_and(|it| it.state == Some(State::Suspended));
    until(&fixture.api::<GitSource>(), "fleet", "the source is suspended", rests).await;
    // The source would make each anew, and does not.
    for runtime in [&other, &fixture.runtime] {
        fixture.api::<Runtime>().delete(runtime, &DeleteParams::default()).await.unwrap();
        fixture.gone(&fixture.api::<Runtime>(), runtime).await;
        assert!(fixture.there::<ConfigMap>().get_opt(runtime).await.unwrap().is_none());
    }
}

#[tokio::test]
async fn a_source_that_waits_for_its_runtimes_asks_once_for_their_deletion() {
    let fixture = Fixture::mortal("waits").await;
    let first = fixture.push();
    fixture
        .follow_with(json!({ "url": fixture.repository.file_url(), "interval": "1s", "deletionPolicy": "Delete" }))
        .await;
    let proxy = Proxy::start(&fixture.cluster, Rule::Pass).await;
    let _reeve = fixture.reeve_through(&proxy.kubeconfig(fixture.data.path()), &[]);
    fixture.applied(&first).await;
    let hold = |finalizers: serde_json::Value| {
        let patch = json!({ "metadata": { "finalizers": finalizers } });
        let settings = fixture.there::<ConfigMap>();
        async move { settings.patch("settings", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap() }
    };
    hold(json!(["example.com/hold"])).await;
    fixture.delete_source().await;
    // Longer than the interval of the source: the patience of a runtime, and another try.
    fixture.component_is("web", State::Error, "TimedOut").await;
    fixture.event("Failed", &["is still there"]).await;
    let asked =
        proxy.deletions().iter().filter(|path| path.ends_with(&format!("/runtimes/{}", fixture.runtime))).count();
    assert_eq!(asked, 1);
    hold(json!(null)).await;
    fixture.gone(&fixture.api::<GitSource>(), "fleet").await;
}

#[tokio::test]
async fn a_runtime_whose_source_is_gone_can_be_deleted() {
    let fixture = Fixture::mortal("alone").await;
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.delete_source().await;
    let rests = |runtime: &Runtime| runtime.status.as_ref().is_some_and(|it| it.state == Some(State::Suspended));
    until(&fixture.api::<Runtime>(), &fixture.runtime, "the runtime rests", rests).await;
    fixture.api::<Runtime>().delete(&fixture.runtime, &DeleteParams::default()).await.unwrap();
    fixture.gone(&fixture.api::<Runtime>(), &fixture.runtime).await;
    assert!(fixture.there::<ConfigMap>().get_opt("settings").await.unwrap().is_none());
}

#[tokio::test]
async fn a_namespace_that_is_deleted_takes_its_source_and_its_runtimes_along() {
    let fixture = Fixture::mortal("namespace").await;
    fixture.component("web", "1.0.0", &(config("settings", "git") + &config("more", "git")));
    fixture.component_with("base", "1.0.0", "{ dependsOn: [web] }", &config("base", "git"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let namespaces: kube::Api<Namespace> = kube::Api::all(fixture.client.clone());
    namespaces.delete(&fixture.namespace, &DeleteParams::default()).await.unwrap();
    fixture.gone(&namespaces, &fixture.namespace).await;
    for name in ["settings", "more", "base"] {
        assert!(fixture.there::<ConfigMap>().get_opt(name).await.unwrap().is_none(), "{name}");
    }
}
