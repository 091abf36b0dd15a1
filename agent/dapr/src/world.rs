//! What a decision looks at: resources, Secrets, the control plane of Dapr, workloads with their pods, and the records.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use reeve_crds::runtime::policy::{DaprPolicy, DaprReload};

pub use crate::entry::SourceKind;
use crate::fingerprint::Hash;
use crate::record::{Record, Template};
use crate::resource::{Resource, ResourceId};
use crate::version::Sidecar;

/// All that is known at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct World {
    /// Dapr's resources, as they are applied.
    pub resources: BTreeMap<ResourceId, Resource>,
    /// Hashes of the values of Secrets and `ConfigMaps`. A source that is not there is missing in the cluster.
    pub sources: BTreeMap<SourceId, BTreeMap<String, Hash>>,
    /// Names the key that those hashes were made with.
    pub hash_key: Hash,
    /// Dapr's control plane.
    pub control_plane: ControlPlane,
    /// Workloads that have or run sidecars, and those of the control plane.
    pub workloads: BTreeMap<WorkloadId, Workload>,
    /// What is on record of each workload.
    pub records: BTreeMap<WorkloadId, Record>,
    /// The policy of the runtime.
    pub policy: DaprPolicy,
}

/// A Secret or a `ConfigMap`.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct SourceId {
    /// Its kind.
    pub kind: SourceKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Dapr's control plane.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ControlPlane {
    /// Its namespace.
    pub namespace: String,
    /// Whether an injector is ready: without one, new pods have no sidecar.
    pub injector_ready: bool,
    /// Whether an operator is ready: without one, sidecars neither start nor hear of changes.
    pub operator_ready: bool,
    /// The image that the injector gives to sidecars.
    pub sidecar_image: Option<String>,
}

/// The kind of a pod's owner.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum OwnerKind {
    /// A Deployment.
    Deployment,
    /// A `StatefulSet`.
    StatefulSet,
    /// A `DaemonSet`.
    DaemonSet,
    /// A `ReplicaSet` that no Deployment owns.
    ReplicaSet,
    /// A Rollout of Argo.
    Rollout,
    /// A Job, of a `CronJob` or not.
    Job,
    /// Nothing owns the pod, or a node does.
    Pod,
}

impl OwnerKind {
    /// The kind as objects write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::ReplicaSet => "ReplicaSet",
            Self::Rollout => "Rollout",
            Self::Job => "Job",
            Self::Pod => "Pod",
        }
    }
}

/// What names a workload.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct WorkloadId {
    /// Its namespace.
    pub namespace: String,
    /// Its kind.
    pub kind: OwnerKind,
    /// Its name.
    pub name: String,
}

impl std::fmt::Display for WorkloadId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}/{}", self.kind.as_str(), self.namespace, self.name)
    }
}

/// What a workload has to do with Dapr.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Role {
    /// Its pods have a sidecar that the injector puts there.
    #[default]
    Sidecar,
    /// It runs daprd for the pods of an app (dapr-shared).
    Shared,
    /// It is part of Dapr's control plane.
    ControlPlane,
}

/// How a workload replaces its pods.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Strategy {
    /// A few at a time.
    Rolling {
        /// How many pods may be unavailable at once, in pods.
        max_unavailable: u32,
    },
    /// All at once.
    Recreate,
    /// Only those that somebody deletes.
    OnDelete,
    /// Only those above a partition.
    Partitioned,
}

/// What a sidecar reads once, when it starts: its environment and its mounted files.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct StartValue {
    /// Secret or `ConfigMap`.
    pub kind: SourceKind,
    /// Its name.
    pub name: String,
    /// The key; `None` where all of them are read.
    pub key: Option<String>,
}

/// A `PodDisruptionBudget` over the pods of a workload.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DisruptionBudget {
    /// Its name.
    pub name: String,
    /// How many pods it lets go now.
    pub allowed: u32,
}

/// Whether the sidecars of a workload took over what was applied since the change began.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Evidence {
    /// Their logs can be read and say nothing of it yet.
    #[default]
    Silent,
    /// All of them say so.
    Seen,
    /// One of them says that it could not.
    Failed(String),
    /// Their logs cannot be read.
    Unreadable,
}

/// A pod that is not on its way out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Pod {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// The token that its template had.
    pub token: Option<String>,
    /// Its sidecar; `None` where it asks for one and has none.
    pub sidecar: Option<Sidecar>,
    /// The image of its sidecar.
    pub image: Option<String>,
    /// Whether it is ready.
    pub ready: bool,
}

/// A workload that has sidecars.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and no two exclude each other")]
pub struct Workload {
    /// What it has to do with Dapr.
    pub role: Role,
    /// Dapr's app-id.
    pub app_id: String,
    /// The Configuration that its template names.
    pub configuration: Option<String>,
    /// Whether its pods get the containers of pluggable components.
    pub injects_containers: bool,
    /// What its sidecars read when they start.
    pub start_values: BTreeSet<StartValue>,
    /// Whether its template names the image of the sidecar itself.
    pub names_image: bool,
    /// The policy of its annotation.
    pub reload: Option<DaprReload>,
    /// How many pods it should have.
    pub replicas: u32,
    /// How it replaces pods.
    pub strategy: Strategy,
    /// Whether somebody paused it.
    pub paused: bool,
    /// Whether it says itself that its rollout does not come to an end.
    pub stuck: bool,
    /// The token in its template.
    pub token: Option<String>,
    /// When a Rollout has last carried out a restart that it was asked for.
    pub restarted_at: Option<Timestamp>,
    /// The tightest budget over its pods.
    pub budget: Option<DisruptionBudget>,
    /// Its pods.
    pub pods: Vec<Pod>,
    /// Whether its sidecars took over what was applied.
    pub evidence: Evidence,
}

impl Workload {
    /// The tokens of restarts that the template and the pods have.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        self.token.iter().chain(self.pods.iter().filter_map(|pod| pod.token.as_ref())).map(String::as_str)
    }

    /// A workload with a sidecar, of which nothing else is special.
    pub fn new(app_id: &str, replicas: u32) -> Self {
        Self {
            role: Role::Sidecar,
            app_id: app_id.to_owned(),
            configuration: None,
            injects_containers: false,
            start_values: BTreeSet::new(),
            names_image: false,
            reload: None,
            replicas,
            strategy: Strategy::Rolling { max_unavailable: 0 },
            paused: false,
            stuck: false,
            token: None,
            restarted_at: None,
            budget: None,
            pods: Vec::new(),
            evidence: Evidence::Silent,
        }
    }

    /// What its template says of its sidecar.
    pub fn template(&self) -> Template<'_> {
        Template { app_id: &self.app_id, configuration: self.configuration.as_deref() }
    }

    /// The least capable of its sidecars; unknown where it has none.
    pub fn sidecar(&self) -> Sidecar {
        let sidecars = self.pods.iter().filter_map(|pod| pod.sidecar.clone());
        sidecars.reduce(Sidecar::least).unwrap_or(Sidecar::UNKNOWN)
    }

    /// Pods that ask for a sidecar and have none.
    pub fn pods_without_sidecar(&self) -> impl Iterator<Item = &Pod> {
        self.pods.iter().filter(|pod| self.role == Role::Sidecar && pod.sidecar.is_none())
    }
}
