//! Nothing is lost: many cycles of several Services while replicas end and the switch is killed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use http::StatusCode;
use reeve_crds::scaling_rule::status::TrafficMode;
use reeve_tests::{Process, eventually};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::client::get;
use crate::place::{App, Place, mode_of};

const APPS: usize = 3;
const CYCLES: u64 = 60;

#[derive(Default)]
struct Counts {
    served: AtomicU64,
    failed: AtomicU64,
    cycles: AtomicU64,
    kills: AtomicU64,
    stop: AtomicBool,
}

impl Counts {
    fn kill(&self, what: &str) {
        let kills = self.kills.fetch_add(1, Ordering::Relaxed) + 1;
        println!("{what}: kills={kills} cycles={}", self.cycles.load(Ordering::Relaxed));
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.cycles.load(Ordering::Relaxed) >= CYCLES
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn loses_nothing() {
    let place: &'static Place = Box::leak(Box::new(Place::start().await));
    let counts = Arc::new(Counts::default());
    let switches = vec![place.switch("switch-0"), place.switch("switch-1")];
    let replicas = vec![place.replica(0, 0), place.replica(1, 0)];
    let mut callers = JoinSet::new();
    for number in 0..APPS {
        let spec = json!({ "idleAfter": "1s", "minAwake": "0s", "handOver": { "policy": "Never" } });
        let app = App::new(place, &format!("loss-{number}"), spec).await;
        callers.spawn(call(app, Arc::clone(&counts)));
    }
    let mut killers = JoinSet::new();
    killers.spawn(end_replicas(place, replicas, Arc::clone(&counts)));
    killers.spawn(kill_switches(place, switches, Arc::clone(&counts)));
    while callers.join_next().await.transpose().unwrap().is_some() {}
    counts.stop.store(true, Ordering::Relaxed);
    killers.join_all().await;
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (cycles, served) = (count(&counts.cycles), count(&counts.served));
    let (kills, failed) = (count(&counts.kills), count(&counts.failed));
    println!("cycles={cycles} services={APPS} requests={served} kills={kills} failed={failed}");
    assert!(cycles >= CYCLES && kills > 0 && served > cycles);
    assert_eq!(failed, 0);
}

/// Bursts of requests from asleep to awake, over and over.
async fn call(app: App, counts: Arc<Counts>) {
    while !counts.is_over() {
        eventually("the target sleeps again", || async {
            let rule = app.rules().get("web").await.map_err(|error| error.to_string())?;
            if mode_of(&rule) == Some(TrafficMode::Asleep) || counts.is_over() {
                Ok(())
            } else {
                Err(format!("{:?}", mode_of(&rule)))
            }
        })
        .await;
        let mut burst = JoinSet::new();
        for number in 0..8_u64 {
            let (address, counts) = (app.address, Arc::clone(&counts));
            burst.spawn(async move {
                // Spread over the wake and past it.
                sleep(Duration::from_millis(number * 150)).await;
                match get(address, "/index.html").await {
                    Ok(answer) if answer.status == StatusCode::OK => counts.served.fetch_add(1, Ordering::Relaxed),
                    outcome => {
                        println!("failed: {outcome:?}");
                        counts.failed.fetch_add(1, Ordering::Relaxed)
                    }
                };
            });
        }
        while burst.join_next().await.is_some() {}
        counts.cycles.fetch_add(1, Ordering::Relaxed);
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
