//! Faults of the network between a client and any server of the harness.
//!
//! Owns the forwarder that delays, swallows or ends connections. Faults of a process are [`crate::Process`]'s: `freeze`,
//! `thaw`, `kill`.

mod connection;
mod direction;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc as blocking};
use std::time::Duration;

use anyhow::{Context, Result};
use kube::Config;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::Cluster;
use crate::background::Background;

/// Forwards a free loopback port to a server until it is told otherwise.
///
/// What it is told holds for open and for new connections alike, until it is told something else. Each call returns when
/// it is in force: after [`cut`](Self::cut) no connection is open, after [`black_hole`](Self::black_hole) no byte moves.
/// Dropping it closes all connections and frees the port.
#[derive(Debug)]
pub struct Forwarder {
    address: SocketAddr,
    orders: mpsc::UnboundedSender<Order>,
    traffic: Arc<Traffic>,
    _background: Background,
}

/// A mode, and whom to tell that it is in force.
type Order = (Mode, blocking::Sender<()>);

#[derive(Clone, Copy, Debug)]
enum Mode {
    Pass,
    Delay(Duration),
    BlackHole,
    End(Ending),
    /// Ends a connection once that many bytes have reached its client.
    EndAfter(u64, Ending),
}

impl Mode {
    fn lets_bytes_flow(&self) -> bool {
        match self {
            Mode::Pass | Mode::Delay(_) | Mode::EndAfter(..) => true,
            Mode::BlackHole | Mode::End(_) => false,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Ending {
    /// FIN: the other side reads an end of stream.
    Cut,
    /// RST: the other side reads an error.
    Reset,
}

#[derive(Debug, Default)]
struct Traffic {
    connections: AtomicU64,
    /// Locked while bytes are written, so that who has read them finds them counted.
    to_target: Mutex<u64>,
    to_client: Mutex<u64>,
}

impl Forwarder {
    /// Listens on a free port and passes everything on to `target`.
    pub fn start(target: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot listen on loopback")?;
        listener.set_nonblocking(true).context("cannot listen without blocking")?;
        let address = listener.local_addr().context("cannot read the port")?;
        let traffic = Arc::new(Traffic::default());
        let (orders, received) = mpsc::unbounded_channel();
        let background = Background::start("forwarder", run(listener, target, received, traffic.clone()))?;
        Ok(Self { address, orders, traffic, _background: background })
    }

    /// A forwarder to a cluster's API server; clients made of [`config`](Self::config) go through it.
    pub async fn to_cluster(cluster: &Cluster) -> Result<Self> {
        let url = cluster.config()?.cluster_url;
        let host = url.host().context("the cluster's address names no host")?;
        let port = url.port_u16().context("the cluster's address names no port")?;
        let mut found = tokio::net::lookup_host((host, port)).await.with_context(|| format!("cannot find {host}"))?;
        Self::start(found.next().with_context(|| format!("{host} has no address"))?)
    }

    /// The cluster's config with this forwarder in place of its address. (Its certificate is valid for any loopback port.)
    pub fn config(&self, cluster: &Cluster) -> Result<Config> {
        let mut config = cluster.config()?;
        config.cluster_url = format!("https://{}", self.address).parse().context("not a URL")?;
        Ok(config)
    }

    /// Where clients connect instead of to the target.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Forwards as fast as it can; what a black hole has held back arrives now.
    pub fn pass(&self) {
        self.order(Mode::Pass);
    }

    /// Bytes arrive this much later, in both directions: a round trip takes twice as long.
    pub fn delay(&self, delay: Duration) {
        self.order(Mode::Delay(delay));
    }

    /// Nothing arrives any more and nothing is closed, as if cables were pulled. Connections can still be made.
    pub fn black_hole(&self) {
        self.order(Mode::BlackHole);
    }

    /// Ends connections as a server does that shuts down (FIN, to both sides). New ones are accepted and ended at once.
    pub fn cut(&self) {
        self.order(Mode::End(Ending::Cut));
    }

    /// Ends connections as a server does that crashed (RST, to both sides). New ones are accepted and ended at once.
    pub fn reset(&self) {
        self.order(Mode::End(Ending::Reset));
    }

    /// As [`cut`](Self::cut), for each connection once this many bytes of it have gone to its client, counted from its
    /// first. One that is past this ends when its next byte would go.
    pub fn cut_after(&self, bytes: u64) {
        self.order(Mode::EndAfter(bytes, Ending::Cut));
    }

    /// As [`cut_after`](Self::cut_after), with [`reset`](Self::reset).
    pub fn reset_after(&self, bytes: u64) {
        self.order(Mode::EndAfter(bytes, Ending::Reset));
    }

    /// How many connections have been accepted so far, in any mode.
    pub fn connections(&self) -> u64 {
        self.traffic.connections.load(Ordering::Relaxed)
    }

    pub fn bytes_to_target(&self) -> u64 {
        *self.traffic.to_target.lock()
    }

    pub fn bytes_to_client(&self) -> u64 {
        *self.traffic.to_client.lock()
    }

    fn order(&self, mode: Mode) {
        let (tx, rx) = blocking::channel();
        assert!(self.orders.send((mode, tx)).is_ok(), "the forwarder's thread has ended");
        // A test blocks its own runtime here, never the forwarder's.
        rx.recv().expect("the forwarder's thread has ended");
    }
}

async fn run(
    listener: TcpListener,
    target: SocketAddr,
    mut orders: mpsc::UnboundedReceiver<Order>,
    traffic: Arc<Traffic>,
) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("cannot listen");
    let (mode, watched) = watch::channel(Mode::Pass);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            Some((next, in_force)) = orders.recv() => {
                // There is one thread: no connection moves before it has looked at the mode again.
                mode.send_replace(next);
                if let Mode::End(_) = next {
                    while connections.join_next().await.is_some() {}
                }
                let _ = in_force.send(());
            }
            Ok((client, _)) = listener.accept() => {
                traffic.connections.fetch_add(1, Ordering::Relaxed);
                connections.spawn(connection::serve(client, target, watched.clone(), traffic.clone()));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}
