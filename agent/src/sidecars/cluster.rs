//! All objects that a decision looks at, kept up to date by watches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::DynamicObject;
use kube::core::PartialObjectMeta;
use kube::{Client, ResourceExt};
use reeve_agent_dapr::Kind;
use reeve_agent_dapr::world::{OwnerKind, SourceId, SourceKind};
use reeve_crds::{DaprWorkload, Runtime};
use tokio::sync::Notify;

use super::kinds::{self, Optional};
use super::names;
use super::watch::{Watched, Watches};
use super::{RuntimeName, Scope, Settings};

/// Kinds of pods' owners that every cluster has.
const OWNERS: [OwnerKind; 4] =
    [OwnerKind::Deployment, OwnerKind::StatefulSet, OwnerKind::DaemonSet, OwnerKind::ReplicaSet];

/// Stores of all watched kinds.
pub(super) struct Cluster {
    watches: Watches,
    /// Where workloads are, those of Dapr's control plane included.
    scope: Scope,
    pods: Watched<Pod>,
    budgets: Watched<PodDisruptionBudget>,
    records: Watched<DaprWorkload>,
    secrets: Watched<PartialObjectMeta<Secret>>,
    config_maps: Watched<PartialObjectMeta<ConfigMap>>,
    runtime: Option<Watched<Runtime>>,
    owners: BTreeMap<OwnerKind, Watched<DynamicObject>>,
    resources: BTreeMap<Kind, Watched<DynamicObject>>,
}

/// What is there at one moment.
#[derive(Debug, Default)]
pub(super) struct Objects {
    pub(super) pods: Vec<Arc<Pod>>,
    pub(super) budgets: Vec<Arc<PodDisruptionBudget>>,
    pub(super) records: Vec<Arc<DaprWorkload>>,
    pub(super) owners: BTreeMap<OwnerKind, Vec<Arc<DynamicObject>>>,
    pub(super) resources: BTreeMap<Kind, Vec<Arc<DynamicObject>>>,
    pub(super) runtime: Option<Arc<Runtime>>,
}

impl Cluster {
    /// Starts the watches of the kinds that every cluster has.
    pub(super) fn watch(client: Client, settings: &Settings) -> Self {
        let scope = settings.scope.with(&settings.dapr_namespace);
        let mut watches = Watches::new(client);
        let named = |watches: &mut Watches, runtime: &RuntimeName| watches.named(&runtime.namespace, &runtime.name);
        Self {
            pods: watches.typed(&scope, strip_pod),
            budgets: watches.typed(&scope, |_| {}),
            records: watches.typed(&scope, |_| {}),
            secrets: watches.metadata(&settings.scope),
            config_maps: watches.metadata(&settings.scope),
            runtime: settings.runtime.as_ref().map(|runtime| named(&mut watches, runtime)),
            owners: OWNERS
                .into_iter()
                .filter_map(|kind| Some((kind, watches.dynamic(&kinds::owner(kind)?, &scope, |_| {}))))
                .collect(),
            resources: BTreeMap::new(),
            watches,
            scope,
        }
    }

    /// Is notified of every change.
    pub(super) fn changed(&self) -> Arc<Notify> {
        self.watches.changed()
    }

    /// Watches those of the optional kinds that are served by now, and waits until all is known. Returns the new ones.
    pub(super) async fn refresh(&mut self, client: &Client) -> Result<Vec<Optional>, kube::Error> {
        let mut added = Vec::new();
        for kind in kinds::served(client).await? {
            match kind {
                Optional::Dapr(kind) if !self.resources.contains_key(&kind) => {
                    self.resources.insert(kind, self.watches.dynamic(&kinds::dapr(kind), &self.scope, |_| {}));
                }
                Optional::Rollout if !self.owners.contains_key(&OwnerKind::Rollout) => {
                    let Some(rollouts) = kinds::owner(OwnerKind::Rollout) else { continue };
                    self.owners.insert(OwnerKind::Rollout, self.watches.dynamic(&rollouts, &self.scope, |_| {}));
                }
                Optional::Dapr(_) | Optional::Rollout => continue,
            }
            added.push(kind);
        }
        self.ready().await;
        Ok(added)
    }

    async fn ready(&self) {
        self.pods.ready().await;
        self.budgets.ready().await;
        self.records.ready().await;
        self.secrets.ready().await;
        self.config_maps.ready().await;
        for watched in self.owners.values().chain(self.resources.values()) {
            watched.ready().await;
        }
        if let Some(runtime) = &self.runtime {
            runtime.ready().await;
        }
    }

    /// The versions of those of these that are there.
    pub(super) fn versions(&self, needed: &BTreeSet<SourceId>) -> BTreeMap<SourceId, String> {
        let version = |id: &SourceId| match id.kind {
            SourceKind::Secret => self.secrets.version(&id.namespace, &id.name),
            SourceKind::ConfigMap => self.config_maps.version(&id.namespace, &id.name),
        };
        needed.iter().filter_map(|id| Some((id.clone(), version(id)?))).collect()
    }

    /// What is there now.
    pub(super) fn objects(&self) -> Objects {
        Objects {
            pods: self.pods.all(),
            budgets: self.budgets.all(),
            records: self.records.all(),
            owners: self.owners.iter().map(|(kind, watched)| (*kind, watched.all())).collect(),
            resources: self.resources.iter().map(|(kind, watched)| (*kind, watched.all())).collect(),
            runtime: self.runtime.as_ref().and_then(|runtime| runtime.all().into_iter().next()),
        }
    }
}

/// Of pods that have nothing to do with Dapr the name alone is kept.
fn strip_pod(pod: &mut Pod) {
    let enabled = pod.metadata.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(names::ENABLED));
    let containers =
        pod.spec.iter().flat_map(|spec| spec.containers.iter().chain(spec.init_containers.iter().flatten()));
    let is_of_dapr = names::is_of_control_plane(pod.labels());
    if !enabled && !is_of_dapr && !containers.into_iter().any(|container| container.name == names::DAPRD) {
        pod.spec = None;
        pod.status = None;
        pod.metadata.annotations = None;
    }
}
