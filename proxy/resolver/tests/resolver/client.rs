//! A client that makes a new connection for every request.

use std::net::SocketAddr;
use std::time::Duration;

use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// How long a client waits before it calls a request lost.
const WITHIN: Duration = Duration::from_mins(1);

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: String,
}

/// One request on a connection of its own.
pub(crate) async fn get(address: SocketAddr, path: &str) -> Result<Answer, String> {
    let whole = tokio::time::timeout(WITHIN, exchange(address, path)).await;
    whole.map_err(|_| "no answer in time".to_owned())?.map_err(|error| error.to_string())
}

async fn exchange(address: SocketAddr, path: &str) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::get(path).header("host", "web").header("connection", "close").body(Empty::<Bytes>::new())?;
    let answer = async {
        let response = sender.send_request(request).await?;
        let (head, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok::<_, hyper::Error>(Answer { status: head.status, body: String::from_utf8_lossy(&body).into_owned() })
    };
    let (answer, ()) = tokio::join!(answer, async {
        let _ = connection.await;
    });
    Ok(answer?)
}
