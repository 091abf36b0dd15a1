use futures::FutureExt as _;

use super::*;
use crate::desired::Want;
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
        leftovers: false,
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
    let (ours, theirs) =
        (index.subscribe(owner("eu"), Some(wants("a"))), index.subscribe(owner("us"), Some(wants("b"))));
    index.seen(key("a"), Live { owner: Some(owner("ghost")), ..live(1, "x") });
    assert_eq!(ours.take_changed().len(), 1);
    index.gone(&key("a"), None);
    assert_eq!(ours.take_changed().len(), 1);
    let applied = Live { owner: Some(owner("ghost")), owned: Some("1".into()), ..live(2, "x") };
    index.seen(key("a"), applied);
    assert!(ours.take_changed().is_empty(), "who applied it is known, and it is not us");
    assert!(theirs.take_changed().is_empty());
}

fn wants(wanted: &'static str) -> Interest {
    Arc::new(move |key: &ObjectKey| (*key.name == *wanted).then_some(Want::TakesOver))
}

#[test]
fn what_a_runtime_offers_is_told_to_those_who_want_it_and_ends_with_the_runtime() {
    let index = Index::default();
    let (eu, us) = (index.subscribe(owner("eu"), Some(wants("b"))), index.subscribe(owner("us"), Some(wants("a"))));
    index.offer(&owner("eu"), &BTreeSet::from([key("a"), key("c")]));
    assert_eq!(us.take_changed(), BTreeSet::from([key("a")]));
    assert!(eu.take_changed().is_empty());
    assert!(index.is_offered(&owner("eu"), &key("a")) && !index.is_offered(&owner("us"), &key("a")));
    assert_eq!(index.wanted_by_another(&key("a"), &owner("eu")), Some((owner("us"), Want::TakesOver)));
    assert_eq!(index.wanted_by_another(&key("a"), &owner("us")), None);
    drop((eu, us));
    assert!(!index.is_offered(&owner("eu"), &key("a")), "nobody is there to give it");
    assert_eq!(index.wanted_by_another(&key("a"), &owner("eu")), None, "nobody is there to take it");
}

#[tokio::test]
async fn a_hand_over_ends_when_another_has_the_object_or_nobody_wants_it() {
    let index = Index::default();
    let (_eu, us) = (index.subscribe(owner("eu"), None), index.subscribe(owner("us"), Some(wants("a"))));
    index.seen(key("a"), live(1, "x"));
    let eu = owner("eu");
    let object = key("a");
    let waiting = index.until_handed_over(&object, &eu).now_or_never();
    assert!(waiting.is_none());
    index.seen(key("a"), Live { owner: Some(owner("us")), ..live(2, "x") });
    index.until_handed_over(&object, &eu).await;
    index.seen(key("a"), live(3, "x"));
    let waiting = index.until_handed_over(&object, &eu).now_or_never();
    assert!(waiting.is_none());
    drop(us);
    index.no_longer_wanted(&owner("us"), std::slice::from_ref(&object));
    index.until_handed_over(&object, &eu).await;
}

#[tokio::test]
async fn who_leaves_an_object_as_it_is_is_not_waited_for_and_learns_that_it_is_gone() {
    let index = Index::default();
    let leaves = Arc::new(|key: &ObjectKey| (*key.name == *"a").then_some(Want::Leaves));
    let (_eu, us) = (index.subscribe(owner("eu"), None), index.subscribe(owner("us"), Some(leaves)));
    index.seen(key("a"), live(1, "x"));
    index.until_handed_over(&key("a"), &owner("eu")).await;
    assert_eq!(index.wanted_by_another(&key("a"), &owner("eu")), Some((owner("us"), Want::Leaves)));
    us.take_changed();
    index.gone(&key("a"), None);
    assert_eq!(us.take_changed(), BTreeSet::from([key("a")]), "it counted on it");
}
