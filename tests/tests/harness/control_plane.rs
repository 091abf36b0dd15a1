//! What a control plane offers to tests.

use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenRequest};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use reeve_tests::{Cluster, ControlPlane, eventually};

fn configmap(name: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.into());
    object
}

async fn client_of_service_account(cluster: &Cluster, namespace: &str) -> Client {
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client(), namespace);
    let request = TokenRequest::default();
    let token = eventually("the default ServiceAccount gets a token", || async {
        accounts.create_token_request("default", &PostParams::default(), &request).await
    })
    .await;
    let mut config = cluster.config().unwrap();
    config.auth_info = kube::config::AuthInfo::default();
    config.auth_info.token = Some(token.status.unwrap().token.into());
    Client::try_from(config).unwrap()
}

#[tokio::test]
async fn service_account_tokens_authenticate_and_have_no_rights_until_given_some() {
    let cluster = Cluster::shared().await;
    let namespace = cluster.namespace("accounts").await;
    let client = client_of_service_account(cluster, &namespace).await;

    let reviews: Api<SelfSubjectReview> = Api::all(client.clone());
    let review = reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await.unwrap();
    let user = review.status.and_then(|status| status.user_info).and_then(|user| user.username);
    assert_eq!(user, Some(format!("system:serviceaccount:{namespace}:default")));

    let secrets: Api<Secret> = Api::namespaced(client, &namespace);
    let refused = secrets.list(&ListParams::default()).await.unwrap_err();
    assert!(refused.to_string().contains("cannot list resource \"secrets\""), "{refused}");
}

#[tokio::test]
async fn the_audit_log_counts_requests_by_verb_and_object() {
    let cluster = Cluster::shared().await;
    let namespace = cluster.namespace("audit").await;
    let api: Api<ConfigMap> = Api::namespaced(cluster.client(), &namespace);
    api.create(&PostParams::default(), &configmap("counted")).await.unwrap();
    api.get("counted").await.unwrap();
    api.get("counted").await.unwrap();

    let of_ours = |verb: &'static str| {
        cluster.audit().matching(|event| event.namespace == namespace && event.name == "counted" && event.verb == verb)
    };
    eventually("both reads are in the log", || async {
        let (reads, writes) = (of_ours("get").len(), of_ours("create").len());
        if (reads, writes) == (2, 1) { Ok(()) } else { Err(format!("{reads} reads, {writes} writes")) }
    })
    .await;
    let created = of_ours("create").remove(0);
    assert_eq!((created.resource.as_str(), created.code, created.user.as_str()), ("configmaps", 201, "admin"));
}

#[tokio::test]
async fn two_started_at_once_do_not_disturb_each_other() {
    let (one, two) = tokio::join!(ControlPlane::start(), ControlPlane::start());
    let (one, two) = (one.unwrap(), two.unwrap());
    let api: Api<ConfigMap> = Api::namespaced(one.client(), "default");
    api.create(&PostParams::default(), &configmap("only-in-one")).await.unwrap();

    let other: Api<ConfigMap> = Api::namespaced(two.client(), "default");
    let names: Vec<_> = other.list(&ListParams::default()).await.unwrap().iter().map(ResourceExt::name_any).collect();
    assert!(!names.contains(&"only-in-one".to_owned()), "{names:?}");
}

#[tokio::test]
async fn a_killed_server_is_named_and_can_be_started_again() {
    let mut control_plane = ControlPlane::start().await.unwrap();
    let api: Api<ConfigMap> = Api::namespaced(control_plane.client(), "default");
    api.create(&PostParams::default(), &configmap("survivor")).await.unwrap();

    control_plane.apiserver().kill().unwrap();
    let error = format!("{:#}", control_plane.ready().await.unwrap_err());
    assert!(error.contains("kube-apiserver was killed by signal 9"), "{error}");
    assert!(error.contains("kube-apiserver.log"), "{error}");

    control_plane.restart_apiserver().await.unwrap();
    let api: Api<ConfigMap> = Api::namespaced(control_plane.client(), "default");
    api.get("survivor").await.unwrap();
}

#[tokio::test]
async fn a_frozen_server_goes_on_when_it_is_thawed() {
    let control_plane = ControlPlane::start().await.unwrap();
    control_plane.apiserver().freeze().unwrap();
    let client = control_plane.client();
    let version = tokio::time::timeout(std::time::Duration::from_millis(300), client.apiserver_version()).await;
    assert!(version.is_err(), "a frozen server answered");
    control_plane.apiserver().thaw().unwrap();
    control_plane.ready().await.unwrap();
}
