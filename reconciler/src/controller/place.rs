//! In which cluster a runtime is kept, and which one it has to leave first.
//!
//! What it was applied to last is in the status of its Runtime; nothing there means the cluster of the Runtime itself.

use std::sync::Arc;

use jiff::Timestamp;
use kube::Api;
use reeve_crds::condition::types;
use reeve_crds::runtime::target::{KubeConfigRef, TargetType};
use reeve_crds::runtime::{RuntimeCluster, RuntimeStatus};
use reeve_crds::runtime_component::ComponentTarget;
use reeve_crds::{Reason, Runtime, annotation};
use reeve_process::error_chain;
use reeve_reconciler_engine::api_error::ApiError;
use reeve_reconciler_engine::conditions::set_condition;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_engine::patch::{patch_status, to_json};
use reeve_reconciler_engine::runtime::{Message, Setup};
use reeve_reconciler_engine::target::Targets;

use crate::remote::{RemoteCluster, RemoteClusters};

/// A cluster that was reached, and by which Secret.
pub(super) type Way = (KubeConfigRef, Arc<RemoteCluster>);

/// Where a worker is to work.
pub(super) struct Place {
    /// On what.
    pub(super) targets: Targets,
    /// The way there, unless it is the cluster of the Runtime.
    pub(super) way: Option<Way>,
    /// What the Runtime has to say of it first; a cluster that it leaves is in its status already.
    records: bool,
}

/// Where the objects of a runtime are, or are to be.
enum Cluster {
    Home,
    Remote(Way),
}

impl Cluster {
    fn uid<'a>(&'a self, home: &'a str) -> &'a str {
        match self {
            Self::Home => home,
            Self::Remote((_, cluster)) => &cluster.uid,
        }
    }
}

/// Finds the cluster that a runtime is to be kept in. While there is something of it in another one, that one.
pub(super) async fn find_place(
    clusters: &RemoteClusters,
    home: &Targets,
    message: &Message,
    object: &Runtime,
) -> Result<Place, ReconcileError> {
    let target = &object.spec.target;
    let wanted = target.kube_config_secret_ref.as_ref().filter(|_| target.kind == TargetType::KubeConfig);
    let had = former(object);
    if wanted.is_none() && had.is_none() {
        return Ok(Place { targets: home.clone(), way: None, records: false });
    }
    let home_uid = clusters.home_uid().await?;
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    let is_going = object.metadata.deletion_timestamp.is_some() || message.desired.is_absent();
    if is_going || target.kind == TargetType::Agent {
        // It goes from where it is, wherever Git wanted it last.
        let there = match had {
            Some(had) => find_former(clusters, home_uid, namespace, had).await?,
            None => Cluster::Home,
        };
        return Ok(Place { records: false, ..Place::in_use(home, there, home_uid) });
    }
    let next = match wanted {
        Some(reference) => Cluster::Remote((reference.clone(), clusters.find(namespace, reference).await?)),
        None => Cluster::Home,
    };
    let left = match had {
        Some(had) if had.uid == next.uid(home_uid) => None,
        Some(had) => Some(find_former(clusters, home_uid, namespace, had).await?),
        None if next.uid(home_uid) == home_uid || !has_objects(home, namespace, object).await? => None,
        None => Some(Cluster::Home),
    };
    Ok(match left {
        Some(left) => Place::former(home, left),
        None => Place::in_use(home, next, home_uid),
    })
}

/// The cluster that a runtime was applied to last, unless somebody says that it is gone.
fn former(object: &Runtime) -> Option<&RuntimeCluster> {
    let had = object.status.as_ref()?.cluster.as_ref()?;
    let forgotten = object.metadata.annotations.as_ref().and_then(|all| all.get(annotation::FORGET_CLUSTER));
    (forgotten != Some(&had.uid)).then_some(had)
}

async fn find_former(
    clusters: &RemoteClusters,
    home_uid: &str,
    namespace: &str,
    had: &RuntimeCluster,
) -> Result<Cluster, ReconcileError> {
    let Some(reference) = had.kube_config_secret_ref.as_ref().filter(|_| had.uid != home_uid) else {
        return Ok(Cluster::Home);
    };
    let advice =
        format!("if that cluster is gone, annotate this Runtime with {}={}", annotation::FORGET_CLUSTER, had.uid);
    let found = clusters.find(namespace, reference).await.map_err(|error| {
        let message =
            format!("{}; objects of this runtime are in the cluster that it leads to: {advice}", error.message);
        ReconcileError { message, ..error }
    })?;
    if found.uid == had.uid {
        return Ok(Cluster::Remote((reference.clone(), found)));
    }
    let message = format!(
        "the kubeconfig in Secret {} leads to cluster {}, and the objects are in cluster {}: give it the kubeconfig of \
         the latter back; {advice}",
        reference.name, found.uid, had.uid
    );
    Err(ReconcileError::terminal(Reason::ClusterChanged, message))
}

/// Whether there is something of a runtime in the cluster of its Runtime, besides what it has in the control plane.
async fn has_objects(home: &Targets, namespace: &str, object: &Runtime) -> Result<bool, ReconcileError> {
    let name: Arc<str> = object.metadata.name.as_deref().unwrap_or_default().into();
    let pages = home.home.cluster.pages(namespace, &name).await.map_err(|api_error| {
        let message = format!("cannot list the inventory of {name}: {}", api_error.message);
        ReconcileError { transient: true, ..ReconcileError::of_request(message, api_error) }
    })?;
    Ok(pages.iter().any(|page| page.spec.target == ComponentTarget::Runtime && !page.spec.entries.is_empty()))
}

impl Place {
    fn in_use(home: &Targets, cluster: Cluster, home_uid: &str) -> Self {
        let (targets, way) = match cluster {
            Cluster::Home => (home.clone(), None),
            // Two names of one cluster: what it has is no other's.
            Cluster::Remote(way) if way.1.uid == home_uid => (home.clone(), Some(way)),
            Cluster::Remote(way) => (Targets::two(home.home.clone(), way.1.target.clone()), Some(way)),
        };
        Self { targets, way, records: true }
    }

    fn former(home: &Targets, cluster: Cluster) -> Self {
        let (target, way) = match cluster {
            Cluster::Home => (home.home.clone(), None),
            Cluster::Remote(way) => (way.1.target.clone(), Some(way)),
        };
        Self { targets: Targets::former(home.home.clone(), target), way, records: false }
    }

    /// What the status of the Runtime has to be before anything is done here, if it is not that already.
    fn status(&self, object: &Runtime, now: Timestamp) -> Option<RuntimeStatus> {
        let before = object.status.clone().unwrap_or_default();
        let mut status = before.clone();
        if self.records {
            status.cluster = self.way.as_ref().map(|(reference, cluster)| RuntimeCluster {
                uid: cluster.uid.clone(),
                kube_config_secret_ref: Some(reference.clone()),
            });
        }
        let generation = object.metadata.generation;
        let message = "its API server answers";
        if self.way.is_some() {
            let is_told =
                |condition: &reeve_crds::Condition| condition.type_ == types::REACHABLE && condition.status == "True";
            if !status.conditions.iter().any(is_told) {
                set_condition(
                    &mut status.conditions,
                    types::REACHABLE,
                    true,
                    Reason::Succeeded,
                    message,
                    generation,
                    now,
                );
            }
        } else {
            status.conditions.retain(|condition| condition.type_ != types::REACHABLE);
        }
        (status != before).then_some(status)
    }

    /// Has the Runtime say where its objects are before any is there: what is applied must be found again, whatever becomes
    /// of the target. The Runtime then, if that was news.
    pub(super) async fn record(&self, setup: &Setup, object: &Runtime) -> Result<Option<Runtime>, ReconcileError> {
        let now = setup.clock.now();
        if self.status(object, now).is_none() {
            return Ok(None);
        }
        write_status(setup, object, |object| self.status(object, now)).await
    }
}

/// Forgets where the objects of a runtime were that has none any more.
pub(super) async fn forget_cluster(setup: &Setup, object: &Runtime) -> Result<Option<Runtime>, ReconcileError> {
    let without = |object: &Runtime| {
        let mut status = object.status.clone().unwrap_or_default();
        status.cluster.take().map(|_| status)
    };
    write_status(setup, object, without).await
}

/// Changes the status of a Runtime as it is now, which its watch may not have shown yet. None if it needs no change.
async fn write_status(
    setup: &Setup,
    object: &Runtime,
    change: impl FnOnce(&Runtime) -> Option<RuntimeStatus>,
) -> Result<Option<Runtime>, ReconcileError> {
    let own = setup.targets.home.cluster.own();
    let own = own.map_err(|error| ReconcileError::transient(Reason::Unreachable, error_chain(&error)))?;
    let api: Api<Runtime> = Api::namespaced(own, object.metadata.namespace.as_deref().unwrap_or_default());
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let failed = |api_error: ApiError| {
        let message = format!("cannot write the status: {}", api_error.message);
        ReconcileError { transient: true, ..ReconcileError::of_request(message, api_error) }
    };
    let mut object = api.get(name).await.map_err(|error| failed(ApiError::of(&error)))?;
    let Some(status) = change(&object) else { return Ok(Some(object)) };
    let version = patch_status(&api, name, &to_json(&status)).await.map_err(failed)?;
    object.status = Some(status);
    object.metadata.resource_version = version.map(|version| version.to_string());
    object.metadata.managed_fields = None;
    Ok(Some(object))
}
