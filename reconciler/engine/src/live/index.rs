//! What the watches have seen, by object, and whom it concerns.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reeve_renderer_objects::key::ObjectKey;
use tokio::sync::Notify;

use super::Live;
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
}

/// Says of which objects a runtime wants to know whatever they say of themselves.
pub type Interest = Arc<dyn Fn(&ObjectKey) -> bool + Send + Sync>;

/// The objects of one runtime that changed since somebody looked. Bounded by the number of its objects.
#[derive(Clone, Default)]
pub struct ChangedKeys {
    marked: Arc<(Mutex<BTreeSet<ObjectKey>>, Notify)>,
    interest: Option<Interest>,
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
        self.marked.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wants(&self, key: &ObjectKey) -> bool {
        self.interest.as_ref().is_some_and(|interest| interest(key))
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
        readers.retain(|reader| Arc::strong_count(&reader.marked) > 1);
        readers.push(changed_keys.clone());
        changed_keys
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
            seen.mark_changed(key, &[&live]);
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
                seen.mark_changed(&key, &[&live]);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.objects.insert(key, (live, writes));
    }

    /// Marks an object for whoever has it, before or after a change. Labels alone may be wrong: where nothing else says
    /// whose it is, and none of those whom they name wants it, everybody who does is told.
    fn mark_changed(&self, key: &ObjectKey, versions: &[&Live]) {
        let mut is_wanted = false;
        for owner in versions.iter().filter_map(|live| live.owner.as_ref()) {
            for reader in self.readers.get(owner).into_iter().flatten() {
                reader.mark(key);
                is_wanted |= reader.wants(key);
            }
        }
        let is_certain = versions.iter().all(|live| live.owned.is_some() && !live.legacy);
        if !is_wanted && !is_certain {
            let all = self.readers.values().flatten();
            all.filter(|reader| reader.wants(key)).for_each(|reader| reader.mark(key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::Prune;

    fn key(name: &str) -> ObjectKey {
        ObjectKey { group: "".into(), kind: "ConfigMap".into(), namespace: Some("shop".into()), name: name.into() }
    }

    fn owner(runtime: &str) -> Owner {
        Owner::new("reeve-system", runtime)
    }

    fn live(version: u64, content: &str) -> Live {
        Live {
            uid: "1".into(),
            resource_version: version,
            content: Some(content.into()),
            owner: Some(owner("eu")),
            owned: None,
            legacy: false,
            component: None,
            deleting: None,
            prune: Prune::Default,
            health: None,
        }
    }

    #[test]
    fn a_watch_that_lags_behind_our_own_write_changes_nothing() {
        let index = Index::default();
        index.written(key("a"), live(7, "new"));
        index.seen(key("a"), live(5, "old"));
        assert_eq!(index.get(&key("a")), Some(live(7, "new")));
    }

    #[test]
    fn a_listing_takes_away_what_it_does_not_show_but_not_what_was_written_since_it_began() {
        let index = Index::default();
        index.seen(key("gone"), live(1, "x"));
        index.written(key("before"), live(2, "x"));
        let mut listing = index.begin_listing();
        index.written(key("since"), live(9, "x"));
        listing.mark_seen(key("before"));
        index.end_listing(&listing, |_| true);
        let left = ["gone", "before", "since"].map(|name| index.get(&key(name)).is_some());
        assert_eq!(left, [false, true, true]);
    }

    #[test]
    fn whose_objects_of_a_kind_there_are_is_known() {
        let index = Index::default();
        index.seen(key("a"), Live { component: Some("web".into()), ..live(1, "x") });
        assert!(index.has_any("", "ConfigMap", &owner("eu"), "web"));
        for (group, kind, runtime, component) in
            [("apps", "ConfigMap", "eu", "web"), ("", "Secret", "eu", "web"), ("", "ConfigMap", "us", "web")]
        {
            assert!(!index.has_any(group, kind, &owner(runtime), component), "{group} {kind} {runtime}");
        }
        assert!(!index.has_any("", "ConfigMap", &owner("eu"), "db"));
    }

    #[test]
    fn a_runtime_is_told_of_its_own_objects_and_only_when_they_matter() {
        let index = Index::default();
        let (ours, theirs) = (index.subscribe(owner("eu"), None), index.subscribe(owner("us"), None));
        index.seen(key("a"), live(1, "x"));
        assert_eq!(ours.take_changed().len(), 1);
        index.seen(key("a"), live(2, "x"));
        assert!(ours.take_changed().is_empty(), "nothing but the version changed");
        index.gone(&key("a"), Some("2"));
        assert!(ours.take_changed().is_empty(), "another object went");
        index.gone(&key("a"), Some("1"));
        assert_eq!(ours.take_changed().len(), 1);
        assert!(theirs.take_changed().is_empty());
    }

    #[test]
    fn whoever_wants_an_object_is_told_of_it_although_its_labels_name_another() {
        let index = Index::default();
        let wants = |wanted: &'static str| Some(Arc::new(move |key: &ObjectKey| *key.name == *wanted) as Interest);
        let (ours, theirs) = (index.subscribe(owner("eu"), wants("a")), index.subscribe(owner("us"), wants("b")));
        index.seen(key("a"), Live { owner: Some(owner("ghost")), ..live(1, "x") });
        assert_eq!(ours.take_changed().len(), 1);
        index.gone(&key("a"), None);
        assert_eq!(ours.take_changed().len(), 1);
        let applied = Live { owner: Some(owner("ghost")), owned: Some("1".into()), ..live(2, "x") };
        index.seen(key("a"), applied);
        assert!(ours.take_changed().is_empty(), "who applied it is known, and it is not us");
        assert!(theirs.take_changed().is_empty());
    }
}
