//! Lets a person who may forward ports to this pod read the state of the proxy, which is served on a socket of the host.
//!
//! Knows nothing of what is read: bytes go to the socket and back. It listens on loopback, so that only the API server's
//! port-forward, and with it the rights of whoever asks, leads here.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use reeve_process::args::AdminAddress;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tracing::{debug, info};

const MAX_CONNECTIONS: usize = 8;
/// An answer is small and near; a recording is read on the host itself.
const WHOLE_WITHIN: Duration = Duration::from_secs(30);
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves for ever.
pub(crate) async fn serve(address: AdminAddress, socket: &Path) -> anyhow::Result<()> {
    let AdminAddress::At(address) = address else { return std::future::pending().await };
    anyhow::ensure!(
        address.ip().is_loopback(),
        "--sight-address is {address}: whoever reaches it may read, so it must be on loopback"
    );
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen for readers of the state on {address}"))?;
    relay(listener, address, socket).await
}

async fn relay(listener: TcpListener, address: SocketAddr, socket: &Path) -> anyhow::Result<()> {
    info!(%address, "serving the state of the proxy");
    let (free, socket) = (Arc::new(Semaphore::new(MAX_CONNECTIONS)), Arc::<Path>::from(socket));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let slot = Arc::clone(&free).acquire_owned().await.context("no more readers")?;
        let Ok((client, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let socket = Arc::clone(&socket);
        connections.spawn(async move {
            if let Err(error) = tokio::time::timeout(WHOLE_WITHIN, join(client, &socket)).await.unwrap_or(Ok(())) {
                debug!(%error, "a reader of the state went away");
            }
            drop(slot);
        });
    }
}

async fn join(mut client: TcpStream, socket: &Path) -> std::io::Result<()> {
    let mut proxy = UnixStream::connect(socket).await?;
    copy_bidirectional(&mut client, &mut proxy).await.map(drop)
}
