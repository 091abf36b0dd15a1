//! Which kinds the API server serves: asked once per group and version, and again when something is missing.

use std::collections::HashMap;
use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ListParams;
use kube::core::ApiResource;
use kube::{Api, Client};
use parking_lot::Mutex;

/// How many definitions are read at once: each may be large.
const DEFINITIONS_AT_ONCE: u32 = 20;

/// A kind that is served.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    /// How to ask for it.
    pub resource: ApiResource,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

/// A kind cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KindsError {
    /// It is not served.
    #[error(
        "{api_version} {kind} is not served by the cluster: install what defines it, or make the component that does a dependency"
    )]
    Missing {
        /// Group and version.
        api_version: String,
        /// The kind.
        kind: String,
    },
    /// The API server could not be asked.
    #[error("cannot ask which kinds {api_version} has")]
    Ask {
        /// Group and version.
        api_version: String,
        /// Why.
        #[source]
        cause: Box<kube::Error>,
    },
}

/// The kinds of a group and version, by name.
pub type Served = Arc<HashMap<String, Kind>>;
type Asking = Arc<tokio::sync::Mutex<()>>;

/// What the API server serves, as far as anybody asked.
#[derive(Clone)]
pub struct Kinds {
    client: Client,
    known: Arc<Mutex<HashMap<String, Served>>>,
    /// Held by whoever asks for a group and version.
    asking: Arc<Mutex<HashMap<String, Asking>>>,
}

impl std::fmt::Debug for Kinds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kinds").finish_non_exhaustive()
    }
}

impl Kinds {
    pub(super) fn new(client: Client) -> Self {
        Self { client, known: Arc::default(), asking: Arc::default() }
    }

    /// A kind that was found before.
    pub fn known(&self, api_version: &str, kind: &str) -> Option<Kind> {
        self.lock().get(api_version).and_then(|served| served.get(kind)).cloned()
    }

    /// A kind; the API server is asked if it was not found before.
    pub async fn find(&self, api_version: &str, kind: &str) -> Result<Kind, KindsError> {
        if let Some(known) = self.known(api_version, kind) {
            return Ok(known);
        }
        let asking = self.asking(api_version);
        let first = asking.try_lock();
        if first.is_err() {
            // Another asks already. If its answer is of no use all ask by themselves, so that none waits for each other.
            drop(asking.lock().await);
            if let Some(known) = self.known(api_version, kind) {
                return Ok(known);
            }
        }
        let found = self.served(api_version).await?.get(kind).cloned();
        found.ok_or_else(|| KindsError::Missing { api_version: api_version.to_owned(), kind: kind.to_owned() })
    }

    /// All kinds of a group and version by name, asked for now. One that is not served has none.
    pub async fn served(&self, api_version: &str) -> Result<Served, KindsError> {
        let served = match self.discover(api_version).await {
            Ok(served) => Arc::new(served),
            Err(kube::Error::Api(status)) if status.code == 404 => {
                self.forget(api_version);
                return Ok(Served::default());
            }
            Err(cause) => {
                return Err(KindsError::Ask { api_version: api_version.to_owned(), cause: Box::new(cause) });
            }
        };
        self.lock().insert(api_version.to_owned(), served.clone());
        Ok(served)
    }

    /// A kind in whatever version it is served, if the one that its objects were applied in no longer is.
    pub async fn find_in_any(&self, api_version: &str, kind: &str) -> Result<Kind, KindsError> {
        let missing = match self.find(api_version, kind).await {
            Err(missing @ KindsError::Missing { .. }) => missing,
            found => return found,
        };
        let Some((group, _)) = api_version.split_once('/') else { return Err(missing) };
        let ask = |cause| KindsError::Ask { api_version: api_version.to_owned(), cause: Box::new(cause) };
        let groups = self.client.list_api_groups().await.map_err(ask)?.groups;
        for version in groups.into_iter().filter(|found| found.name == group).flat_map(|found| found.versions) {
            match self.find(&version.group_version, kind).await {
                Err(KindsError::Missing { .. }) => {}
                found => return found,
            }
        }
        Err(missing)
    }

    /// Whether there is a definition of a kind, although no version of it may be served. Who may not look sees none.
    pub async fn is_defined(&self, client: Client, group: &str, kind: &str) -> Result<bool, kube::Error> {
        let definitions: Api<CustomResourceDefinition> = Api::all(client);
        let mut page = ListParams::default().limit(DEFINITIONS_AT_ONCE);
        loop {
            let listed = match definitions.list(&page).await {
                Err(kube::Error::Api(status)) if status.code == 403 => return Ok(false),
                listed => listed?,
            };
            if listed.items.iter().any(|it| it.spec.group == group && it.spec.names.kind == kind) {
                return Ok(true);
            }
            match listed.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => page.continue_token = Some(token),
                None => return Ok(false),
            }
        }
    }

    /// Forgets a kind that turned out not to be served any more.
    pub fn forget(&self, api_version: &str) {
        self.lock().remove(api_version);
    }

    async fn discover(&self, api_version: &str) -> Result<HashMap<String, Kind>, kube::Error> {
        let list = if api_version.contains('/') {
            self.client.list_api_group_resources(api_version).await?
        } else {
            self.client.list_core_api_resources(api_version).await?
        };
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let kinds = list.resources.into_iter().filter(|resource| !resource.name.contains('/')).map(|found| {
            let resource = ApiResource {
                group: group.to_owned(),
                version: version.to_owned(),
                api_version: api_version.to_owned(),
                kind: found.kind.clone(),
                plural: found.name,
            };
            (found.kind, Kind { resource, namespaced: found.namespaced })
        });
        Ok(kinds.collect())
    }

    fn asking(&self, api_version: &str) -> Asking {
        let mut asking = self.asking.lock();
        asking.entry(api_version.to_owned()).or_default().clone()
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, HashMap<String, Served>> {
        self.known.lock()
    }
}
