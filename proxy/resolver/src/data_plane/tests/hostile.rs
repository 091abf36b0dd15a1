use std::net::{IpAddr, Ipv4Addr};

use http::StatusCode;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::kit::*;
use crate::data_plane::plane::Bounds;

/// What a connection gets back for these bytes, until it is closed.
async fn exchange(shop: &Shop, bytes: &[u8]) -> String {
    let mut stream = shop.connect().await;
    // A server may answer and close before it has read all.
    let _ = stream.write_all(bytes).await;
    let mut back = Vec::new();
    let _ = stream.read_to_end(&mut back).await;
    String::from_utf8_lossy(&back).into_owned()
}

/// Requests that end, or begin, at different places for different parsers.
const SMUGGLING: [(&str, &str); 21] = [
    (
        "both lengths",
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\nhost: a\r\n\r\n",
    ),
    (
        "both lengths, other order",
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\nhost: a\r\n\r\n",
    ),
    ("two lengths", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd"),
    ("a list of lengths", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3, 3\r\n\r\nabc"),
    ("a signed length", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: +3\r\n\r\nabc"),
    ("a length in hex", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 0x3\r\n\r\nabc"),
    ("a negative length", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\nabc"),
    ("an overflowing length", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 99999999999999999999999\r\n\r\nabc"),
    ("an unknown encoding", "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n"),
    (
        "chunked twice",
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    ("chunked not last", "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n"),
    ("a tab before chunked", "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding:\x0bchunked\r\n\r\n0\r\n\r\n"),
    ("a space before the colon", "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding : chunked\r\n\r\n0\r\n\r\n"),
    ("a folded header", "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding:\r\n chunked\r\n\r\n0\r\n\r\n"),
    ("an encoding in HTTP/1.0", "POST / HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("no host", "GET / HTTP/1.1\r\n\r\n"),
    ("two hosts", "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n"),
    ("a tunnel", "CONNECT db:5432 HTTP/1.1\r\nhost: db:5432\r\n\r\n"),
    ("a zero in a header", "GET / HTTP/1.1\r\nhost: a\r\nx: a\0b\r\n\r\n"),
    ("an unknown version", "GET / HTTP/3.7\r\nhost: a\r\n\r\n"),
    ("no HTTP at all", "\x05\x01\x02\x00hello\r\n\r\n"),
];

#[tokio::test]
async fn what_two_parsers_may_read_differently_never_reaches_a_pod() {
    let pod = Pod::start(Speaks::Http1, echo()).await;
    let shop = Shop::open("Proxied", json!({}), &[&pod]).await;
    for (name, bytes) in SMUGGLING {
        let back = exchange(&shop, bytes.as_bytes()).await;
        assert!(back.starts_with("HTTP/1.1 400"), "{name}: {back:?}");
        assert_eq!(back.matches("HTTP/1.1").count(), 1, "{name}: nothing behind it is read as a request: {back:?}");
    }
    assert_eq!(pod.requests(), 0);
    let (parts, _) = shop.get("/").await;
    assert_eq!(parts.status, StatusCode::OK, "and the next client is served");
}

#[tokio::test]
async fn bad_chunks_end_the_request_at_the_pod_too() {
    let pod = Pod::start(Speaks::Http1, echo()).await;
    let shop = Shop::open("Proxied", json!({}), &[&pod]).await;
    for chunks in [
        "zz\r\nabc\r\n0\r\n\r\n",
        "3\r\nabcdef\r\n0\r\n\r\n",
        "-3\r\nabc\r\n",
        "fffffffffffffffff\r\nabc",
        "3;a\nabc\r\n0\r\n\r\n",
    ] {
        let bytes = format!("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n{chunks}");
        let back = exchange(&shop, bytes.as_bytes()).await;
        assert!(!back.starts_with("HTTP/1.1 200"), "{chunks:?}: {back:?}");
    }
    shop.in_flight(0).await;
    assert_eq!(shop.get("/").await.0.status, StatusCode::OK);
}

#[tokio::test]
async fn a_chunked_request_that_is_clean_keeps_its_connection() {
    let pod = Pod::start(Speaks::Http1, echo()).await;
    let shop = Shop::open("Proxied", json!({}), &[&pod]).await;
    let one = "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let last = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let mut stream = shop.connect().await;
    stream.write_all(one.as_bytes()).await.expect("written");
    let mut first = vec![0; 4096];
    let read = stream.read(&mut first).await.expect("an answer");
    assert!(String::from_utf8_lossy(&first[..read]).starts_with("HTTP/1.1 200"));
    stream.write_all(last.as_bytes()).await.expect("written");
    let mut back = String::new();
    stream.read_to_string(&mut back).await.expect("an answer");
    assert!(back.contains("HTTP/1.1 200"), "{back}");
}

#[tokio::test]
async fn heads_without_end_are_refused_before_they_take_memory() {
    let pod = Pod::start(Speaks::Http1, echo()).await;
    let shop = Shop::open("Proxied", json!({}), &[&pod]).await;
    let large = format!("GET / HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "x".repeat(200_000));
    let many = format!("GET / HTTP/1.1\r\nhost: a\r\n{}\r\n", "x: y\r\n".repeat(1000));
    let long = format!("GET /{} HTTP/1.1\r\nhost: a\r\n\r\n", "x".repeat(200_000));
    for bytes in [large, many, long] {
        let back = exchange(&shop, bytes.as_bytes()).await;
        assert!(back.is_empty() || back.starts_with("HTTP/1.1 4"), "{back:?}");
    }
    assert_eq!(pod.requests(), 0);
    assert_eq!(shop.get("/").await.0.status, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_ends_its_head_is_cut_off() {
    let shop = Shop::open("Asleep", json!({}), &[]).await;
    for begin in ["", "G", "PRI * HTTP/2.0\r\n", "GET / HTTP/1.1\r\nhost: a\r\nx: "] {
        let began = tokio::time::Instant::now();
        let mut stream = shop.connect().await;
        stream.write_all(begin.as_bytes()).await.expect("written");
        let mut back = Vec::new();
        let _ = stream.read_to_end(&mut back).await;
        assert!(back.is_empty() || back.starts_with(b"HTTP/1.1 4"), "{begin:?}: {back:?}");
        let took = began.elapsed().as_secs();
        assert!((30..=35).contains(&took), "{begin:?}: {took} s of a clock that stands still");
    }
}

#[tokio::test]
async fn more_connections_than_there_may_be_are_turned_away_politely() {
    let pod = Pod::start(Speaks::Http1, echo()).await;
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let bounds = Bounds { address, connections: 10, connections_per_port: 4, ..Bounds::default() };
    let shop = Shop::open_within(bounds, "Proxied", json!({}), &[&pod]).await;
    let mut idle = Vec::new();
    for _ in 0..4 {
        idle.push(shop.connect().await);
    }
    let back = eventually("one is turned away", || async {
        let back = exchange(&shop, b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
        if back.starts_with("HTTP/1.1 503") { Ok(back) } else { Err(back) }
    })
    .await;
    assert!(back.contains("retry-after: 1"), "{back}");
    drop(idle);
    eventually("there is room again", || async {
        let back = exchange(&shop, b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
        if back.starts_with("HTTP/1.1 200") { Ok(()) } else { Err(back) }
    })
    .await;
}

#[tokio::test]
async fn an_upload_without_end_takes_no_more_memory_than_the_rule_allows() {
    let shop = Shop::open("Asleep", json!({ "hold": { "maxMemoryMiB": 1 } }), &[]).await;
    let mut streams = Vec::new();
    for _ in 0..20 {
        let mut stream = shop.connect().await;
        stream.write_all(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100000000\r\n\r\n").await.expect("written");
        // As much as the sockets on the way take.
        let piece = vec![b'x'; 64 * 1024];
        for _ in 0..64 {
            let write = stream.write_all(&piece);
            if tokio::time::timeout(std::time::Duration::from_millis(20), write).await.is_err() {
                break;
            }
        }
        streams.push(stream);
    }
    assert!(shop.rule().room.bytes() <= 1 << 20, "{}", shop.rule().room.bytes());
    assert!(shop.report().held > 0);
}
