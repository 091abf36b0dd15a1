//! The inventory of one runtime in memory: what was applied or is about to be, laid out in pages.
//!
//! Pure. An entry is planned before its object is created, and leaves only when the object is known to be gone, so that
//! nothing is ever created that no entry speaks of. Writing pages is `inventory::inventory`'s.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::api::ObjectMeta;
use reeve_crds::inventory::{ENTRIES_PER_PAGE, EntryCounts, EntryState};
use reeve_crds::runtime_component::ComponentTarget;
use reeve_crds::{InventoryEntry, InventorySpec, Lenient, ObjectRef};
use reeve_renderer_objects::key::ObjectKey;

mod pages;
#[cfg(test)]
mod tests;
mod writer;

pub use pages::{Pages, Store, Stores, pages_of};
#[cfg(test)]
pub(crate) use writer::Pending;
pub use writer::{InventoryError, InventoryWriter};

/// What is known of one applied object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The component that it belongs to.
    pub component: Arc<str>,
    /// Where it is.
    pub target: ComponentTarget,
    /// API version, without the group.
    pub version: Box<str>,
    /// Tells it from a later object of its name.
    pub uid: Option<Box<str>>,
    /// How far it is.
    pub state: EntryState,
    /// Hash of the fields that we own, after the last apply.
    pub owned: Option<Box<str>>,
    /// The content with which Git said that it stays when it leaves Git, whatever it says of itself by then.
    pub kept: Option<Box<str>>,
}

impl Entry {
    /// Group and version of its object.
    pub fn api_version(&self, key: &ObjectKey) -> String {
        match &*key.group {
            "" => self.version.to_string(),
            group => format!("{group}/{}", self.version),
        }
    }
}

/// The object of a page as the cluster has it; nothing of it is known until it exists.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    /// Tells it from a later object of its name.
    uid: Option<String>,
    /// Fences a stale writer.
    resource_version: Option<String>,
    /// It would go with another object.
    is_owned: bool,
}

impl From<ObjectMeta> for Stored {
    fn from(metadata: ObjectMeta) -> Self {
        let is_owned = metadata.owner_references.is_some_and(|owners| !owners.is_empty());
        Self { uid: metadata.uid, resource_version: metadata.resource_version, is_owned }
    }
}

/// A page.
#[derive(Clone, Debug, Default)]
struct Page {
    target: ComponentTarget,
    number: i32,
    entries: usize,
    stored: Stored,
    dirty: bool,
}

/// The inventory of one runtime.
#[derive(Clone, Debug)]
pub struct Inventory {
    runtime: Arc<str>,
    entries: BTreeMap<ObjectKey, (Entry, usize)>,
    pages: Vec<Page>,
}

/// One change to the ledger.
#[derive(Clone, Debug)]
pub enum Change {
    /// The object is about to be applied, or was.
    Put(ObjectKey, Entry),
    /// The object is gone, or is no longer ours.
    Drop(ObjectKey),
}

impl Inventory {
    /// The ledger of these stored pages.
    pub fn load(runtime: Arc<str>, stored: impl IntoIterator<Item = (InventorySpec, Stored)>) -> Self {
        let mut inventory = Self { runtime, entries: BTreeMap::new(), pages: Vec::new() };
        for (spec, object) in stored {
            let at = inventory.pages.len();
            let (target, number) = (spec.target, spec.page);
            inventory.pages.push(Page { target, number, entries: 0, stored: object, dirty: false });
            for stored in spec.entries {
                let (key, entry) = read(stored, target);
                inventory.pages[at].entries += 1;
                if let Some((_, before)) = inventory.entries.insert(key, (entry, at)) {
                    // Once is enough: the page that had it before is written without it.
                    inventory.pages[before].entries -= 1;
                    inventory.pages[before].dirty = true;
                }
            }
        }
        inventory
    }

    /// The entry of an object.
    pub fn get(&self, key: &ObjectKey) -> Option<&Entry> {
        self.entries.get(key).map(|(entry, _)| entry)
    }

    /// All entries.
    pub fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &Entry)> {
        self.entries.iter().map(|(key, (entry, _))| (key, entry))
    }

    /// The components that have entries.
    pub fn components(&self) -> BTreeSet<Arc<str>> {
        self.iter().map(|(_, entry)| entry.component.clone()).collect()
    }

    /// Takes a change in. False if it changes nothing.
    pub fn change(&mut self, change: Change) -> bool {
        match change {
            Change::Drop(key) => {
                let Some((_, page)) = self.entries.remove(&key) else { return false };
                self.pages[page].entries -= 1;
                self.pages[page].dirty = true;
                true
            }
            Change::Put(key, entry) => {
                if let Some((old, page)) = self.entries.get_mut(&key) {
                    if *old == entry {
                        return false;
                    }
                    if old.target == entry.target {
                        self.pages[*page].dirty = true;
                        *old = entry;
                        return true;
                    }
                    self.change(Change::Drop(key.clone()));
                }
                let page = self.room(entry.target);
                self.pages[page].entries += 1;
                self.pages[page].dirty = true;
                self.entries.insert(key, (entry, page));
                true
            }
        }
    }

    /// The first page of a target with room for one more entry.
    fn room(&mut self, target: ComponentTarget) -> usize {
        let open = |page: &Page| page.target == target && page.entries < ENTRIES_PER_PAGE;
        if let Some(at) = self.pages.iter().position(open) {
            return at;
        }
        let taken = self.pages.iter().filter(|page| page.target == target).map(|page| page.number + 1);
        let number = taken.max().unwrap_or(0);
        self.pages.push(Page { target, number, ..Page::default() });
        self.pages.len() - 1
    }

    /// The pages that are not stored as they are.
    pub fn dirty(&self) -> Vec<usize> {
        (0..self.pages.len()).filter(|at| self.pages[*at].dirty).collect()
    }

    /// A page as it is to be stored, the name of its object, and the version it replaces.
    pub fn page(&self, at: usize) -> (String, InventorySpec, Option<String>) {
        let page = &self.pages[at];
        let on_page = self.entries.iter().filter(|(_, (_, on))| *on == at);
        let mut entries: Vec<InventoryEntry> = on_page.map(|(key, (entry, _))| write(key, entry)).collect();
        entries.sort_by(|a, b| {
            (&a.component, &a.group, &a.kind, &a.namespace, &a.name).cmp(&(
                &b.component,
                &b.group,
                &b.kind,
                &b.namespace,
                &b.name,
            ))
        });
        let count = |state| {
            let matching = entries.iter().filter(|entry| entry.state.known() == Some(&state)).count();
            i32::try_from(matching).unwrap_or(i32::MAX)
        };
        let counts = EntryCounts {
            planned: count(EntryState::Planned),
            applied: count(EntryState::Applied),
            deleting: count(EntryState::Deleting),
        };
        let spec = InventorySpec {
            runtime: self.runtime.to_string(),
            target: page.target,
            page: page.number,
            digest: None,
            writer: None,
            counts,
            entries,
        };
        (page_name(&self.runtime, page.target, page.number), spec, page.stored.resource_version.clone())
    }

    /// A page is being written; changes from now on make it dirty again.
    pub fn writing(&mut self, at: usize) {
        self.pages[at].dirty = false;
    }

    /// A page was written.
    pub fn written(&mut self, at: usize, stored: Stored) {
        self.pages[at].stored = stored;
    }

    /// Pages that have an owner have to be stored again, or the garbage collector takes them away before their objects are
    /// seen to. True if there are any.
    pub fn disown(&mut self) -> bool {
        let owned = self.pages.iter_mut().filter(|page| page.stored.is_owned);
        owned.map(|page| page.dirty = true).count() > 0
    }

    /// The names of the pages' objects, and where they are.
    pub fn stored_pages(&self) -> Vec<(ComponentTarget, String)> {
        let stored = self.pages.iter().filter(|page| page.stored.uid.is_some());
        stored.map(|page| (page.target, page_name(&self.runtime, page.target, page.number))).collect()
    }

    /// The object of a page is gone and has to be stored again. False if it is not the one that is known.
    pub fn lost(&mut self, name: &str, uid: &str) -> bool {
        let runtime = self.runtime.clone();
        let is_it = |page: &&mut Page| {
            page.stored.uid.as_deref() == Some(uid) && page_name(&runtime, page.target, page.number) == name
        };
        let Some(page) = self.pages.iter_mut().find(is_it) else { return false };
        // Its version stays: whoever made one of its name meanwhile fences us.
        page.stored.uid = None;
        page.dirty = true;
        true
    }

    /// A page could not be written.
    pub fn unwritten(&mut self, at: usize) {
        self.pages[at].dirty = true;
    }
}

/// The name of a page's object.
pub fn page_name(runtime: &str, target: ComponentTarget, number: i32) -> String {
    match target {
        ComponentTarget::Runtime => format!("{runtime}.{number}"),
        ComponentTarget::ControlPlane => format!("{runtime}.control-plane.{number}"),
    }
}

/// How other kinds name an object.
pub fn object_ref(key: &ObjectKey) -> ObjectRef {
    ObjectRef {
        group: key.group.to_string(),
        kind: key.kind.to_string(),
        namespace: key.namespace.as_deref().unwrap_or_default().to_owned(),
        name: key.name.to_string(),
    }
}

fn read(stored: InventoryEntry, target: ComponentTarget) -> (ObjectKey, Entry) {
    let key = ObjectKey {
        group: stored.group.into(),
        kind: stored.kind.into(),
        namespace: (!stored.namespace.is_empty()).then(|| stored.namespace.into()),
        name: stored.name.into(),
    };
    let entry = Entry {
        component: stored.component.into(),
        target,
        version: stored.version.into(),
        uid: stored.uid.map(Into::into),
        // A word of a newer version: the object may or may not exist, which is what Planned says.
        state: stored.state.known().copied().unwrap_or(EntryState::Planned),
        owned: stored.owned_fields_hash.map(Into::into),
        kept: stored.kept_content_hash.map(Into::into),
    };
    (key, entry)
}

fn write(key: &ObjectKey, entry: &Entry) -> InventoryEntry {
    InventoryEntry {
        component: entry.component.to_string(),
        group: key.group.to_string(),
        version: entry.version.to_string(),
        kind: key.kind.to_string(),
        namespace: key.namespace.as_deref().unwrap_or_default().to_owned(),
        name: key.name.to_string(),
        uid: entry.uid.as_deref().map(str::to_owned),
        state: Lenient::Known(entry.state),
        owned_fields_hash: entry.owned.as_deref().map(str::to_owned),
        kept_content_hash: entry.kept.as_deref().map(str::to_owned),
    }
}
