use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::*;
use crate::boot_clock::TestClock;
use crate::gate::Gate;
use crate::lease::LeaseMetrics;
use crate::lease::record;
use crate::metrics::Metrics;

/// A server of one Lease; a way to it that is cut swallows requests.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Option<Lease>>>);

#[derive(Clone, Default)]
struct Way {
    server: Shared,
    cut: Arc<AtomicBool>,
    /// Whose gate must be closed when the lease is given up over this way.
    gate: Arc<OnceLock<Gate>>,
}

impl Way {
    async fn go(&self) {
        sleep(Duration::from_millis(20)).await;
        if self.cut.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
    }

    fn put(&self, lease: &Lease, over: Option<&str>) -> Result<Lease, StoreError> {
        let mut stored = self.server.0.lock().unwrap();
        let version = stored.as_ref().and_then(|lease| lease.metadata.resource_version.clone());
        if version.as_deref() != over {
            return Err(StoreError::Changed);
        }
        let mut lease = lease.clone();
        let next = version.map_or(0, |version| version.parse::<u64>().unwrap()) + 1;
        lease.metadata.resource_version = Some(next.to_string());
        *stored = Some(lease.clone());
        Ok(lease)
    }

    fn holder(&self) -> Option<String> {
        self.server.0.lock().unwrap().as_ref().and_then(|lease| record::holder(lease).map(str::to_owned))
    }
}

impl Store for Way {
    async fn read(&self) -> Result<Option<Lease>, StoreError> {
        self.go().await;
        Ok(self.server.0.lock().unwrap().clone())
    }
    async fn create(&self, lease: &Lease) -> Result<Lease, StoreError> {
        self.go().await;
        self.put(lease, None)
    }
    async fn replace(&self, lease: &Lease) -> Result<Lease, StoreError> {
        let given_up = record::holder(lease).is_none();
        assert!(!(given_up && self.gate.get().unwrap().is_open()), "given up with the gate open");
        self.go().await;
        self.put(lease, lease.metadata.resource_version.as_deref())
    }
}

struct Running {
    gate: Gate,
    way: Way,
    stop: oneshot::Sender<()>,
    task: JoinSet<()>,
    metrics: Metrics,
}

fn contender(identity: &str, server: &Shared) -> Running {
    let way = Way { server: server.clone(), ..Way::default() };
    let metrics = Metrics::new("reeve");
    let config = LeaseConfig { identity: identity.to_owned(), ..LeaseConfig::new("ns", "x") };
    let clock = TestClock::start();
    let (keeper, gate) = GateKeeper::new(clock.clone(), config.timing.margin());
    way.gate.set(gate.clone()).unwrap();
    let lease_metrics = LeaseMetrics::register(&metrics).of("x", gate.clone());
    let contender = Contender::new(way.clone(), config, clock, keeper, lease_metrics);
    let (stop, stopped) = oneshot::channel::<()>();
    let mut task = JoinSet::new();
    task.spawn(contender.run(async { drop(stopped.await) }));
    Running { gate, way, stop, task, metrics }
}

#[tokio::test(start_paused = true)]
async fn one_of_two_leads_and_keeps_leading() {
    let server = Shared::default();
    let first = contender("first", &server);
    let term = first.gate.wait_for_term().await.unwrap();
    let second = contender("second", &server);
    sleep(Duration::from_mins(10)).await;
    assert!(term.check().is_ok() && !second.gate.is_open());
    assert_eq!(server.0.lock().unwrap().as_ref().unwrap().spec.as_ref().unwrap().lease_transitions, Some(0));
}

#[tokio::test(start_paused = true)]
async fn a_holder_cut_from_the_server_stops_before_the_other_starts() {
    let server = Shared::default();
    let first = contender("first", &server);
    let term = first.gate.wait_for_term().await.unwrap();
    let second = contender("second", &server);
    sleep(Duration::from_secs(7)).await;
    first.way.cut.store(true, Ordering::SeqCst);
    let (ended, began) = tokio::join!(
        async {
            term.ended().await;
            Instant::now()
        },
        async {
            second.gate.wait_for_term().await.unwrap();
            Instant::now()
        }
    );
    assert!(began.duration_since(ended) >= Duration::from_secs(3), "{:?}", began.duration_since(ended));
    assert!(first.metrics.encode().unwrap().contains("reeve_leader{lease=\"x\"} 0"));
    assert!(second.metrics.encode().unwrap().contains("reeve_leader{lease=\"x\"} 1"));
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_is_let_back_in_time_begins_another_term() {
    let server = Shared::default();
    let first = contender("first", &server);
    let term = first.gate.wait_for_term().await.unwrap();
    first.way.cut.store(true, Ordering::SeqCst);
    term.ended().await;
    first.way.cut.store(false, Ordering::SeqCst);
    assert_eq!(first.gate.wait_for_term().await.unwrap().number(), 2);
    assert!(first.metrics.encode().unwrap().contains("reeve_leader_terms_total{lease=\"x\"} 2"));
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_stops_gives_the_lease_up_with_its_gate_closed() {
    let server = Shared::default();
    let mut first = contender("first", &server);
    let term = first.gate.wait_for_term().await.unwrap();
    let second = contender("second", &server);
    sleep(Duration::from_secs(5)).await;

    first.stop.send(()).unwrap();
    let began = Instant::now();
    first.task.join_next().await.unwrap().unwrap();
    assert!(term.check().is_err());
    second.gate.wait_for_term().await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_eq!(second.way.holder().as_deref(), Some("second"));
}

#[tokio::test(start_paused = true)]
async fn a_stop_is_not_held_up_by_a_server_that_does_not_answer() {
    let server = Shared::default();
    let mut first = contender("first", &server);
    first.gate.wait_for_term().await.unwrap();
    first.way.cut.store(true, Ordering::SeqCst);
    let began = Instant::now();
    first.stop.send(()).unwrap();
    first.task.join_next().await.unwrap().unwrap();
    assert_eq!(began.elapsed(), RELEASE_WITHIN);
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_stops_leaves_the_lease_alone() {
    let server = Shared::default();
    let first = contender("first", &server);
    let term = first.gate.wait_for_term().await.unwrap();
    let mut second = contender("second", &server);
    sleep(Duration::from_secs(5)).await;
    second.stop.send(()).unwrap();
    second.task.join_next().await.unwrap().unwrap();
    assert!(term.check().is_ok());
    assert_eq!(first.way.holder().as_deref(), Some("first"));
}
