//! The engine as a library: a runtime that is kept in another cluster than its Runtime is in.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use reeve_crds::{Inventory, Runtime, RuntimeComponent, State};
use reeve_process::Gate;
use reeve_reconciler::source;
use reeve_reconciler_engine::clock::Clock;
use reeve_reconciler_engine::cluster::{Account, Cluster};
use reeve_reconciler_engine::desired::{Desired, Revision};
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_engine::metrics::Metrics;
use reeve_reconciler_engine::notification::NotificationSender;
use reeve_reconciler_engine::runtime::{ControlPlaneRules, DesiredState, End, FINALIZER, Handle, Setup};
use reeve_reconciler_engine::target::{Target, Targets};
use reeve_reconciler_git::FolderTree;
use reeve_renderer::cache::MemoryCache;
use reeve_renderer::fleet::Loader;
use reeve_renderer::render::Renderer;
use reeve_renderer::resolve;
use reeve_tests::{ControlPlane, until};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::fixture::{Fixture, config};

/// A runtime that a worker keeps in a cluster from another one.
struct Kept {
    home: Fixture,
    handle: Handle,
    worker: JoinHandle<Result<End, ReconcileError>>,
}

impl Kept {
    async fn start(home: Fixture, away: &Fixture) -> Self {
        for namespace in [&home.namespace, &home.target] {
            away.apply("v1", "Namespace", None, namespace, json!({})).await;
        }
        let (desired, object) = wanted(&home).await;
        let (setup, handle) = (setup(target(&home), target(away)), Handle::new());
        handle.send(|message| {
            message.object = Some(Arc::new(object));
            message.desired = DesiredState::Present(Arc::new(desired));
        });
        let worker = tokio::spawn({
            let handle = handle.clone();
            async move {
                loop {
                    match handle.work(setup.clone()).await {
                        // A CRD that is new is not served at once.
                        Err(error) if error.transient => tokio::task::yield_now().await,
                        ended => break ended,
                    }
                }
            }
        });
        Self { home, handle, worker }
    }

    async fn is_ready(&self) {
        let is_ready =
            |runtime: &Runtime| runtime.status.as_ref().is_some_and(|status| status.state == Some(State::Ready));
        until(&self.home.api::<Runtime>(), &self.home.runtime, "it is ready", is_ready).await;
    }

    /// Deletes the Runtime, and gives back how its worker ended.
    async fn delete(self) -> (Fixture, End) {
        let runtimes = self.home.api::<Runtime>();
        runtimes.delete(&self.home.runtime, &DeleteParams::default()).await.unwrap();
        let deleted = runtimes.get(&self.home.runtime).await.unwrap();
        self.handle.send(|message| message.object = Some(Arc::new(deleted)));
        let end = self.worker.await.unwrap().unwrap();
        self.home.gone(&runtimes, &self.home.runtime).await;
        (self.home, end)
    }
}

fn config_maps(fixture: &Fixture, namespace: &str) -> Api<ConfigMap> {
    Api::namespaced(fixture.client.clone(), namespace)
}

#[tokio::test]
async fn a_runtime_is_kept_in_another_cluster_than_its_runtime_is_in() {
    let plane = ControlPlane::start().await.unwrap();
    let away = Fixture::on(&plane, "away").await;
    let home = Fixture::new("home").await;
    home.component("web", "1.0.0", &config("settings", "git"));
    home.component_with("maker", "1.0.0", "{ target: ControlPlane }", &config("made", "git"));
    let kept = Kept::start(home, &away).await;
    kept.is_ready().await;

    // Each object, and what is known of it, is in its own cluster.
    let home = &kept.home;
    let there = |fixture: &Fixture| config_maps(fixture, &home.target);
    let pages = |fixture: &Fixture| Api::<Inventory>::namespaced(fixture.client.clone(), &home.namespace);
    for (here, other, object, page) in [
        (&away, home, "settings", format!("{}.0", home.runtime)),
        (home, &away, "made", format!("{}.control-plane.0", home.runtime)),
    ] {
        assert!(there(here).get_opt(object).await.unwrap().is_some(), "{object}");
        assert!(there(other).get_opt(object).await.unwrap().is_none(), "{object}");
        assert_eq!(pages(here).get(&page).await.unwrap().spec.entries.len(), 1, "{page}");
        assert!(pages(other).get_opt(&page).await.unwrap().is_none(), "{page}");
    }

    // What somebody takes away is put back, in the one cluster as in the other.
    for (here, object) in [(&away, "settings"), (home, "made")] {
        let before = there(here).get(object).await.unwrap().metadata.uid;
        there(here).delete(object, &DeleteParams::default()).await.unwrap();
        until(&there(here), object, "it is made anew", |made: &ConfigMap| made.metadata.uid != before).await;
    }

    // And all of it goes with the Runtime.
    let (home, end) = kept.delete().await;
    assert_eq!(end, End::Gone);
    for fixture in [&home, &away] {
        for object in ["settings", "made"] {
            assert!(config_maps(fixture, &home.target).get_opt(object).await.unwrap().is_none(), "{object}");
        }
        let pages = Api::<Inventory>::namespaced(fixture.client.clone(), &home.namespace);
        assert!(pages.list(&ListParams::default()).await.unwrap().items.is_empty());
    }
}

#[tokio::test]
async fn an_object_is_its_owners_whose_runtime_is_in_another_cluster() {
    let plane = ControlPlane::start().await.unwrap();
    let away = Fixture::on(&plane, "away").await;
    let (first, second) = (Fixture::new("first").await, Fixture::new("second").await);
    let shared =
        |say: &str| config("shared", say).replace("name: shared", &format!("name: shared, namespace: {}", away.target));
    first.component("web", "1.0.0", &shared("first"));
    second.component("web", "1.0.0", &shared("second"));
    let first = Kept::start(first, &away).await;
    first.is_ready().await;
    let object = || async { config_maps(&away, &away.target).get("shared").await.unwrap() };
    let before = object().await.metadata;

    let second = Kept::start(second, &away).await;
    let component = format!("{}.web", second.home.runtime);
    until(&second.home.api::<RuntimeComponent>(), &component, "it is refused", |component: &RuntimeComponent| {
        let conditions = component.status.iter().flat_map(|status| &status.conditions);
        conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.reason == "Conflict")
    })
    .await;
    assert_eq!(object().await.metadata.resource_version, before.resource_version);

    // Once its owner lets it go, the other one has it.
    first.delete().await;
    second.is_ready().await;
    assert_eq!(object().await.data.unwrap()["say"], "second");
}

/// What the repository wants of its runtime, and the Runtime as it is in the cluster.
async fn wanted(fixture: &Fixture) -> (Desired, Runtime) {
    let tree = FolderTree::open(fixture.repository.work_tree()).unwrap();
    let (fleet, findings) = Loader::new().load(&tree).unwrap();
    assert!(findings.is_empty(), "{findings:?}");
    let resolved = resolve::resolve(&fleet, &fixture.runtime).unwrap().unwrap();
    let cache = MemoryCache::new(1 << 20);
    let bundle = Renderer::new(&fleet.settings, &cache).runtime(&resolved).unwrap();
    let desired = Desired::new(&bundle, &fixture.namespace, &[], Revision::default(), None).unwrap();
    let mut runtime = Runtime::new(&fixture.runtime, source::spec(&resolved).unwrap());
    runtime.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
    runtime.spec.deletion_policy = reeve_crds::runtime::policy::DeletionPolicy::Delete;
    let runtime = fixture.api::<Runtime>().create(&PostParams::default(), &runtime).await.unwrap();
    (desired, runtime)
}

fn target(fixture: &Fixture) -> Target {
    let config = fixture.cluster.config().unwrap();
    Target::new(Cluster::new(Gate::always_open().term().unwrap(), config).unwrap(), Clock::system())
}

fn setup(home: Target, runtime: Target) -> Setup {
    Setup {
        targets: Targets::two(home, runtime),
        clock: Clock::system(),
        writes: Arc::new(Semaphore::new(8)),
        control_plane: Arc::new(ControlPlaneRules { account: Account::Own, kinds: vec!["/ConfigMap".to_owned()] }),
        identity: "test".to_owned(),
        notifications: NotificationSender::channel().0,
        metrics: Metrics::default(),
        stop: CancellationToken::new(),
    }
}
