//! What is counted of fetches and webhooks. Labels are words of closed sets.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use reeve_crds::Reason;

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct Outcome {
    outcome: &'static str,
}

/// The metrics of Git. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    fetches: Family<Outcome, Counter>,
    fetch_time: Histogram,
    webhook_calls: Family<Outcome, Counter>,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            fetches: outcomes([Reason::Succeeded.as_str()]),
            // From a millisecond to somewhat over a quarter of an hour.
            fetch_time: Histogram::new(exponential_buckets(0.001, 4.0, 11)),
            webhook_calls: outcomes(["accepted", "refused", "malformed"]),
        }
    }
}

/// With these at zero from the start, so that the first one counts as a rise.
fn outcomes<const N: usize>(known: [&'static str; N]) -> Family<Outcome, Counter> {
    let family = Family::default();
    for outcome in known {
        drop(family.get_or_create(&Outcome { outcome }));
    }
    family
}

impl Metrics {
    /// Puts them on the page of a process.
    pub fn register(&self, page: &reeve_process::metrics::Metrics) {
        page.register("fetches", "Fetches of repositories, by outcome", self.0.fetches.clone());
        page.register("fetch_seconds", "How long a fetch takes", self.0.fetch_time.clone());
        page.register("webhook_calls", "Calls of webhooks, by outcome", self.0.webhook_calls.clone());
    }

    /// Counts a fetch.
    pub fn fetched(&self, outcome: Reason, took: Duration) {
        self.0.fetches.get_or_create(&Outcome { outcome: outcome.as_str() }).inc();
        self.0.fetch_time.observe(took.as_secs_f64());
    }

    /// Counts a call of a webhook by its answer.
    pub(crate) fn called(&self, answer: StatusCode) {
        let outcome = match answer {
            StatusCode::ACCEPTED => "accepted",
            StatusCode::FORBIDDEN => "refused",
            StatusCode::SERVICE_UNAVAILABLE => "leaderless",
            _ => "malformed",
        };
        self.0.webhook_calls.get_or_create(&Outcome { outcome }).inc();
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn calls_of_webhooks_are_counted_by_what_they_were_answered() {
        let metrics = Metrics::default();
        for answer in [202, 403, 404, 413] {
            metrics.called(StatusCode::from_u16(answer).unwrap());
        }
        let calls = |outcome: &str| value(&metrics, &format!("reeve_webhook_calls_total{{outcome=\"{outcome}\"}}"));
        assert_eq!((calls("accepted"), calls("refused"), calls("malformed")), (Some(1), Some(1), Some(2)));
    }
}
