//! What becomes of one request: it is answered here, or it waits, and a pod answers it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, CONNECTION, HeaderValue, TRANSFER_ENCODING};
use http::request::Parts;
use http::{Method, Request, Response, Version};
use http_body::Body;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use reeve_crds::scaling_rule::traffic::TrafficAction;
use tokio::time::{Instant, interval, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::answer::{Class, FixedResponse, probe_response};
use super::headers::{self, Sender};
use super::hold::{Arrival, Place, Turn};
use super::lane::LaneState;
use super::origin::PodNetworks;
use super::pod_stream::Way;
use super::refusal::{Protocol, Refused, fixed};
use super::request_body::{ReadAhead, RequestBody};
use super::response_body::ResponseBody;
use super::rule::InFlight;
use super::secrets::Secrets;
use super::settings::{PathMode, Settings};
use super::tap::{Framing, Tap};
use super::upstream::{Answer, SendError};
use crate::report::PROBE_HEADER;

/// How much of a body is read while its request waits.
const READ_AHEAD: usize = 64 * 1024;
/// How often a client is looked for that has sent more than is read of it.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often a request is sent again that never reached its pod, before the pod counts as down.
const UNSENT_AT_MOST: u32 = 3;
/// What the path in the cause of a wake is cut to.
const CAUSE_LENGTH: usize = 100;

/// One client's connection.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) lane: Arc<LaneState>,
    pub(crate) sender: Sender,
    /// Cancelled when the process is asked to end: connections end after the next answer.
    pub(crate) leaving: CancellationToken,
    /// Cancelled when the process ends: those who wait are told so.
    pub(crate) ending: CancellationToken,
    /// Watches an HTTP/1 connection.
    pub(crate) tap: Arc<Tap>,
    /// Where callers from inside the cluster are.
    pub(crate) pod_networks: Arc<PodNetworks>,
    /// Certificates and authorities.
    pub(crate) secrets: Arc<Secrets>,
}

impl Client {
    /// How pods are spoken to on behalf of this client; nothing while the authorities are not known.
    pub(crate) fn way(&self) -> Option<Way> {
        let speaks = self.lane.speaks();
        let tls = match &speaks.pod_tls {
            Some((key, name)) => Some(self.secrets.pod_tls(key, name)?),
            None => None,
        };
        Some(Way { tls, announces: speaks.sends_header.then_some((self.sender.address, self.sender.at)) })
    }
}

/// Answers a request of an HTTP/2 connection. An error resets the stream, as the pod did.
pub(crate) async fn handle_http2(
    client: &Client,
    request: Request<Incoming>,
) -> Result<Response<ResponseBody>, hyper::Error> {
    handle(client, request).await
}

/// Answers a request of an HTTP/1 connection. An error cuts the connection, as the pod did.
pub(crate) async fn handle_http1(
    client: &Client,
    request: Request<Incoming>,
) -> Result<Response<ResponseBody>, hyper::Error> {
    let framing = client.tap.end_head(request.headers().contains_key(TRANSFER_ENCODING));
    let (mut response, closes) = match framing {
        Some(Framing::Ambiguous) => (Refused::Malformed(headers::Malformed::Framing).response(Protocol::Http, 0), true),
        Some(Framing::Unseen) => (handle(client, request).await?, true),
        Some(Framing::Clean) | None => (handle(client, request).await?, false),
    };
    *response.version_mut() = Version::HTTP_11;
    // Pooled clients must come anew, to be led elsewhere.
    let leaves = client.lane.rule.settings().path == PathMode::Leave || client.leaving.is_cancelled();
    if closes || leaves {
        response.headers_mut().entry(CONNECTION).or_insert(HeaderValue::from_static("close"));
    }
    response.body_mut().ends_before(client.tap.next_head());
    Ok(response)
}

async fn handle(client: &Client, request: Request<Incoming>) -> Result<Response<ResponseBody>, hyper::Error> {
    if let Some(nonce) = request.headers().get(PROBE_HEADER) {
        return Ok(echo(nonce));
    }
    let lane = &client.lane;
    let settings = lane.rule.settings();
    let (mut parts, body) = request.into_parts();
    let protocol = Protocol::of(&parts);
    if let Some(response) = answer_here(lane, &settings, &parts) {
        return Ok(response);
    }
    drop(settings);
    let upgrade = take_upgrade(&mut parts);
    let exchange = Exchange::new(client, &parts, upgrade);
    headers::rewrite_request(&mut parts, client.sender);
    match exchange.run(Request::from_parts(parts, RequestBody::new(body))).await {
        Ok(response) => Ok(response),
        Err(Ended::Refused(refused)) => {
            lane.rule.count_refused();
            Ok(refused.response(protocol, lane.rule.retry_after()))
        }
        Err(Ended::Page(page)) => Ok(fixed(&page)),
        Err(Ended::Reset(error)) => Err(error),
    }
}

fn echo(nonce: &HeaderValue) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::fixed(bytes::Bytes::new()));
    response.headers_mut().insert(PROBE_HEADER, nonce.clone());
    response
}

/// What needs no pod.
fn answer_here(lane: &LaneState, settings: &Settings, request: &Parts) -> Option<Response<ResponseBody>> {
    if let Err(malformed) = headers::check(request) {
        let mut response = Refused::Malformed(malformed).response(Protocol::of(request), 0);
        if request.version < Version::HTTP_2 {
            // Where the next request on this connection begins is not agreed on.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        return Some(response);
    }
    let awake = lane.is_open();
    match settings.answers.classify(request, awake) {
        Class::Answer(response) => Some(fixed(response)),
        Class::Probe if !awake => Some(fixed(&probe_response())),
        Class::Probe => None,
        Class::Demand => {
            lane.rule.count();
            None
        }
    }
}

/// The other half of a connection whose client asks for another protocol.
fn take_upgrade(parts: &mut Parts) -> Option<OnUpgrade> {
    let wanted = parts.version < Version::HTTP_2 && headers::upgrade_of(&parts.headers).is_some();
    let upgrade = parts.extensions.remove::<OnUpgrade>();
    upgrade.filter(|_| wanted)
}

/// Why a request was not answered by a pod.
#[derive(Debug)]
enum Ended {
    Refused(Refused),
    Page(Box<FixedResponse>),
    Reset(hyper::Error),
}

impl From<Refused> for Ended {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

/// One request on its way.
struct Exchange<'a> {
    client: &'a Client,
    upgrade: Option<OnUpgrade>,
    came: Instant,
    deadline: Instant,
    bytes: u64,
    /// Its body may be read while it waits: the client does not wait for us to ask for it.
    reads_ahead: bool,
    wants_page: bool,
    cause: String,
}

impl<'a> Exchange<'a> {
    fn new(client: &'a Client, request: &Parts, upgrade: Option<OnUpgrade>) -> Self {
        let came = Instant::now();
        let settings = client.lane.rule.settings();
        let own = super::deadline::own_timeout(&request.headers);
        let limit = own.map_or(settings.hold_timeout, |own| own.min(settings.hold_timeout));
        Self {
            client,
            upgrade,
            came,
            deadline: came + limit.max(Duration::from_millis(1)),
            bytes: headers::size_of(request),
            reads_ahead: !headers::expects_continue(&request.headers),
            wants_page: is_navigation(request),
            cause: if client.lane.is_open() { String::new() } else { cause(request) },
        }
    }

    async fn run(mut self, request: Request<RequestBody>) -> Result<Response<ResponseBody>, Ended> {
        let lane = Arc::clone(&self.client.lane);
        let mut request = request;
        let (mut turn, mut flight) = self.enter(&mut request).await?;
        let mut unsent = 0;
        let way = self.client.way().ok_or(Refused::PodFailed)?;
        loop {
            let Some(endpoint) = lane.pick() else {
                drop(flight);
                (turn, flight) = self.wait(turn.give_up(self.bytes), &mut request).await?;
                continue;
            };
            let error = match endpoint.send(request, &way).await {
                Ok(answer) => return Ok(self.finish(answer, turn, flight)),
                Err(error) => error,
            };
            debug!(error = %reeve_process::error_chain(&error), rule = %lane.rule.key, "a request got no answer");
            request = match error {
                SendError::Connect { request, .. } => {
                    lane.suspect(&endpoint);
                    *request
                }
                SendError::Unsent { request, .. } => {
                    unsent += 1;
                    if unsent >= UNSENT_AT_MOST {
                        unsent = 0;
                        lane.suspect(&endpoint);
                    }
                    *request
                }
                SendError::Broken { cause, .. } if is_reset(&cause) => return Err(Ended::Reset(cause)),
                SendError::Begin { .. } | SendError::Broken { .. } => return Err(Refused::PodFailed.into()),
            };
        }
    }

    /// Goes on at once where a pod is ready; else as the rule says.
    async fn enter(&mut self, request: &mut Request<RequestBody>) -> Result<(Turn, InFlight), Ended> {
        let lane = &self.client.lane;
        let from = self.client.sender.address.ip();
        if lane.is_open()
            && let Some(flight) = lane.rule.set_off()
        {
            return Ok((Turn::unpaced(&lane.rule.room, lane.lane, from), flight));
        }
        self.check_policy(from)?;
        match lane.rule.room.arrive(lane.lane, from, self.bytes) {
            Arrival::Refused(refusal) => Err(Refused::from(refusal).into()),
            Arrival::Held(place) => {
                lane.rule.note_held(|| std::mem::take(&mut self.cause));
                self.wait(place, request).await
            }
            Arrival::Pass => {
                let turn = Turn::unpaced(&lane.rule.room, lane.lane, from);
                if let Some(flight) = lane.rule.set_off() {
                    return Ok((turn, flight));
                }
                self.wait(turn.give_up(self.bytes), request).await
            }
        }
    }

    /// What the rule says of callers from where this one is.
    fn check_policy(&self, from: IpAddr) -> Result<(), Ended> {
        let rule = &self.client.lane.rule;
        let settings = rule.settings();
        let is_inside = settings.inside != settings.outside && self.client.pod_networks.contain(from);
        match if is_inside { settings.inside } else { settings.outside } {
            TrafficAction::Hold => Ok(()),
            TrafficAction::Refuse => Err(Refused::Asleep.into()),
            // Only a person in front of a browser can do with a page; it is demand all the same.
            TrafficAction::Page if !self.wants_page => Ok(()),
            TrafficAction::Page => {
                rule.call(|| self.cause.clone());
                Err(settings.page.clone().map_or(Refused::Waking.into(), |page| Ended::Page(Box::new(page))))
            }
        }
    }

    /// Waits for a turn, and meanwhile reads a little of the body.
    async fn wait(&self, mut place: Place, request: &mut Request<RequestBody>) -> Result<(Turn, InFlight), Ended> {
        let lane = &self.client.lane;
        let mut expired = std::pin::pin!(sleep_until(self.deadline));
        let mut reads_ahead = self.reads_ahead;
        let mut look = interval(LOOK_EVERY);
        loop {
            tokio::select! {
                biased;
                turn = place.turn() => {
                    if lane.closed.is_cancelled() {
                        return Err(Refused::Closed.into());
                    }
                    match lane.rule.set_off() {
                        Some(flight) => return Ok((turn, flight)),
                        None => place = turn.give_up(self.bytes),
                    }
                }
                read = request.body_mut().read_ahead(), if reads_ahead => match read {
                    ReadAhead::More(length) => {
                        reads_ahead = place.grow(length as u64) && request.body().ahead() < READ_AHEAD;
                    }
                    ReadAhead::End => reads_ahead = false,
                    ReadAhead::Broken => return Err(Refused::Gone.into()),
                },
                _ = look.tick(), if !reads_ahead && !request.body().is_end_stream() => {
                    if self.client.tap.is_hung_up() {
                        return Err(Refused::Gone.into());
                    }
                }
                () = &mut expired => return Err(Refused::HeldTooLong.into()),
                () = self.client.ending.cancelled() => return Err(Refused::Draining.into()),
            }
        }
    }

    fn finish(self, answer: Answer, turn: Turn, flight: InFlight) -> Response<ResponseBody> {
        let lane = &self.client.lane;
        if turn.has_waited() {
            lane.rule.note_first_byte(self.came);
        }
        drop(turn);
        let mut response = match answer {
            Answer::Http1(response) => response.map(|body| ResponseBody::http1(body, Some(flight))),
            Answer::Http2(response, load) => response.map(|body| ResponseBody::http2(body, load, Some(flight))),
            Answer::Upgraded(response, tunnel) => {
                let mut response = response.map(|()| ResponseBody::fixed(bytes::Bytes::new()));
                let protocol = headers::upgrade_of(response.headers());
                headers::remove_hop_by_hop(response.headers_mut());
                if let (Some(protocol), Some(upgrade)) = (protocol, self.upgrade) {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
                    response.headers_mut().insert(http::header::UPGRADE, protocol);
                    lane.tasks.spawn(async move {
                        tunnel.run(upgrade).await;
                        drop(flight);
                    });
                }
                return response;
            }
        };
        headers::remove_hop_by_hop(response.headers_mut());
        response
    }
}

/// Whether the stream was reset with a reason, which the client gets as it is.
fn is_reset(error: &hyper::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if let Some(h2) = cause.downcast_ref::<h2::Error>() {
            return h2.is_reset();
        }
        source = cause.source();
    }
    false
}

/// A browser that goes to a page.
fn is_navigation(request: &Parts) -> bool {
    let accept = request.headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    request.method == Method::GET && accept.is_some_and(|accept| accept.contains("text/html"))
}

/// What a wake is put down to.
fn cause(request: &Parts) -> String {
    let path: String = request.uri.path().chars().take(CAUSE_LENGTH).collect();
    format!("{} {path}", request.method)
}
