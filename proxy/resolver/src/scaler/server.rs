//! The gRPC server that KEDA asks. HTTP/2 without TLS, all of it bounded; what it does not know it answers with an error,
//! and KEDA then neither wakes nor sleeps.

use std::convert::Infallible;
use std::future::ready;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, stream};
use http::Request as HttpRequest;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use jiff::Timestamp;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::server::Grpc;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;
use tracing::{debug, warn};

use super::messages::{
    GetMetricSpecResponse, GetMetricsRequest, GetMetricsResponse, IsActiveResponse, MetricSpec, MetricValue,
    ScaledObjectRef,
};
use super::offers::Offers;
use crate::report::RuleKey;

/// In the metadata of the trigger: the name of the rule.
pub(crate) const RULE_KEY: &str = "rule";

/// KEDA's operator and adapter, and those that take their place.
const MAX_CONNECTIONS: usize = 64;
/// KEDA has one connection for all of its objects, and a stream on it for each.
const MAX_STREAMS: u32 = 100_000;
/// The metadata of a trigger is far smaller.
const MAX_MESSAGE: usize = 256 * 1024;
/// KEDA drops what comes before it knows the metric, so it is told again while requests wait.
const PUSH_AGAIN: Duration = Duration::from_secs(5);
const ALIVE_EVERY: Duration = Duration::from_secs(20);
const ENDS_WITHIN: Duration = Duration::from_secs(1);
/// After `accept` failed, most likely for want of file descriptors.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);

/// Nobody can be answered at this address.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen for KEDA on {address}")]
pub(crate) struct ListenError {
    address: SocketAddr,
    #[source]
    cause: std::io::Error,
}

/// A bound scaler that answers while [`Scaler::serve`] is polled.
#[derive(Debug)]
pub(crate) struct Scaler {
    listener: TcpListener,
    offers: Offers,
}

impl Scaler {
    pub(crate) async fn bind(address: SocketAddr, offers: Offers) -> Result<Self, ListenError> {
        let listener = TcpListener::bind(address).await.map_err(|cause| ListenError { address, cause })?;
        Ok(Self { listener, offers })
    }

    /// Serves until `stop`; then streams end well, by which KEDA connects again at once and not a minute later.
    pub(crate) async fn serve(self, stop: CancellationToken) {
        let free = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let accepted = async {
                // Further clients wait in the listener's own bounded queue.
                let slot = Arc::clone(&free).acquire_owned().await;
                (slot, self.listener.accept().await)
            };
            let (slot, accepted) = tokio::select! {
                () = stop.cancelled() => break,
                accepted = accepted => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    let (offers, stop) = (self.offers.clone(), stop.clone());
                    connections.spawn(async move {
                        serve_connection(stream, offers, stop).await;
                        drop(slot);
                    });
                }
                Err(error) => {
                    warn!(%error, "cannot accept a connection of KEDA");
                    sleep(ACCEPT_BACKOFF).await;
                }
            }
        }
        drop(self.listener);
        let _ = timeout(ENDS_WITHIN, connections.join_all()).await;
    }
}

async fn serve_connection(stream: TcpStream, offers: Offers, stop: CancellationToken) {
    let ending = stop.clone();
    let service = service_fn(move |request| {
        let (offers, stop) = (offers.clone(), stop.clone());
        async move { Ok::<_, Infallible>(answer(request, offers, stop).await) }
    });
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .keep_alive_interval(ALIVE_EVERY)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = ending.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        debug!(%error, "a connection of KEDA failed");
    }
}

async fn answer(request: HttpRequest<Incoming>, offers: Offers, stop: CancellationToken) -> http::Response<Body> {
    let method = request.uri().path().strip_prefix("/externalscaler.ExternalScaler/").map(str::to_owned);
    match method.as_deref() {
        Some("IsActive") => {
            let handle = |request| ready(is_active(&offers, &request));
            grpc::<IsActiveResponse, ScaledObjectRef>().unary(tower::service_fn(handle), request).await
        }
        Some("StreamIsActive") => {
            let handle = |request| ready(Ok(Response::new(stream_is_active(&offers, &request, stop.clone()))));
            grpc::<IsActiveResponse, ScaledObjectRef>().server_streaming(tower::service_fn(handle), request).await
        }
        Some("GetMetricSpec") => {
            let handle = |request| ready(metric_spec(&offers, &request));
            grpc::<GetMetricSpecResponse, ScaledObjectRef>().unary(tower::service_fn(handle), request).await
        }
        Some("GetMetrics") => {
            let handle = |request| ready(metrics(&offers, &request));
            grpc::<GetMetricsResponse, GetMetricsRequest>().unary(tower::service_fn(handle), request).await
        }
        // A changed target is a changed trigger, by which KEDA asks for the specs again: they need not be pushed.
        Some(_) | None => Status::unimplemented("the scaler has no such method").into_http(),
    }
}

fn grpc<T, U>() -> Grpc<ProstCodec<T, U>>
where
    T: prost::Message + 'static,
    U: prost::Message + Default + 'static,
{
    Grpc::new(ProstCodec::default()).max_decoding_message_size(MAX_MESSAGE)
}

/// Only rules of the object's own namespace can be asked about.
fn rule_of(reference: &ScaledObjectRef) -> Result<RuleKey, Status> {
    match reference.scaler_metadata.get(RULE_KEY) {
        Some(rule) => Ok(RuleKey::new(&reference.namespace, rule)),
        None => Err(Status::invalid_argument("the trigger does not name a rule in its metadata")),
    }
}

fn unknown(rule: &RuleKey) -> Status {
    Status::not_found(format!("there is no ScalingRule {rule} that uses KEDA"))
}

fn is_active(offers: &Offers, request: &Request<ScaledObjectRef>) -> Result<Response<IsActiveResponse>, Status> {
    let rule = rule_of(request.get_ref())?;
    let result = offers.is_active(&rule, Timestamp::now()).ok_or_else(|| unknown(&rule))?;
    Ok(Response::new(IsActiveResponse { result }))
}

fn metric_spec(offers: &Offers, request: &Request<ScaledObjectRef>) -> Result<Response<GetMetricSpecResponse>, Status> {
    let rule = rule_of(request.get_ref())?;
    let offer = offers.find(&rule).ok_or_else(|| unknown(&rule))?;
    let spec = MetricSpec {
        metric_name: offer.metric.to_owned(),
        target_size: offer.target_per_replica.into(),
        target_size_float: offer.target_per_replica.into(),
    };
    Ok(Response::new(GetMetricSpecResponse { metric_specs: vec![spec] }))
}

fn metrics(offers: &Offers, request: &Request<GetMetricsRequest>) -> Result<Response<GetMetricsResponse>, Status> {
    let request = request.get_ref();
    let rule = rule_of(request.scaled_object_ref.as_ref().unwrap_or(&ScaledObjectRef::default()))?;
    let offer = offers.find(&rule).ok_or_else(|| unknown(&rule))?;
    if request.metric_name != offer.metric {
        return Err(Status::not_found(format!("rule {rule} has the metric {}", offer.metric)));
    }
    let Some(value) = offer.value else {
        return Err(Status::unavailable(format!(
            "not every replica of the resolver says what it knows of rule {rule}"
        )));
    };
    let value = MetricValue {
        metric_name: offer.metric.to_owned(),
        metric_value: value.into(),
        metric_value_float: value.into(),
    };
    Ok(Response::new(GetMetricsResponse { metric_values: vec![value] }))
}

/// Whether the target is wanted when the stream begins, and then each time that requests wait for it. KEDA takes no notice
/// of anything but `true` here. A rule that is not known ends the stream well: KEDA soon asks again.
fn stream_is_active(
    offers: &Offers,
    request: &Request<ScaledObjectRef>,
    stop: CancellationToken,
) -> impl Stream<Item = Result<IsActiveResponse, Status>> + Send + use<> {
    let rule = rule_of(request.get_ref()).ok();
    let wanted = rule.as_ref().and_then(|rule| offers.watch_wanted(rule));
    let first = wanted.map(|wanted| (wanted, true));
    stream::unfold((first, stop), |(state, stop)| async move {
        let (mut wanted, is_first) = state?;
        let result = tokio::select! {
            () = stop.cancelled() => None,
            pushed = next_push(&mut wanted, is_first) => pushed,
        };
        result.map(|result| (Ok(IsActiveResponse { result }), (Some((wanted, false)), stop)))
    })
}

/// What is sent next; nothing when the rule is gone.
async fn next_push(wanted: &mut watch::Receiver<bool>, is_first: bool) -> Option<bool> {
    if is_first {
        return Some(*wanted.borrow_and_update());
    }
    loop {
        let repeats = *wanted.borrow_and_update();
        tokio::select! {
            changed = wanted.changed() => {
                changed.ok()?;
                if *wanted.borrow() {
                    return Some(true);
                }
            }
            () = sleep(PUSH_AGAIN), if repeats => return Some(true),
        }
    }
}
