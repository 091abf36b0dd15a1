//! What clients do, each time on a connection of its own: requests of every kind, and bytes.

use std::net::SocketAddr;
use std::time::Duration;

use http::{HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::client;

/// How long a client waits before it calls a request lost.
const WITHIN: Duration = Duration::from_mins(1);
/// More than what is read ahead of a body while its request waits.
const UPLOAD: usize = 200 * 1024;

#[derive(Clone, Copy, Debug)]
pub(super) enum Call {
    Get,
    Upload,
    /// HTTP/2 with trailers, as gRPC has them.
    Trailers,
    Upgrade,
    Bytes,
}

impl Call {
    pub(super) const ALL: [Self; 5] = [Self::Get, Self::Upload, Self::Trailers, Self::Upgrade, Self::Bytes];

    /// Whether what came back is what a living application answers.
    pub(super) async fn run(self, http: SocketAddr, bytes: SocketAddr) -> Result<(), String> {
        let called = async {
            match self {
                Self::Get => match client::get(http, "/index.html").await? {
                    answer if answer.status == StatusCode::OK && answer.body == "hello\n" => Ok(()),
                    answer => Err(format!("{answer:?}").into()),
                },
                Self::Upload => upload(http).await,
                Self::Trailers => trailers(http).await,
                Self::Upgrade => upgrade(http).await,
                Self::Bytes => echo(TcpStream::connect(bytes).await?).await,
            }
        };
        let ended: Result<Result<(), Failure>, _> = timeout(WITHIN, called).await;
        ended.map_err(|_| "no answer in time".to_owned())?.map_err(|error| told(&*error))
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// An error with all that led to it.
fn told(error: &(dyn std::error::Error + 'static)) -> String {
    let mut chain = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        chain = format!("{chain}: {cause}");
        source = cause.source();
    }
    chain
}

fn content() -> Bytes {
    (0..UPLOAD).map(|number| u8::try_from(number % 251).unwrap_or_default()).collect()
}

fn post() -> Result<Request<Full<Bytes>>, Failure> {
    Ok(Request::post("/echo").header("host", "web").body(Full::new(content()))?)
}

async fn upload(address: SocketAddr) -> Result<(), Failure> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(TcpStream::connect(address).await?)).await?;
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    let mut request = post()?;
    request.headers_mut().insert("connection", HeaderValue::from_static("close"));
    let answer = sender.send_request(request).await?;
    let status = answer.status();
    let body = answer.into_body().collect().await?.to_bytes();
    if status == StatusCode::OK && body == content() { Ok(()) } else { Err(format!("{status}, {}", body.len()).into()) }
}

async fn trailers(address: SocketAddr) -> Result<(), Failure> {
    let stream = TokioIo::new(TcpStream::connect(address).await?);
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await?;
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    let mut request = post()?;
    *request.uri_mut() = "http://web/echo".parse()?;
    request.headers_mut().insert("te", HeaderValue::from_static("trailers"));
    let answer = sender.send_request(request).await?;
    let status = answer.status();
    let body = answer.into_body().collect().await?;
    let ended = body.trailers().and_then(|trailers| trailers.get("grpc-status")).cloned();
    let whole = body.to_bytes();
    if status == StatusCode::OK && whole == content() && ended.as_ref().is_some_and(|ended| ended == "0") {
        Ok(())
    } else {
        Err(format!("{status}, {} bytes, trailer {ended:?}", whole.len()).into())
    }
}

async fn upgrade(address: SocketAddr) -> Result<(), Failure> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(TcpStream::connect(address).await?)).await?;
    let mut tasks = JoinSet::new();
    tasks.spawn(connection.with_upgrades());
    let request = Request::get("/upgrade").header("host", "web").header("connection", "upgrade");
    let answer = sender.send_request(request.header("upgrade", "echo").body(Full::<Bytes>::default())?).await?;
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Err(answer.status().to_string().into());
    }
    echo(TokioIo::new(hyper::upgrade::on(answer).await?)).await
}

async fn echo(mut stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin) -> Result<(), Failure> {
    for word in ["one", "two"] {
        stream.write_all(word.as_bytes()).await?;
        let mut back = [0; 3];
        stream.read_exact(&mut back).await?;
        if back != *word.as_bytes() {
            return Err(format!("{word} came back as {back:?}").into());
        }
    }
    stream.shutdown().await?;
    match stream.read(&mut [0; 1]).await? {
        0 => Ok(()),
        _ => Err("more came back than was sent".into()),
    }
}
