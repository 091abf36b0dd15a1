//! What the watches have seen, by object, and whom it concerns.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use reeve_renderer_objects::key::ObjectKey;
use tokio::sync::Notify;

use super::Live;
use crate::desired::Want;
use crate::owner::Owner;

/// All objects of ours in one cluster. Clones are the same index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    objects: BTreeMap<ObjectKey, (Live, u64)>,
    /// Counts what we put in ourselves after a write, which a listing begun earlier cannot know.
    writes: u64,
    readers: HashMap<Owner, Vec<ChangedKeys>>,
    /// Rings when an object may have another owner, or fewer runtimes may want it.
    handed_over: Arc<Notify>,
}

/// Says which objects a runtime wants, and so has to know of whatever they say of themselves.
pub type Interest = Arc<dyn Fn(&ObjectKey) -> Option<Want> + Send + Sync>;

/// The objects of one runtime that changed since somebody looked. Bounded by the number of its objects.
#[derive(Clone, Default)]
pub struct ChangedKeys {
    marked: Arc<(Mutex<BTreeSet<ObjectKey>>, Notify)>,
    interest: Option<Interest>,
    /// What the runtime has, and lets any other have that wants it.
    offered: Arc<Mutex<BTreeSet<ObjectKey>>>,
}

impl std::fmt::Debug for ChangedKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ChangedKeys").field(&self.marked.0).finish()
    }
}

impl ChangedKeys {
    /// Resolves when something changed.
    pub async fn changed(&self) {
        self.marked.1.notified().await;
    }

    /// What changed since the last time.
    pub fn take_changed(&self) -> BTreeSet<ObjectKey> {
        std::mem::take(&mut *self.lock())
    }

    #[cfg(test)]
    pub(crate) fn contains(&self, key: &ObjectKey) -> bool {
        self.lock().contains(key)
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn mark(&self, key: &ObjectKey) {
        self.lock().insert(key.clone());
        self.marked.1.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<ObjectKey>> {
        self.marked.0.lock()
    }

    fn wants(&self, key: &ObjectKey) -> Option<Want> {
        self.interest.as_ref().and_then(|interest| interest(key))
    }

    fn offers(&self) -> MutexGuard<'_, BTreeSet<ObjectKey>> {
        self.offered.lock()
    }

    /// Whether its runtime still listens.
    fn is_alive(&self) -> bool {
        Arc::strong_count(&self.marked) > 1
    }
}

/// What a listing saw, to tell what is gone.
#[derive(Debug)]
pub(super) struct Listing {
    seen: HashSet<ObjectKey>,
    began: u64,
}

impl Index {
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Live> {
        self.lock().objects.get(key).map(|(live, _)| live.clone())
    }

    /// Whether an object of this kind is a component's.
    pub(super) fn has_any(&self, group: &str, kind: &str, owner: &Owner, component: &str) -> bool {
        let first = ObjectKey { group: group.into(), kind: kind.into(), namespace: None, name: "".into() };
        let seen = self.lock();
        let of_kind = seen.objects.range(first..).take_while(|(key, _)| *key.group == *group && *key.kind == *kind);
        of_kind
            .map(|(_, (live, _))| live)
            .any(|live| live.owner.as_ref() == Some(owner) && live.component.as_deref() == Some(component))
    }

    pub(crate) fn subscribe(&self, owner: Owner, interest: Option<Interest>) -> ChangedKeys {
        let changed_keys = ChangedKeys { interest, ..ChangedKeys::default() };
        let mut seen = self.lock();
        let readers = seen.readers.entry(owner).or_default();
        readers.retain(ChangedKeys::is_alive);
        readers.push(changed_keys.clone());
        changed_keys
    }

    /// A runtime has these objects, does not want them any more, and lets another have them. Replaces what it offered
    /// before; whoever wants one of those that are new is told.
    pub(crate) fn offer(&self, owner: &Owner, keys: &BTreeSet<ObjectKey>) {
        let seen = self.lock();
        for reader in seen.readers.get(owner).into_iter().flatten() {
            let before = std::mem::replace(&mut *reader.offers(), keys.clone());
            for key in keys.difference(&before) {
                seen.others_that_want(key, owner).for_each(|(_, other, _)| other.mark(key));
            }
        }
    }

    /// Whether a runtime lets another have an object.
    pub(crate) fn is_offered(&self, owner: &Owner, key: &ObjectKey) -> bool {
        let seen = self.lock();
        let mut readers = seen.readers.get(owner).into_iter().flatten();
        readers.any(|reader| reader.is_alive() && reader.offers().contains(key))
    }

    /// A runtime other than this one that wants an object, and how: of several, one that would take it over.
    pub(crate) fn wanted_by_another(&self, key: &ObjectKey, owner: &Owner) -> Option<(Owner, Want)> {
        let seen = self.lock();
        let most = seen.others_that_want(key, owner).max_by_key(|(_, _, want)| *want);
        most.map(|(other, _, want)| (other.clone(), want))
    }

    /// A runtime does not want these objects any more: whoever has one and waited for that is told.
    pub(crate) fn no_longer_wanted(&self, owner: &Owner, keys: &[ObjectKey]) {
        let seen = self.lock();
        for key in keys {
            if let Some((live, _)) = seen.objects.get(key).filter(|(live, _)| live.owner.as_ref() != Some(owner)) {
                seen.mark_changed(key, &[live]);
            }
        }
        seen.handed_over.notify_waiters();
    }

    /// Resolves when an object that a runtime had is another's or gone, or when no other runtime wants to have it.
    pub(crate) async fn until_handed_over(&self, key: &ObjectKey, owner: &Owner) {
        let handed_over = self.lock().handed_over.clone();
        loop {
            let mut next = std::pin::pin!(handed_over.notified());
            // From here on nothing is missed.
            next.as_mut().enable();
            let is_ours = self.get(key).is_some_and(|live| live.owner.as_ref() == Some(owner));
            let is_awaited = self.wanted_by_another(key, owner).is_some_and(|(_, want)| want != Want::Leaves);
            if !is_ours || !is_awaited {
                return;
            }
            next.await;
        }
    }

    /// An object as a watch saw it. What is older than what is known is left out.
    pub(crate) fn seen(&self, key: ObjectKey, live: Live) {
        let mut seen = self.lock();
        let writes = seen.writes;
        seen.insert(key, live, writes);
    }

    /// An object as the answer to our own write shows it.
    pub(crate) fn written(&self, key: ObjectKey, live: Live) {
        let mut seen = self.lock();
        seen.writes += 1;
        let writes = seen.writes;
        seen.insert(key, live, writes);
    }

    /// An object is gone; one of the same name that is newer stays.
    pub(crate) fn gone(&self, key: &ObjectKey, uid: Option<&str>) {
        let mut seen = self.lock();
        let is_it = seen.objects.get(key).is_some_and(|(live, _)| uid.is_none_or(|uid| *live.uid == *uid));
        if is_it && let Some((live, _)) = seen.objects.remove(key) {
            seen.mark_gone(key, &live);
            seen.handed_over.notify_waiters();
        }
    }

    pub(super) fn begin_listing(&self) -> Listing {
        Listing { seen: HashSet::new(), began: self.lock().writes }
    }

    /// Forgets what a listing of these objects did not show.
    pub(super) fn end_listing(&self, listing: &Listing, is_listed: impl Fn(&ObjectKey) -> bool) {
        let mut seen = self.lock();
        let gone = seen
            .objects
            .iter()
            .filter(|(key, (_, written))| *written <= listing.began && is_listed(key) && !listing.seen.contains(key));
        let gone: Vec<ObjectKey> = gone.map(|(key, _)| key.clone()).collect();
        for key in gone {
            if let Some((live, _)) = seen.objects.remove(&key) {
                seen.mark_gone(&key, &live);
            }
        }
    }

    /// Forgets objects that nothing shows any more.
    pub(super) fn forget(&self, is_unseen: impl Fn(&ObjectKey) -> bool) {
        self.lock().objects.retain(|key, _| !is_unseen(key));
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock()
    }
}

impl Listing {
    pub(super) fn mark_seen(&mut self, key: ObjectKey) {
        self.seen.insert(key);
    }
}

impl Seen {
    fn insert(&mut self, key: ObjectKey, live: Live, writes: u64) {
        let before = self.objects.get(&key).map(|(before, _)| before.clone());
        if before.as_ref().is_some_and(|before| before.resource_version > live.resource_version) {
            return;
        }
        let same = before.as_ref().is_some_and(|before| {
            Live { resource_version: 0, ..before.clone() } == Live { resource_version: 0, ..live.clone() }
        });
        if !same {
            let versions: Vec<&Live> = before.iter().chain([&live]).collect();
            self.mark_changed(&key, &versions);
        }
        let moves = before.is_some_and(|before| before.owner != live.owner);
        self.objects.insert(key, (live, writes));
        if moves {
            self.handed_over.notify_waiters();
        }
    }

    /// Runtimes other than this one that want an object.
    fn others_that_want<'a>(
        &'a self,
        key: &'a ObjectKey,
        owner: &'a Owner,
    ) -> impl Iterator<Item = (&'a Owner, &'a ChangedKeys, Want)> {
        let others = self.readers.iter().filter(move |(other, _)| *other != owner);
        let readers = others.flat_map(|(other, readers)| readers.iter().map(move |reader| (other, reader)));
        let alive = readers.filter(|(_, reader)| reader.is_alive());
        alive.filter_map(move |(other, reader)| Some((other, reader, reader.wants(key)?)))
    }

    /// Marks an object that is gone for whoever had it, and for all who want it: those that leave it to others do not have
    /// it, and need it all the same.
    fn mark_gone(&self, key: &ObjectKey, live: &Live) {
        self.mark_changed(key, &[live]);
        let all = self.readers.values().flatten();
        all.filter(|reader| reader.wants(key).is_some()).for_each(|reader| reader.mark(key));
    }

    /// Marks an object for whoever has it, before or after a change. Labels alone may be wrong: where nothing else says
    /// whose it is, and none of those whom they name wants it, everybody who does is told.
    fn mark_changed(&self, key: &ObjectKey, versions: &[&Live]) {
        let mut is_wanted = false;
        for owner in versions.iter().filter_map(|live| live.owner.as_ref()) {
            for reader in self.readers.get(owner).into_iter().flatten() {
                reader.mark(key);
                is_wanted |= reader.wants(key).is_some();
            }
        }
        let is_certain = versions.iter().all(|live| live.owned.is_some() && !live.legacy);
        if !is_wanted && !is_certain {
            let all = self.readers.values().flatten();
            all.filter(|reader| reader.wants(key).is_some()).for_each(|reader| reader.mark(key));
        }
    }
}

#[cfg(test)]
mod tests;
