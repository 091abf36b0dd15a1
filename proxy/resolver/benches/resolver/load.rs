//! A closed loop of requests over connections that stay open.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// What came of a load.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    latencies: Vec<Duration>,
    pub(crate) failed: usize,
}

impl Outcome {
    pub(crate) fn add(&mut self, other: Self) {
        self.latencies.extend(other.latencies);
        self.failed += other.failed;
    }

    pub(crate) fn count(&self) -> usize {
        self.latencies.len()
    }

    pub(crate) fn percentile(&mut self, percent: usize) -> Duration {
        self.latencies.sort_unstable();
        self.latencies.get(self.latencies.len() * percent / 100).copied().unwrap_or_default()
    }
}

pub(crate) async fn run(address: SocketAddr, connections: usize, time: Duration) -> Outcome {
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        tasks.spawn(one(address, time));
    }
    let mut whole = Outcome::default();
    while let Some(outcome) = tasks.join_next().await {
        whole.add(outcome.expect("no panic"));
    }
    whole
}

async fn one(address: SocketAddr, time: Duration) -> Outcome {
    let (mut sender, _connection) = connect(address).await.expect("a connection");
    let mut outcome = Outcome::default();
    let end = Instant::now() + time;
    loop {
        let began = Instant::now();
        if began >= end {
            return outcome;
        }
        match get(&mut sender).await {
            Ok(true) => outcome.latencies.push(began.elapsed()),
            Ok(false) | Err(_) => outcome.failed += 1,
        }
    }
}

pub(crate) async fn connect(address: SocketAddr) -> std::io::Result<(SendRequest<Empty<Bytes>>, JoinSet<()>)> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(std::io::Error::other)?;
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { drop(connection.await) });
    Ok((sender, tasks))
}

/// Whether it was answered well.
pub(crate) async fn get(sender: &mut SendRequest<Empty<Bytes>>) -> Result<bool, hyper::Error> {
    sender.ready().await?;
    let request = Request::get("/orders").header("host", "shop").body(Empty::new()).expect("a request");
    let response = sender.send_request(request).await?;
    let good = response.status() == 200;
    let body = response.into_body().collect().await?.to_bytes();
    Ok(good && body.len() == 1024)
}

/// Waits until requests are answered.
pub(crate) async fn answers(address: SocketAddr) {
    reeve_tests::eventually(&format!("{address} answers"), || async {
        let (mut sender, _connection) = connect(address).await.map_err(|error| error.to_string())?;
        match get(&mut sender).await {
            Ok(true) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
}
