use std::net::SocketAddr;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::kit::*;
use crate::data_plane::table::PodState;

/// Greets first, then sends back what it gets.
async fn greeter() -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let address = listener.local_addr().expect("an address");
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut clients = JoinSet::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            clients.spawn(async move {
                stream.write_all(b"hello ").await.expect("written");
                let (mut read, mut write) = stream.split();
                drop(tokio::io::copy(&mut read, &mut write).await);
            });
        }
    });
    (address, tasks)
}

#[tokio::test]
async fn a_server_that_speaks_first_does_so_after_its_wake_too() {
    let (pod, _tasks) = greeter().await;
    let mut shop = Shop::open("Asleep", json!({}), &[]).await;
    shop.speaks("mysql");
    let mut stream = shop.connect().await;
    shop.held(1).await;
    assert!(shop.rule().wants_wake());
    shop.pods(&[(pod, PodState::Ready)]);
    let mut greeting = [0; 6];
    stream.read_exact(&mut greeting).await.expect("a greeting");
    assert_eq!(&greeting, b"hello ");
    assert_eq!(shop.report().in_flight, 1);
    stream.write_all(b"bye").await.expect("written");
    stream.shutdown().await.expect("the end of what we say");
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await.expect("the rest");
    assert_eq!(rest, "bye", "either side may end first");
    shop.in_flight(0).await;
}

#[tokio::test]
async fn tls_passes_on_to_the_pod_without_a_word_from_the_rule() {
    let (pod, _tasks) = greeter().await;
    let mut shop = Shop::open("Asleep", json!({}), &[]).await;
    let mut stream = shop.connect().await;
    stream.write_all(b"\x16").await.expect("written");
    stream.write_all(b"\x03\x01 a client hello").await.expect("written");
    shop.held(1).await;
    shop.pods(&[(pod, PodState::Ready)]);
    let mut back = [0; 22];
    stream.read_exact(&mut back).await.expect("an answer");
    assert_eq!(&back, b"hello \x16\x03\x01 a client hel");
}

#[tokio::test]
async fn a_connection_that_waits_and_goes_frees_its_place() {
    let mut shop = Shop::open("Asleep", json!({ "hold": { "maxRequests": 1 } }), &[]).await;
    shop.speaks("tcp");
    let mut stream = shop.connect().await;
    stream.write_all(b"PING\r\n").await.expect("written");
    shop.held(1).await;
    let mut second = shop.connect().await;
    second.write_all(b"PING\r\n").await.expect("written");
    let mut nothing = Vec::new();
    assert!(second.read_to_end(&mut nothing).await.is_err() || nothing.is_empty(), "one too many is closed");
    drop(stream);
    shop.held(0).await;
}

#[tokio::test]
async fn the_switch_is_answered_on_a_port_of_bytes_too() {
    let mut shop = Shop::open("Asleep", json!({}), &[]).await;
    shop.speaks("tcp");
    let mut stream = shop.connect().await;
    let probe = "GET /.well-known/reeve-probe HTTP/1.1\r\nhost: a\r\nreeve-probe: 7\r\nconnection: close\r\n\r\n";
    stream.write_all(probe.as_bytes()).await.expect("written");
    let mut back = String::new();
    stream.read_to_string(&mut back).await.expect("an answer");
    assert!(back.starts_with("HTTP/1.1 200") && back.contains("reeve-probe: 7"), "{back}");
    assert_eq!(shop.report().requests_total, 0);
}
