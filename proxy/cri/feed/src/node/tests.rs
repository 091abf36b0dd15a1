use proptest::prelude::*;

use super::*;
use crate::selection::tests::{batch, hook, proxy_state};

const ALL: NodeWrites = NodeWrites { condition: true, taint: true };

fn facts() -> NodeFacts {
    NodeFacts { uid: "uid".to_owned(), labels: batch(), is_tainted: false, says_live: None }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).unwrap()
}

fn strict(content: u32) -> Arc<NodeHook> {
    let mut hook = hook("a", 1, content, 100);
    hook.spec.while_not_live = WhileNotLive::NoSchedule;
    Arc::new(hook)
}

/// The world around a machine: does what it says, unless a write fails.
struct World {
    machine: Machine,
    disk: HookSet,
    proxy: HookSet,
    node: NodeFacts,
    status: Option<NodeHookStatusStatus>,
    writes_of_status: usize,
    notes: Vec<String>,
}

impl World {
    fn new(disk: HookSet) -> Self {
        Self {
            machine: Machine::new(disk.clone(), None, ALL),
            proxy: disk.clone(),
            disk,
            node: facts(),
            status: None,
            writes_of_status: 0,
            notes: Vec::new(),
        }
    }

    fn send(&mut self, event: Event, now: Timestamp, fails: bool) {
        let mut effects = self.machine.step(event, now);
        for _ in 0..16 {
            if effects.is_empty() {
                return;
            }
            let effect = effects.remove(0);
            let outcome = match effect {
                Effect::Publish { note, .. } => {
                    self.notes.push(note);
                    continue;
                }
                Effect::WriteSet(_) if fails => Event::DiskFailed,
                _ if fails => Event::ApiFailed,
                Effect::WriteSet(set) => {
                    self.disk = *set.clone();
                    Event::SetWritten(set)
                }
                Effect::WriteStatus { status, .. } => {
                    self.writes_of_status += 1;
                    self.status = Some(*status.clone());
                    Event::StatusWritten(status, Some(1))
                }
                Effect::PatchNode { taint, live, .. } => {
                    self.node.is_tainted = taint.unwrap_or(self.node.is_tainted);
                    self.node.says_live = live.or(self.node.says_live);
                    Event::Node(self.node.clone())
                }
            };
            effects = self.machine.step(outcome, now);
        }
        panic!("the machine does not come to rest: {effects:?}");
    }

    /// The proxy reads the disk, and says so.
    fn proxy_reads(&mut self, now: Timestamp) {
        self.proxy = self.disk.clone();
        self.proxy_says(now);
    }

    fn proxy_says(&mut self, now: Timestamp) {
        let state = proxy_state(&self.proxy, false, None);
        self.send(Event::State(Ok(Box::new(state))), now, false);
    }
}

#[test]
fn nothing_is_written_before_hooks_and_node_are_known() {
    let mut machine = Machine::new(HookSet::default(), None, ALL);
    assert_eq!(machine.step(Event::Node(facts()), at(0)), []);
    assert_eq!(machine.step(Event::State(Err("absent".to_owned())), at(1)), []);
    let effects = machine.step(Event::Hooks(vec![strict(1)]), at(2));
    assert!(matches!(&effects[0], Effect::WriteSet(set) if set.hooks[0].name == "a"), "{effects:?}");
}

#[test]
fn a_node_is_tainted_until_its_hooks_are_live_and_says_so() {
    let mut world = World::new(HookSet::default());
    world.send(Event::Node(facts()), at(0), false);
    world.send(Event::Hooks(vec![strict(1)]), at(0), false);
    assert_eq!((world.node.is_tainted, world.node.says_live), (true, Some(false)));
    world.proxy_says(at(1));
    assert!(world.node.is_tainted, "the proxy has not read it yet");
    world.proxy_reads(at(2));
    assert_eq!((world.node.is_tainted, world.node.says_live), (false, Some(true)));
    world.send(Event::State(Err("nobody serves".to_owned())), at(3), false);
    assert!(world.node.is_tainted, "a proxy that is gone asks nobody");
    let status = world.status.clone().unwrap();
    assert_ne!(status.state, Some(reeve_crds::State::Ready));
}

#[test]
fn hooks_reach_the_disk_although_the_api_server_takes_nothing() {
    let mut world = World::new(HookSet::default());
    world.send(Event::Node(facts()), at(0), false);
    world.send(Event::Hooks(Vec::new()), at(0), true);
    let mut machine_effects = world.machine.step(Event::Hooks(vec![strict(1)]), at(1));
    assert!(matches!(machine_effects.remove(0), Effect::WriteSet(_)), "{machine_effects:?}");
    assert_eq!(machine_effects, [], "and the API server is left alone for a while");
}

#[test]
fn a_status_is_written_when_something_happens_and_seldom_otherwise() {
    let mut world = World::new(HookSet::default());
    world.send(Event::Node(facts()), at(0), false);
    world.send(Event::Hooks(vec![strict(1)]), at(0), false);
    world.proxy_reads(at(6));
    let before = world.writes_of_status;
    for second in 7..=306 {
        world.proxy_says(at(second));
    }
    assert_eq!(world.writes_of_status, before + 1, "one in five minutes");
}

#[test]
fn a_return_to_the_last_good_revision_is_told_once() {
    let mut world = World::new(HookSet::default());
    world.send(Event::Node(facts()), at(0), false);
    world.send(Event::Hooks(vec![strict(1)]), at(0), false);
    world.proxy_reads(at(1));
    for second in 2..5 {
        let state = proxy_state(&world.proxy, false, Some("9 of 10 calls failed"));
        world.send(Event::State(Ok(Box::new(state))), at(second), false);
    }
    assert_eq!(world.notes, ["returned to the last good revision: 9 of 10 calls failed"]);
    assert_eq!(world.disk.hooks[0].returned.as_deref(), Some("9 of 10 calls failed"), "and kept on disk");
}

proptest! {
    /// Whatever happens and whichever write fails: in the end disk, taint and status are what they should be.
    #[test]
    fn a_feed_comes_to_rest_where_it_should(
        events in proptest::collection::vec((0..5_u8, 1..4_u32, any::<bool>()), 0..60)
    ) {
        let mut world = World::new(HookSet::default());
        let mut wanted = 1;
        for (second, (kind, content, fails)) in events.into_iter().enumerate() {
            let now = at(i64::try_from(second).unwrap());
            match kind {
                0 => { wanted = content; world.send(Event::Hooks(vec![strict(content)]), now, fails); }
                1 => { let node = world.node.clone(); world.send(Event::Node(node), now, fails); }
                2 => world.send(Event::State(Err("gone".to_owned())), now, fails),
                3 => { world.proxy = world.disk.clone(); world.proxy_says(now); }
                _ => world.proxy_says(now),
            }
        }
        let end = 100_000;
        let node = world.node.clone();
        world.send(Event::Node(node), at(end), false);
        world.send(Event::Hooks(vec![strict(wanted)]), at(end), false);
        world.proxy_reads(at(end + 10));
        world.proxy_says(at(end + 20));
        prop_assert_eq!(world.disk.hooks[0].current.plugins[0].endpoint.display().to_string(), format!("/run/{wanted}.sock"));
        prop_assert_eq!((world.node.is_tainted, world.node.says_live), (false, Some(true)));
        prop_assert_eq!(world.status.unwrap().state, Some(reeve_crds::State::Ready));
    }
}
