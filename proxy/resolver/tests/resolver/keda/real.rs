//! With KEDA's real operator.

use std::path::Path;

use http::StatusCode;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kube::Api;
use reeve_crds::scaling_rule::status::TrafficMode;
use reeve_tests::assets::{self, Released};
use reeve_tests::{Process, Server, eventually, until};
use serde_json::json;

use super::{is_ready, spec};
use crate::client::get;
use crate::place::{App, Place, mode_of};

/// KEDA makes its certificates and ends; then it is started again and goes on.
async fn start_keda(place: &Place, program: &Path) -> Process {
    place.node.kubectl(&["create", "namespace", "keda"]).await;
    let certificates = place.node.supervisor().data().join("keda-certificates");
    std::fs::create_dir_all(&certificates).unwrap();
    let start = |life: &str| {
        let server = Server::new(&format!("keda-{life}"), program.to_str().unwrap())
            .args(["--leader-elect=false", "--enable-cert-rotation=true", "--zap-log-level=debug"])
            .args([format!("--cert-dir={}", certificates.display())])
            .env("KUBECONFIG", place.kubeconfig.display().to_string())
            .env("POD_NAME", "keda-operator")
            .env("POD_NAMESPACE", "keda")
            .env("WATCH_NAMESPACE", "")
            .env("KEDA_CLUSTER_OBJECT_NAMESPACE", "keda")
            .inside(Some(place.node.inside()));
        place.node.supervisor().spawn(server).unwrap()
    };
    let first = start("certificates");
    eventually("KEDA has made its certificates and ends", || async {
        if Path::new(&format!("/proc/{}", first.pid())).exists() { Err("it goes on") } else { Ok(()) }
    })
    .await;
    let second = start("operator");
    eventually("KEDA is ready", || async {
        let mut ask = place.node.command("curl");
        let answer = ask.args(["-fsS", "http://127.0.0.1:8081/readyz"]).output().map_err(|error| error.to_string())?;
        if answer.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&answer.stderr).into_owned()) }
    })
    .await;
    second
}

#[tokio::test]
#[ignore = "needs KEDA: `make e2e ONLY=keda`"]
async fn a_target_sleeps_and_wakes_with_keda_and_nobody_fights_over_its_replicas() {
    let Some(program) = assets::released(Released::Keda).unwrap() else { return };
    let place: &'static Place = Box::leak(Box::new(Place::start().await));
    let _keda = start_keda(place, &program).await;
    let (_switch, _replicas) = (place.switch("switch-0"), [place.replica(0, 0), place.replica(1, 0)]);
    let app = App::new(place, "real", spec(&json!({ "pollingInterval": "2s", "targetPerReplica": 2 }))).await;
    is_ready(&app, "True", "Succeeded").await;
    let scalers: Api<HorizontalPodAutoscaler> = Api::namespaced(place.client(), &app.namespace);
    let scaler = until(&scalers, "keda-hpa-web", "KEDA has made its autoscaler", |_| true).await.spec.unwrap();
    assert_eq!((scaler.min_replicas, scaler.max_replicas), (Some(2), 4));

    for cycle in 1..=3 {
        app.reaches(TrafficMode::Asleep).await;
        assert_eq!(app.replicas().await, 0);
        app.pods_are_gone().await;
        // More than one replica takes: the first scale-up is sized from the queue.
        let answers = futures::future::join_all((0..8).map(|_| get(app.address, "/index.html"))).await;
        for answer in answers {
            assert_eq!(answer.unwrap().status, StatusCode::OK);
        }
        println!("cycle {cycle}: woken with {} replicas", app.replicas().await);
        assert!(app.replicas().await >= 2);
    }

    // Another trigger of the rule that is active keeps the target awake, by KEDA's word.
    let always = json!({ "name": "always", "type": "cron", "metadata": {
        "timezone": "UTC", "start": "0 0 1 1 *", "end": "59 23 31 12 *", "desiredReplicas": "3",
    } });
    app.change_rule(json!({ "spec": { "keda": { "triggers": [always] } } })).await;
    eventually("KEDA wakes it for the other trigger", || async {
        let replicas = app.replicas().await;
        if replicas > 0 { Ok(()) } else { Err(replicas) }
    })
    .await;
    app.reaches(TrafficMode::Draining).await;
    app.reaches(TrafficMode::Proxied).await;
    assert!(app.replicas().await > 0, "KEDA was asked, and keeps it");
    app.change_rule(json!({ "spec": { "keda": { "triggers": null } } })).await;
    app.reaches(TrafficMode::Asleep).await;

    // A suspended rule leaves a person's zero alone, and KEDA does too.
    app.change_rule(json!({ "spec": { "suspend": true } })).await;
    app.reaches(TrafficMode::Untouched).await;
    app.scale(0).await;
    let other = App::new(place, "beside", spec(&json!({ "pollingInterval": "1s" }))).await;
    other.reaches(TrafficMode::Asleep).await;
    assert_eq!(app.replicas().await, 0, "KEDA has looked at others meanwhile");
    assert_eq!(mode_of(&app.rules().get("web").await.unwrap()), Some(TrafficMode::Untouched));
}
