//! Keeps a ledger stored: many changes, few writes.
//!
//! What must be written down before an object is created is waited for; whoever asks meanwhile shares the write. What
//! only records an outcome is written when there is time. Pages are replaced with their resourceVersion, so a writer
//! that was superseded is refused. Pages have no owner: the garbage collector would take them away before their Runtime,
//! if that is deleted in the foreground, and with them all that is known of its objects.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::Api;
use kube::api::ObjectMeta;
use kube::core::PartialObjectMeta;
use parking_lot::{Mutex, MutexGuard};
use reeve_crds::Reason;
use reeve_crds::runtime_component::ComponentTarget;
use reeve_crds::{Inventory as InventoryPage, InventorySpec, Runtime};
use reeve_process::gate::GatedClientError;
use reeve_renderer_objects::bundle::RUNTIME_LABEL;
use reeve_renderer_objects::key::ObjectKey;
use tokio::sync::{Notify, watch};

use super::{Change, Entry, Inventory, Stored};
use crate::FIELD_MANAGER;
use crate::api_error::ApiError;
use crate::clock::Clock;
use crate::cluster::{Cluster, JSON, METADATA_ONLY};
use crate::owner::Owner;

/// How long an outcome may wait to be written down. A page is dear to the API server, which looks at every entry of it.
const LAZY: Duration = Duration::from_mins(1);

/// The inventory could not be read or written.
#[derive(Clone, Debug, thiserror::Error)]
pub enum InventoryError {
    /// It could not be read.
    #[error("cannot read the inventory of {runtime}: {}", api_error.message)]
    Read {
        /// Whose.
        runtime: Arc<str>,
        /// Why.
        api_error: ApiError,
    },
    /// A page could not be written.
    #[error("cannot write the inventory page {page}: {}", api_error.message)]
    Write {
        /// Which.
        page: String,
        /// Why.
        api_error: ApiError,
    },
    /// Someone else wrote it meanwhile.
    #[error("the inventory page {page} was changed by someone else")]
    Fenced {
        /// Which.
        page: String,
    },
}

/// A ledger and its pages in the cluster. Clones are the same.
#[derive(Clone, Debug)]
pub struct InventoryWriter(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    inventory: Mutex<Pending>,
    /// The number of the last change that is stored, or why storing failed.
    stored: watch::Sender<Result<u64, InventoryError>>,
    urgent: Notify,
    lazy: Notify,
}

/// An inventory with the changes that are not stored yet. Pure: the writer and the simulation go by it.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) inventory: Inventory,
    pub(crate) changes: u64,
    /// Objects whose entries must be stored before they are created, and the change that did not get there yet.
    awaited: HashMap<ObjectKey, u64>,
}

impl Pending {
    pub(crate) fn new(inventory: Inventory) -> Self {
        Self { inventory, changes: 0, awaited: HashMap::new() }
    }

    /// The number of these changes, if they change anything.
    pub(crate) fn record_changes(&mut self, changes: impl IntoIterator<Item = Change>) -> Option<u64> {
        let mut is_new = false;
        for change in changes {
            is_new |= self.inventory.change(change);
        }
        is_new.then(|| {
            self.changes += 1;
            self.changes
        })
    }

    /// Puts entries in. The change that has to be stored before their objects, and `others`, may be created.
    pub(crate) fn put<'a>(
        &mut self,
        entries: Vec<(ObjectKey, Entry)>,
        others: impl IntoIterator<Item = &'a ObjectKey>,
    ) -> Option<u64> {
        let keys: Vec<ObjectKey> = entries.iter().map(|(key, _)| key.clone()).collect();
        if let Some(number) = self.record_changes(entries.into_iter().map(|(key, entry)| Change::Put(key, entry))) {
            self.awaited.extend(keys.iter().map(|key| (key.clone(), number)));
        }
        let awaited = |key: &ObjectKey| self.awaited.get(key).copied();
        keys.iter().filter_map(awaited).chain(others.into_iter().filter_map(awaited)).max()
    }

    /// Everything up to this change is stored.
    pub(crate) fn stored(&mut self, number: u64) {
        self.awaited.retain(|_, awaited| *awaited > number);
    }
}

/// What another runtime says that it has: nothing, if its Runtime is gone.
pub async fn inventory_of(cluster: &Cluster, owner: &Owner) -> Result<Inventory, ApiError> {
    let own = cluster.own().map_err(|error| ApiError::of(&kube::Error::Service(error.into())))?;
    let runtimes: Api<Runtime> = Api::namespaced(own, owner.namespace());
    match runtimes.get_metadata_opt(owner.runtime()).await.map_err(|error| ApiError::of(&error))? {
        Some(_) => pages_of(cluster, owner).await,
        None => Ok(Inventory::load(owner.runtime().into(), Vec::new())),
    }
}

/// What the pages in a cluster say that another runtime has there, wherever its Runtime is.
pub async fn pages_of(cluster: &Cluster, owner: &Owner) -> Result<Inventory, ApiError> {
    let runtime: Arc<str> = owner.runtime().into();
    let pages = cluster.pages(owner.namespace(), &runtime).await?;
    Ok(Inventory::load(runtime, pages.into_iter().map(stored)))
}

fn stored(page: InventoryPage) -> (InventorySpec, Stored) {
    (page.spec, page.metadata.into())
}

/// Where the pages of the runtimes of a namespace are: in the cluster that their objects are in.
#[derive(Clone, Debug)]
pub struct Stores(Vec<Store>);

/// The pages that one cluster has.
#[derive(Clone, Debug)]
pub struct Store {
    cluster: Cluster,
    namespace: Arc<str>,
    api: Api<InventoryPage>,
    of: &'static [ComponentTarget],
}

impl Store {
    /// The pages of these targets, of all runtimes of a namespace.
    pub fn new(cluster: &Cluster, namespace: &str, of: &'static [ComponentTarget]) -> Result<Self, GatedClientError> {
        let api = Api::namespaced(cluster.own()?, namespace);
        Ok(Self { cluster: cluster.clone(), namespace: namespace.into(), api, of })
    }
}

impl FromIterator<Store> for Stores {
    fn from_iter<T: IntoIterator<Item = Store>>(stores: T) -> Self {
        Self(stores.into_iter().collect())
    }
}

impl Stores {
    /// The one for pages of a target.
    pub fn of(&self, target: ComponentTarget) -> &Api<InventoryPage> {
        let store = self.0.iter().find(|store| store.of.contains(&target));
        &store.unwrap_or(&self.0[0]).api
    }
}

impl InventoryWriter {
    /// Reads the pages of a runtime.
    pub async fn load(stores: &Stores, runtime: Arc<str>) -> Result<Self, InventoryError> {
        let mut pages = Vec::new();
        for Store { cluster, namespace, of, .. } in &stores.0 {
            let listed = cluster.pages(namespace, &runtime).await;
            let listed = listed.map_err(|api_error| InventoryError::Read { runtime: runtime.clone(), api_error })?;
            pages.extend(listed.into_iter().filter(|page| of.contains(&page.spec.target)).map(stored));
        }
        Ok(Self::new(Inventory::load(runtime, pages)))
    }

    fn new(inventory: Inventory) -> Self {
        Self(Arc::new(Inner {
            inventory: Mutex::new(Pending::new(inventory)),
            stored: watch::Sender::new(Ok(0)),
            urgent: Notify::new(),
            lazy: Notify::new(),
        }))
    }

    /// Looks something up.
    pub fn read<T>(&self, look: impl FnOnce(&Inventory) -> T) -> T {
        look(&self.lock().inventory)
    }

    /// The entries of a component.
    pub fn entries_of(&self, component: &str) -> Vec<(ObjectKey, Entry)> {
        self.read(|inventory| {
            let of = inventory.iter().filter(|(_, entry)| &*entry.component == component);
            of.map(|(key, entry)| (key.clone(), entry.clone())).collect()
        })
    }

    /// Takes changes in; they are stored when somebody asks, at the latest a minute later.
    pub fn note(&self, changes: impl IntoIterator<Item = Change>) {
        if self.lock().record_changes(changes).is_some() {
            self.0.lazy.notify_one();
        }
    }

    /// Puts entries in and resolves when they are stored, and so are those of `others` that somebody put in before who
    /// failed to store them or was given up.
    pub async fn store(
        &self,
        entries: Vec<(ObjectKey, Entry)>,
        others: impl IntoIterator<Item = &ObjectKey>,
    ) -> Result<(), InventoryError> {
        let number = self.lock().put(entries, others);
        match number {
            Some(number) => self.wait_for(number).await,
            None => Ok(()),
        }
    }

    /// Stores what was taken in soon: there will be nothing more for a while.
    pub fn hurry(&self) {
        if !self.lock().inventory.dirty().is_empty() {
            self.0.urgent.notify_one();
        }
    }

    /// Stores those pages again soon that have an owner.
    pub fn disown(&self) {
        self.store_again(Inventory::disown);
    }

    /// Stores a page again soon whose object is gone, unless that is another one than is known.
    pub fn lost(&self, page: &str, uid: &str) {
        self.store_again(|inventory| inventory.lost(page, uid));
    }

    fn store_again(&self, mark: impl FnOnce(&mut Inventory) -> bool) {
        let mut lock = self.lock();
        if mark(&mut lock.inventory) {
            lock.changes += 1;
            drop(lock);
            self.0.urgent.notify_one();
        }
    }

    /// Resolves when everything that was taken in is stored.
    pub async fn flush(&self) -> Result<(), InventoryError> {
        let number = {
            let lock = self.lock();
            if lock.inventory.dirty().is_empty() {
                return Ok(());
            }
            lock.changes
        };
        self.wait_for(number).await
    }

    /// As [`flush`](Self::flush), for what goes: the pages of a namespace that is being deleted go with it, and with them
    /// all that they could ever be needed for.
    pub async fn flush_last(&self) -> Result<(), InventoryError> {
        match self.flush().await {
            Err(InventoryError::Write { api_error, .. }) if api_error.reason == Reason::NamespaceTerminating => Ok(()),
            flushed => flushed,
        }
    }

    async fn wait_for(&self, number: u64) -> Result<(), InventoryError> {
        let mut stored = self.0.stored.subscribe();
        // An older failure is no answer to this request.
        self.0.stored.send_if_modified(|state| {
            let failed = matches!(state, Err(InventoryError::Write { .. }));
            if failed {
                *state = Ok(0);
            }
            failed
        });
        self.0.urgent.notify_one();
        let done = stored.wait_for(|state| state.as_ref().map_or(true, |done| *done >= number)).await;
        done.map_or(Ok(()), |state| state.clone().map(drop))
    }

    /// Stores what was taken in, until it is fenced or dropped.
    pub async fn run(&self, pages: Pages, clock: &Clock) -> InventoryError {
        loop {
            tokio::select! {
                () = self.0.urgent.notified() => {}
                () = async {
                    self.0.lazy.notified().await;
                    clock.sleep(LAZY).await;
                } => {}
            }
            // Whoever is about to ask as well gets into the same write.
            tokio::task::yield_now().await;
            match Box::pin(self.write(&pages)).await {
                Ok(number) => {
                    self.lock().stored(number);
                    drop(self.0.stored.send_replace(Ok(number)));
                }
                Err(error) => {
                    let _ = self.0.stored.send_replace(Err(error.clone()));
                    if matches!(error, InventoryError::Fenced { .. }) {
                        return error;
                    }
                    self.0.lazy.notify_one();
                }
            }
        }
    }

    async fn write(&self, pages: &Pages) -> Result<u64, InventoryError> {
        let (number, dirty) = {
            let mut lock = self.lock();
            let dirty: Vec<_> = lock.inventory.dirty().into_iter().map(|at| (at, lock.inventory.page(at))).collect();
            for (at, _) in &dirty {
                lock.inventory.writing(*at);
            }
            (lock.changes, dirty)
        };
        let mut failure = None;
        for (at, (name, spec, version)) in dirty {
            if failure.is_some() {
                self.lock().inventory.unwritten(at);
                continue;
            }
            match pages.write(&name, spec, version).await {
                Ok(stored) => self.lock().inventory.written(at, stored),
                Err(error) => {
                    self.lock().inventory.unwritten(at);
                    failure = Some(error);
                }
            }
        }
        failure.map_or(Ok(number), Err)
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.0.inventory.lock()
    }
}

/// Where pages are stored.
#[derive(Clone, Debug)]
pub struct Pages {
    /// In which clusters.
    pub stores: Stores,
    /// The runtime.
    pub runtime: Arc<str>,
    /// Who writes.
    pub writer: String,
}

impl Pages {
    async fn write(
        &self,
        name: &str,
        mut spec: InventorySpec,
        version: Option<String>,
    ) -> Result<Stored, InventoryError> {
        spec.writer = Some(self.writer.clone());
        let api = self.stores.of(spec.target);
        let mut page = InventoryPage::new(name, spec);
        page.metadata = ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some([(RUNTIME_LABEL.to_owned(), self.runtime.to_string())].into()),
            resource_version: version.clone(),
            // Whoever replaces a page owns all of it: books of it would only cost the API server time.
            managed_fields: Some(vec![ManagedFieldsEntry::default()]),
            ..ObjectMeta::default()
        };
        let replaced = match version {
            Some(_) => Some(send(api, Method::PUT, &format!("/{name}"), &page).await),
            None => None,
        };
        let written = match replaced {
            // Somebody deleted it; what it said is known here, and whoever took over would have kept it.
            Some(Err(kube::Error::Api(status))) if status.code == 404 => {
                page.metadata.resource_version = None;
                let made = send(api, Method::POST, "", &page).await;
                match &made {
                    Ok(_) => tracing::warn!(page = name, "the inventory page was deleted, and was made anew"),
                    // It went with its namespace, and so does all that it could ever be needed for.
                    Err(error) if ApiError::of(error).reason == Reason::NamespaceTerminating => {
                        return Ok(Stored::default());
                    }
                    Err(_) => {}
                }
                made
            }
            Some(replaced) => replaced,
            None => send(api, Method::POST, "", &page).await,
        };
        match written {
            Ok(stored) => Ok(stored.metadata.into()),
            Err(error) => {
                let (is_other, api_error) = (is_other_page(&error), ApiError::of(&error));
                // A kind that is not served has no pages of others: what is known is written when it is served again.
                if is_other && api_error.reason != Reason::MissingKind {
                    return Err(InventoryError::Fenced { page: name.to_owned() });
                }
                Err(InventoryError::Write { page: name.to_owned(), api_error })
            }
        }
    }
}

/// Sends a page, and gets back no more of it than its metadata.
async fn send(
    api: &Api<InventoryPage>,
    method: Method,
    path: &str,
    page: &InventoryPage,
) -> Result<PartialObjectMeta<InventoryPage>, kube::Error> {
    let uri = format!("{}{path}?fieldManager={FIELD_MANAGER}", api.resource_url());
    let request = http::Request::builder().method(method).uri(uri);
    let request = request.header(CONTENT_TYPE, JSON).header(ACCEPT, METADATA_ONLY);
    let body = serde_json::to_vec(page).map_err(kube::Error::SerdeError)?;
    let request = request.body(body).map_err(kube::Error::HttpError)?;
    api.clone().into_client().request(request).await
}

/// Whether a page is not the one that is known: it was changed, or it is gone.
fn is_other_page(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 404 | 409))
}

#[cfg(test)]
mod tests;
