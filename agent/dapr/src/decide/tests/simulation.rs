//! Random histories of a namespace under an agent that is killed between any two of its steps.
//!
//! After each history the world comes to rest, and then: every pod of a sidecar that does not reload was started with
//! what is applied now; no workload restarted without a functional change; restarts at once stayed within the budget;
//! and the decision about what was decided is empty.
//!
//! One thing the agent cannot see: a change that is taken back before it looked once. A pod that starts in between runs
//! what is gone again. So a store that was there before comes back only after the agent has looked.

use proptest::prelude::*;
use serde_json::json;

use super::super::*;
use crate::entry::target_hash;
use crate::kit::{Shop, at, id, store};

const APPS: [&str; 3] = ["a", "b", "c"];
const BUDGET: usize = 2;

#[derive(Clone, Debug)]
enum Event {
    /// The store of this number is applied.
    Apply(u8),
    /// Only labels change.
    Label(u8),
    /// The agent decides, stores this many of the records, acts on this many of those, and is killed.
    Decide { stores: usize, acts: usize },
    /// The controller replaces one pod of this workload.
    Replace(usize),
    /// Some seconds pass.
    Wait(u8),
    /// All sidecars that reload have done so.
    Reload,
    /// The injector comes or goes.
    Injector(bool),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (0_u8..4).prop_map(Event::Apply),
        (0_u8..4).prop_map(Event::Label),
        (0_usize..4, 0_usize..4).prop_map(|(stores, acts)| Event::Decide { stores, acts }),
        (0_usize..3).prop_map(Event::Replace),
        (0_usize..3).prop_map(Event::Replace),
        (0_u8..20).prop_map(Event::Wait),
        Just(Event::Reload),
        any::<bool>().prop_map(Event::Injector),
    ]
}

/// What each pod was started with or has reloaded since, as the truth that the agent does not see.
struct Truth {
    shop: Shop,
    runs: BTreeMap<WorkloadId, Vec<Entries>>,
    rolls: BTreeMap<WorkloadId, usize>,
    changes: usize,
    unseen: bool,
}

impl Truth {
    fn new(version: &str) -> Self {
        let mut shop = Shop::new(version);
        shop.world.policy.max_concurrent_restarts = i32::try_from(BUDGET).unwrap();
        shop.world.policy.max_restarts_per_hour = 60;
        shop.apply(&store("store-0", &json!({})));
        for app in APPS {
            let workload = shop.workload(app);
            workload.replicas = 2;
            let mut second = workload.pods[0].clone();
            second.name = format!("{app}-2");
            workload.pods.push(second);
        }
        shop.decide();
        let mut truth = Self { shop, runs: BTreeMap::new(), rolls: BTreeMap::new(), changes: 0, unseen: false };
        for app in APPS {
            let entries = truth.applied(app);
            truth.runs.insert(id(app), vec![entries.clone(), entries]);
        }
        truth
    }

    fn applied(&self, app: &str) -> Entries {
        expected("shop", &self.shop.world.workloads[&id(app)], &self.shop.world)
    }

    fn step(&mut self, event: &Event) {
        match event {
            Event::Apply(number) => {
                let before = self.shop.world.resources.clone();
                let number = if self.unseen { 100 + self.changes } else { usize::from(*number) };
                self.shop.apply(&store(&format!("store-{number}"), &json!({})));
                self.unseen = true;
                self.changes += usize::from(before != self.shop.world.resources);
                for app in APPS {
                    self.shop.workload(app).evidence = Evidence::Silent;
                }
            }
            Event::Label(number) => {
                let resource = self.shop.world.resources.values().next().unwrap();
                let host = resource.spec["metadata"][0]["value"].as_str().unwrap().to_owned();
                let mut object = store(&host, &json!({}));
                object["metadata"]["labels"] = json!({ "number": number.to_string() });
                self.shop.apply(&object);
            }
            Event::Decide { stores, acts } => self.decide(*stores, *acts),
            Event::Replace(which) => self.replace(APPS[*which]),
            Event::Wait(seconds) => self.shop.now += i64::from(*seconds),
            Event::Reload => self.reload(),
            Event::Injector(ready) => self.shop.world.control_plane.injector_ready = *ready,
        }
    }

    /// Records are stored before anything is done, and a kill may come between any two of these.
    fn decide(&mut self, stores: usize, acts: usize) {
        let decisions = decide(&self.shop.world, at(self.shop.now));
        for (id, decision) in decisions.iter().take(stores) {
            self.shop.world.records.insert(id.clone(), decision.record.clone());
        }
        self.unseen &= stores < APPS.len();
        for (id, decision) in decisions.iter().take(stores.min(acts)) {
            let Verdict::Restart(Means::Template(token)) = &decision.verdict else { continue };
            let workload = self.shop.world.workloads.get_mut(id).unwrap();
            if workload.token.as_ref() != Some(token) {
                workload.token = Some(token.clone());
                *self.rolls.entry(id.clone()).or_default() += 1;
            }
        }
        let restarting = self.shop.world.records.values().filter(|record| record.phase() == Phase::Restarting).count();
        assert!(restarting <= BUDGET, "{restarting} workloads restart at once");
    }

    /// As a controller does: an outdated pod goes, and one of the template comes.
    fn replace(&mut self, app: &str) {
        let entries = self.applied(app);
        let workload = self.shop.workload(app);
        let Some(outdated) = workload.pods.iter().position(|pod| pod.token != workload.token) else { return };
        workload.pods[outdated].token.clone_from(&workload.token);
        self.runs.get_mut(&id(app)).unwrap()[outdated] = entries;
    }

    fn reload(&mut self) {
        for app in APPS {
            if self.shop.workload(app).sidecar().hot_reload {
                let entries = self.applied(app);
                self.runs.get_mut(&id(app)).unwrap().fill(entries);
                self.shop.workload(app).evidence = Evidence::Seen;
            }
        }
    }

    /// Lets everything go on until nothing is left to do.
    fn rest(&mut self) {
        self.shop.world.control_plane.injector_ready = true;
        for _ in 0..40 {
            self.reload();
            self.decide(9, 9);
            for app in APPS {
                self.replace(app);
                self.replace(app);
            }
            self.shop.now += 10;
        }
    }

    fn check(&self, hot: bool) {
        let again = decide(&self.shop.world, at(self.shop.now));
        for app in APPS {
            let id = id(app);
            assert_eq!(again[&id].verdict, Verdict::Nothing, "{app}: {:?}", again[&id]);
            let record = &self.shop.world.records[&id];
            assert_eq!(again[&id].record, *record, "the decision about a decision changes nothing");
            let applied = self.applied(app);
            assert_eq!(target_hash(&record.running), target_hash(&applied));
            for run in &self.runs[&id] {
                assert_eq!(target_hash(run), target_hash(&applied), "{app} runs what is no longer applied");
            }
            let rolls = self.rolls.get(&id).copied().unwrap_or_default();
            assert!(rolls <= self.changes, "{app} restarted {rolls} times for {} changes", self.changes);
            assert!(!hot || rolls == 0, "{app} restarted although it reloads");
        }
    }
}

#[test]
fn a_pod_that_started_between_two_changes_restarts_when_the_first_comes_back() {
    let mut truth = Truth::new("1.17.0");
    let decide = |stores, acts| Event::Decide { stores, acts };
    // The one pod of the first restart starts with what is applied and gone before the agent looks.
    let begun = [Event::Apply(3), decide(1, 1), Event::Apply(0), Event::Replace(0), Event::Apply(0)];
    for event in begun.iter().chain(&[decide(3, 1), Event::Apply(3)]) {
        truth.step(event);
    }
    truth.rest();
    truth.check(false);
}

#[test]
fn a_restart_during_which_a_change_came_and_went_is_not_over_when_its_pods_are_ready() {
    let mut truth = Truth::new("1.17.0");
    let decide = |stores, acts| Event::Decide { stores, acts };
    // The last pod of the restart starts with what comes meanwhile, which is gone again before anybody acts on it.
    let begun = [Event::Apply(2), decide(2, 2), decide(2, 2), Event::Replace(1), Event::Apply(0), Event::Replace(1)];
    for event in begun.iter().chain(&[decide(3, 0), Event::Apply(2)]) {
        truth.step(event);
    }
    truth.rest();
    truth.check(false);
}

#[test]
fn what_is_mixed_restarts_for_what_is_applied_not_for_what_was_taken_back() {
    let mut truth = Truth::new("1.17.0");
    let decide = |stores, acts| Event::Decide { stores, acts };
    // A restart is begun, another change waits for the injector, and both are taken back.
    for event in [Event::Apply(1), decide(1, 0), Event::Wait(5), decide(1, 0), Event::Apply(0), Event::Injector(false)]
    {
        truth.step(&event);
    }
    for event in [decide(3, 0), Event::Apply(0), Event::Injector(true)] {
        truth.step(&event);
    }
    let decision = truth.shop.decide().remove(&id("a")).unwrap();
    assert_eq!(target_hash(&decision.record.applied), target_hash(&truth.applied("a")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn sidecars_that_do_not_reload_restart_once_for_each_change(events in prop::collection::vec(event(), 0..60)) {
        let mut truth = Truth::new("1.17.0");
        for event in &events {
            truth.step(event);
        }
        truth.rest();
        truth.check(false);
    }

    #[test]
    fn sidecars_that_reload_never_restart_while_they_prove_it(events in prop::collection::vec(event(), 0..60)) {
        let mut truth = Truth::new("1.18.3");
        for event in &events {
            truth.step(event);
            // A sidecar reloads long before the proof is due.
            truth.reload();
        }
        truth.rest();
        truth.check(true);
    }

    #[test]
    fn a_decision_that_is_stored_and_not_acted_on_is_taken_again(events in prop::collection::vec(event(), 0..40)) {
        let mut truth = Truth::new("1.17.0");
        for event in &events {
            truth.step(event);
        }
        let first = truth.shop.decide();
        let second = truth.shop.decide();
        for (id, decision) in &first {
            // Who stands in the queue may get the place that the first decision gave back.
            if matches!(&decision.verdict, Verdict::Blocked(block) if block.reason == BlockedReason::Queued) {
                continue;
            }
            prop_assert_eq!(&decision.record, &second[id].record);
            // What is begun stays begun.
            if matches!(decision.verdict, Verdict::Restart(_)) {
                prop_assert_eq!(&decision.verdict, &second[id].verdict);
            }
        }
    }
}
