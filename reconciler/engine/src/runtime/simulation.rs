//! A simulation of runtimes: the real machines, plans, inventories and index of a process, driven through random histories
//! against a model of a cluster. `simulation/README.md` says how to replay a seed and how to plant a fault.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reeve_crds::State;

use crate::desired::{Desired, Revision};
use crate::runtime::worker::DesiredState;

mod check;
mod cluster;
mod fleet;
mod history;
mod random;
mod task;
mod worker;
mod world;
mod writes;

use world::World;

/// Actions of a history; the work of machines and tasks comes between them.
const ACTIONS: usize = 25;

/// What was seen of many histories.
#[derive(Debug, Default)]
struct Totals {
    seeds: u64,
    steps: usize,
    writes: usize,
    crashes: usize,
}

/// Runs one history, and says what is wrong with it.
fn run(seed: u64, keeps_log: bool) -> (World, Result<(), String>) {
    let mut world = World::new(seed, keeps_log);
    let result = world.run(ACTIONS);
    (world, result)
}

fn run_for(first: u64, time: Duration) -> Totals {
    let began = now();
    let mut totals = Totals::default();
    for seed in first.. {
        if now().duration_since(began) >= time {
            break;
        }
        let (world, result) = run(seed, false);
        if result.is_err() {
            replay(seed);
        }
        totals.seeds += 1;
        totals.steps += world.steps;
        totals.writes += world.cluster.writes;
        totals.crashes += world.crashes;
    }
    totals
}

/// Runs one history again and shows it.
fn replay(seed: u64) {
    let (world, result) = run(seed, true);
    for line in &world.log {
        eprintln!("{line}");
    }
    if let Err(wrong) = result {
        panic!("seed {seed}: {wrong}\nReplay it with SIMULATION_SEED={seed}");
    }
}

#[expect(clippy::disallowed_methods, reason = "how many histories are run depends on how much time there is")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "a person names a seed")]
fn named_seed() -> Option<u64> {
    std::env::var("SIMULATION_SEED").ok()?.parse().ok()
}

fn show(totals: &Totals, time: Duration) {
    let rate = totals.seeds / time.as_secs().max(1);
    eprintln!(
        "simulation: {} histories, {rate} a second, {} steps, {} object writes, {} restarts",
        totals.seeds, totals.steps, totals.writes, totals.crashes
    );
}

#[test]
fn random_histories_lose_nothing_and_converge() {
    if let Some(seed) = named_seed() {
        return replay(seed);
    }
    let time = Duration::from_secs(5);
    show(&run_for(0, time), time);
}

#[test]
#[ignore = "takes long: make soak ONLY=simulation"]
fn random_histories_lose_nothing_and_converge_for_long() {
    let time = Duration::from_mins(10);
    show(&run_for(1_000_000, time), time);
}

#[test]
fn a_runtime_without_components_that_is_resumed_after_a_restart_says_that_it_is_ready() {
    let mut world = World::new(0, false);
    let name = "eu";
    world.homes.retain(|home, _| *home == name);
    let nothing = Desired { revision: Revision::default(), digest: "".into(), components: Vec::new() };
    let home = world.homes.get_mut(name).unwrap();
    home.desired = DesiredState::Present(Arc::new(nothing));
    home.source_suspended = true;
    world.publish(name);
    world.run_out().unwrap();
    assert_eq!(world.state(name), Some(State::Suspended));
    world.crash();
    world.run_out().unwrap();
    world.homes.get_mut(name).unwrap().source_suspended = false;
    world.notify_worker(name);
    world.run_out().unwrap();
    assert_eq!(world.state(name), Some(State::Ready));
}
