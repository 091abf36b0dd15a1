use futures::FutureExt as _;
use kube::Config;
use reeve_process::Gate;

use super::*;
use crate::clock::Clock;
use crate::cluster::Cluster;

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

#[tokio::test]
async fn what_a_term_works_with_leaves_the_page_with_it() {
    let metrics = Metrics::default();
    assert_eq!(value(&metrics, "reeve_api_server_reachable"), None);
    let gate = Gate::always_open().term().unwrap();
    let cluster = Cluster::new(gate, Config::new(http::Uri::from_static("http://localhost"))).unwrap();
    let (target, writes) = (Target::new(cluster.clone(), Clock::system()), Arc::new(Semaphore::new(4)));
    let term = metrics.observe_term(&target, writes.clone());
    let slot = writes.try_acquire().unwrap();
    assert_eq!(value(&metrics, "reeve_writes_running"), Some(1));
    assert_eq!(value(&metrics, "reeve_writes_limit"), Some(4));
    assert_eq!(value(&metrics, "reeve_object_watches"), Some(0));
    assert_eq!(value(&metrics, "reeve_api_server_reachable"), Some(1));
    for _ in 0..5 {
        cluster.breaker().failed(jiff::Timestamp::UNIX_EPOCH);
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
