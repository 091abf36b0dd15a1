use std::net::Ipv4Addr;
use std::time::Duration;

use http::{Request, StatusCode};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

use super::kit::*;
use crate::data_plane::origin::PodNetworks;
use crate::data_plane::plane::Bounds;
use crate::data_plane::table::PodState;

#[tokio::test]
async fn a_request_waits_until_a_pod_is_ready() {
    let pod = Pod::start(Speaks::Http1, echo()).await;
    let mut shop = Shop::open("Asleep", json!({}), &[]).await;
    let mut client = shop.http1().await;
    let waiting = client.sender.send_request(post("/orders", full("kept")));
    let mut tasks = JoinSet::new();
    tasks.spawn(waiting);
    shop.held(1).await;
    assert!(shop.rule().wants_wake());
    assert!(shop.report().holding);
    shop.pods(&[(pod.address, PodState::NotReady)]);
    assert_eq!(shop.report().held, 1, "a pod that is not ready gets nothing");
    shop.pods(&[(pod.address, PodState::Ready)]);
    let response = tasks.join_next().await.expect("a task").expect("no panic").expect("a response");
    let (parts, body) = read(response).await;
    assert_eq!(parts.status, StatusCode::OK);
    assert!(body.contains("\"body\":\"kept\""), "{body}");
    let report = shop.report();
    assert_eq!((report.held, report.in_flight, report.holding), (0, 0, false));
    let wake = report.wake.expect("a wake");
    assert_eq!(wake.cause, "POST /orders");
    assert!(wake.ready_ms.is_some() && wake.first_byte_ms.is_some(), "{wake:?}");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_too_long_is_answered_504() {
    let shop = Shop::open("Asleep", json!({ "hold": { "timeout": "20s" } }), &[]).await;
    let began = tokio::time::Instant::now();
    let (parts, body) = shop.get("/").await;
    assert_eq!(parts.status, StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(body, "the target did not wake in time\n");
    assert_eq!(began.elapsed().as_secs(), 20);
    assert_eq!(shop.report().held, 0);
}

#[tokio::test(start_paused = true)]
async fn a_shorter_time_that_the_request_names_counts_first() {
    let shop = Shop::open("Asleep", json!({ "hold": { "timeout": "20s" } }), &[]).await;
    let began = tokio::time::Instant::now();
    let request = Request::get("/").header("host", "shop").header("x-request-timeout", "3s").body(full(""));
    let (parts, _) = read(shop.send(request.expect("a request")).await).await;
    assert_eq!((parts.status, began.elapsed().as_secs()), (StatusCode::GATEWAY_TIMEOUT, 3));
}

#[tokio::test]
async fn one_more_than_may_wait_is_answered_503_with_when_to_come_again() {
    let shop = Shop::open("Asleep", json!({ "hold": { "maxRequests": 2 } }), &[]).await;
    let mut clients = vec![shop.http1().await, shop.http1().await];
    let mut tasks = JoinSet::new();
    for client in &mut clients {
        tasks.spawn(client.sender.send_request(get("/")));
    }
    shop.held(2).await;
    let (parts, body) = shop.get("/").await;
    assert_eq!(parts.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(parts.headers["retry-after"], "2");
    assert_eq!(body, "too many requests wait already\n");
    assert_eq!(shop.report().held, 2);
}

#[tokio::test]
async fn one_client_may_have_only_its_share_of_the_line() {
    let shop = Shop::open("Asleep", json!({ "hold": { "maxRequestsPerClient": 1 } }), &[]).await;
    let mut client = shop.http1().await;
    let mut tasks = JoinSet::new();
    tasks.spawn(client.sender.send_request(get("/")));
    shop.held(1).await;
    let (parts, body) = shop.get("/").await;
    assert_eq!(parts.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(body, "too many requests of this client wait already\n");
}

#[tokio::test]
async fn a_client_that_goes_frees_its_place_at_once() {
    let shop = Shop::open("Asleep", json!({ "hold": { "maxRequests": 1 } }), &[]).await;
    let heads = [
        "GET / HTTP/1.1\r\nhost: shop\r\n\r\n".to_owned(),
        "POST / HTTP/1.1\r\nhost: shop\r\ncontent-length: 5\r\n\r\nhello".to_owned(),
        // Only a part of what is announced has come.
        "POST / HTTP/1.1\r\nhost: shop\r\ncontent-length: 500000\r\n\r\nhello".to_owned(),
        // More than is read ahead; what the kernel cannot take either would hide the end behind it.
        format!("POST / HTTP/1.1\r\nhost: shop\r\ncontent-length: 500000\r\n\r\n{}", "x".repeat(120_000)),
    ];
    for head in heads {
        let mut stream = shop.connect().await;
        stream.write_all(head.as_bytes()).await.expect("written");
        shop.held(1).await;
        drop(stream);
        shop.held(0).await;
    }
}

#[tokio::test]
async fn a_pod_that_is_called_ready_but_does_not_listen_yet_costs_no_request() {
    let mut shop = Shop::open("Asleep", json!({}), &[]).await;
    let address = free_port().await;
    let mut client = shop.http1().await;
    let mut tasks = JoinSet::new();
    tasks.spawn(client.sender.send_request(post("/", full("kept"))));
    shop.held(1).await;
    shop.pods(&[(address, PodState::Ready)]);
    shop.held(1).await;
    let _pod = Pod::start_at(address, Speaks::Http1, echo());
    let response = tasks.join_next().await.expect("a task").expect("no panic").expect("a response");
    assert!(read(response).await.1.contains("\"body\":\"kept\""));
}

#[tokio::test]
async fn a_pod_may_be_asked_before_kubelet_calls_it_ready() {
    let pod = Pod::start(Speaks::Http1, echo()).await;
    for readiness in [json!({ "from": "Probe" }), json!({ "from": "Probe", "path": "/ready" })] {
        let mut shop = Shop::open("Asleep", json!({ "readiness": readiness }), &[]).await;
        shop.pods(&[(pod.address, PodState::NotReady)]);
        assert_eq!(shop.get("/").await.0.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn nothing_passes_while_the_rule_drains_and_all_of_it_after() {
    let pod = Pod::start(Speaks::Http1, echo()).await;
    let mut shop = Shop::open("Draining", json!({}), &[&pod]).await;
    let mut clients = vec![shop.http1().await, shop.http1().await, shop.http1().await];
    let mut tasks = JoinSet::new();
    for client in &mut clients {
        tasks.spawn(client.sender.send_request(get("/")));
    }
    shop.held(3).await;
    assert_eq!(pod.requests(), 0);
    assert!(shop.report().holding);
    shop.pods(&[]);
    assert!(!shop.rule().wants_wake(), "the target is about to sleep");
    shop.mode("Asleep");
    assert!(shop.rule().wants_wake());
    shop.pods(&[(pod.address, PodState::Ready)]);
    while let Some(response) = tasks.join_next().await {
        assert_eq!(response.expect("no panic").expect("a response").status(), StatusCode::OK);
    }
}

#[tokio::test]
async fn those_who_wait_are_let_go_at_the_pace_of_the_pod() {
    let (tx, rx) = tokio::sync::watch::channel(0_usize);
    let pod = Pod::start(
        Speaks::Http1,
        handler(move |_| {
            let mut rx = rx.clone();
            async move {
                rx.wait_for(|go| *go > 0).await.expect("a word");
                http::Response::new(full(""))
            }
        }),
    )
    .await;
    let mut shop = Shop::open("Asleep", json!({ "hold": { "releasePerReplica": 2 } }), &[]).await;
    let mut clients = Vec::new();
    let mut tasks = JoinSet::new();
    for _ in 0..5 {
        let mut client = shop.http1().await;
        tasks.spawn(client.sender.send_request(get("/")));
        clients.push(client);
    }
    shop.held(5).await;
    shop.pods(&[(pod.address, PodState::Ready)]);
    shop.held(3).await;
    shop.in_flight(2).await;
    tx.send(1).expect("a listener");
    while let Some(response) = tasks.join_next().await {
        assert_eq!(response.expect("no panic").expect("a response").status(), StatusCode::OK);
    }
}

#[tokio::test]
async fn probes_and_scrapes_wake_nothing() {
    let pod = Pod::start(Speaks::Http1, echo()).await;
    let mut shop = Shop::open("Asleep", json!({}), &[]).await;
    let probe = || Request::get("/").header("host", "shop").header("user-agent", "kube-probe/1.35");
    let (parts, body) = read(shop.send(probe().body(full("")).expect("a request")).await).await;
    assert_eq!((parts.status, body.as_str()), (StatusCode::OK, ""));
    shop.pods(&[(pod.address, PodState::Ready)]);
    let (_, body) = read(shop.send(probe().body(full("")).expect("a request")).await).await;
    assert!(body.contains("kube-probe"), "awake, it answers itself: {body}");
    let report = shop.report();
    assert_eq!(report.requests_total, 0, "and that is no demand");
    assert!(!shop.rule().wants_wake());
}

#[tokio::test]
async fn a_browser_gets_a_page_and_wakes_the_target_where_the_rule_says_so() {
    let page = json!({ "status": 202, "headers": { "Content-Type": "text/html" }, "body": "<p>soon" });
    let spec = json!({ "hold": { "page": page }, "traffic": { "outside": "Page", "inside": "Page" } });
    let shop = Shop::open("Asleep", spec, &[]).await;
    let request = Request::get("/").header("host", "shop").header("accept", "text/html,*/*").body(full(""));
    let (parts, body) = read(shop.send(request.expect("a request")).await).await;
    assert_eq!((parts.status, body.as_str()), (StatusCode::ACCEPTED, "<p>soon"));
    assert!(shop.rule().wants_wake());
    let mut client = shop.http1().await;
    let mut tasks = JoinSet::new();
    tasks.spawn(client.sender.send_request(post("/", full("an API call has nobody to look at a page"))));
    shop.held(1).await;
}

#[tokio::test]
async fn whom_the_rule_refuses_wakes_nothing() {
    let spec = json!({ "traffic": { "outside": "Refuse", "inside": "Refuse" } });
    let shop = Shop::open("Asleep", spec, &[]).await;
    let (parts, _) = shop.get("/").await;
    assert_eq!(parts.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(!shop.rule().wants_wake());
}

#[tokio::test]
async fn callers_from_inside_and_from_outside_are_told_apart() {
    for (network, wanted) in [("127.0.0.0/8", StatusCode::SERVICE_UNAVAILABLE), ("10.0.0.0/8", StatusCode::OK)] {
        let pod_networks = PodNetworks::new(vec![network.parse().expect("a range")]);
        let bounds = Bounds { address: Ipv4Addr::LOCALHOST.into(), pod_networks, ..Bounds::default() };
        let page = json!({ "status": 200, "body": "soon" });
        let spec = json!({ "traffic": { "inside": "Refuse", "outside": "Page" }, "hold": { "page": page } });
        let shop = Shop::open_within(bounds, "Asleep", spec, &[]).await;
        let request = Request::get("/").header("host", "shop").header("accept", "text/html").body(full(""));
        let (parts, _) = read(shop.send(request.expect("a request")).await).await;
        assert_eq!(parts.status, wanted, "{network}");
        assert_eq!(shop.rule().wants_wake(), wanted == StatusCode::OK);
    }
}

#[tokio::test]
async fn a_changed_rule_counts_for_the_next_request_and_not_for_those_who_wait() {
    let mut shop = Shop::open("Asleep", json!({ "hold": { "maxRequests": 2 } }), &[]).await;
    let mut client = shop.http1().await;
    let mut tasks = JoinSet::new();
    tasks.spawn(client.sender.send_request(get("/")));
    shop.held(1).await;
    shop.spec("hold", json!({ "maxRequests": 1, "timeout": "100ms" }));
    let (parts, _) = shop.get("/").await;
    assert_eq!(parts.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(shop.report().held, 1, "whoever waits keeps its place and its time");
}

#[tokio::test]
async fn a_replica_that_ends_answers_those_who_wait() {
    let shop = Shop::open("Asleep", json!({}), &[]).await;
    let (answered, ()) = tokio::join!(async { shop.get("/").await }, async {
        shop.held(1).await;
        shop.plane.drain(Duration::ZERO).await;
    });
    assert_eq!(answered.0.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answered.0.headers["connection"], "close");
}

#[tokio::test]
async fn a_rule_that_goes_answers_those_who_wait() {
    let shop = Shop::open("Asleep", json!({}), &[]).await;
    let (answered, ()) = tokio::join!(async { shop.get("/").await }, async {
        shop.held(1).await;
        shop.plane.set(&crate::report::RuleKey::new("web", "shop"), None);
    });
    assert_eq!(answered.0.status, StatusCode::SERVICE_UNAVAILABLE);
}
