//! Asks a pod again and again until it takes connections: quickly while somebody waits for it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http::header::{HOST, USER_AGENT};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::LaneState;
use crate::data_plane::settings::PodProbe;
use crate::data_plane::upstream::Endpoint;

const FIRST_PAUSE: Duration = Duration::from_millis(2);
/// While requests wait: what it costs the first of them at most.
const LONGEST_PAUSE: Duration = Duration::from_millis(10);
/// While nobody waits.
const IDLE_PAUSE: Duration = Duration::from_secs(1);
const ANSWER_WITHIN: Duration = Duration::from_millis(500);

impl LaneState {
    pub(super) fn spawn_probe(self: &Arc<Self>, endpoint: Arc<Endpoint>, how: PodProbe) {
        let lane = Arc::clone(self);
        self.tasks.spawn(async move {
            let closed = lane.closed.clone();
            tokio::select! {
                () = lane.probe(&endpoint, &how) => {}
                () = closed.cancelled() => {}
            }
        });
    }

    async fn probe(&self, endpoint: &Arc<Endpoint>, how: &PodProbe) {
        let mut pause = FIRST_PAUSE;
        loop {
            sleep(pause).await;
            if !self.is_wanted(endpoint) {
                return;
            }
            if let Some(stream) = ask(endpoint, how).await {
                endpoint.keep(stream);
                self.prove(endpoint);
                return;
            }
            let longest = if self.rule.room.held() > 0 { LONGEST_PAUSE } else { IDLE_PAUSE };
            pause = (pause * 3 / 2).min(longest);
        }
    }
}

/// A connection to the pod, if it does what is asked of it.
async fn ask(endpoint: &Endpoint, how: &PodProbe) -> Option<TcpStream> {
    let stream = endpoint.connect().await.ok()?;
    match how {
        PodProbe::Kubelet | PodProbe::Connect => Some(stream),
        PodProbe::Get(path) => timeout(ANSWER_WITHIN, get(stream, endpoint, path)).await.ok().flatten(),
    }
}

/// As kubelet asks: any status below 400 is good.
async fn get(stream: TcpStream, endpoint: &Endpoint, path: &str) -> Option<TcpStream> {
    let (mut sender, mut connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
    let request = Request::get(path)
        .header(HOST, endpoint.address.to_string())
        .header(USER_AGENT, "reeve-probe")
        .body(Empty::<Bytes>::new())
        .ok()?;
    let answered = {
        let mut answer = std::pin::pin!(sender.send_request(request));
        tokio::select! {
            answer = answer.as_mut() => answer.is_ok_and(|answer| answer.status().as_u16() < 400),
            _ = &mut connection => false,
        }
    };
    if !answered {
        return None;
    }
    // Its body may still be under way: a connection of its own for the request is simpler and as good.
    drop(connection);
    TcpStream::connect(endpoint.address).await.ok()
}
