//! A simulation of sources: the real machine, driven through random histories against a model of Git, of the Runtimes in a
//! cluster and of their workers: commits, bad commits, failing fetches and writes, suspends, deletions by hand, kills of the
//! process at any point.
//!
//! It holds that nothing is removed that the commit in force has, nor while the source is suspended; that nothing is written
//! but what that commit says; that a status says `Published` only of what is; that something is always due; and that in the
//! end, when nothing fails any more, the Runtimes are what the last good commit says.

use std::time::{Duration, Instant};

mod objects;
mod world;

use world::World;

#[expect(clippy::disallowed_methods, reason = "how many histories are run depends on how much time there is")]
fn clock() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "a person names a seed")]
fn named_seed() -> Option<u64> {
    std::env::var("SIMULATION_SEED").ok()?.parse().ok()
}

fn run_for(first: u64, time: Duration) {
    let (began, mut steps) = (clock(), 0);
    let seeds = named_seed().map_or(first..u64::MAX, |seed| seed..seed + 1);
    let mut histories = 0;
    for seed in seeds {
        if clock().duration_since(began) >= time {
            break;
        }
        let mut world = World::new(seed);
        if let Err(wrong) = world.run() {
            world.log.iter().for_each(|line| eprintln!("{line}"));
            panic!("seed {seed}: {wrong}\nReplay it with SIMULATION_SEED={seed}");
        }
        steps += world.steps;
        histories += 1;
    }
    eprintln!("simulation of sources: {histories} histories, {steps} steps");
}

#[test]
fn random_histories_of_sources_remove_nothing_that_git_wants_and_converge() {
    run_for(0, Duration::from_secs(3));
}

#[test]
#[ignore = "takes long: make soak ONLY=source-simulation"]
fn random_histories_of_sources_remove_nothing_that_git_wants_and_converge_for_long() {
    run_for(1_000_000, Duration::from_mins(5));
}
