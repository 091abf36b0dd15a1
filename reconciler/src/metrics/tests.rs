use futures::FutureExt as _;
use reeve_crds::State;

use super::*;

fn page(metrics: &Metrics) -> String {
    let page = reeve_process::metrics::Metrics::new("reeve");
    metrics.register(&page);
    page.encode().unwrap()
}

fn value(metrics: &Metrics, series: &str) -> Option<i64> {
    page(metrics)
        .lines()
        .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))
        .map(|value| value.parse().unwrap())
}

fn source(state: State, unfetched: bool, fetched: i64, accepted: i64) -> SourceFacts {
    let at = |second| Some(jiff::Timestamp::from_second(second).unwrap());
    SourceFacts { state, unfetched, rejected: !unfetched, fetched_at: at(fetched), accepted_at: at(accepted) }
}

#[test]
fn sources_are_counted_and_the_oldest_fetch_is_of_one_that_is_fetched_at_all() {
    let metrics = Metrics::default();
    assert_eq!(value(&metrics, "reeve_sources{state=\"Ready\"}"), Some(0));
    assert_eq!(value(&metrics, "reeve_oldest_fetch_timestamp_seconds"), None);
    let (ready, failing, resting) = (metrics.follow_source(), metrics.follow_source(), metrics.follow_source());
    ready.set(source(State::Ready, false, 90, 50));
    failing.set(source(State::Error, true, 70, 40));
    resting.set(source(State::Suspended, false, 10, 30));
    assert_eq!(value(&metrics, "reeve_sources{state=\"Error\"}"), Some(1));
    assert_eq!(value(&metrics, "reeve_sources_unfetched"), Some(1));
    assert_eq!(value(&metrics, "reeve_sources_rejected"), Some(2));
    assert_eq!(value(&metrics, "reeve_oldest_fetch_timestamp_seconds"), Some(70));
    assert_eq!(value(&metrics, "reeve_last_commit_timestamp_seconds"), Some(50));
    drop(failing);
    assert_eq!(value(&metrics, "reeve_sources_unfetched"), Some(0));
    assert_eq!(value(&metrics, "reeve_oldest_fetch_timestamp_seconds"), Some(90));
}

#[test]
fn what_a_term_works_with_leaves_the_page_with_it() {
    let metrics = Metrics::default();
    assert_eq!(value(&metrics, "reeve_api_server_reachable"), None);
    let (breaker, writes) = (Breaker::default(), Arc::new(Semaphore::new(4)));
    let term = metrics.follow_term(breaker.clone(), writes.clone());
    let slot = writes.try_acquire().unwrap();
    assert_eq!(value(&metrics, "reeve_writes_running"), Some(1));
    assert_eq!(value(&metrics, "reeve_writes_limit"), Some(4));
    assert_eq!(value(&metrics, "reeve_api_server_reachable"), Some(1));
    for _ in 0..5 {
        breaker.failed(jiff::Timestamp::UNIX_EPOCH);
    }
    assert_eq!(value(&metrics, "reeve_api_server_reachable"), Some(0));
    drop((slot, term));
    assert_eq!(value(&metrics, "reeve_api_server_reachable"), None);
}

#[test]
fn whoever_gives_up_waiting_is_no_longer_counted() {
    let metrics = Metrics::default();
    let mut waits = Box::pin(metrics.waiting(std::future::pending::<()>()));
    assert!((&mut waits).now_or_never().is_none());
    assert_eq!(value(&metrics, "reeve_writes_waiting"), Some(1));
    drop(waits);
    assert_eq!(value(&metrics, "reeve_writes_waiting"), Some(0));
}

#[test]
fn calls_of_webhooks_are_counted_by_what_they_were_answered() {
    let metrics = Metrics::default();
    for answer in [202, 403, 404, 413] {
        metrics.called(StatusCode::from_u16(answer).unwrap());
    }
    let calls = |outcome: &str| value(&metrics, &format!("reeve_webhook_calls_total{{outcome=\"{outcome}\"}}"));
    assert_eq!((calls("accepted"), calls("refused"), calls("malformed")), (Some(1), Some(1), Some(2)));
}
