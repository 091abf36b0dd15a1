//! `reeve uninstall` and `reeve version`, on a cluster that Reeve was installed in.

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, Role};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, PostParams};
use kube::{Api, ResourceExt as _};
use reeve_crds::{GitSource, Runtime};
use reeve_tests::{Cluster, ControlPlane};
use serde_json::{Value, json};

use super::install::{install, reeve};

fn ours() -> ListParams {
    ListParams::default().labels("app.kubernetes.io/managed-by=reeve-install")
}

/// A source and a runtime that Reeve's finalizers hold, and a finalizer that is somebody else's.
async fn held(cluster: &Cluster) {
    let spec = json!({ "url": "https://git.example.com/fleet", "ref": { "branch": "main" } });
    let source = json!({
        "metadata": { "name": "fleet", "finalizers": ["reeve.dev/source"] }, "spec": spec,
    });
    let sources: Api<GitSource> = Api::namespaced(cluster.client(), "default");
    sources.create(&PostParams::default(), &serde_json::from_value(source).unwrap()).await.unwrap();
}

#[tokio::test]
async fn what_was_installed_goes_and_the_kinds_only_when_asked_for() {
    let control_plane = ControlPlane::start().await.unwrap().controllers().await.unwrap();
    let cluster: &Cluster = &control_plane;
    assert_eq!(reeve(cluster, &["uninstall"]).await.with(0).out, "nothing of Reeve is installed\n");
    install(cluster, &["--apply", "--set", "replicas=0"]).await.with(0);
    held(cluster).await;

    let listed = reeve(cluster, &["uninstall"]).await.with(0).out;
    assert!(listed.starts_with("Deployment.apps reeve-system/reeve\n"), "{listed}");
    assert!(!listed.contains("Namespace") && !listed.contains("CustomResourceDefinition"), "{listed}");
    let roles: Api<ClusterRole> = Api::all(cluster.client());
    assert!(!roles.list(&ours()).await.unwrap().items.is_empty(), "a list takes nothing away");

    let told = reeve(cluster, &["uninstall", "--apply"]).await.with(0).out;
    let deleted: Vec<&str> = told.lines().filter_map(|line| line.strip_suffix(" deleted")).collect();
    assert_eq!(deleted, listed.lines().collect::<Vec<_>>());
    assert!(roles.list(&ours()).await.unwrap().items.is_empty());
    let (accounts, in_namespaces): (Api<ServiceAccount>, Api<Role>) =
        (Api::all(cluster.client()), Api::all(cluster.client()));
    assert!(accounts.list(&ours()).await.unwrap().items.is_empty());
    assert!(in_namespaces.list(&ours()).await.unwrap().items.is_empty());
    let sources: Api<GitSource> = Api::namespaced(cluster.client(), "default");
    let source = sources.get("fleet").await.unwrap();
    assert_eq!(source.finalizers(), ["reeve.dev/source"], "the next installation goes on with it");

    let told = reeve(cluster, &["uninstall", "--apply", "--crds"]).await.with(0).out;
    assert!(told.starts_with("GitSource.reeve.dev default/fleet released\nCustomResourceDefinition"), "{told}");
    let kinds: Api<CustomResourceDefinition> = Api::all(cluster.client());
    assert!(kinds.list(&ours()).await.unwrap().items.is_empty());
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    namespaces.get("reeve-system").await.expect("the namespace is not ours alone");
    let runtimes: Api<Runtime> = Api::all(cluster.client());
    assert!(runtimes.list(&ListParams::default()).await.is_err(), "the kind is still served");
}

#[tokio::test]
async fn the_versions_of_both_sides_are_told() {
    let control_plane = ControlPlane::start().await.unwrap();
    let cluster: &Cluster = &control_plane;
    let told = reeve(cluster, &["version"]).await.with(0).out;
    assert!(told.starts_with("client: 0.1.0 (commit ") && told.ends_with("\ncontroller: not installed\n"), "{told}");
    install(cluster, &["--apply", "-n", "ops", "--set", "image.tag=0.0.9"]).await.with(0);
    let told = reeve(cluster, &["version", "-n", "ops"]).await.with(0).out;
    assert!(told.ends_with("\ncontroller: 0.1.0 in ops, image reeve.local/reeve:0.0.9\n"), "{told}");
    let told: Value = serde_json::from_str(&reeve(cluster, &["version", "-n", "ops", "-o", "json"]).await.out).unwrap();
    assert_eq!(told["client"]["version"], "0.1.0");
    assert_eq!(told["controller"]["image"], "reeve.local/reeve:0.0.9");
    let client = reeve(cluster, &["version", "--client", "-o", "json"]).await.with(0).out;
    assert!(!client.contains("controller"), "{client}");
}
