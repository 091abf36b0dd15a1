use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// A NodeHook whose content is told apart by its endpoint.
pub(crate) fn hook(name: &str, order: i32, content: u32, percent: i32) -> NodeHook {
    let spec = json!({
        "nodeSelector": { "matchLabels": { "pool": "batch" } },
        "order": order,
        "plugins": [{
            "name": "p",
            "endpoint": format!("/run/{content}.sock"),
            "hooks": [{ "type": "PreCreateContainer" }],
        }],
        "canary": { "percent": percent, "maxFailurePercent": 5 },
    });
    let mut hook = NodeHook::new(name, serde_json::from_value(spec).unwrap());
    hook.metadata.generation = Some(1);
    hook
}

pub(crate) fn batch() -> Labels {
    [("pool".to_owned(), "batch".to_owned())].into()
}

/// What a proxy with this set says, if it finds this of the first hook.
pub(crate) fn proxy_state(set: &HookSet, good: bool, returned: Option<&str>) -> State {
    let hooks = set.hooks.iter().map(|hook| HookState {
        name: hook.name.clone(),
        generation: hook.generation,
        revision: hook.current.digest(),
        percent: hook.percent,
        commit: hook.commit.clone(),
        good: good && returned.is_none(),
        returned: hook.returned.clone().or_else(|| returned.map(str::to_owned)),
        last_good: hook.last_good.as_ref().map(hook_set::Revision::digest),
    });
    State {
        version: "0.1.0".to_owned(),
        started_at: Timestamp::UNIX_EPOCH,
        runtime: None,
        digest: set.digest(),
        bad_set: None,
        hooks: hooks.collect(),
        plugins: Vec::new(),
        files: Vec::new(),
    }
}

fn next(disk: &HookSet, hooks: &[NodeHook], state: Option<&State>) -> HookSet {
    next_set(disk, select(hooks, &batch()), state)
}

fn endpoint(revision: &hook_set::Revision) -> String {
    revision.plugins[0].endpoint.display().to_string()
}

#[test]
fn a_node_gets_the_hooks_whose_selector_has_its_labels_by_order_and_name() {
    let mut suspended = hook("suspended", 1, 1, 100);
    suspended.spec.suspend = true;
    let hooks = [hook("b", 100, 1, 100), hook("z", 7, 2, 100), suspended, hook("a", 100, 3, 100)];
    let names: Vec<String> = select(&hooks, &batch()).into_iter().map(|wanted| wanted.name).collect();
    assert_eq!(names, ["z", "a", "b"]);
    assert_eq!(select(&hooks, &Labels::new()), []);
}

#[test]
fn what_has_proven_itself_is_what_a_node_returns_to() {
    let first = next(&HookSet::default(), &[hook("a", 1, 1, 100)], None);
    let first = next(&first, &[hook("a", 1, 1, 100)], Some(&proxy_state(&first, true, None)));
    assert!(first.hooks[0].good);
    let second = next(&first, &[hook("a", 1, 2, 10)], Some(&proxy_state(&first, true, None)));
    assert_eq!(endpoint(second.hooks[0].last_good.as_ref().unwrap()), "/run/1.sock");
    assert!(!second.hooks[0].good);
    // It fails: a third one still has the first to return to.
    let failed = proxy_state(&second, false, Some("broken"));
    let second = next(&second, &[hook("a", 1, 2, 10)], Some(&failed));
    assert_eq!(second.hooks[0].returned.as_deref(), Some("broken"));
    let third = next(&second, &[hook("a", 1, 3, 10)], Some(&failed));
    assert_eq!(endpoint(third.hooks[0].last_good.as_ref().unwrap()), "/run/1.sock");
    assert_eq!(third.hooks[0].returned, None, "another revision is tried anew");
    // Taken back in Git: the good one is good as it was.
    let back = next(&third, &[hook("a", 1, 1, 100)], None);
    assert_eq!((back.hooks[0].good, &back.hooks[0].last_good), (true, &None));
}

#[test]
fn a_larger_share_is_no_other_revision() {
    let small = next(&HookSet::default(), &[hook("a", 1, 1, 10)], None);
    let returned = next(&small, &[hook("a", 1, 1, 10)], Some(&proxy_state(&small, false, Some("broken"))));
    let large = next(&returned, &[hook("a", 1, 1, 100)], None);
    assert_eq!(large.hooks[0].returned.as_deref(), Some("broken"), "what was left is not tried again by itself");
    assert_eq!(large.hooks[0].percent, 100);
}

#[derive(Clone, Debug)]
enum Step {
    /// Git has this content at this share; 0 takes the hook away.
    Git(u32, i32),
    Good,
    Returned,
    /// The proxy speaks of an older set, or not at all.
    Stale,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..4_u32, prop_oneof![Just(10), Just(100)]).prop_map(|(content, percent)| Step::Git(content, percent)),
        2 => Just(Step::Good),
        1 => Just(Step::Returned),
        1 => Just(Step::Stale),
    ];
    proptest::collection::vec(step, 1..40)
}

proptest! {
    /// Over any history of pushes and verdicts.
    #[test]
    fn a_node_never_returns_to_what_failed_and_always_has_what_git_says(steps in steps()) {
        let (mut disk, mut git) = (HookSet::default(), Vec::new());
        let mut proven = std::collections::BTreeSet::new();
        for step in steps {
            let state = match step {
                Step::Git(0, _) => { git = Vec::new(); None }
                Step::Git(content, percent) => { git = vec![hook("a", 1, content, percent)]; None }
                Step::Good => Some(proxy_state(&disk, true, None)),
                Step::Returned => Some(proxy_state(&disk, false, Some("broken"))),
                Step::Stale => Some(proxy_state(&HookSet::default(), true, None)),
            };
            let before = disk.clone();
            disk = next(&before, &git, state.as_ref());
            // Nothing to do is done once.
            prop_assert_eq!(&next(&disk, &git, None), &disk);
            prop_assert_eq!(disk.hooks.len(), git.len());
            let Some(hook) = disk.hooks.first() else {
                proven.clear();
                continue;
            };
            prop_assert_eq!(endpoint(&hook.current), git[0].spec.plugins[0].endpoint.clone());
            prop_assert!(!(hook.good && hook.returned.is_some()));
            if hook.good { proven.insert(endpoint(&hook.current)); }
            if hook.returned.is_some() { proven.remove(&endpoint(&hook.current)); }
            if let Some(last) = &hook.last_good {
                prop_assert!(proven.contains(&endpoint(last)), "{last:?} is not good");
                prop_assert_ne!(last, &hook.current);
            }
        }
    }
}
