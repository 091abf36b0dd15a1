use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Collected, StreamBody};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::kit::*;
use crate::data_plane::table::PodState;

#[tokio::test]
async fn a_request_reaches_a_ready_pod_and_its_answer_comes_back() {
    let pod = Pod::start(Speaks::Http1, echo()).await;
    let shop = Shop::open("Proxied", json!({}), &[&pod]).await;
    let (parts, body) = read(shop.send(post("/orders?x=1", full("hello"))).await).await;
    assert_eq!(parts.status, StatusCode::OK);
    assert!(!parts.headers.contains_key("connection"), "{parts:?}");
    let seen: Value = serde_json::from_str(&body).expect("what the pod saw");
    assert_eq!(
        (&seen["method"], &seen["target"], &seen["body"]),
        (&json!("POST"), &json!("/orders?x=1"), &json!("hello"))
    );
    let headers = seen["headers"].as_array().expect("headers");
    assert!(headers.contains(&json!(["x-forwarded-for", "127.0.0.1"])), "{headers:?}");
    assert!(headers.contains(&json!(["host", "shop"])), "{headers:?}");
    let report = shop.report();
    assert_eq!((report.requests_total, report.held, report.in_flight), (1, 0, 0));
    assert!(report.last_request.is_some());
}

#[tokio::test]
async fn connections_to_a_pod_are_used_again() {
    let pod = Pod::start(Speaks::Http1, echo()).await;
    let shop = Shop::open("Proxied", json!({}), &[&pod]).await;
    for _ in 0..10 {
        shop.get("/").await;
    }
    assert_eq!(pod.requests(), 10);
    assert_eq!(pod.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_pod_that_closes_idle_connections_loses_no_request() {
    // Closes after each answer without saying so: the next request may find the connection dead.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let address = listener.local_addr().expect("an address");
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = vec![0; 4096];
            let mut read = 0;
            while !head[..read].ends_with(b"\r\n\r\n") {
                match stream.read(&mut head[read..]).await {
                    Ok(more) if more > 0 => read += more,
                    _ => break,
                }
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
        }
    });
    let mut shop = Shop::open("Proxied", json!({}), &[]).await;
    shop.pods(&[(address, PodState::Ready)]);
    for number in 0..50 {
        let (parts, body) = shop.get("/").await;
        assert_eq!((parts.status, body.as_str()), (StatusCode::OK, "ok"), "request {number}");
    }
}

#[tokio::test]
async fn requests_go_to_all_ready_pods_and_to_no_other() {
    let pods = [
        Pod::start(Speaks::Http1, echo()).await,
        Pod::start(Speaks::Http1, echo()).await,
        Pod::start(Speaks::Http1, echo()).await,
    ];
    let mut shop = Shop::open("Proxied", json!({}), &[]).await;
    shop.pods(&[
        (pods[0].address, PodState::Ready),
        (pods[1].address, PodState::Ready),
        (pods[2].address, PodState::Terminating),
    ]);
    for _ in 0..100 {
        shop.get("/").await;
    }
    let counts: Vec<usize> = pods.iter().map(Pod::requests).collect();
    assert!(counts[0] > 10 && counts[1] > 10 && counts[2] == 0, "{counts:?}");
}

#[tokio::test]
async fn an_upload_and_a_download_stream_piece_by_piece() {
    // Echoes each piece as it comes: the client gets the first back before it sends the second.
    let pod = Pod::start(
        Speaks::Http1,
        handler(|request: Request<Incoming>| async {
            let stream = request.into_body().into_data_stream();
            let frames = futures::StreamExt::map(stream, |data| Ok(Frame::data(data.unwrap_or_default())));
            Response::new(BodyExt::boxed(StreamBody::new(frames)))
        }),
    )
    .await;
    let shop = Shop::open("Proxied", json!({}), &[&pod]).await;
    let (tx, rx) = mpsc::channel::<Bytes>(1);
    let frames =
        futures::stream::unfold(rx, |mut rx| async move { rx.recv().await.map(|data| (Ok(Frame::data(data)), rx)) });
    let request = post("/", BodyExt::boxed(SyncStream(StreamBody::new(Box::pin(frames)))));
    tx.send(Bytes::from_static(b"one")).await.expect("a reader");
    let mut response = shop.send(request).await;
    for (back, next) in [("one", "two"), ("two", "three")] {
        let frame = response.body_mut().frame().await.expect("a frame").expect("data");
        assert_eq!(frame.into_data().expect("data"), back);
        tx.send(Bytes::from(next)).await.expect("a reader");
    }
    assert_eq!(shop.report().in_flight, 1, "it has not ended");
    drop(tx);
    assert_eq!(read(response).await.1, "three");
    shop.in_flight(0).await;
}

/// hyper asks for `Sync` bodies only because the kit boxes them so.
struct SyncStream<B>(B);

impl<B: http_body::Body<Data = Bytes, Error = std::convert::Infallible> + Unpin> http_body::Body for SyncStream<B> {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        std::pin::Pin::new(&mut self.0).poll_frame(cx)
    }
}

#[tokio::test]
async fn large_bodies_pass_whole_both_ways() {
    let pod = Pod::start(
        Speaks::Http1,
        handler(|request: Request<Incoming>| async {
            let body = request.into_body().collect().await.map(Collected::to_bytes).unwrap_or_default();
            Response::new(full(body))
        }),
    )
    .await;
    let shop = Shop::open("Proxied", json!({}), &[&pod]).await;
    let sent: Bytes = (0..8_000_000_u32).map(|number| (number % 251) as u8).collect();
    let response = shop.send(post("/", full(sent.clone()))).await;
    assert_eq!(response.headers()["content-length"], "8000000");
    let (_connection, body) = response.into_parts();
    let back = body.collect().await.expect("a body").to_bytes();
    assert!(back == sent, "what came back is not what was sent");
}

#[tokio::test]
async fn a_head_request_keeps_the_length_of_what_it_did_not_get() {
    let pod = Pod::start(Speaks::Http1, echo()).await;
    let shop = Shop::open("Proxied", json!({}), &[&pod]).await;
    let request = Request::head("/").header("host", "shop").body(full("")).expect("a request");
    let (parts, body) = read(shop.send(request).await).await;
    assert_ne!(parts.headers["content-length"], "0");
    assert_eq!(body, "");
}

#[tokio::test]
async fn an_upgraded_connection_carries_bytes_both_ways() {
    let pod = Pod::start(
        Speaks::Http1,
        handler(|mut request: Request<Incoming>| async move {
            let upgrade = hyper::upgrade::on(&mut request);
            hyper::rt::Executor::execute(&hyper_util::rt::TokioExecutor::new(), async move {
                let mut stream = TokioIo::new(upgrade.await.expect("an upgrade"));
                let mut bytes = [0; 5];
                while stream.read_exact(&mut bytes).await.is_ok() {
                    stream.write_all(&bytes).await.expect("written");
                }
            });
            let response =
                Response::builder().status(101).header("connection", "upgrade").header("upgrade", "websocket");
            response.body(full("")).expect("a response")
        }),
    )
    .await;
    let shop = Shop::open("Proxied", json!({}), &[&pod]).await;
    let request = Request::get("/socket").header("host", "shop").header("connection", "Upgrade");
    let request = request.header("upgrade", "websocket").body(full("")).expect("a request");
    let mut response = shop.send(request).await;
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    assert_eq!(response.headers()["upgrade"], "websocket");
    let mut stream = TokioIo::new(hyper::upgrade::on(&mut response).await.expect("an upgrade"));
    for text in ["hello", "again"] {
        stream.write_all(text.as_bytes()).await.expect("written");
        let mut back = [0; 5];
        stream.read_exact(&mut back).await.expect("an echo");
        assert_eq!(&back, text.as_bytes());
    }
    assert_eq!(shop.report().in_flight, 1, "an open socket is in flight");
    drop(stream);
    drop(response);
    shop.in_flight(0).await;
}

#[tokio::test]
async fn a_body_is_asked_for_only_once_a_pod_can_take_it() {
    let pod = Pod::start(Speaks::Http1, echo()).await;
    let mut shop = Shop::open("Asleep", json!({}), &[]).await;
    let mut stream = shop.connect().await;
    let head =
        "POST / HTTP/1.1\r\nhost: shop\r\ncontent-length: 5\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await.expect("written");
    shop.held(1).await;
    let mut early = [0; 1];
    assert!(stream.try_read(&mut early).is_err(), "nothing is asked for while it waits");
    shop.pods(&[(pod.address, PodState::Ready)]);
    let mut line = [0; 25];
    stream.read_exact(&mut line).await.expect("a line");
    assert_eq!(&line, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"hello").await.expect("written");
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await.expect("a response");
    assert!(rest.starts_with("HTTP/1.1 200") && rest.contains("\"body\":\"hello\""), "{rest}");
}

#[tokio::test]
async fn whoever_leaves_the_path_sends_pooled_clients_away() {
    let pod = Pod::start(Speaks::Http1, echo()).await;
    let mut shop = Shop::open("Proxied", json!({}), &[&pod]).await;
    let mut client = shop.http1().await;
    let (parts, _) = read(client.sender.send_request(get("/")).await.expect("a response")).await;
    assert!(!parts.headers.contains_key("connection"));
    for mode in ["HandingOver", "Direct", "FailOpen", "Untouched"] {
        shop.mode(mode);
        let mut client = shop.http1().await;
        let (parts, _) = read(client.sender.send_request(get("/")).await.expect("a response")).await;
        assert_eq!((parts.status, &parts.headers["connection"]), (StatusCode::OK, &"close".parse().expect("a value")));
    }
    let (parts, _) = read(client.sender.send_request(get("/")).await.expect("forwarded still")).await;
    assert_eq!(parts.headers["connection"], "close");
}

#[tokio::test]
async fn a_pod_that_breaks_off_is_a_bad_gateway_and_is_not_asked_twice() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let address = listener.local_addr().expect("an address");
    let seen = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = [0; 1024];
            if stream.read(&mut head).await.is_ok_and(|read| read > 0) {
                count.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    let mut shop = Shop::open("Proxied", json!({}), &[]).await;
    shop.pods(&[(address, PodState::Ready)]);
    let (parts, _) = read(shop.send(post("/", full("pay"))).await).await;
    assert_eq!(parts.status, StatusCode::BAD_GATEWAY);
    assert_eq!(seen.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_probe_of_the_switch_is_answered_in_every_mode_and_counts_nowhere() {
    let mut shop = Shop::open("Asleep", json!({}), &[]).await;
    for mode in ["Asleep", "Draining", "Proxied", "Direct"] {
        shop.mode(mode);
        let request = Request::get("/").header("host", "shop").header("reeve-probe", "nonce-7");
        let (parts, _) = read(shop.send(request.body(full("")).expect("a request")).await).await;
        assert_eq!(
            (parts.status, &parts.headers["reeve-probe"]),
            (StatusCode::OK, &"nonce-7".parse().expect("a value"))
        );
    }
    let report = shop.report();
    assert_eq!((report.requests_total, report.held), (0, 0));
    assert!(!shop.rule().wants_wake());
}

#[tokio::test]
async fn a_drain_ends_what_is_under_way_and_takes_nothing_new() {
    let (tx, rx) = tokio::sync::watch::channel(false);
    let pod = Pod::start(
        Speaks::Http1,
        handler(move |_| {
            let mut rx = rx.clone();
            async move {
                rx.wait_for(|go| *go).await.expect("a word");
                Response::new(full("done"))
            }
        }),
    )
    .await;
    let shop = Shop::open("Proxied", json!({}), &[&pod]).await;
    let idle = shop.http1().await;
    let under_way = tokio::join!(async { shop.get("/").await }, async {
        shop.in_flight(1).await;
        let plane = shop.plane.clone();
        let drain = plane.drain(Duration::from_secs(30));
        tx.send(true).expect("a listener");
        drain.await;
    });
    assert_eq!(under_way.0.1, "done");
    drop(idle);
    let refused = tokio::net::TcpStream::connect(("127.0.0.1", shop.port)).await;
    assert!(refused.is_err(), "the port is closed");
}

#[tokio::test]
async fn who_connected_before_a_drain_or_comes_during_it_is_answered() {
    let pod = Pod::start(Speaks::Http1, handler(|_| async { Response::new(full("done")) })).await;
    let shop = Shop::open("Proxied", json!({}), &[&pod]).await;
    let mut silent = TcpStream::connect(("127.0.0.1", shop.port)).await.expect("a connection");
    let plane = shop.plane.clone();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { plane.drain(Duration::from_secs(30)).await });
    // The drain has begun once answers say so.
    while shop.get("/").await.0.headers.get("connection").is_none() {}
    silent.write_all(b"GET / HTTP/1.1\r\nhost: shop\r\n\r\n").await.expect("an open connection");
    let mut answer = String::new();
    silent.read_to_string(&mut answer).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("done"), "{answer}");
    tasks.join_next().await.expect("a task").expect("no panic");
}

#[tokio::test]
async fn a_replica_that_is_to_end_has_clients_come_again() {
    let pod = Pod::start(Speaks::Http1, handler(|_| async { Response::new(full("done")) })).await;
    let shop = Shop::open("Proxied", json!({}), &[&pod]).await;
    let mut client = shop.http1().await;
    let response = client.sender.send_request(get("/")).await.expect("an answer");
    assert_eq!(response.headers().get("connection"), None);
    read(response).await;
    shop.plane.leave();
    let response = client.sender.send_request(get("/")).await.expect("an answer");
    assert_eq!(response.headers()["connection"], "close");
}
