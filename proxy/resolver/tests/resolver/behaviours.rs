//! The five behaviours that the resolver is for.

use futures::future::join_all;
use http::StatusCode;
use reeve_crds::scaling_rule::status::TrafficMode;
use serde_json::json;

use crate::client::get;
use crate::place::{App, shared};

#[tokio::test]
async fn without_requests_the_target_is_scaled_to_zero() {
    let app = App::new(
        shared().await,
        "idle",
        json!({
            "idleAfter": "2s", "minAwake": "0s", "handOver": { "policy": "Never" },
        }),
    )
    .await;
    app.reaches(TrafficMode::Proxied).await;
    let rule = app.reaches(TrafficMode::Asleep).await;
    assert_eq!(app.replicas().await, 0);
    assert_eq!(rule.status.unwrap().restore_replicas, Some(1));
    app.pods_are_gone().await;
}

#[tokio::test]
async fn fewer_requests_than_n_wake_the_target_and_pass_through_the_resolver() {
    let app = App::new(
        shared().await,
        "few",
        json!({
            "idleAfter": "2s", "minAwake": "5s", "handOver": { "inFlight": 50 },
        }),
    )
    .await;
    app.reaches(TrafficMode::Asleep).await;
    let answers = join_all((0..5).map(|_| get(app.address, "/index.html"))).await;
    for answer in answers {
        let answer = answer.unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (StatusCode::OK, "hello\n"));
    }
    let rule = app.reaches(TrafficMode::Proxied).await;
    let cold_start = rule.status.unwrap().last_cold_start;
    println!("woken {cold_start:?}");
    app.reaches(TrafficMode::Asleep).await;
}

#[tokio::test]
async fn a_request_that_is_held_for_too_long_is_answered_504() {
    let app = App::slow(
        shared().await,
        "late",
        json!({
            "idleAfter": "2s", "minAwake": "0s", "handOver": { "policy": "Never" }, "hold": { "timeout": "500ms" },
        }),
        1,
        3,
    )
    .await;
    app.reaches(TrafficMode::Asleep).await;
    let answer = get(app.address, "/index.html").await.unwrap();
    assert_eq!(answer.status, StatusCode::GATEWAY_TIMEOUT);
}

#[tokio::test]
async fn the_first_request_starts_as_many_instances_as_the_rule_says() {
    let app = App::new(
        shared().await,
        "many",
        json!({
            "idleAfter": "2s", "minAwake": "30s", "handOver": { "policy": "Never" }, "replicas": { "wake": 3 },
        }),
    )
    .await;
    app.change_rule(json!({ "spec": { "minAwake": "0s" } })).await;
    app.reaches(TrafficMode::Asleep).await;
    let answer = get(app.address, "/index.html").await.unwrap();
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(app.replicas().await, 3);
}

#[tokio::test]
async fn more_requests_than_n_make_the_resolver_leave_and_silence_brings_it_back() {
    let app = App::new(
        shared().await,
        "busy",
        json!({
            "idleAfter": "2s", "minAwake": "0s",
            "handOver": { "requestsPerSecond": 5, "after": "1s", "lookAfter": "5s", "lookAfterMax": "5s" },
        }),
    )
    .await;
    app.reaches(TrafficMode::Proxied).await;
    let calls = async {
        let mut served = 0;
        loop {
            let answer = get(app.address, "/index.html").await.unwrap();
            assert_eq!(answer.status, StatusCode::OK);
            served += 1;
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            if served > 100_000 {
                break;
            }
        }
    };
    tokio::select! {
        () = calls => panic!("it never left"),
        _rule = app.reaches(TrafficMode::Direct) => {}
    }
    let service = app.services().get("web").await.unwrap();
    assert_eq!(service.spec.unwrap().selector.unwrap().len(), 1);
    assert_eq!(get(app.address, "/index.html").await.unwrap().body, "hello\n");
    let rule = app.reaches(TrafficMode::Proxied).await;
    // Clients may have kept connections to this pod, and this node's kubelet counts no bytes of pods: it stays awake.
    assert_eq!(rule.status.unwrap().totals.unwrap().sleeps, 0);
    app.replace_pods().await;
    let rule = app.reaches(TrafficMode::Asleep).await;
    assert_eq!(rule.status.unwrap().totals.unwrap().sleeps, 1);
}
