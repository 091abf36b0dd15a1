//! The API server as the engine sees it: clients by account, and kinds by discovery.
//!
//! All clients are behind the gate of one term, so that nothing is
//! sent once another process may lead.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::{Client, Config};
use parking_lot::Mutex;
use reeve_crds::{Inventory, RuntimeComponent};
use reeve_process::Term;
use reeve_process::gate::{AuthStatus, GatedClientError};

use crate::api_error::ApiError;
use crate::clock::after;

mod breaker;
mod in_flight;
mod kinds;
mod lists;
mod probe;

pub use breaker::Breaker;
pub(crate) use in_flight::InFlightWrites;
pub use kinds::{Kind, Kinds, KindsError, Served};
use lists::{Lists, OfRuntime};

/// An answer that is the metadata alone, or the whole object.
pub(crate) const METADATA_ONLY: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
pub(crate) const JSON: &str = "application/json";
/// Kubernetes takes JSON for the YAML that the name promises.
pub(crate) const APPLY_PATCH: &str = "application/apply-patch+yaml";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";

/// How long a version of Kubernetes is taken to be the one.
const VERSION_LASTS: Duration = Duration::from_mins(10);

/// As whom objects are read and written.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Account {
    /// Reeve itself: its own kinds and nothing else.
    Own,
    /// A `ServiceAccount`, by impersonation.
    Service {
        /// Its namespace.
        namespace: Arc<str>,
        /// Its name.
        name: Arc<str>,
    },
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.write_str("reeve itself"),
            Self::Service { namespace, name } => write!(f, "ServiceAccount {namespace}/{name}"),
        }
    }
}

/// One cluster during one term.
#[derive(Clone)]
pub struct Cluster(Arc<Inner>);

struct Inner {
    term: Term,
    config: Config,
    clients: Mutex<HashMap<Account, Client>>,
    kinds: Kinds,
    breaker: Breaker,
    in_flight: InFlightWrites,
    acceptance: AuthStatus,
    pages: Lists<Inventory>,
    components: Lists<RuntimeComponent>,
    /// Version of Kubernetes, and when it was asked for.
    version: tokio::sync::Mutex<Option<(Timestamp, String)>>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cluster").field(&self.0.config.cluster_url).finish()
    }
}

impl Cluster {
    /// The cluster that this configuration reaches, for as long as the term lasts.
    pub fn new(term: Term, mut config: Config) -> Result<Self, GatedClientError> {
        // Tries again are ours to time and to tell: inside the client they would hold a slot and hide why.
        config.default_retry = false;
        let acceptance = AuthStatus::default();
        let own = term.client_with_auth_status(&config, &acceptance)?;
        let clients = Mutex::new(HashMap::from([(Account::Own, own.clone())]));
        let (kinds, breaker, in_flight) = (Kinds::new(own), Breaker::default(), InFlightWrites::default());
        let version = tokio::sync::Mutex::default();
        Ok(Self(Arc::new(Inner {
            term,
            config,
            clients,
            kinds,
            breaker,
            in_flight,
            acceptance,
            pages: Lists::default(),
            components: Lists::default(),
            version,
        })))
    }

    /// A client of Reeve itself.
    pub fn own(&self) -> Result<Client, GatedClientError> {
        self.client(&Account::Own)
    }

    /// A client of an account; one for all who ask.
    pub fn client(&self, account: &Account) -> Result<Client, GatedClientError> {
        let mut clients = self.0.clients.lock();
        if let Some(client) = clients.get(account) {
            return Ok(client.clone());
        }
        let mut config = self.0.config.clone();
        if let Account::Service { namespace, name } = account {
            config.auth_info.impersonate = Some(format!("system:serviceaccount:{namespace}:{name}"));
        }
        let client = self.0.term.client_with_auth_status(&config, &self.0.acceptance)?;
        clients.insert(account.clone(), client.clone());
        Ok(client)
    }

    /// The version of Kubernetes. Asked for again only after a while, since all runtimes ask.
    pub async fn version(&self, now: Timestamp) -> Result<String, kube::Error> {
        let mut version = self.0.version.lock().await;
        if let Some((_, known)) = version.as_ref().filter(|(asked, _)| now < after(*asked, VERSION_LASTS)) {
            return Ok(known.clone());
        }
        let own = self.own().map_err(|error| kube::Error::Service(error.into()))?;
        let found = own.apiserver_version().await?.git_version;
        Ok(version.insert((now, found)).1.clone())
    }

    /// The inventory pages of a runtime.
    pub async fn pages(&self, namespace: &str, runtime: &Arc<str>) -> Result<Vec<Inventory>, ApiError> {
        self.list(&self.0.pages, namespace, runtime).await
    }

    /// The components of a runtime.
    pub async fn components(&self, namespace: &str, runtime: &Arc<str>) -> Result<Vec<RuntimeComponent>, ApiError> {
        self.list(&self.0.components, namespace, runtime).await
    }

    async fn list<K: OfRuntime>(
        &self,
        lists: &Lists<K>,
        namespace: &str,
        runtime: &Arc<str>,
    ) -> Result<Vec<K>, ApiError> {
        let own = self.own().map_err(|error| ApiError::of(&kube::Error::Service(error.into())))?;
        lists.of(&own, namespace, runtime).await
    }

    /// What the API server serves.
    pub fn kinds(&self) -> &Kinds {
        &self.0.kinds
    }

    /// Whether the API server can be reached.
    pub fn breaker(&self) -> &Breaker {
        &self.0.breaker
    }

    /// What is being written.
    pub(crate) fn in_flight(&self) -> &InFlightWrites {
        &self.0.in_flight
    }

    /// Whether the API server accepts our credentials.
    pub fn acceptance(&self) -> &AuthStatus {
        &self.0.acceptance
    }

    /// The term during which this cluster may be written to.
    pub fn term(&self) -> &Term {
        &self.0.term
    }
}
