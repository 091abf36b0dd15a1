//! `reeve check`.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use reeve_tests::{Cluster, ControlPlane};
use serde_json::{Value, json};

use crate::cli::repository::{Ended, Repository, ended};
use crate::cli_cluster::install::install;

async fn check(cluster: &Cluster, args: &[&str]) -> Ended {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_reeve"));
    command.arg("check").args(args).arg("--kubeconfig").arg(cluster.kubeconfig());
    ended(command.output().await.unwrap())
}

/// What was found of one thing.
fn found(told: &Ended, what: &str) -> Vec<(String, String)> {
    let checks = told.json();
    let checks = checks.as_array().unwrap().iter().filter(|check| check["what"] == what);
    let text = |check: &Value, key: &str| check[key].as_str().unwrap().to_owned();
    checks.map(|check| (text(check, "result"), text(check, "found"))).collect()
}

#[tokio::test]
async fn a_cluster_is_judged_before_and_after_an_installation() {
    let control_plane = ControlPlane::start().await.unwrap();
    let cluster: &Cluster = &control_plane;
    let told = check(cluster, &["--pre"]).await.with(0);
    assert!(told.out.starts_with("ok   Kubernetes: v1.35"), "{}", told.out);
    assert!(told.out.contains("\nok   your rights: you may install Reeve\n"), "{}", told.out);
    let told = check(cluster, &[]).await.with(1);
    assert!(told.out.contains("fail kinds: not installed: GitSource, Runtime,"), "{}", told.out);
    assert!(told.out.contains("     help: run `reeve install --crds-only --apply`\n"), "{}", told.out);

    install(cluster, &["--apply", "--wait", "--crds-only"]).await.with(0);
    install(cluster, &["--apply"]).await.with(0);
    let told = check(cluster, &["-o", "json"]).await.with(1);
    let yaml = check(cluster, &["-o", "yaml"]).await.with(1).out;
    assert_eq!(serde_yaml::from_str::<Value>(&yaml).unwrap(), told.json());
    assert_eq!(found(&told, "kinds"), [("ok".to_owned(), "all are installed, of version 0.1.0".to_owned())]);
    assert_eq!(
        found(&told, "controller"),
        [("fail".to_owned(), "0 of 2 available, reeve.local/reeve:0.1.0".to_owned())]
    );
    assert_eq!(found(&told, "leader"), [("fail".to_owned(), "nobody holds a lease in reeve-system".to_owned())]);
    assert_eq!(found(&told, "sources"), [("warn".to_owned(), "there are none".to_owned())]);

    let deployments: Api<Deployment> = Api::namespaced(cluster.client(), "reeve-system");
    let running = Patch::Merge(json!({ "status": { "replicas": 2, "availableReplicas": 2, "readyReplicas": 2 } }));
    deployments.patch_status("reeve", &PatchParams::default(), &running).await.unwrap();
    let leases: Api<Lease> = Api::namespaced(cluster.client(), "reeve-system");
    let lease = |renewed: &str| -> Lease {
        let spec = json!({ "holderIdentity": "pod-1", "leaseDurationSeconds": 15, "renewTime": renewed });
        serde_json::from_value(json!({ "metadata": { "name": "reeve" }, "spec": spec })).unwrap()
    };
    leases.create(&PostParams::default(), &lease("2026-01-02T03:04:05.000000Z")).await.unwrap();
    let told = check(cluster, &["-o", "json"]).await.with(1);
    assert_eq!(found(&told, "controller")[0].0, "ok");
    let leader = found(&told, "leader");
    assert!(leader[0].0 == "fail" && leader[0].1.contains("pod-1") && leader[0].1.ends_with("too long"), "{leader:?}");
    let future = Patch::Merge(json!({ "spec": { "renewTime": "2126-01-02T03:04:05.000000Z" } }));
    leases.patch("reeve", &PatchParams::default(), &future).await.unwrap();
    let told = check(cluster, &[]).await.with(0);
    assert!(told.out.contains("ok   leader: pod-1, renewed 0s ago\n"), "{}", told.out);

    let older = Patch::Merge(json!({ "spec": { "names": { "shortNames": ["rte"] } } }));
    let crds: Api<CustomResourceDefinition> = Api::all(cluster.client());
    crds.patch("runtimes.reeve.dev", &PatchParams::default(), &older).await.unwrap();
    let told = check(cluster, &[]).await.with(0);
    assert!(
        told.out.contains("warn kinds: of another version than 0.1.0, or not yet served: Runtime\n"),
        "{}",
        told.out
    );
}

#[tokio::test]
async fn who_may_not_install_is_told_what_is_missing() {
    let cluster = Cluster::shared().await;
    let text = std::fs::read_to_string(cluster.kubeconfig()).unwrap();
    let mut kubeconfig: Value = serde_yaml::from_str(&text).unwrap();
    // The one with all rights, acting as someone with none.
    kubeconfig["users"][0]["user"]["as"] = json!("nobody");
    let folder = Repository::empty();
    folder.write("config", &kubeconfig.to_string());
    let told = folder.reeve(&["check", "--pre", "--kubeconfig", "config"]).with(1);
    assert!(
        told.out.contains("fail your rights: you may not patch customresourcedefinitions.apiextensions.k8s.io"),
        "{}",
        told.out
    );
    assert!(told.out.contains("in namespace reeve-system"), "{}", told.out);
    let told = folder.reeve(&["get", "--kubeconfig", "config"]).with(2);
    assert!(told.err.starts_with("error: the API server does not let you list gitsources\n"), "{}", told.err);
}
