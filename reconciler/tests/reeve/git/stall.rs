//! A server that answers for a while and then hangs, without ever closing a connection.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Forwards to a server until so many bytes have come back from it.
pub(crate) struct Stall {
    pub(crate) address: SocketAddr,
    _work: JoinSet<()>,
}

impl Stall {
    pub(crate) async fn after(bytes: u64, target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let left = Arc::new(AtomicU64::new(bytes));
        let mut work = JoinSet::new();
        work.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(forward(client, target, Arc::clone(&left)));
            }
        });
        Self { address, _work: work }
    }
}

async fn forward(mut client: TcpStream, target: SocketAddr, left: Arc<AtomicU64>) {
    let Ok(mut server) = TcpStream::connect(target).await else { return };
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let back = async {
        let mut bytes = [0; 512];
        while let Ok(read @ 1..) = from_server.read(&mut bytes).await {
            let allowed = left.load(Ordering::Relaxed).min(read as u64);
            left.fetch_sub(allowed, Ordering::Relaxed);
            let passed = &bytes[..usize::try_from(allowed).unwrap()];
            if to_client.write_all(passed).await.is_err() {
                return;
            }
            if passed.len() < read {
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::join!(back, async {
        let _ = copy(&mut from_client, &mut to_server).await;
    });
}
