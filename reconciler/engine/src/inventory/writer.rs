//! Keeps a ledger stored: many changes, few writes.
//!
//! What must be written down before an object is created is waited for; whoever asks meanwhile shares the write. What
//! only records an outcome is written when there is time. Pages are replaced with their resourceVersion, so a writer
//! that was superseded is refused. Pages have no owner: the garbage collector would take them away before their Runtime,
//! if that is deleted in the foreground, and with them all that is known of its objects.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use reeve_crds::Reason;
use reeve_renderer_objects::key::ObjectKey;
use tokio::sync::{Notify, watch};

use super::{Change, Entry, Inventory, Pages, Stores};
use crate::api_error::ApiError;
use crate::clock::Clock;

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

impl InventoryWriter {
    /// Reads the pages of a runtime.
    pub async fn load(stores: &Stores, runtime: Arc<str>) -> Result<Self, InventoryError> {
        let pages = stores.list(&runtime).await;
        let pages = pages.map_err(|api_error| InventoryError::Read { runtime: runtime.clone(), api_error })?;
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

#[cfg(test)]
mod tests;
