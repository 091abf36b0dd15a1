use std::convert::Infallible;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::{Instant, advance, sleep, timeout};
use tower::{Layer, Service, service_fn};

use super::*;
use crate::boot_clock::TestClock;

fn gate() -> (GateKeeper, Gate, Arc<TestClock>) {
    let clock = TestClock::start();
    let (keeper, gate) = GateKeeper::new(clock.clone(), Duration::from_secs(5));
    (keeper, gate, clock)
}

fn in_seconds(clock: &TestClock, seconds: u64) -> BootTime {
    clock.now() + Duration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn the_gate_is_closed_until_it_is_opened() {
    let (mut keeper, gate, clock) = gate();
    assert!(!gate.is_open());
    keeper.set_term_end(Some(in_seconds(&clock, 10)));
    assert!(gate.is_open());
    keeper.set_term_end(None);
    assert_eq!(gate.check(), Err(NotLeader));
}

#[tokio::test(start_paused = true)]
async fn the_gate_closes_by_the_clock_though_nobody_closes_it() {
    let (mut keeper, gate, clock) = gate();
    keeper.set_term_end(Some(in_seconds(&clock, 10)));
    advance(Duration::from_millis(9_999)).await;
    assert!(gate.is_open());
    advance(Duration::from_millis(1)).await;
    assert!(!gate.is_open());
}

#[tokio::test(start_paused = true)]
async fn a_renewal_in_time_extends_the_term_and_a_late_one_begins_another() {
    let (mut keeper, gate, clock) = gate();
    assert!(keeper.set_term_end(Some(in_seconds(&clock, 10))));
    let first = gate.term().unwrap();
    advance(Duration::from_secs(9)).await;
    assert!(!keeper.set_term_end(Some(in_seconds(&clock, 10))));
    advance(Duration::from_secs(9)).await;
    assert_eq!(first.check(), Ok(()));

    advance(Duration::from_secs(1)).await;
    assert!(keeper.set_term_end(Some(in_seconds(&clock, 10))));
    assert_eq!((first.check(), gate.term().unwrap().number()), (Err(NotLeader), 2));
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_the_end_of_a_term_is_woken_at_its_deadline() {
    let (mut keeper, gate, clock) = gate();
    keeper.set_term_end(Some(in_seconds(&clock, 10)));
    let term = gate.wait_for_term().await.unwrap();
    let began = Instant::now();
    assert_eq!(term.run(sleep(Duration::from_hours(1))).await, Err(NotLeader));
    assert_eq!(began.elapsed(), Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_to_lead_gets_the_next_term() {
    let (mut keeper, gate, clock) = gate();
    let (term, ()) = tokio::join!(gate.wait_for_term(), async {
        sleep(Duration::from_secs(3)).await;
        keeper.set_term_end(Some(in_seconds(&clock, 10)));
    });
    assert_eq!(term.unwrap().number(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_gate_closes_for_good_when_its_keeper_is_gone() {
    let (mut keeper, gate, clock) = gate();
    keeper.set_term_end(Some(in_seconds(&clock, 10)));
    let term = gate.term().unwrap();
    drop(keeper);
    assert!(term.check().is_err());
    assert!(gate.wait_for_term().await.is_err());
}

#[tokio::test]
async fn a_gate_that_nobody_guards_is_open() {
    let gate = Gate::always_open();
    assert!(gate.is_open() && gate.wait_for_term().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_layer_starts_nothing_outside_the_term_and_drops_what_is_under_way_at_its_end() {
    let (mut keeper, gate, clock) = gate();
    keeper.set_term_end(Some(in_seconds(&clock, 10)));
    let started = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let count = started.clone();
    let mut service = gate.term().unwrap().layer().layer(service_fn(move |patience: u64| {
        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        async move {
            sleep(Duration::from_secs(patience)).await;
            Ok::<_, Infallible>("answered")
        }
    }));
    assert_eq!(service.call(5).await.unwrap(), "answered");
    let dropped = service.call(60).await.unwrap_err();
    assert!(NotLeader::is_cause_of(dropped.as_ref()));

    let refused = service.call(0).await.unwrap_err();
    assert!(NotLeader::is_cause_of(refused.as_ref()));
    assert_eq!(started.load(std::sync::atomic::Ordering::SeqCst), 2);
}

/// Accepts one connection and gives everything that came over it.
async fn received(listener: TcpListener) -> Vec<u8> {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut bytes = Vec::new();
    let mut chunk = [0; 1024];
    // A reset is an end like any other here.
    while let Ok(read @ 1..) = stream.read(&mut chunk).await {
        bytes.extend_from_slice(&chunk[..read]);
        if bytes.ends_with(b"first") {
            stream.write_all(b"ok").await.unwrap();
        }
    }
    bytes
}

#[tokio::test]
async fn a_connection_carries_nothing_once_its_term_has_run_out_by_the_clock() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let clock = Arc::new(HandClock::default());
    let (mut keeper, gate) = GateKeeper::new(clock.clone(), Duration::from_secs(5));
    keeper.set_term_end(Some(BootTime::since_boot(Duration::from_secs(10))));
    let mut connector = connection::GatedConnector::new(gate.term().unwrap());

    let exchange = async {
        let connection = connector.call(to).await.unwrap();
        let timeout = rustix::net::sockopt::tcp_user_timeout(connection.tcp()).unwrap();
        assert_eq!(timeout, 5_000);
        let mut connection = hyper_util::rt::TokioIo::new(connection);
        connection.write_all(b"first").await.unwrap();
        let mut answer = [0; 2];
        connection.read_exact(&mut answer).await.unwrap();

        clock.0.store(10, std::sync::atomic::Ordering::SeqCst);
        let refused = connection.write_all(b"second").await.unwrap_err();
        assert!(NotLeader::is_cause_of(&refused));
        let refused = connection.read_exact(&mut answer).await.unwrap_err();
        assert!(NotLeader::is_cause_of(&refused));
    };
    let (bytes, ()) =
        timeout(Duration::from_mins(1), async { tokio::join!(received(listener), exchange) }).await.unwrap();
    assert_eq!(bytes, b"first");
}

#[derive(Debug, Default)]
struct HandClock(std::sync::atomic::AtomicU64);

impl Clock for HandClock {
    fn now(&self) -> BootTime {
        BootTime::since_boot(Duration::from_secs(self.0.load(std::sync::atomic::Ordering::SeqCst)))
    }
}

#[tokio::test]
async fn a_reader_that_waits_is_woken_when_its_term_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let (mut keeper, gate) = GateKeeper::new(Arc::new(HandClock::default()), Duration::from_secs(5));
    keeper.set_term_end(Some(BootTime::NEVER));
    let mut connector = connection::GatedConnector::new(gate.term().unwrap());
    let mut connection = hyper_util::rt::TokioIo::new(connector.call(to).await.unwrap());
    // On a task of its own, so that nothing but the connection itself wakes it.
    let mut reader = tokio::task::JoinSet::new();
    reader.spawn(async move { connection.read_u8().await });
    tokio::task::yield_now().await;
    keeper.set_term_end(None);
    let read = timeout(Duration::from_mins(1), reader.join_next()).await.expect("not woken");
    assert!(NotLeader::is_cause_of(&read.unwrap().unwrap().unwrap_err()));
}
