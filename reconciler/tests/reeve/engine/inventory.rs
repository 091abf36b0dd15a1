//! The pages of an inventory are there as long as their Runtime is, and until its objects are seen to, whoever deletes what.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Resource as _, ResourceExt as _};
use reeve_crds::{Inventory, Runtime, RuntimeComponent};
use reeve_tests::until;
use serde_json::json;

use super::fixture::{Fixture, config};
use super::proxy::{Proxy, Rule};
use super::reeve::Reeve;

impl Fixture {
    /// A runtime at rest, who looks after it, and the name of its page.
    async fn at_rest(&self) -> (Reeve, String) {
        self.component("web", "1.0.0", &(config("settings", "one") + &config("more", "two")));
        let first = self.push();
        self.follow().await;
        let reeve = self.reeve();
        self.applied(&first).await;
        let page = format!("{}.0", self.runtime);
        let is_stored = |page: &Inventory| page.spec.counts.applied == 2;
        until(&self.api::<Inventory>(), &page, "the page says what was applied", is_stored).await;
        (reeve, page)
    }

    /// Waits until the component goes with this Runtime, and the page, which is whole, with nothing.
    async fn is_kept_for(&self, runtime: &Runtime, page: &str) {
        let uid = runtime.uid().unwrap();
        let goes_along =
            |metadata: &ObjectMeta| metadata.owner_references.iter().flatten().map(|owner| &owner.uid).eq([&uid]);
        let is_whole = |page: &Inventory| page.metadata.owner_references.is_none() && page.spec.entries.len() == 2;
        until(&self.api::<Inventory>(), page, "the page goes with nothing", is_whole).await;
        let component = format!("{}.web", self.runtime);
        until(&self.api::<RuntimeComponent>(), &component, "the component goes with the Runtime", |component| {
            goes_along(component.meta())
        })
        .await;
    }
}

#[tokio::test]
async fn what_a_runtime_that_was_deleted_by_hand_left_is_kept_for_the_one_that_is_made_anew() {
    let fixture = Fixture::new("made-anew").await;
    let (_reeve, page) = fixture.at_rest().await;
    let api = fixture.api::<Runtime>();
    let before = api.get(&fixture.runtime).await.unwrap().uid();
    api.delete(&fixture.runtime, &DeleteParams::default()).await.unwrap();
    let is_another = |runtime: &Runtime| runtime.uid() != before;
    let runtime = until(&api, &fixture.runtime, "it is made anew", is_another).await;
    fixture.is_kept_for(&runtime, &page).await;
}

#[tokio::test]
async fn a_page_with_an_owner_and_a_component_without_one_are_put_right_at_a_start() {
    let fixture = Fixture::new("restored").await;
    let (reeve, page) = fixture.at_rest().await;
    reeve.terminate().await;
    let runtime = fixture.api::<Runtime>().get(&fixture.runtime).await.unwrap();
    let alone = Patch::Merge(json!({ "metadata": { "ownerReferences": null } }));
    let owned = Patch::Merge(json!({ "metadata": { "ownerReferences": [runtime.owner_ref(&()).unwrap()] } }));
    let component = format!("{}.web", fixture.runtime);
    fixture.api::<Inventory>().patch(&page, &PatchParams::default(), &owned).await.unwrap();
    fixture.api::<RuntimeComponent>().patch(&component, &PatchParams::default(), &alone).await.unwrap();
    let _reeve = fixture.reeve();
    fixture.is_kept_for(&runtime, &page).await;
}

#[tokio::test]
async fn a_runtime_that_is_deleted_in_the_foreground_while_nobody_looks_takes_its_objects_along() {
    let fixture = Fixture::new("foreground").await;
    fixture.runtime(&fixture.runtime, "policy: { deletionPolicy: Delete }\n");
    let (reeve, page) = fixture.at_rest().await;
    reeve.terminate().await;
    let before = fixture.there::<ConfigMap>().get("settings").await.unwrap().uid();
    fixture.api::<Runtime>().delete(&fixture.runtime, &DeleteParams::foreground()).await.unwrap();
    let is_collected =
        |runtime: &Runtime| runtime.finalizers().iter().all(|finalizer| finalizer != "foregroundDeletion");
    until(&fixture.api::<Runtime>(), &fixture.runtime, "the garbage collector is done with it", is_collected).await;
    let entries = fixture.api::<Inventory>().get(&page).await.unwrap().spec.entries;
    assert_eq!(entries.len(), 2, "what is known of its objects stays");
    let _reeve = fixture.reeve();
    let is_another = |object: &ConfigMap| object.uid() != before;
    until(&fixture.there::<ConfigMap>(), "settings", "it went, and Git has it made anew", is_another).await;
}

#[tokio::test]
async fn the_inventory_goes_before_its_runtime() {
    let fixture = Fixture::new("goes-too").await;
    let (_reeve, page) = fixture.at_rest().await;
    fixture.repository.remove(&format!("runtimes/{}.yaml", fixture.runtime)).unwrap();
    fixture.push();
    fixture.gone(&fixture.api::<Runtime>(), &fixture.runtime).await;
    assert!(fixture.api::<Inventory>().get_opt(&page).await.unwrap().is_none());
}

#[tokio::test]
async fn a_page_of_a_runtime_at_rest_that_somebody_deletes_comes_back_with_all_its_entries() {
    let fixture = Fixture::new("page-lost").await;
    let (_reeve, page) = fixture.at_rest().await;
    let api = fixture.api::<Inventory>();
    for _ in 0..2 {
        let before = api.get(&page).await.unwrap().uid();
        api.delete(&page, &DeleteParams::default()).await.unwrap();
        let is_back = |page: &Inventory| page.uid() != before && page.spec.entries.len() == 2;
        until(&api, &page, "the page is back", is_back).await;
    }
}

/// Looks at a question once, without an answer.
fn ask<T>(question: &mut (impl Future<Output = T> + Unpin)) {
    assert!(question.now_or_never().is_none());
}

#[tokio::test]
async fn what_is_stored_of_many_runtimes_is_listed_once_for_all_who_ask() {
    let fixture = Fixture::new("listed").await;
    let runtimes: Vec<Arc<str>> = (0..40).map(|number| format!("runtime-{number}").into()).collect();
    for runtime in &runtimes {
        let spec = serde_json::from_value(json!({ "runtime": &**runtime })).unwrap();
        let page = Inventory::new(&format!("{runtime}.0"), spec);
        fixture.api::<Inventory>().create(&PostParams::default(), &page).await.unwrap();
    }
    let proxy = Proxy::start(&fixture.cluster, Rule::Pass).await;
    let cluster = proxy.engine_cluster(fixture.data.path()).await;
    let pages = |runtime: &Arc<str>| {
        let (cluster, namespace, runtime) = (cluster.clone(), fixture.namespace.clone(), runtime.clone());
        async move {
            let pages = cluster.pages(&namespace, &runtime).await.unwrap();
            assert_eq!(pages.iter().map(kube::ResourceExt::name_any).collect::<Vec<_>>(), [format!("{runtime}.0")]);
        }
    };
    join_all(runtimes.iter().map(&pages)).await;
    // The first one asks alone.
    assert_eq!(proxy.requests(), 2);
    // A few are asked for one by one, since there may be very many others.
    join_all(runtimes[..4].iter().map(&pages)).await;
    assert_eq!(proxy.requests(), 6);
}

#[tokio::test]
async fn who_waits_for_somebody_who_gives_up_is_answered_all_the_same() {
    let fixture = Fixture::new("given-up").await;
    let proxy = Proxy::start(&fixture.cluster, Rule::Pass).await;
    let cluster = proxy.engine_cluster(fixture.data.path()).await;
    let runtime: Arc<str> = "nobody".into();
    let pages = || Box::pin(cluster.pages(&fixture.namespace, &runtime));
    let (mut first, mut second, mut third) = (pages(), pages(), pages());
    for question in [&mut first, &mut second, &mut third] {
        ask(question);
    }
    // Whoever asks next asks for both that wait.
    drop(first);
    ask(&mut second);
    drop(second);
    assert!(third.await.unwrap().is_empty());
}
