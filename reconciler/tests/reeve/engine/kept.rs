//! The engine as a library: a worker of a test's own, in one cluster or two.

use std::sync::Arc;

use kube::api::{DeleteParams, PostParams};
use reeve_crds::runtime::policy::DeletionPolicy;
use reeve_crds::{Runtime, State};
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
use reeve_renderer::fleet::{Fleet, Loader};
use reeve_renderer::render::Renderer;
use reeve_renderer::resolve::{self, Resolved};
use reeve_tests::until;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::fixture::Fixture;

/// A runtime that a worker keeps.
pub(super) struct Kept {
    pub(super) home: Fixture,
    handle: Handle,
    worker: JoinSet<Result<End, ReconcileError>>,
}

impl Kept {
    /// In another cluster than its Runtime is in.
    pub(super) async fn away(home: Fixture, away: &Fixture) -> Self {
        for namespace in [&home.namespace, &home.target] {
            away.apply("v1", "Namespace", None, namespace, json!({})).await;
        }
        let targets = Targets::two(target(&home, Clock::system()), target(away, Clock::system()));
        Self::start(home, targets).await
    }

    pub(super) async fn start(home: Fixture, targets: Targets) -> Self {
        let (setup, handle) = (setup(targets), Handle::new());
        let object = runtime(&home).await;
        handle.send(|message| {
            message.object = Some(Arc::new(object));
            message.desired = desired(&home);
        });
        let mut worker = JoinSet::new();
        worker.spawn({
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

    /// Tells the worker what the repository says now.
    pub(super) fn send(&self) {
        self.handle.send(|message| message.desired = desired(&self.home));
    }

    pub(super) async fn is_ready(&self) {
        let is_ready =
            |runtime: &Runtime| runtime.status.as_ref().is_some_and(|status| status.state == Some(State::Ready));
        until(&self.home.api::<Runtime>(), &self.home.runtime, "it is ready", is_ready).await;
    }

    /// Deletes the Runtime, and gives back how its worker ended.
    pub(super) async fn delete(mut self) -> (Fixture, End) {
        let runtimes = self.home.api::<Runtime>();
        runtimes.delete(&self.home.runtime, &DeleteParams::default()).await.unwrap();
        let deleted = runtimes.get(&self.home.runtime).await.unwrap();
        self.handle.send(|message| message.object = Some(Arc::new(deleted)));
        let end = self.worker.join_next().await.unwrap().unwrap().unwrap();
        self.home.gone(&runtimes, &self.home.runtime).await;
        (self.home, end)
    }
}

/// What the repository wants of its runtime.
fn desired(fixture: &Fixture) -> DesiredState {
    let (fleet, resolved) = resolved(fixture);
    let bundle = Renderer::new(&fleet.settings, &MemoryCache::new(1 << 20)).runtime(&resolved).unwrap();
    let desired = Desired::new(&bundle, &fixture.namespace, &[], Revision::default(), None).unwrap();
    DesiredState::Present(Arc::new(desired))
}

/// Its Runtime, made in the cluster.
async fn runtime(fixture: &Fixture) -> Runtime {
    let mut runtime = Runtime::new(&fixture.runtime, source::spec(&resolved(fixture).1).unwrap());
    runtime.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
    runtime.spec.deletion_policy = DeletionPolicy::Delete;
    fixture.api::<Runtime>().create(&PostParams::default(), &runtime).await.unwrap()
}

fn resolved(fixture: &Fixture) -> (Fleet, Resolved) {
    let tree = FolderTree::open(fixture.repository.work_tree()).unwrap();
    let (fleet, findings) = Loader::new().load(&tree).unwrap();
    assert!(findings.is_empty(), "{findings:?}");
    let resolved = resolve::resolve(&fleet, &fixture.runtime).unwrap().unwrap();
    (fleet, resolved)
}

/// A cluster, and what is known of it by this clock.
pub(super) fn target(fixture: &Fixture, clock: Clock) -> Target {
    let config = fixture.cluster.config().unwrap();
    Target::new(Cluster::new(Gate::always_open().term().unwrap(), config).unwrap(), clock)
}

fn setup(targets: Targets) -> Setup {
    Setup {
        targets,
        clock: Clock::system(),
        writes: Arc::new(Semaphore::new(8)),
        control_plane: Arc::new(ControlPlaneRules { account: Account::Own, kinds: vec!["/ConfigMap".to_owned()] }),
        identity: "test".to_owned(),
        notifications: NotificationSender::channel().0,
        metrics: Metrics::default(),
        stop: CancellationToken::new(),
    }
}
