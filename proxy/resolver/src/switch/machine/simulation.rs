//! A hundred thousand sleeps and wakes in a world that is late, loses messages and crashes.
//!
//! The machine and the table of replicas are the real ones. Around them: pods that take time to start and die at once,
//! a controller and a kube-proxy that lag behind, replicas that read the mode late and whose reports get lost, a switch
//! that is killed between any two effects, and people who ask for sleeps and wakes,
//! scale to zero and take the capture away.

mod cluster;
mod replica;
mod switch;

use cluster::Cluster;
use switch::Switch;

/// Deterministic, so that a failure can be seen again.
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `limit`, without it.
    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// True once in so many times.
    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// A tenth of a second.
type Tick = i64;

/// How rough a world is: once in so many ticks; zero for never.
#[derive(Clone, Copy, Debug)]
struct Weather {
    switch_dies: u64,
    replica_dies: u64,
    report_lost: u64,
    foreign: u64,
    /// A person asks for a sleep or a wake.
    asked: u64,
    /// Ticks that a view lags behind at most.
    lag: u64,
}

const FAIR: Weather = Weather { switch_dies: 0, replica_dies: 0, report_lost: 50, foreign: 0, asked: 200, lag: 3 };
const CRASHES: Weather = Weather { switch_dies: 300, replica_dies: 0, report_lost: 10, foreign: 0, asked: 200, lag: 6 };
const STORM: Weather =
    Weather { switch_dies: 500, replica_dies: 700, report_lost: 10, foreign: 400, asked: 200, lag: 8 };

#[derive(Debug, Default)]
struct Outcome {
    sleeps: u64,
    served: u64,
    lost: u64,
    /// Lost by a killed replica or somebody else's hand, which no switch can help.
    excused: u64,
    ticks: i64,
}

fn simulate(seed: u64, weather: Weather, sleeps: u64, has_keda: bool) -> Outcome {
    let mut cluster = Cluster::new(Dice(seed), weather, has_keda);
    let mut switch = Switch::default();
    let mut asleep_since = 0;
    while cluster.outcome.sleeps < sleeps {
        cluster.tick();
        switch.tick(&mut cluster);
        cluster.run_keda(&switch);
        cluster.check(&switch);
        // Without this a machine that is stuck would look like one that is careful.
        asleep_since = if cluster.just_slept() { cluster.now } else { asleep_since };
        assert!(cluster.now - asleep_since < 20_000, "seed {seed}: no sleep for 2000 s: {switch:?} {cluster:#?}");
    }
    cluster.outcome.ticks = cluster.now;
    cluster.outcome
}

fn run(name: &str, weather: Weather, sleeps: u64) -> Outcome {
    run_with(name, weather, sleeps, false)
}

fn run_with(name: &str, weather: Weather, sleeps: u64, has_keda: bool) -> Outcome {
    let halves = [1, 2].map(|seed| std::thread::spawn(move || simulate(seed, weather, sleeps / 2, has_keda)));
    let mut whole = Outcome::default();
    for half in halves {
        let outcome = half.join().expect("the simulation found a fault");
        whole.sleeps += outcome.sleeps;
        whole.served += outcome.served;
        whole.lost += outcome.lost;
        whole.excused += outcome.excused;
        whole.ticks += outcome.ticks;
    }
    println!("{name}: {whole:?}");
    assert_eq!(whole.lost, 0, "{whole:?}");
    assert!(whole.served > whole.sleeps, "{whole:?}");
    whole
}

const SLEEPS: u64 = 2_000;

#[test]
fn in_fair_weather_nothing_is_lost() {
    assert_eq!(run("fair", FAIR, SLEEPS).excused, 0);
}

#[test]
fn a_switch_that_is_killed_at_any_moment_loses_nothing() {
    assert_eq!(run("crashes", CRASHES, SLEEPS).excused, 0);
}

#[test]
fn killed_replicas_and_meddling_people_cost_no_more_than_they_must() {
    run("storm", STORM, SLEEPS);
}

#[test]
fn what_keda_does_late_loses_nothing() {
    assert_eq!(run_with("keda, fair", FAIR, SLEEPS / 2, true).excused, 0);
    assert_eq!(run_with("keda, crashes", CRASHES, SLEEPS / 2, true).excused, 0);
}

#[test]
#[ignore = "takes minutes: `make soak ONLY=resolver-simulation`"]
fn a_hundred_thousand_sleeps_lose_nothing() {
    assert_eq!(run("fair", FAIR, 40_000).excused, 0);
    assert_eq!(run("crashes", CRASHES, 30_000).excused, 0);
    run("storm", STORM, 30_000);
    run_with("keda, crashes", CRASHES, 10_000, true);
    run_with("keda, storm", STORM, 10_000, true);
}
