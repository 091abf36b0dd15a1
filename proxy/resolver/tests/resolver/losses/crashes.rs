//! Crash points: the switch, and replicas of the data plane, are killed in every mode of both hand-overs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use http::StatusCode;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt};
use reeve_crds::scaling_rule::CAPTURE_KEY;
use reeve_crds::scaling_rule::status::TrafficMode;
use reeve_tests::{Process, eventually, within};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::ended;
use crate::client::get;
use crate::place::{App, Place, mode_of};

/// The lease of a switch that was killed must run out first.
const COMES_WITHIN: Duration = Duration::from_mins(3);

/// Modes of a target that sleeps, and of one that is too busy for the path.
const SLEEPING: [TrafficMode; 4] =
    [TrafficMode::Draining, TrafficMode::Asleep, TrafficMode::Waking, TrafficMode::Proxied];
const BUSY: [TrafficMode; 4] =
    [TrafficMode::HandingOver, TrafficMode::Direct, TrafficMode::Entering, TrafficMode::Proxied];

#[derive(Default)]
struct Counts {
    served: AtomicU64,
    failed: AtomicU64,
    stop: AtomicBool,
}

/// Two Services that go through all modes, and who calls them.
struct Scene {
    apps: [Arc<App>; 2],
    counts: Arc<Counts>,
    callers: JoinSet<()>,
}

impl Scene {
    async fn open(place: &'static Place) -> Self {
        let sleeping = json!({ "idleAfter": "1s", "minAwake": "0s", "handOver": { "policy": "Never" } });
        let busy = json!({
            "idleAfter": "1s", "minAwake": "0s",
            "handOver": { "requestsPerSecond": 5, "after": "0s", "lookAfter": "5s", "lookAfterMax": "5s" },
        });
        let apps = [App::new(place, "sleeping", sleeping).await, App::new(place, "busy", busy).await].map(Arc::new);
        let (counts, mut callers) = (Arc::<Counts>::default(), JoinSet::new());
        // One request every few seconds, and for a while many of them.
        callers.spawn(call(Arc::clone(&apps[0]), Arc::clone(&counts), 1, Duration::from_secs(5)));
        callers.spawn(call(Arc::clone(&apps[1]), Arc::clone(&counts), 100, Duration::from_secs(8)));
        Self { apps, counts, callers }
    }

    /// Each mode with the Service that comes to it.
    fn crash_points(&self) -> impl Iterator<Item = (Arc<App>, TrafficMode)> {
        let sleeping = SLEEPING.map(|mode| (Arc::clone(&self.apps[0]), mode));
        let busy = BUSY.map(|mode| (Arc::clone(&self.apps[1]), mode));
        sleeping.into_iter().chain(busy)
    }

    fn line(&self, what: &str) -> String {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        format!("{what}: requests={} failed={}", count(&self.counts.served), count(&self.counts.failed))
    }

    /// Nothing of ours is left, and the Services answer.
    async fn close(mut self) {
        self.counts.stop.store(true, Ordering::Relaxed);
        while self.callers.join_next().await.transpose().unwrap().is_some() {}
        for app in &self.apps {
            app.rules().delete("web", &DeleteParams::default()).await.unwrap();
            let gone = within(COMES_WITHIN, "the rule is gone", || async {
                match app.rules().get_opt("web").await {
                    Ok(None) => Ok(()),
                    Ok(Some(rule)) => Err(format!("{:?}", rule.status)),
                    Err(error) => Err(error.to_string()),
                }
            });
            gone.await.unwrap();
            let service = app.services().get("web").await.unwrap();
            assert!(!service.spec.unwrap().selector.unwrap().contains_key(CAPTURE_KEY));
            let names = |all: Vec<Service>| all.iter().map(ResourceExt::name_any).collect::<Vec<_>>();
            assert_eq!(names(app.services().list(&ListParams::default()).await.unwrap().items), ["web"]);
            let slices: Api<EndpointSlice> = Api::namespaced(app.place.client(), &app.namespace);
            let ours = ListParams::default().labels("reeve.dev/capture");
            assert!(slices.list(&ours).await.unwrap().items.is_empty());
            eventually("it answers by itself", || get(app.address, "/")).await;
        }
    }
}

/// So many requests, one after the other, and then silence.
async fn call(app: Arc<App>, counts: Arc<Counts>, burst: usize, silence: Duration) {
    while !counts.stop.load(Ordering::Relaxed) {
        for _ in 0..burst {
            match get(app.address, "/").await {
                Ok(answer) if answer.status == StatusCode::OK => counts.served.fetch_add(1, Ordering::Relaxed),
                outcome => {
                    println!("failed in {}: {outcome:?}", app.namespace);
                    counts.failed.fetch_add(1, Ordering::Relaxed)
                }
            };
            sleep(Duration::from_millis(20)).await;
        }
        sleep(silence).await;
    }
}

/// Waits until a rule comes to a mode, looking often: some pass quickly.
async fn comes_to(app: &App, mode: TrafficMode) {
    let mut watch = Box::pin(app.modes());
    let comes = async {
        while let Some(found) = futures::StreamExt::next(&mut watch).await {
            if found == mode {
                return;
            }
        }
    };
    let came = tokio::time::timeout(COMES_WITHIN, comes).await;
    if came.is_err() {
        let rule = app.rules().get("web").await.unwrap();
        panic!("it does not come to {mode:?}, and is {:?}: {:?}", mode_of(&rule), rule.status);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes; `make soak ONLY=resolver` runs it"]
async fn the_switch_dies_in_every_mode_and_no_request_is_lost() {
    let place: &'static Place = Box::leak(Box::new(Place::start().await));
    let mut switch = place.switch("switch-0");
    let _replicas = [place.replica(0, 0), place.replica(1, 0)];
    let scene = Scene::open(place).await;
    let mut killed = Vec::new();
    for (life, (app, mode)) in scene.crash_points().enumerate() {
        comes_to(&app, mode).await;
        switch.kill().unwrap();
        killed.push(mode);
        println!("{}", scene.line(&format!("the switch dies, {} is {mode:?}", app.namespace)));
        switch = place.switch(&format!("switch-{}", life + 1));
    }
    let line = scene.line("the switch died in every mode");
    println!("{line}");
    assert_eq!(scene.counts.failed.load(Ordering::Relaxed), 0, "{killed:?}");
    scene.close().await;
}

/// What a killed replica had is gone with it, and connections to it fail until it is out of the slices; from then on all is
/// as before.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes; `make soak ONLY=resolver` runs it"]
async fn a_replica_dies_in_every_mode_and_the_services_answer_again() {
    let place: &'static Place = Box::leak(Box::new(Place::start().await));
    let _switch = place.switch("switch-0");
    let mut replicas: Vec<Process> = vec![place.replica(0, 0), place.replica(1, 0)];
    let scene = Scene::open(place).await;
    for (life, (app, mode)) in scene.crash_points().enumerate() {
        comes_to(&app, mode).await;
        let victim = life % replicas.len();
        replicas[victim].kill().unwrap();
        println!("{}", scene.line(&format!("a replica dies, {} is {mode:?}", app.namespace)));
        for app in &scene.apps {
            let answers = within(COMES_WITHIN, "all of many requests are answered", || async {
                for _ in 0..20 {
                    let answer = get(app.address, "/").await?;
                    if answer.status != StatusCode::OK {
                        return Err(format!("{answer:?}"));
                    }
                }
                Ok(())
            });
            answers.await.unwrap();
        }
        ended(&replicas[victim]).await;
        replicas[victim] = place.replica(victim, life + 1);
    }
    println!("{}", scene.line("a replica died in every mode"));
    scene.close().await;
}
