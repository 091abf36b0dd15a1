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
const CYCLES: u64 = 30;

#[derive(Default)]
struct Counts {
    served: AtomicU64,
    failed: AtomicU64,
    cycles: AtomicU64,
    kills: AtomicU64,
    stop: AtomicBool,
}

impl Counts {
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
    let killing = tokio::spawn(kill(place, switches, replicas, Arc::clone(&counts)));
    while callers.join_next().await.transpose().unwrap().is_some() {}
    counts.stop.store(true, Ordering::Relaxed);
    killing.await.unwrap();
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

/// By turns: a replica is told to end and comes back, a switch is killed without a word and comes back.
async fn kill(place: &Place, mut switches: Vec<Process>, mut replicas: Vec<Process>, counts: Arc<Counts>) {
    let mut life = 0_usize;
    while !counts.is_over() {
        sleep(Duration::from_millis(u64::try_from(1500 + (life * 7919) % 3000).unwrap_or_default())).await;
        life += 1;
        let victim = life % 2;
        if life % 3 == 0 {
            switches[victim].kill().unwrap();
            switches[victim] = place.switch(&format!("switch-{victim}-{life}"));
        } else {
            replicas[victim].terminate().unwrap();
            ended(&replicas[victim]).await;
            replicas[victim] = place.replica(victim, life);
        }
        counts.kills.fetch_add(1, Ordering::Relaxed);
        println!("kills={} cycles={}", counts.kills.load(Ordering::Relaxed), counts.cycles.load(Ordering::Relaxed));
    }
}

async fn ended(process: &Process) {
    let folder = format!("/proc/{}", process.pid());
    eventually("the replica has ended", || async {
        if std::path::Path::new(&folder).exists() { Err("it goes on") } else { Ok(()) }
    })
    .await;
}
