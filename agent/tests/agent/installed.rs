//! The agent with the rights of its chart and no more. Its Deployment needs a node and is not started: the same binary runs
//! with a token of the same account.

use std::path::PathBuf;
use std::process::Command;

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::PostParams;
use reeve_tests::beside;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::place::{Place, restarts};

const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../charts/reeve-agent");
const AGENT: &str = env!("CARGO_BIN_EXE_reeve-agent");

/// What the chart makes with these values, in the namespace of Dapr's control plane.
fn rendered(place: &Place, values: &Value) -> String {
    let folder = place.folder.path().join("fleet");
    let chart = folder.join("charts/reeve-agent/0.1.0");
    std::fs::create_dir_all(chart.parent().unwrap()).unwrap();
    assert!(Command::new("cp").args(["-r", CHART]).arg(&chart).status().unwrap().success());
    let fleet = json!({
        "kind": "Fleet",
        "defaults": { "channel": "regular", "namespace": place.dapr },
        "components": { "reeve-agent": { "values": values } },
    });
    for (path, text) in [
        ("fleet.yaml", fleet.to_string()),
        ("channels/regular.yaml", json!({ "kind": "Channel", "components": { "reeve-agent": "0.1.0" } }).to_string()),
        ("runtimes/here.yaml", json!({ "kind": "Runtime" }).to_string()),
    ] {
        let file = folder.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let output = Command::new(beside(AGENT, "reeve")).arg("render").arg(&folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A kubeconfig of the chart's account.
async fn kubeconfig(place: &Place) -> PathBuf {
    let accounts: Api<ServiceAccount> = Api::namespaced(place.client(), &place.dapr);
    let request: TokenRequest =
        serde_json::from_value(json!({ "spec": { "audiences": [], "expirationSeconds": 3600 } })).unwrap();
    let token = accounts.create_token_request("reeve-agent", &PostParams::default(), &request).await.unwrap();
    let text = std::fs::read(place.cluster().kubeconfig()).unwrap();
    let mut config: Value = serde_yaml::from_slice(&text).unwrap();
    for user in config["users"].as_array_mut().unwrap() {
        user["user"] = json!({ "token": token.status.as_ref().unwrap().token });
    }
    let file = place.folder.path().join("account.json");
    std::fs::write(&file, config.to_string()).unwrap();
    file
}

#[tokio::test]
async fn the_chart_gives_the_agent_the_rights_that_it_needs_and_no_others() {
    let place = Place::new("chart").await;
    place.policy(json!({ "settleTime": "0s" })).await;
    let values = json!({
        "namespaces": [place.namespace], "daprNamespace": place.dapr,
        "runtime": { "namespace": place.namespace, "name": "here" }, "replicas": 0,
    });
    let file = place.folder.path().join("chart.yaml");
    std::fs::write(&file, rendered(&place, &values)).unwrap();
    place.cluster().kubectl(&["apply", "-f", file.to_str().unwrap()]).await;
    place.store("one", &[]).await;
    place.deployment("web", "1.17.0", 1).await;
    place.workload("ReplicaSet", "bare", "1.17.0", json!({ "replicas": 1 })).await;
    place.deployment("hot", "1.18.3", 1).await;
    for app in ["web", "bare", "hot"] {
        place.pods_are_ready(app, 1).await;
    }
    // As the Deployment of the chart has them, but for what the lease costs in time.
    let args: Vec<String> = place.args().into_iter().filter(|argument| argument != "--no-lease").collect();
    let agent = Agent::start(&kubeconfig(&place).await, place.folder.path(), &args);
    for name in ["deployment-web", "replicaset-bare", "deployment-hot"] {
        place.is_current(name).await;
    }

    place.store("two", &[]).await;

    for name in ["deployment-web", "replicaset-bare"] {
        place.record(name, "it restarts", |record| restarts(record) == 1).await;
        place.is_current(name).await;
    }
    let events = place.cluster().kubectl(&["get", "events", "-n", &place.namespace]).await;
    assert!(events.contains("Restarted"), "{events}");
    place.cluster().kubectl(&["delete", "deployment", "hot", "-n", &place.namespace]).await;
    let log = agent.log();
    assert!(!log.contains("forbidden"), "{log}");
    denied(&place).await;
}

/// What the account may not do, and a little of what it may, so that a wrong question is noticed.
async fn denied(place: &Place) {
    let (shop, dapr) = (place.namespace.as_str(), place.dapr.as_str());
    for (verb, group, resource, subresource, namespace, expected) in [
        ("patch", "apps", "deployments", "", shop, true),
        ("patch", "apps", "deployments", "", dapr, true),
        ("list", "", "secrets", "", shop, true),
        ("create", "", "pods", "eviction", shop, true),
        ("update", "coordination.k8s.io", "leases", "", dapr, true),
        ("list", "", "secrets", "", dapr, false),
        ("get", "", "secrets", "", dapr, false),
        ("list", "", "secrets", "", "", false),
        ("create", "", "secrets", "", shop, false),
        ("update", "", "secrets", "", shop, false),
        ("patch", "apps", "deployments", "", "default", false),
        ("patch", "apps", "deployments", "", "", false),
        ("create", "apps", "deployments", "", shop, false),
        ("delete", "apps", "deployments", "", shop, false),
        ("delete", "", "pods", "", shop, false),
        ("create", "", "pods", "exec", shop, false),
        ("create", "", "pods", "", shop, false),
        ("patch", "dapr.io", "components", "", shop, false),
        ("delete", "dapr.io", "components", "", shop, false),
        ("patch", "reeve.dev", "runtimes", "", shop, false),
        ("list", "reeve.dev", "runtimes", "", "", false),
        ("create", "rbac.authorization.k8s.io", "roles", "", shop, false),
    ] {
        let review: SubjectAccessReview = serde_json::from_value(json!({ "metadata": {}, "spec": {
            "user": format!("system:serviceaccount:{dapr}:reeve-agent"),
            "resourceAttributes": {
                "verb": verb, "group": group, "resource": resource, "subresource": subresource, "namespace": namespace,
            },
        } }))
        .unwrap();
        let reviews: Api<SubjectAccessReview> = Api::all(place.client());
        let review = reviews.create(&PostParams::default(), &review).await.unwrap();
        let status = review.status.unwrap();
        assert_eq!(status.allowed, expected, "{verb} {resource}/{subresource}.{group} in {namespace:?}");
    }
}
