use reeve_proxy_cri::hook::Hook;

use super::*;
use crate::selection::tests::{batch, hook, proxy_state};
use crate::selection::{next_set, select};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).unwrap()
}

fn set() -> HookSet {
    next_set(&HookSet::default(), select(&[hook("a", 1, 1, 100)], &batch()), None)
}

fn of(set: &HookSet, state: Result<&state::State, &str>) -> NodeHookStatusStatus {
    status(Known { set, state, hooks: &[] }, &NodeHookStatusStatus::default(), Some(1), at(0))
}

fn plugin_state(circuit: state::Circuit, calls: u64, p99: u64) -> state::PluginState {
    state::PluginState {
        source: "a".to_owned(),
        plugin: "p".to_owned(),
        revision: "sha256:1".to_owned(),
        endpoint: "/run/1.sock".into(),
        mode: Mode::Enforce,
        hooks: vec![Hook::PreCreateContainer],
        circuit,
        circuit_since: at(0),
        calls: state::Calls { calls, p99: Some(Duration::from_micros(p99)), ..state::Calls::default() },
        last_error: None,
    }
}

#[test]
fn the_state_says_whether_the_proxy_has_what_it_should_and_how_it_does() {
    let set = set();
    let live = proxy_state(&set, true, None);
    assert_eq!(of(&set, Ok(&live)).state, Some(State::Ready));
    assert_eq!(of(&set, Err("nobody serves it")).state, Some(State::Error));
    assert_eq!(of(&set, Ok(&proxy_state(&HookSet::default(), true, None))).state, Some(State::Processing));
    let returned = of(&set, Ok(&proxy_state(&set, false, Some("too slow"))));
    assert_eq!(returned.state, Some(State::Warning));
    assert!(returned.conditions[0].message.ends_with("returned to its last good revision: too slow"));
    assert_eq!(returned.conditions[1].status, "True", "what it should have it has");
    let mut bad = live.clone();
    bad.bad_set = Some("not the JSON of a hook set".to_owned());
    assert_eq!(of(&set, Ok(&bad)).state, Some(State::Error));
    let mut broken = live;
    broken.plugins = vec![plugin_state(state::Circuit::Open, 7, 100)];
    let broken = of(&set, Ok(&broken));
    assert_eq!((broken.state, broken.open_circuits), (Some(State::Warning), Some(1)));
    assert_eq!(broken.live.unwrap().summary, "0/1");
}

#[test]
fn totals_are_sums_and_the_longest_time() {
    let set = set();
    let mut two = proxy_state(&set, true, None);
    two.plugins = vec![plugin_state(state::Circuit::Closed, 3, 100), plugin_state(state::Circuit::Closed, 4, 900)];
    let totals = of(&set, Ok(&two)).totals.unwrap();
    assert_eq!(totals.calls, 7);
    assert_eq!(totals.p99.unwrap().known().copied(), Some(Duration::from_micros(900).into()));
}

#[test]
fn numbers_alone_are_written_seldom_and_what_happens_soon() {
    let set = set();
    let mut now = proxy_state(&set, true, None);
    now.plugins = vec![plugin_state(state::Circuit::Closed, 3, 100)];
    let old = of(&set, Ok(&now));
    let written = (old.clone(), at(0));
    now.plugins[0].calls.calls = 900;
    let counted = of(&set, Ok(&now));
    assert!(!is_due(&counted, Some(&written), at(299)));
    assert!(is_due(&counted, Some(&written), at(300)));
    now.plugins[0].circuit = state::Circuit::Open;
    let open = of(&set, Ok(&now));
    assert!(!is_due(&open, Some(&written), at(4)));
    assert!(is_due(&open, Some(&written), at(5)));
    assert!(is_due(&old, None, at(0)));
}
