//! Listens on the ports of rules, and turns away who is too many.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use super::connection;
use super::forward::Client;
use super::headers::Sender;
use super::lane::LaneState;
use super::origin::PodNetworks;
use super::secrets::Secrets;
use crate::report::RuleKey;

const BACKLOG: u32 = 4096;
/// After `accept` failed, most likely for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// A port is closed once it is to close and nobody has come for this long: who leads traffic here may notice late, and
/// what a closed port has not accepted is lost.
const QUIET: Duration = Duration::from_secs(1);
/// Between attempts to have a port that somebody else has.
const BIND_PAUSE: Duration = Duration::from_secs(1);
const TOO_MANY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// What all listeners of a process share.
#[derive(Debug)]
pub(crate) struct Doors {
    /// Where ports are opened.
    pub(crate) address: IpAddr,
    /// How many connections there may be, over all ports.
    pub(crate) free: Arc<Semaphore>,
    /// Of these, how many one port may have.
    pub(crate) per_port: usize,
    /// Where callers from inside the cluster are.
    pub(crate) pod_networks: Arc<PodNetworks>,
    /// Certificates and authorities.
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) tasks: TaskTracker,
    /// Connections end after the answer to come.
    pub(crate) leaving: CancellationToken,
    /// Ports close as soon as nobody comes any more, and connections that are idle are closed.
    pub(crate) stop: CancellationToken,
    /// Nobody waits any more.
    pub(crate) ending: CancellationToken,
}

/// The ports that are listened on.
#[derive(Debug, Default)]
pub(crate) struct Listeners(BTreeMap<u16, Listener>);

#[derive(Debug)]
struct Listener {
    lane: Arc<LaneState>,
    bound: Arc<AtomicBool>,
}

impl Listeners {
    /// Listens on the port of the lane until the lane is closed.
    pub(crate) fn open(&mut self, doors: &Arc<Doors>, lane: &Arc<LaneState>) {
        let port = lane.lane.0;
        let bound = Arc::new(AtomicBool::new(false));
        self.0.insert(port, Listener { lane: Arc::clone(lane), bound: Arc::clone(&bound) });
        let (doors, lane) = (Arc::clone(doors), Arc::clone(lane));
        doors.tasks.clone().spawn(async move {
            let closed = lane.closed.clone();
            tokio::select! {
                () = listen(&doors, &lane, &bound) => {}
                () = closed.cancelled() => {}
                () = doors.ending.cancelled() => {}
            }
            bound.store(false, Ordering::Release);
        });
    }

    pub(crate) fn close(&mut self, port: u16) {
        self.0.remove(&port);
    }

    /// The rule that has a port.
    pub(crate) fn owner(&self, port: u16) -> Option<&RuleKey> {
        self.0.get(&port).map(|listener| &listener.lane.rule.key)
    }

    /// Each port, its lane, and whether connections are accepted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u16, &Arc<LaneState>, bool)> {
        self.0.iter().map(|(port, listener)| (*port, &listener.lane, listener.bound.load(Ordering::Acquire)))
    }
}

/// Accepts until the process is to end and nobody comes any more.
async fn listen(doors: &Doors, lane: &Arc<LaneState>, bound: &AtomicBool) {
    let listener = tokio::select! {
        listener = bind_until_it_works(doors.address, lane) => listener,
        () = doors.stop.cancelled() => return,
    };
    bound.store(true, Ordering::Release);
    lane.rule.signals.report.notify_one();
    let of_port = Arc::new(Semaphore::new(doors.per_port));
    loop {
        let accepted = tokio::select! {
            biased;
            accepted = listener.accept() => accepted,
            () = quiet(&doors.stop) => return,
        };
        match accepted {
            Ok((stream, address)) => admit(doors, lane, &of_port, stream, address),
            Err(error) => {
                warn!(port = lane.lane.0, %error, "cannot accept a connection");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Resolves when `stop` has been cancelled and nobody has come since this was asked for a while.
async fn quiet(stop: &CancellationToken) {
    stop.cancelled().await;
    sleep(QUIET).await;
}

/// Serves a connection on a task of its own, if there is a place for it.
fn admit(doors: &Doors, lane: &Arc<LaneState>, of_port: &Arc<Semaphore>, stream: TcpStream, address: SocketAddr) {
    let slots = (Arc::clone(&doors.free).try_acquire_owned(), Arc::clone(of_port).try_acquire_owned());
    let (Ok(one), Ok(other)) = slots else {
        turn_away(stream);
        return;
    };
    // It only makes small answers quicker.
    let _ = stream.set_nodelay(true);
    let client = Client {
        lane: Arc::clone(lane),
        sender: Sender { address, at: stream.local_addr().unwrap_or(address), encrypted: false },
        secrets: Arc::clone(&doors.secrets),
        leaving: doors.leaving.clone(),
        ending: doors.ending.clone(),
        tap: Arc::default(),
        pod_networks: Arc::clone(&doors.pod_networks),
    };
    let stop = doors.stop.clone();
    doors.tasks.spawn(async move {
        connection::serve(stream, client, stop).await;
        drop((one, other));
    });
}

/// Says why, if that takes no waiting.
fn turn_away(stream: TcpStream) {
    let mut stream = stream;
    let write = stream.write(TOO_MANY);
    let _ = futures::FutureExt::now_or_never(write);
}

async fn bind_until_it_works(address: IpAddr, lane: &LaneState) -> TcpListener {
    let port = lane.lane.0;
    loop {
        match bind(address, port) {
            Ok(listener) => {
                info!(port, rule = %lane.rule.key, "listening");
                return listener;
            }
            Err(error) => warn!(port, rule = %lane.rule.key, %error, "cannot listen"),
        }
        sleep(BIND_PAUSE).await;
    }
}

/// `::` takes both families; where there is no IPv6 at all, the other alone.
fn bind(address: IpAddr, port: u16) -> io::Result<TcpListener> {
    match bind_at(SocketAddr::new(address, port)) {
        Err(_) if address == IpAddr::V6(Ipv6Addr::UNSPECIFIED) => {
            bind_at(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port))
        }
        bound => bound,
    }
}

fn bind_at(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Connections of a process before us may still linger.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
