//! The clusters that kubeconfigs in Secrets lead to: one way to each for all runtimes that are kept there.
//!
//! A cluster is known by the uid of its namespace `kube-system`, whatever its address and whoever we are in it. Each has
//! slots for writes of its own, so that one which hangs takes nothing from the others.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::Api;
use parking_lot::Mutex;
use reeve_crds::Reason;
use reeve_crds::runtime::target::KubeConfigRef;
use reeve_process::error_chain;
use reeve_reconciler_engine::api_error::ApiError;
use reeve_reconciler_engine::clock::Clock;
use reeve_reconciler_engine::cluster::Cluster;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_engine::target::Target;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

mod kubeconfig;
mod secrets;

use secrets::Secrets;

/// How long a cluster may take to say who it is.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);
/// How long a connection may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// How many writes may be under way in one cluster, of all its runtimes together.
const WRITES: usize = 16;
/// How often it is asked whether a cluster still answers, and accepts us.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// A Secret with a kubeconfig: namespace, name and key.
type Id = (Arc<str>, Arc<str>, Arc<str>);

/// The clusters that kubeconfigs in Secrets lead to. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct RemoteClusters(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    home: Target,
    clock: Clock,
    home_uid: tokio::sync::OnceCell<String>,
    secrets: Secrets,
    known: Mutex<HashMap<Id, Arc<Slot>>>,
}

/// The way to one cluster, for as long as somebody goes it. Whoever looks for it first finds it for all.
type Slot = tokio::sync::Mutex<Weak<RemoteCluster>>;

/// A cluster that was reached.
#[derive(Debug)]
pub(crate) struct RemoteCluster {
    /// The uid of its namespace `kube-system`.
    pub(crate) uid: String,
    /// Objects are applied to it.
    pub(crate) target: Target,
    /// How many writes may be under way in it.
    pub(crate) writes: Arc<Semaphore>,
    /// The version of the Secret that led there.
    version: String,
    /// Asks whether it is there, until nobody goes there any more.
    _probe: JoinSet<()>,
}

impl RemoteCluster {
    /// Whether it answers, and accepts us.
    fn is_well(&self) -> bool {
        !self.target.cluster.breaker().is_open() && self.target.cluster.acceptance().is_accepted()
    }
}

impl RemoteClusters {
    /// Those that Secrets of this cluster lead to.
    pub(crate) fn new(home: Target, clock: Clock) -> Self {
        let secrets = Secrets::new(home.cluster.clone(), clock.clone());
        Self(Arc::new(Inner { home, clock, home_uid: tokio::sync::OnceCell::new(), secrets, known: Mutex::default() }))
    }

    /// The uid of the cluster that Runtimes are in.
    pub(crate) async fn home_uid(&self) -> Result<&str, ReconcileError> {
        let found = self.0.home_uid.get_or_try_init(|| self.uid_of(&self.0.home.cluster)).await;
        found.map(String::as_str).map_err(|error| {
            let message = format!("the cluster of the Runtime does not say who it is: {}", error.message);
            ReconcileError { message, ..error }
        })
    }

    /// The cluster that a Secret leads to.
    pub(crate) async fn find(
        &self,
        namespace: &str,
        reference: &KubeConfigRef,
    ) -> Result<Arc<RemoteCluster>, ReconcileError> {
        let id: Id = (namespace.into(), reference.name.as_str().into(), reference.key.as_str().into());
        let slot = {
            let mut known = self.0.known.lock();
            // Whoever goes somewhere or looks for it holds the slot, or what is in it.
            known.retain(|_, slot| {
                Arc::strong_count(slot) > 1 || slot.try_lock().is_ok_and(|found| found.strong_count() > 0)
            });
            known.entry(id).or_default().clone()
        };
        let mut found = slot.lock().await;
        let (version, kubeconfig) = self.kubeconfig(namespace, reference).await?;
        if let Some(same) = found.upgrade().filter(|known| known.version == version && known.is_well()) {
            return Ok(same);
        }
        let reached = Arc::new(self.reach(reference, version, &kubeconfig).await?);
        *found = Arc::downgrade(&reached);
        Ok(reached)
    }

    /// Resolves when a cluster has to be found anew: its Secret is another one, it answers no more, or accepts us no more.
    pub(crate) async fn lost(&self, namespace: &str, reference: &KubeConfigRef, cluster: &RemoteCluster) -> Lost {
        let unwell = async {
            loop {
                self.0.clock.sleep(LOOK_EVERY).await;
                if cluster.target.cluster.breaker().is_open() {
                    return Lost::Silent;
                }
            }
        };
        tokio::select! {
            () = self.0.secrets.changed(namespace, &reference.name, &cluster.version) => Lost::Changed,
            () = cluster.target.cluster.acceptance().wait_for(false) => Lost::Refused,
            lost = unwell => lost,
        }
    }

    /// Resolves when a Secret is another one than that of this version; none if there was no Secret.
    pub(crate) async fn secret_changed(&self, namespace: &str, reference: &KubeConfigRef) {
        let version = self.kubeconfig_version(namespace, reference).await;
        self.0.secrets.changed(namespace, &reference.name, &version).await;
    }

    async fn kubeconfig_version(&self, namespace: &str, reference: &KubeConfigRef) -> String {
        let Ok(own) = self.0.home.cluster.own() else { return String::new() };
        let api: Api<Secret> = Api::namespaced(own, namespace);
        let found = api.get_metadata_opt(&reference.name).await.ok().flatten();
        found.and_then(|found| found.metadata.resource_version).unwrap_or_default()
    }

    /// What a Secret says, and its version.
    async fn kubeconfig(
        &self,
        namespace: &str,
        reference: &KubeConfigRef,
    ) -> Result<(String, Vec<u8>), ReconcileError> {
        let KubeConfigRef { name, key } = reference;
        let own = self.0.home.cluster.own().map_err(|error| {
            ReconcileError::transient(
                Reason::Unreachable,
                format!("cannot read Secret {name}: {}", error_chain(&error)),
            )
        })?;
        let found = Api::<Secret>::namespaced(own, namespace).get_opt(name).await.map_err(|error| {
            let api_error = ApiError::of(&error);
            let message = format!("cannot read Secret {name}: {}", api_error.message);
            ReconcileError { transient: true, ..ReconcileError::of_request(message, api_error) }
        })?;
        let Some(mut secret) = found else {
            let message =
                format!("there is no Secret {name} in {namespace}: create it, with the kubeconfig as `{key}`");
            return Err(ReconcileError::terminal(Reason::SecretNotFound, message));
        };
        let kubeconfig = secret.data.as_mut().and_then(|data| data.remove(key)).ok_or_else(|| {
            let keys: Vec<&String> = secret.data.iter().flatten().map(|(key, _)| key).collect();
            let message = format!("Secret {name} has no key `{key}` with a kubeconfig: it has {keys:?}");
            ReconcileError::terminal(Reason::InvalidCredentials, message)
        })?;
        Ok((secret.metadata.resource_version.unwrap_or_default(), kubeconfig.0))
    }

    async fn reach(
        &self,
        reference: &KubeConfigRef,
        version: String,
        kubeconfig: &[u8],
    ) -> Result<RemoteCluster, ReconcileError> {
        let KubeConfigRef { name, key } = reference;
        let refused = |error: String| {
            let message = format!("the kubeconfig in Secret {name}, key `{key}`, is not used: {error}");
            ReconcileError::terminal(Reason::KubeconfigRefused, message)
        };
        let mut config = kubeconfig::read(kubeconfig).await.map_err(|error| refused(error.to_string()))?;
        config.connect_timeout = Some(CONNECT_WITHIN);
        let server = config.cluster_url.to_string();
        let term = self.0.home.cluster.term().clone();
        let cluster = Cluster::new(term, config).map_err(|error| refused(error_chain(&error)))?;
        let uid = self.uid_of(&cluster).await.map_err(|error| {
            let message = format!("the cluster at {server} does not let us know who it is: {}", error.message);
            ReconcileError { message, ..error }
        })?;
        let target = Target::new(cluster.clone(), self.0.clock.clone());
        let clock = self.0.clock.clone();
        let mut probe = JoinSet::new();
        probe.spawn(async move { cluster.probe(&clock).await });
        Ok(RemoteCluster { uid, target, writes: Arc::new(Semaphore::new(WRITES)), version, _probe: probe })
    }

    async fn uid_of(&self, cluster: &Cluster) -> Result<String, ReconcileError> {
        let own = cluster.own().map_err(|error| ReconcileError::transient(Reason::Unreachable, error_chain(&error)))?;
        let namespaces = Api::<Namespace>::all(own);
        let asked = tokio::select! {
            asked = namespaces.get_metadata("kube-system") => asked,
            () = self.0.clock.sleep(ANSWER_WITHIN) => {
                let message = format!("no answer within {} seconds", ANSWER_WITHIN.as_secs());
                return Err(ReconcileError::transient(Reason::Timeout, message));
            }
        };
        let found = asked.map_err(|error| {
            let api_error = ApiError::of(&error);
            let message = api_error.message.clone();
            ReconcileError { transient: true, ..ReconcileError::of_request(message, api_error) }
        })?;
        Ok(found.metadata.uid.unwrap_or_default())
    }
}

/// Why a cluster has to be found anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// Its Secret is another one.
    Changed,
    /// It answers no more.
    Silent,
    /// It does not accept us any more.
    Refused,
}

impl Lost {
    /// What happened.
    pub(crate) fn why(self) -> &'static str {
        match self {
            Self::Changed => "the Secret with its kubeconfig changed",
            Self::Silent => "its API server does not answer any more",
            Self::Refused => "its API server does not accept our credentials any more",
        }
    }

    /// The same in one word.
    pub(crate) fn reason(self) -> Reason {
        match self {
            Self::Changed => Reason::Progressing,
            Self::Silent => Reason::Unreachable,
            Self::Refused => Reason::Unauthorized,
        }
    }
}
