use proptest::prelude::*;

use super::*;
use crate::hook_set::tests::{hook, revision};

const GOOD: &str = r#"{"remote-endpoint": "/run/a.sock", "runtime-hooks": ["PreCreateContainer"]}"#;

fn files(files: &[(&str, &str)]) -> Files {
    files.iter().map(|(name, text)| ((*name).to_owned(), Ok(text.as_bytes().to_vec()))).collect()
}

fn names(registry: &Registry) -> Vec<String> {
    registry.members().into_iter().map(|member| member.registration.name).collect()
}

fn with_set(hooks: Vec<NodeHook>) -> Registry {
    let mut registry = Registry::default();
    let text = HookSet { hooks, ..HookSet::default() }.to_text();
    assert_eq!(registry.update_set(Some(&Ok(text))), None);
    registry
}

#[test]
fn plugins_are_asked_in_the_order_of_their_files_names() {
    let mut registry = Registry::default();
    assert_eq!(registry.update_files(&files(&[("20-b.json", GOOD), ("10-a.json", GOOD)])), []);
    assert_eq!(names(&registry), ["10-a", "20-b"]);
}

#[test]
fn a_file_that_turns_bad_keeps_its_last_good_version_and_is_reported_once() {
    let mut registry = Registry::default();
    registry.update_files(&files(&[("a.json", GOOD)]));
    let reports = registry.update_files(&files(&[("a.json", "{")]));
    assert_eq!(reports.len(), 1);
    assert!(reports[0].message.ends_with("its last good version stays in force"), "{reports:?}");
    assert_eq!(registry.update_files(&files(&[("a.json", "{")])), []);
    assert_eq!(names(&registry), ["a"]);
}

#[test]
fn a_bad_file_does_not_keep_another_from_being_used() {
    let mut registry = Registry::default();
    let reports = registry.update_files(&files(&[("a.json", ""), ("b.json", GOOD)]));
    assert_eq!((reports.len(), names(&registry)), (1, vec!["b".to_owned()]));
}

#[test]
fn a_file_that_is_gone_is_gone_at_once_and_forgotten() {
    let mut registry = Registry::default();
    registry.update_files(&files(&[("a.json", GOOD)]));
    registry.update_files(&files(&[]));
    assert_eq!(names(&registry), Vec::<String>::new());
    registry.update_files(&files(&[("a.json", "{")]));
    assert_eq!(names(&registry), Vec::<String>::new(), "a version from before it was deleted is not in force");
}

#[test]
fn plugins_of_node_hooks_come_first_and_have_their_socket_to_themselves() {
    let mut registry = with_set(vec![hook("b", revision("/run/b.sock")), hook("c", revision("/run/c.sock"))]);
    let on_b = GOOD.replace("/run/a.sock", "/run/b.sock");
    registry.update_files(&files(&[("a.json", GOOD), ("same.json", &on_b)]));
    assert_eq!(names(&registry), ["b/plugin", "c/plugin", "a"]);
    let reports = registry.reports();
    assert_eq!(reports[0].file, "same.json");
    assert_eq!(reports[0].message, "it does not count: plugin b/plugin has the same socket");
}

#[test]
fn a_hook_set_that_turns_bad_stays_in_force_and_one_that_is_gone_does_not() {
    let mut registry = with_set(vec![hook("a", revision("/run/a.sock"))]);
    let told = registry.update_set(Some(&Ok(b"{".to_vec()))).unwrap();
    assert!(told.ends_with("the hook set from before stays in force"), "{told}");
    assert_eq!(registry.update_set(Some(&Ok(b"{".to_vec()))), None, "told once");
    assert_eq!((names(&registry), registry.bad_set()), (vec!["a/plugin".to_owned()], Some(told.as_str())));
    assert_eq!(registry.update_set(None), None);
    assert_eq!(names(&registry), Vec::<String>::new());
    let newer = br#"{"format": 2, "hooks": []}"#.to_vec();
    assert!(registry.update_set(Some(&Ok(newer))).unwrap().starts_with("of format 2: this version reads format 1"));
}

#[test]
fn a_pod_gets_the_new_revision_or_the_last_good_one_and_after_a_return_the_last_good_one() {
    let (new, old) = (revision("/run/new.sock"), revision("/run/old.sock"));
    let limits = Limits { max_failure_percent: 1, max_latency: None };
    let mut registry =
        with_set(vec![NodeHook { percent: 30, limits, last_good: Some(old.clone()), ..hook("a", new.clone()) }]);
    let endpoints = |registry: &Registry, uid: &str| -> Vec<String> {
        let members = registry.members().into_iter().filter(|member| member.share.has(uid));
        members.map(|member| member.registration.endpoint.display().to_string()).collect()
    };
    let uids: Vec<String> = (0..200).map(|number| format!("uid-{number}")).collect();
    let on_new = uids.iter().filter(|uid| endpoints(&registry, uid) == ["/run/new.sock"]).count();
    let on_old = uids.iter().filter(|uid| endpoints(&registry, uid) == ["/run/old.sock"]).count();
    assert_eq!(on_new + on_old, 200);
    assert!((30..90).contains(&on_new), "{on_new}");

    let trial = registry.members()[0].trial.clone().unwrap();
    assert!(registry.return_to_last_good(&trial, "too slow"));
    assert!(!registry.return_to_last_good(&trial, "too slow"), "once");
    assert!(uids.iter().all(|uid| endpoints(&registry, uid) == ["/run/old.sock"]));
    let set = registry.set();
    assert_eq!(set.hooks[0].returned.as_deref(), Some("too slow"));
    // The file that the feed writes from this says the same to a process that starts later.
    let later = with_set(set.hooks);
    assert_eq!(endpoints(&later, "uid-1"), ["/run/old.sock"]);
    // Another revision is tried anew.
    let next = NodeHook { last_good: Some(old), ..hook("a", revision("/run/next.sock")) };
    registry.update_set(Some(&Ok(HookSet { hooks: vec![next], ..HookSet::default() }.to_text())));
    assert_eq!(endpoints(&registry, "uid-1"), ["/run/next.sock"]);
}

#[test]
fn a_revision_that_has_proven_itself_is_not_left() {
    let limits = Limits { max_failure_percent: 1, max_latency: None };
    let registry = with_set(vec![NodeHook { limits, good: true, ..hook("a", revision("/run/a.sock")) }]);
    assert_eq!(registry.members()[0].trial, None);
    assert_eq!(with_set(vec![hook("a", revision("/run/a.sock"))]).members()[0].trial, None, "nor one without limits");
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange_for_a_hook_set(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut registry = with_set(vec![hook("a", revision("/run/a.sock"))]);
        let before = registry.members();
        if registry.update_set(Some(&Ok(text))).is_some() {
            prop_assert_eq!(registry.members(), before);
        }
    }

    /// Whatever the shares and verdicts, a pod never gets two revisions of one NodeHook, nor one that was left.
    #[test]
    fn a_pod_gets_at_most_one_revision(
        uid in "[0-9a-f-]{8,36}", percent in 0..=100_u8, has_last_good in any::<bool>(), returned in any::<bool>()
    ) {
        let (new, old) = (revision("/run/new.sock"), revision("/run/old.sock"));
        let registry = with_set(vec![NodeHook {
            percent,
            last_good: has_last_good.then_some(old),
            returned: returned.then(|| "broken".to_owned()),
            ..hook("a", new)
        }]);
        let members = registry.members();
        let mine: Vec<_> = members.iter().filter(|member| member.share.has(&uid)).collect();
        prop_assert!(mine.len() <= 1);
        prop_assert!(mine.len() == 1 || !has_last_good);
        let is_new = mine.iter().any(|member| member.registration.endpoint.ends_with("new.sock"));
        prop_assert!(!(returned && is_new));
        if percent == 100 && !returned {
            prop_assert!(is_new);
        }
    }
}
