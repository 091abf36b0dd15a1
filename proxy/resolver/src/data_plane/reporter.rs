//! Tells the leader of the switch what this replica knows: each second, and at once when something happens that the
//! leader waits for.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http::header::{CONTENT_TYPE, HOST};
use http::{Request, StatusCode};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::coordination::v1::Lease;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use reeve_process::Process;
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{debug, info, warn};

use super::plane::Plane;
use crate::args::LEASE;
use crate::report::ReplicaReport;

const EVERY: Duration = Duration::from_secs(1);
/// Between two reports, whatever happens.
const AT_LEAST: Duration = Duration::from_millis(20);
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// Who reports.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) replica: String,
    pub(crate) instance: String,
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) node: Option<String>,
}

/// A report did not arrive.
#[derive(Debug, thiserror::Error)]
enum ReportError {
    #[error("cannot connect to {0}")]
    Connect(SocketAddr, #[source] std::io::Error),
    #[error("cannot send a report to {0}")]
    Send(SocketAddr, #[source] hyper::Error),
    #[error("{0} does not answer")]
    Silent(SocketAddr),
    #[error("{0} answers {1}: somebody else leads")]
    NotLeader(SocketAddr, StatusCode),
}

/// Keeps `leader` at the address in the lease, for ever.
pub(crate) async fn follow_leader(client: Client, namespace: String, leader: watch::Sender<Option<SocketAddr>>) {
    let leases = Api::<Lease>::namespaced(client, &namespace);
    let config = watcher::Config::default().fields(&format!("metadata.name={LEASE}"));
    let mut leases = watcher(leases, config).default_backoff().applied_objects().boxed();
    while let Some(lease) = leases.next().await {
        match lease {
            Ok(lease) => {
                let found = reeve_process::lease::holder_address(&lease);
                if leader.send_if_modified(|known| std::mem::replace(known, found) != found) {
                    info!(address = found.map(tracing::field::display), "the switch is led from another place");
                }
            }
            Err(error) => warn!(error = %reeve_process::error_chain(&error), "cannot watch the lease of the switch"),
        }
    }
}

/// Reports for ever. `farewell` is notified once the leader knows that this replica ends.
pub(crate) async fn report(
    plane: Plane,
    identity: Identity,
    process: Process,
    mut leader: watch::Receiver<Option<SocketAddr>>,
    farewell: &Notify,
) {
    let mut sequence = 0;
    let mut failures: u32 = 0;
    let mut draining = false;
    let requested = process.shutdown.clone();
    let mut requested = std::pin::pin!(async move { requested.requested().await });
    loop {
        let began = Instant::now();
        let address = *leader.borrow_and_update();
        if let Some(address) = address {
            sequence += 1;
            let report = whole(&plane, &identity, sequence, draining);
            match send(address, &report).await {
                Ok(()) => {
                    failures = 0;
                    if draining {
                        farewell.notify_one();
                    }
                }
                Err(error) => {
                    failures = failures.saturating_add(1);
                    // Expected while the lead changes.
                    if failures.is_power_of_two() {
                        debug!(error = %reeve_process::error_chain(&error), failures, "a report did not arrive");
                    }
                }
            }
        }
        sleep(pause(failures)).await;
        tokio::select! {
            () = plane.signals().report.notified() => {}
            changed = leader.changed() => if changed.is_err() { return },
            () = &mut requested, if !draining => draining = true,
            () = sleep_until(began + EVERY) => {}
        }
    }
}

fn pause(failures: u32) -> Duration {
    AT_LEAST.saturating_mul(1 << failures.min(6)).min(EVERY)
}

fn whole(plane: &Plane, identity: &Identity, sequence: u64, draining: bool) -> ReplicaReport {
    let (listeners, rules) = plane.report();
    ReplicaReport {
        replica: identity.replica.clone(),
        instance: identity.instance.clone(),
        sequence,
        addresses: identity.addresses.clone(),
        node: identity.node.clone(),
        at: plane.clock().now(),
        draining,
        listeners,
        rules,
    }
}

async fn send(address: SocketAddr, report: &ReplicaReport) -> Result<(), ReportError> {
    match timeout(ANSWER_WITHIN, post(address, report)).await {
        Ok(posted) => posted,
        Err(_) => Err(ReportError::Silent(address)),
    }
}

async fn post(address: SocketAddr, report: &ReplicaReport) -> Result<(), ReportError> {
    let stream = TcpStream::connect(address).await.map_err(|cause| ReportError::Connect(address, cause))?;
    let failed = |cause| ReportError::Send(address, cause);
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    // Plain data with string keys: it can always be written.
    let body = serde_json::to_vec(report).unwrap_or_default();
    let mut request = Request::new(Full::new(Bytes::from(body)));
    *request.method_mut() = http::Method::POST;
    *request.uri_mut() = format!("/v1/replicas/{}", report.replica).parse().unwrap_or_default();
    if let Ok(host) = address.to_string().parse() {
        request.headers_mut().insert(HOST, host);
    }
    request.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    let answer = async {
        let answer = sender.send_request(request).await.map_err(failed)?;
        match answer.status() {
            StatusCode::NO_CONTENT => Ok(()),
            status => Err(ReportError::NotLeader(address, status)),
        }
    };
    let mut answer = std::pin::pin!(answer);
    tokio::select! {
        biased;
        answer = &mut answer => answer,
        // The leader closes with its answer: it may have come in the same moment.
        _ended = connection => answer.await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_that_do_not_arrive_are_sent_more_seldom_but_each_second_still() {
        let pauses: Vec<u128> = (0..9).map(|failures| pause(failures).as_millis()).collect();
        assert_eq!(pauses, [20, 40, 80, 160, 320, 640, 1000, 1000, 1000]);
    }
}
