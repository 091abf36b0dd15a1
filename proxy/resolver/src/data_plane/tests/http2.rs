use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, Version};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Incoming;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::kit::*;
use crate::data_plane::table::PodState;

type Frames = mpsc::Receiver<Frame<Bytes>>;

fn streamed(rx: Frames) -> Body {
    let frames =
        futures::stream::unfold(
            rx,
            |mut rx| async move { rx.recv().await.map(|frame| (Ok::<_, Infallible>(frame), rx)) },
        );
    BodyExt::boxed(http_body_util::combinators::BoxBody::new(Channel(Box::pin(StreamBody::new(frames)))))
}

struct Channel<B>(std::pin::Pin<Box<B>>);

impl<B: http_body::Body<Data = Bytes, Error = Infallible>> http_body::Body for Channel<B> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.as_mut().poll_frame(cx)
    }
}

fn call(path: &str, body: Body) -> Request<Body> {
    let request = Request::post(format!("http://shop{path}")).version(Version::HTTP_2);
    request.header("content-type", "application/grpc").header("te", "trailers").body(body).expect("a request")
}

/// Sends each message back as it comes, then trailers as gRPC has them.
fn grpc_echo() -> Handler {
    handler(|request: Request<Incoming>| async {
        assert_eq!(request.headers()["te"], "trailers");
        assert_eq!(request.uri().authority().map(ToString::to_string).as_deref(), Some("shop"));
        let (tx, rx) = mpsc::channel(4);
        let mut body = request.into_body();
        hyper::rt::Executor::execute(&hyper_util::rt::TokioExecutor::new(), async move {
            while let Some(Ok(frame)) = body.frame().await {
                if let Ok(data) = frame.into_data() {
                    tx.send(Frame::data(data)).await.expect("a reader");
                }
            }
            let trailers =
                HeaderMap::from_iter([("grpc-status".parse().expect("a name"), "0".parse().expect("a value"))]);
            tx.send(Frame::trailers(trailers)).await.expect("a reader");
        });
        Response::builder().header("content-type", "application/grpc").body(streamed(rx)).expect("a response")
    })
}

#[tokio::test]
async fn a_call_streams_both_ways_and_ends_with_its_trailers() {
    let pod = Pod::start(Speaks::Http2, grpc_echo()).await;
    let shop = Shop::open("Proxied", json!({}), &[&pod]).await;
    let mut client = shop.http2().await;
    let (tx, rx) = mpsc::channel(1);
    let mut response = client.sender.send_request(call("/shop.Orders/Watch", streamed(rx))).await.expect("a response");
    for text in ["one", "two"] {
        tx.send(Frame::data(Bytes::from(text))).await.expect("a reader");
        let frame = response.body_mut().frame().await.expect("a frame").expect("data");
        assert_eq!(frame.into_data().expect("data"), text);
    }
    assert_eq!(shop.report().in_flight, 1);
    drop(tx);
    let trailers = response.into_body().collect().await.expect("an end").trailers().cloned().expect("trailers");
    assert_eq!(trailers["grpc-status"], "0");
    shop.in_flight(0).await;
}

#[tokio::test]
async fn a_call_waits_for_its_pod_as_any_request_does() {
    let pod = Pod::start(Speaks::Http2, grpc_echo()).await;
    let mut shop = Shop::open("Asleep", json!({}), &[]).await;
    let mut client = shop.http2().await;
    let mut tasks = JoinSet::new();
    for _ in 0..20 {
        tasks.spawn(client.sender.send_request(call("/shop.Orders/Get", full("kept"))));
    }
    shop.held(20).await;
    shop.pods(&[(pod.address, PodState::Ready)]);
    while let Some(response) = tasks.join_next().await {
        let response = response.expect("no panic").expect("a response");
        let collected = response.into_body().collect().await.expect("an end");
        assert_eq!(collected.trailers().expect("trailers")["grpc-status"], "0");
        assert_eq!(collected.to_bytes(), "kept");
    }
    assert_eq!(pod.connections.load(std::sync::atomic::Ordering::SeqCst), 1, "one connection carries them all");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waited_too_long_gets_the_status_of_its_protocol() {
    let shop = Shop::open("Asleep", json!({ "hold": { "timeout": "60s" } }), &[]).await;
    let mut client = shop.http2().await;
    let began = tokio::time::Instant::now();
    let mut request = call("/shop.Orders/Get", full(""));
    request.headers_mut().insert("grpc-timeout", "1500m".parse().expect("a value"));
    let response = client.sender.send_request(request).await.expect("a response");
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["grpc-status"], "4");
    assert_eq!(began.elapsed().as_millis(), 1500);
}

#[tokio::test]
async fn a_call_that_may_not_wait_is_unavailable() {
    let spec = json!({ "traffic": { "outside": "Refuse", "inside": "Refuse" } });
    let shop = Shop::open("Asleep", spec, &[]).await;
    let mut client = shop.http2().await;
    let response = client.sender.send_request(call("/shop.Orders/Get", full(""))).await.expect("a response");
    assert_eq!(response.headers()["grpc-status"], "14");
}

#[tokio::test]
async fn a_call_that_is_reset_while_it_waits_frees_its_place() {
    let shop = Shop::open("Asleep", json!({}), &[]).await;
    let mut client = shop.http2().await;
    let mut tasks = JoinSet::new();
    tasks.spawn(client.sender.send_request(call("/shop.Orders/Get", full(""))));
    shop.held(1).await;
    tasks.abort_all();
    shop.held(0).await;
}

#[tokio::test]
async fn whoever_leaves_the_path_sends_http2_clients_away_and_ends_their_streams_well() {
    let pod = Pod::start(Speaks::Http2, grpc_echo()).await;
    let mut shop = Shop::open("Proxied", json!({}), &[&pod]).await;
    let mut client = shop.http2().await;
    let (tx, rx) = mpsc::channel(1);
    let mut response = client.sender.send_request(call("/shop.Orders/Watch", streamed(rx))).await.expect("a response");
    shop.mode("HandingOver");
    tx.send(Frame::data(Bytes::from_static(b"after"))).await.expect("a reader");
    let frame = response.body_mut().frame().await.expect("a frame").expect("data");
    assert_eq!(frame.into_data().expect("data"), "after", "what is under way goes on");
    drop(tx);
    assert!(response.into_body().collect().await.expect("an end").trailers().is_some());
    eventually("the connection is closed", || async { if client.sender.is_closed() { Ok(()) } else { Err("open") } })
        .await;
}

#[tokio::test]
async fn plain_http2_is_forwarded_as_such_and_http1_beside_it_on_one_port() {
    let handle =
        || handler(|request: Request<Incoming>| async move { Response::new(full(format!("{:?}", request.version()))) });
    let (old, new) = (Pod::start(Speaks::Http1, handle()).await, Pod::start(Speaks::Http2, handle()).await);
    let mut shop = Shop::open("Proxied", json!({}), &[&new]).await;
    let mut client = shop.http2().await;
    let request = Request::get("http://shop/").version(Version::HTTP_2).body(full("")).expect("a request");
    let (_, body) = read(client.sender.send_request(request).await.expect("a response")).await;
    assert_eq!(body, "HTTP/2.0");
    shop.pods(&[(old.address, PodState::Ready)]);
    assert_eq!(shop.get("/").await.1, "HTTP/1.1");
}

#[tokio::test]
async fn a_drain_lets_a_stream_end() {
    let pod = Pod::start(Speaks::Http2, grpc_echo()).await;
    let shop = Shop::open("Proxied", json!({}), &[&pod]).await;
    let mut client = shop.http2().await;
    let (tx, rx) = mpsc::channel(1);
    let response = client.sender.send_request(call("/shop.Orders/Watch", streamed(rx))).await.expect("a response");
    let plane = shop.plane.clone();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { plane.drain(Duration::from_secs(30)).await });
    tx.send(Frame::data(Bytes::from_static(b"late"))).await.expect("a reader");
    drop(tx);
    let collected = response.into_body().collect().await.expect("an end");
    assert!(collected.trailers().is_some());
    assert_eq!(collected.to_bytes(), "late");
    drop(client);
    tasks.join_next().await.expect("a task").expect("no panic");
}
