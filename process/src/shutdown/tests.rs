use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, advance, sleep};

use super::*;
use crate::health::Health;

struct Walk {
    shutdown: Shutdown,
    health: Health,
    signals: mpsc::Sender<Signal>,
    outcome: JoinHandle<Outcome>,
}

#[expect(clippy::disallowed_methods, reason = "each test awaits the task")]
fn walk(drain_delay: u64, deadline: u64) -> Walk {
    let (shutdown, health) = (Shutdown::default(), Health::default());
    let (tx, signals) = mpsc::channel(2);
    let limits = Limits { drain_delay: Duration::from_secs(drain_delay), deadline: Duration::from_secs(deadline) };
    let stop = Stop { shutdown: shutdown.clone(), health: health.clone(), limits, signals };
    Walk { shutdown, health, signals: tx, outcome: tokio::spawn(stop.run(|| ())) }
}

#[tokio::test(start_paused = true)]
async fn nothing_stops_before_it_is_asked_to() {
    let walk = walk(0, 10);
    sleep(Duration::from_hours(1)).await;
    assert!(!walk.outcome.is_finished() && !walk.shutdown.is_draining() && walk.health.readyz().good);
    walk.outcome.abort();
}

#[tokio::test(start_paused = true)]
async fn readiness_goes_first_and_the_drain_begins_after_the_delay() {
    let walk = walk(5, 30);
    let guard = walk.shutdown.guard("requests");
    let began = Instant::now();
    walk.signals.send(Signal::Terminate).await.unwrap();
    walk.shutdown.requested().await;
    tokio::task::yield_now().await;
    assert!(!walk.health.readyz().good && !walk.shutdown.is_draining());

    walk.shutdown.draining().await;
    assert_eq!(began.elapsed(), Duration::from_secs(5));
    drop(guard);
    assert_eq!(walk.outcome.await.unwrap(), Outcome::Drained);
}

#[tokio::test(start_paused = true)]
async fn the_process_ends_when_the_last_guard_is_dropped() {
    let walk = walk(0, 30);
    let guards = [walk.shutdown.guard("a"), walk.shutdown.guard("b")];
    walk.shutdown.begin();
    for guard in guards {
        sleep(Duration::from_secs(3)).await;
        assert!(!walk.outcome.is_finished());
        drop(guard);
    }
    assert_eq!(walk.outcome.await.unwrap(), Outcome::Drained);
}

#[tokio::test(start_paused = true)]
async fn closing_comes_after_the_drain_and_is_waited_for_too() {
    let walk = walk(0, 30);
    let (work, lease) = (walk.shutdown.guard("work"), walk.shutdown.closing_guard("lease"));
    walk.shutdown.begin();
    sleep(Duration::from_secs(4)).await;
    assert!(!walk.shutdown.0.closing.is_cancelled());

    drop(work);
    walk.shutdown.closing().await;
    sleep(Duration::from_secs(4)).await;
    assert!(!walk.outcome.is_finished());
    drop(lease);
    assert_eq!(walk.outcome.await.unwrap(), Outcome::Drained);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_it_and_names_who_did_not_finish() {
    let walk = walk(5, 20);
    let _stuck = walk.shutdown.guard("stuck");
    drop(walk.shutdown.guard("done"));
    walk.shutdown.begin();
    let began = Instant::now();
    assert_eq!(walk.outcome.await.unwrap(), Outcome::Deadline);
    assert_eq!(began.elapsed(), Duration::from_secs(20));
    assert_eq!(walk.shutdown.unfinished(), ["stuck"]);
}

#[tokio::test(start_paused = true)]
async fn a_second_signal_ends_it_at_once() {
    let walk = walk(0, 30);
    let _stuck = walk.shutdown.guard("stuck");
    walk.signals.send(Signal::Terminate).await.unwrap();
    walk.shutdown.draining().await;
    let began = Instant::now();
    walk.signals.send(Signal::Interrupt).await.unwrap();
    assert_eq!(walk.outcome.await.unwrap(), Outcome::Forced(Signal::Interrupt));
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn one_who_comes_late_is_told_of_the_drain_all_the_same() {
    let walk = walk(0, 30);
    let guard = walk.shutdown.guard("early");
    walk.shutdown.begin();
    walk.shutdown.draining().await;
    advance(Duration::from_secs(1)).await;
    walk.shutdown.draining().await;
    assert!(walk.shutdown.draining_token().is_cancelled());
    drop(guard);
    assert_eq!(walk.outcome.await.unwrap(), Outcome::Drained);
}
