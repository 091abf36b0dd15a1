//! What the account of an installed Reeve may do, and what it may not, asked with its own token.

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret, ServiceAccount};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::config::AuthInfo;
use kube::{Api, Client};
use reeve_crds::{GitSource, Inventory, Runtime, RuntimeComponent};
use reeve_tests::{Cluster, ControlPlane, eventually};
use serde_json::{Value, json};

use crate::cli_cluster::install::install;

const NAMESPACE: &str = "reeve-system";

/// A client that is the account of Reeve, by a token of its own, and acts as another if told so.
async fn reeve(cluster: &Cluster, acting_as: Option<&str>) -> Client {
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client(), NAMESPACE);
    let wanted = TokenRequest { spec: TokenRequestSpec::default(), ..TokenRequest::default() };
    let token = accounts.create_token_request("reeve", &PostParams::default(), &wanted).await.unwrap();
    let mut config = cluster.config().unwrap();
    config.auth_info = AuthInfo {
        token: Some(token.status.unwrap().token.into()),
        impersonate: acting_as.map(str::to_owned),
        ..AuthInfo::default()
    };
    Client::try_from(config).unwrap()
}

fn object<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

fn runtime(name: &str) -> Runtime {
    object(json!({
        "apiVersion": "reeve.dev/v1alpha1", "kind": "Runtime", "metadata": { "name": name }, "spec": {},
    }))
}

fn is_forbidden<T>(result: Result<T, kube::Error>) -> bool {
    matches!(result, Err(kube::Error::Api(status)) if status.code == 403)
}

async fn may(client: &Client, row: &[&str; 5]) -> bool {
    let [verb, group, resource, namespace, name] = row;
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let attributes = ResourceAttributes {
        verb: given(verb),
        group: given(group),
        resource: given(resource),
        subresource: given(subresource),
        namespace: given(namespace),
        name: given(name),
        ..ResourceAttributes::default()
    };
    let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
    let review = SelfSubjectAccessReview { spec, ..Default::default() };
    let api: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    api.create(&PostParams::default(), &review).await.unwrap().status.unwrap().allowed
}

/// Verb, group, resource, namespace (any if empty), name (any if empty).
const MAY: &[[&str; 5]] = &[
    ["watch", "reeve.dev", "gitsources", "", ""],
    ["patch", "reeve.dev", "gitsources", "", ""],
    ["patch", "reeve.dev", "gitsources/status", "", ""],
    ["update", "reeve.dev", "gitsources/finalizers", "", ""],
    ["create", "reeve.dev", "runtimes", "", ""],
    ["delete", "reeve.dev", "runtimes", "", ""],
    ["patch", "reeve.dev", "runtimes/status", "", ""],
    ["create", "reeve.dev", "runtimecomponents", "", ""],
    ["patch", "reeve.dev", "runtimecomponents/status", "", ""],
    ["update", "reeve.dev", "inventories", "", ""],
    ["get", "", "secrets", NAMESPACE, ""],
    ["watch", "", "secrets", NAMESPACE, ""],
    ["create", "events.k8s.io", "events", "", ""],
    ["update", "coordination.k8s.io", "leases", NAMESPACE, ""],
    ["impersonate", "", "serviceaccounts", NAMESPACE, "reeve-applier"],
    ["create", "authorization.k8s.io", "selfsubjectaccessreviews", "", ""],
];

const MAY_NOT: &[[&str; 5]] = &[
    ["get", "", "secrets", "", ""],
    ["get", "", "secrets", "default", "anything"],
    ["get", "", "secrets", "kube-system", ""],
    ["create", "", "secrets", NAMESPACE, ""],
    ["patch", "", "secrets", NAMESPACE, ""],
    ["delete", "", "secrets", NAMESPACE, ""],
    ["create", "", "pods", NAMESPACE, ""],
    ["create", "", "pods/exec", NAMESPACE, ""],
    ["get", "", "pods", NAMESPACE, ""],
    ["get", "", "configmaps", NAMESPACE, ""],
    ["patch", "apps", "deployments", NAMESPACE, "reeve"],
    ["create", "apps", "deployments", "", ""],
    ["create", "", "namespaces", "", ""],
    ["delete", "", "namespaces", "", ""],
    ["create", "", "serviceaccounts", NAMESPACE, ""],
    ["create", "", "serviceaccounts/token", NAMESPACE, "reeve-applier"],
    ["impersonate", "", "serviceaccounts", NAMESPACE, ""],
    ["impersonate", "", "serviceaccounts", NAMESPACE, "default"],
    ["impersonate", "", "serviceaccounts", NAMESPACE, "reeve-control-plane"],
    ["impersonate", "", "serviceaccounts", "kube-system", "reeve-applier"],
    ["impersonate", "", "users", "", ""],
    ["impersonate", "", "users", "", "admin"],
    ["impersonate", "", "groups", "", "system:masters"],
    ["patch", "rbac.authorization.k8s.io", "clusterroles", "", "reeve"],
    ["escalate", "rbac.authorization.k8s.io", "clusterroles", "", ""],
    ["bind", "rbac.authorization.k8s.io", "clusterroles", "", "cluster-admin"],
    ["create", "rbac.authorization.k8s.io", "clusterrolebindings", "", ""],
    ["create", "rbac.authorization.k8s.io", "rolebindings", NAMESPACE, ""],
    ["delete", "apiextensions.k8s.io", "customresourcedefinitions", "", ""],
    ["patch", "apiextensions.k8s.io", "customresourcedefinitions", "", ""],
    ["create", "reeve.dev", "gitsources", "", ""],
    ["delete", "reeve.dev", "gitsources", "", ""],
    ["get", "coordination.k8s.io", "leases", "kube-system", ""],
    ["create", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "", ""],
    ["get", "", "nodes", "", ""],
    ["create", "reeve.dev", "nodehooks", "", ""],
];

#[tokio::test]
async fn reeve_may_do_its_work_and_nothing_else() {
    let control_plane = ControlPlane::start().await.unwrap().controllers().await.unwrap();
    let cluster: &Cluster = &control_plane;
    install(cluster, &["--apply", "--wait", "--crds-only"]).await.with(0);
    install(cluster, &["--apply", "--applier", "cluster-admin"]).await.with(0);
    let client = reeve(cluster, None).await;
    // The authorizer learns of new roles by a watch of its own.
    eventually("Reeve may do its work", || async {
        for row in MAY {
            if !may(&client, row).await {
                return Err(format!("may not {row:?}"));
            }
        }
        Ok(())
    })
    .await;
    for row in MAY_NOT {
        assert!(!may(&client, row).await, "must not be allowed: {row:?}");
    }
    does_its_work(cluster, &client).await;
    is_kept_from_the_rest(&client).await;
    acts_as_its_applier_alone(cluster).await;
    acts_in_the_control_plane_when_the_operator_says_so(cluster, &client).await;
}

/// The requests that a reconciliation is made of.
async fn does_its_work(cluster: &Cluster, client: &Client) {
    let post = PostParams::default();
    let status = Patch::Merge(json!({ "status": { "state": "Ready" } }));
    let people: Api<GitSource> = Api::namespaced(cluster.client(), "default");
    let source = object(json!({
        "apiVersion": "reeve.dev/v1alpha1", "kind": "GitSource", "metadata": { "name": "fleet" },
        "spec": { "url": "https://git.example.com/fleet.git", "ref": { "branch": "main" } },
    }));
    people.create(&post, &source).await.unwrap();
    let sources: Api<GitSource> = Api::namespaced(client.clone(), "default");
    let finalizer = Patch::Merge(json!({ "metadata": { "finalizers": ["reeve.dev/source"] } }));
    sources.patch("fleet", &PatchParams::default(), &finalizer).await.unwrap();
    sources.patch_status("fleet", &PatchParams::default(), &status).await.unwrap();
    let runtimes: Api<Runtime> = Api::namespaced(client.clone(), "default");
    let apply = PatchParams::apply("reeve");
    runtimes.patch("eu-1", &apply, &Patch::Apply(runtime("eu-1"))).await.unwrap();
    runtimes.patch_status("eu-1", &PatchParams::default(), &status).await.unwrap();
    let owner = json!({
        "apiVersion": "reeve.dev/v1alpha1", "kind": "Runtime", "name": "eu-1", "blockOwnerDeletion": true,
        "uid": runtimes.get("eu-1").await.unwrap().metadata.uid,
    });
    let component: RuntimeComponent = object(json!({
        "apiVersion": "reeve.dev/v1alpha1", "kind": "RuntimeComponent",
        "metadata": { "name": "eu-1-web", "ownerReferences": [owner] },
        "spec": { "runtime": "eu-1", "component": "web", "chart": "web", "version": "1.0.0" },
    }));
    let components: Api<RuntimeComponent> = Api::namespaced(client.clone(), "default");
    components.create(&post, &component).await.unwrap();
    let page: Inventory = object(json!({
        "apiVersion": "reeve.dev/v1alpha1", "kind": "Inventory", "metadata": { "name": "eu-1-0" },
        "spec": { "runtime": "eu-1" },
    }));
    let pages: Api<Inventory> = Api::namespaced(client.clone(), "default");
    let written = pages.create(&post, &page).await.unwrap();
    pages.replace("eu-1-0", &post, &written).await.unwrap();
    pages.delete("eu-1-0", &DeleteParams::default()).await.unwrap();
    let event: Event = object(json!({
        "metadata": { "name": "x", "namespace": "default" }, "reason": "Applied", "type": "Normal", "action": "Reconcile",
        "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "reeve", "reportingInstance": "reeve",
        "regarding": { "apiVersion": "reeve.dev/v1alpha1", "kind": "Runtime", "name": "eu-1", "namespace": "default" },
    }));
    Api::<Event>::namespaced(client.clone(), "default").create(&post, &event).await.unwrap();
    let lease: Lease = object(json!({ "metadata": { "name": "reeve" }, "spec": { "holderIdentity": "x" } }));
    Api::<Lease>::namespaced(client.clone(), NAMESPACE).create(&post, &lease).await.unwrap();
    Api::<Secret>::namespaced(client.clone(), NAMESPACE).list(&ListParams::default()).await.unwrap();
}

async fn is_kept_from_the_rest(client: &Client) {
    let post = PostParams::default();
    assert!(is_forbidden(Api::<Secret>::all(client.clone()).list(&ListParams::default()).await));
    assert!(is_forbidden(Api::<Secret>::namespaced(client.clone(), "default").list(&ListParams::default()).await));
    let pod: Pod = object(json!({
        "metadata": { "name": "x" }, "spec": { "containers": [{ "name": "x", "image": "x" }] },
    }));
    assert!(is_forbidden(Api::<Pod>::namespaced(client.clone(), NAMESPACE).create(&post, &pod).await));
    let binding: ClusterRoleBinding = object(json!({
        "metadata": { "name": "mine" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "kind": "ServiceAccount", "name": "reeve", "namespace": NAMESPACE }],
    }));
    assert!(is_forbidden(Api::<ClusterRoleBinding>::all(client.clone()).create(&post, &binding).await));
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    assert!(is_forbidden(crds.delete("runtimes.reeve.dev", &DeleteParams::default()).await));
}

/// The right on the account is all that it takes, and it reaches no farther.
async fn acts_as_its_applier_alone(cluster: &Cluster) {
    let post = PostParams::default();
    let map: ConfigMap = object(json!({ "metadata": { "name": "applied" } }));
    let applier = reeve(cluster, Some("system:serviceaccount:reeve-system:reeve-applier")).await;
    Api::<ConfigMap>::namespaced(applier.clone(), "default").create(&post, &map).await.unwrap();
    Api::<Secret>::all(applier).list(&ListParams::default()).await.unwrap();
    for other in ["system:serviceaccount:kube-system:default", "system:serviceaccount:reeve-system:default", "admin"] {
        let client = reeve(cluster, Some(other)).await;
        let created = Api::<ConfigMap>::namespaced(client, "default").create(&post, &map).await;
        assert!(is_forbidden(created), "{other}");
    }
}

/// The account comes without rights of its own.
async fn acts_in_the_control_plane_when_the_operator_says_so(cluster: &Cluster, client: &Client) {
    let kinds = r#"controlPlane.kinds=["/ConfigMap"]"#;
    install(cluster, &["--apply", "--set", kinds]).await.with(0);
    let row = ["impersonate", "", "serviceaccounts", NAMESPACE, "reeve-control-plane"];
    eventually("Reeve may act as it", || async { if may(client, &row).await { Ok(()) } else { Err("it may not") } })
        .await;
    let acting = reeve(cluster, Some("system:serviceaccount:reeve-system:reeve-control-plane")).await;
    let map: ConfigMap = object(json!({ "metadata": { "name": "machine" } }));
    let (maps, post): (Api<ConfigMap>, _) = (Api::namespaced(acting, "default"), PostParams::default());
    assert!(is_forbidden(maps.create(&post, &map).await));
    install(cluster, &["--apply", "--set", kinds, "--set", "controlPlane.clusterRole=edit"]).await.with(0);
    eventually("the account may do what its role says", || maps.create(&post, &map)).await;
    assert!(!may(client, &["impersonate", "", "serviceaccounts", NAMESPACE, "default"]).await);
}
