//! Who answers at a Service's address: some twenty fresh connections, each with a nonce that only the resolver repeats.

use std::net::SocketAddr;
use std::time::Duration;

use futures::future::join_all;
use http::{Method, Request};
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::report::PROBE_HEADER;

/// One good answer proves little: kube-proxy chooses anew for every connection.
const CONNECTIONS: u32 = 20;
const WITHIN: Duration = Duration::from_secs(2);
/// A path that no application means, should it reach one.
const PATH: &str = "/.well-known/reeve-probe";

/// Whether every connection to every address was answered by the resolver.
pub(super) async fn is_captured(addresses: &[SocketAddr], nonce: u64) -> bool {
    let probes = addresses.iter().flat_map(|address| (0..CONNECTIONS).map(move |number| (*address, number)));
    let answers = probes.map(|(address, number)| async move {
        let nonce = format!("{nonce:016x}-{number}");
        matches!(timeout(WITHIN, ask(address, &nonce)).await, Ok(Ok(true)))
    });
    !addresses.is_empty() && join_all(answers).await.into_iter().all(|captured| captured)
}

type ProbeError = Box<dyn std::error::Error + Send + Sync>;

/// Whether the resolver answered.
async fn ask(address: SocketAddr, nonce: &str) -> Result<bool, ProbeError> {
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::builder()
        .method(Method::GET)
        .uri(PATH)
        .header("host", address.to_string())
        .header("connection", "close")
        .header(PROBE_HEADER, nonce)
        .body(Empty::<Bytes>::new())?;
    let mut answer = std::pin::pin!(sender.send_request(request));
    let response = tokio::select! {
        response = &mut answer => response?,
        // What answers may close with its answer: it may have come in the same moment.
        _ended = connection => answer.await?,
    };
    Ok(response.headers().get(PROBE_HEADER).is_some_and(|value| value == nonce))
}
