use std::path::PathBuf;

use jiff::Timestamp;

use super::*;
use crate::field::Fields;
use crate::hook::Hook;
use crate::hook_set::tests::{hook, revision};
use crate::hook_set::{HookSet, PodScope, Revision};
use crate::settings::{FailurePolicy, Mode, Part};

fn replay(revision: Revision) -> Replay {
    let mut registry = Registry::default();
    let set = HookSet { hooks: vec![hook("hook", revision)], ..HookSet::default() };
    assert_eq!(registry.update_set(Some(&Ok(set.to_text()))), None);
    let scope = Scope { skip_label: ("skip".to_owned(), "true".to_owned()), exempt_namespaces: Vec::new() };
    Replay::new(&registry, scope)
}

fn shares(value: i64) -> Vec<Changed> {
    vec![(Field::CpuShares, Some(Value::Number(value)))]
}

/// A call that one plugin changed from 512 to 2048 shares.
fn call(said: Said, outcome: RecordedOutcome) -> RecordedCall {
    let fields: Fields = [(Field::CpuShares, Value::Number(512))].into();
    RecordedCall {
        time: Timestamp::UNIX_EPOCH,
        hook: Hook::PreCreateContainer,
        pod: RecordedPod {
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
            uid: "uid".to_owned(),
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
        },
        container: "main".to_owned(),
        cgroup_parent: "/kubepods".to_owned(),
        fields: fields.into_iter().collect(),
        asked: vec![RecordedAnswer {
            plugin: "hook/plugin".to_owned(),
            endpoint: PathBuf::from("/run/a.sock"),
            // Nothing: it may read labels alone.
            shown: digest(&Fields::new()),
            said,
        }],
        outcome,
    }
}

fn changed() -> RecordedCall {
    call(Said::Changes(shares(2048)), RecordedOutcome::Forwarded(shares(2048)))
}

#[test]
fn with_the_same_hooks_nothing_is_otherwise() {
    assert_eq!(replay(revision("/run/a.sock")).compare(&changed()), Difference::default());
}

#[test]
fn what_a_mask_a_mode_or_a_selector_takes_away_is_shown() {
    let head = "PreCreateContainer shop/web main cpu_shares: 512, then 2048";
    let mut masked = revision("/run/a.sock");
    masked.plugins[0].write = vec![Part::OomScoreAdj];
    let mut audited = revision("/run/a.sock");
    audited.plugins[0].mode = Mode::Audit;
    let mut elsewhere = revision("/run/a.sock");
    elsewhere.pods = PodScope { namespaces: vec!["other".to_owned()], ..PodScope::default() };
    for revision in [masked, audited, elsewhere] {
        let difference = replay(revision).compare(&changed());
        assert_eq!((difference.lines, difference.is_newly_refused), (vec![head.to_owned()], false));
    }
}

#[test]
fn a_policy_that_becomes_fail_refuses_the_calls_in_which_the_plugin_failed() {
    let mut strict = revision("/run/a.sock");
    strict.plugins[0].hooks[0].failure_policy = FailurePolicy::Fail;
    let failed = call(Said::TimedOut("no answer".to_owned()), RecordedOutcome::Forwarded(Vec::new()));
    let difference = replay(strict.clone()).compare(&failed);
    assert!(difference.is_newly_refused);
    let line = "PreCreateContainer shop/web main: refused with \"plugin hook/plugin failed on PreCreateContainer: no answer\", then it went on";
    assert_eq!(difference.lines, [line]);
    assert_eq!(replay(revision("/run/a.sock")).compare(&failed), Difference::default());
}

#[test]
fn a_plugin_that_is_new_is_not_known_and_one_that_is_shown_something_else_is_assumed() {
    let difference = replay(revision("/run/new.sock")).compare(&changed());
    assert_eq!(difference.unanswered, ["hook/plugin"]);
    let mut curious = revision("/run/a.sock");
    curious.plugins[0].read = vec![Part::CpuShares];
    let difference = replay(curious).compare(&changed());
    assert_eq!((difference.assumed, difference.lines), (vec!["hook/plugin".to_owned()], Vec::new()));
}
