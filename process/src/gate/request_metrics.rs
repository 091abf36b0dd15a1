//! Counts what the clients of a gate ask of the API server.

use std::task::{Context, Poll};

use futures::future::{BoxFuture, FutureExt};
use http::{Method, Request, Response, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use tokio::time::Instant;
use tower::{Layer, Service};

use crate::metrics::Metrics;

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct Labels {
    method: &'static str,
    code: String,
}

/// `reeve_api_requests_total` by method and code, and `reeve_api_request_seconds` until an answer begins. Clones count
/// together.
#[derive(Clone, Debug)]
pub struct RequestMetrics {
    answered: Family<Labels, Counter>,
    seconds: Histogram,
}

impl Default for RequestMetrics {
    fn default() -> Self {
        // From a millisecond to somewhat over a quarter of a minute.
        Self { answered: Family::default(), seconds: Histogram::new(exponential_buckets(0.001, 4.0, 8)) }
    }
}

impl RequestMetrics {
    pub(crate) fn register(metrics: &Metrics) -> Self {
        let this = Self::default();
        let help = "Requests to the API server, by method and code; those without an answer have none";
        metrics.register("api_requests", help, this.answered.clone());
        let help = "How long the API server takes until its answer begins";
        metrics.register("api_request_seconds", help, this.seconds.clone());
        this
    }

    fn count(&self, method: &'static str, code: Option<StatusCode>, began: Instant) {
        let code = code.map_or_else(|| "none".to_owned(), |code| code.as_str().to_owned());
        self.answered.get_or_create(&Labels { method, code }).inc();
        self.seconds.observe(began.elapsed().as_secs_f64());
    }
}

/// Words of a closed set, whatever a request says.
fn word(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

impl<S> Layer<S> for RequestMetrics {
    type Service = RequestMetricsService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        RequestMetricsService { inner, requests: self.clone() }
    }
}

/// A service whose requests are counted.
#[derive(Clone, Debug)]
pub struct RequestMetricsService<S> {
    inner: S,
    requests: RequestMetrics,
}

impl<S, B, A> Service<Request<B>> for RequestMetricsService<S>
where
    S: Service<Request<B>, Response = Response<A>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (requests, method, began) = (self.requests.clone(), word(request.method()), Instant::now());
        let answer = self.inner.call(request);
        async move {
            let answer = answer.await;
            requests.count(method, answer.as_ref().ok().map(Response::status), began);
            answer
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use tower::ServiceExt as _;

    use super::*;

    #[tokio::test]
    async fn requests_are_counted_by_method_and_code_and_so_are_those_without_an_answer() {
        let page = Metrics::new("reeve");
        let requests = RequestMetrics::register(&page);
        let service = requests.layer(tower::service_fn(|request: Request<u16>| async move {
            let code = StatusCode::from_u16(*request.body()).map_err(io::Error::other)?;
            let mut answer = Response::new(());
            *answer.status_mut() = code;
            Ok::<_, io::Error>(answer)
        }));
        for (method, code) in [("GET", 200), ("GET", 200), ("PATCH", 409), ("DELETE", 0), ("BREW", 404)] {
            let request = Request::builder().method(method).body(code).unwrap();
            let _ = service.clone().oneshot(request).await;
        }
        let page = page.encode().unwrap();
        for series in [
            r#"reeve_api_requests_total{method="GET",code="200"} 2"#,
            r#"reeve_api_requests_total{method="PATCH",code="409"} 1"#,
            r#"reeve_api_requests_total{method="DELETE",code="none"} 1"#,
            r#"reeve_api_requests_total{method="other",code="404"} 1"#,
            "reeve_api_request_seconds_count 5",
        ] {
            assert!(page.lines().any(|line| line == series), "no {series} in\n{page}");
        }
    }
}
