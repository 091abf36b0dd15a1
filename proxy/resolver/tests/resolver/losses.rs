//! Nothing is lost: many cycles of several Services, called in every way, while replicas end and the switch is killed.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use reeve_crds::scaling_rule::status::TrafficMode;
use reeve_tests::{Process, eventually, within};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::place::{App, Place, mode_of};

mod calls;
mod crashes;

use calls::Call;

/// Replicas end and switches are killed meanwhile: a cycle may have to wait for more than one of them.
const SLEEPS_WITHIN: Duration = Duration::from_mins(5);

/// How much is done.
#[derive(Clone, Copy)]
struct Course {
    services: usize,
    /// Of all Services together.
    cycles: u64,
    /// A line says how far it has come after so many.
    line_every: u64,
}

#[tokio::test(flavor = "multi_thread")]
async fn loses_nothing() {
    run(Course { services: 3, cycles: 60, line_every: 20 }).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes most of an hour; `make soak ONLY=resolver` runs it"]
async fn ten_services_lose_nothing_in_a_thousand_cycles() {
    let cycles = std::env::var_os("CYCLES").map_or(1000, |count| {
        count.to_str().and_then(|count| count.parse().ok()).expect("CYCLES is a number of cycles, such as 60")
    });
    let line = run(Course { services: 10, cycles, line_every: 10 }).await;
    if let Some(path) = std::env::var_os("REEVE_SUMMARY") {
        let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
        writeln!(file, "resolver: {line}").unwrap();
    }
}

struct Counts {
    course: Course,
    served: AtomicU64,
    failed: AtomicU64,
    cycles: AtomicU64,
    kills: AtomicU64,
    stop: AtomicBool,
}

impl Counts {
    fn new(course: Course) -> Arc<Self> {
        Arc::new(Self {
            course,
            served: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            cycles: AtomicU64::new(0),
            kills: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        })
    }

    fn line(&self) -> String {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        format!(
            "cycles={} services={} requests={} kills={} failed={}",
            count(&self.cycles),
            self.course.services,
            count(&self.served),
            count(&self.kills),
            count(&self.failed),
        )
    }

    fn cycle(&self) {
        let cycles = self.cycles.fetch_add(1, Ordering::Relaxed) + 1;
        if cycles.is_multiple_of(self.course.line_every) {
            println!("{}", self.line());
        }
    }

    fn kill(&self, what: &str) {
        self.kills.fetch_add(1, Ordering::Relaxed);
        println!("{what}: {}", self.line());
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.cycles.load(Ordering::Relaxed) >= self.course.cycles
    }
}

async fn run(course: Course) -> String {
    let place: &'static Place = Box::leak(Box::new(Place::start().await));
    let counts = Counts::new(course);
    let switches = vec![place.switch("switch-0"), place.switch("switch-1")];
    let replicas = vec![place.replica(0, 0), place.replica(1, 0)];
    let mut callers = JoinSet::new();
    for number in 0..course.services {
        let spec = json!({ "idleAfter": "1s", "minAwake": "0s", "handOver": { "policy": "Never" } });
        let app = App::new(place, &format!("loss-{number}"), spec).await;
        callers.spawn(call(app, number, Arc::clone(&counts)));
    }
    let mut killers = JoinSet::new();
    killers.spawn(end_replicas(place, replicas, Arc::clone(&counts)));
    killers.spawn(kill_switches(place, switches, Arc::clone(&counts)));
    while callers.join_next().await.transpose().unwrap().is_some() {}
    counts.stop.store(true, Ordering::Relaxed);
    killers.join_all().await;
    let line = counts.line();
    println!("{line}");
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    assert!(count(&counts.cycles) >= course.cycles && count(&counts.kills) > 0, "{line}");
    assert!(count(&counts.served) > count(&counts.cycles), "{line}");
    assert_eq!(count(&counts.failed), 0, "{line}");
    line
}

/// Bursts of calls from asleep to awake, over and over.
async fn call(app: App, number: usize, counts: Arc<Counts>) {
    let bytes = app.bytes();
    let mut calls = Call::ALL.into_iter().cycle().skip(number);
    while !counts.is_over() {
        let sleeps = within(SLEEPS_WITHIN, "the target sleeps again", || async {
            let rule = app.rules().get("web").await.map_err(|error| error.to_string())?;
            if mode_of(&rule) == Some(TrafficMode::Asleep) || counts.is_over() {
                Ok(())
            } else {
                Err(format!("{:?}", rule.status))
            }
        });
        sleeps.await.unwrap();
        let mut burst = JoinSet::new();
        for (place, call) in (0..8_u64).zip(&mut calls) {
            let (address, counts) = (app.address, Arc::clone(&counts));
            burst.spawn(async move {
                // Spread over the wake and past it.
                sleep(Duration::from_millis(place * 150)).await;
                match call.run(address, bytes).await {
                    Ok(()) => counts.served.fetch_add(1, Ordering::Relaxed),
                    Err(error) => {
                        println!("failed: {call:?} of Service {number}: {error}");
                        counts.failed.fetch_add(1, Ordering::Relaxed)
                    }
                };
            });
        }
        while burst.join_next().await.is_some() {}
        counts.cycle();
    }
}

/// One replica after the other is told to end, and comes back when it has.
async fn end_replicas(place: &Place, mut replicas: Vec<Process>, counts: Arc<Counts>) {
    for life in 1_usize.. {
        pause(life, 1000).await;
        if counts.is_over() {
            return;
        }
        let victim = life % replicas.len();
        replicas[victim].terminate().unwrap();
        counts.kill("a replica ends");
        ended(&replicas[victim]).await;
        replicas[victim] = place.replica(victim, life);
    }
}

/// One switch after the other is killed without a word, and comes back. The other takes over when the lease has run out,
/// and gets some time to lead.
async fn kill_switches(place: &Place, mut switches: Vec<Process>, counts: Arc<Counts>) {
    for life in 1_usize.. {
        pause(life, 30_000).await;
        if counts.is_over() {
            return;
        }
        let victim = life % switches.len();
        switches[victim].kill().unwrap();
        counts.kill("a switch is killed");
        switches[victim] = place.switch(&format!("switch-{victim}-{life}"));
    }
}

/// Kills are spread in time; what they hit is chance.
async fn pause(life: usize, least: usize) {
    sleep(Duration::from_millis(u64::try_from(least + (life * 7919) % 5000).unwrap_or_default())).await;
}

async fn ended(process: &Process) {
    let folder = format!("/proc/{}", process.pid());
    eventually("the replica has ended", || async {
        if std::path::Path::new(&folder).exists() { Err("it goes on") } else { Ok(()) }
    })
    .await;
}
