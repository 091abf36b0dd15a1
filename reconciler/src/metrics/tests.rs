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
    let (ready, failing, resting) = (metrics.observe_source(), metrics.observe_source(), metrics.observe_source());
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
