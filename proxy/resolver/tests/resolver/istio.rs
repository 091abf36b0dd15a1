//! Rules that lead routes of Istio, on a real API server with Istio's own CRDs. Where no Istio runs, the test does as its
//! proxies would: it reads the routes and connects to the Service that they name.

use std::net::SocketAddr;

use http::StatusCode;
use jiff::Timestamp;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::{Resource, ResourceExt};
use reeve_crds::ScalingRule;
use reeve_crds::scaling_rule::status::TrafficMode;
use reeve_tests::{eventually, until};
use serde_json::{Value, json};

use crate::client::{Answer, get};
use crate::place::{App, shared};

fn api(app: &App, group: &str, kind: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
    Api::namespaced_with(app.place.client(), &app.namespace, &resource)
}

fn sites(app: &App) -> Api<DynamicObject> {
    api(app, "networking.istio.io", "VirtualService")
}

async fn create(api: &Api<DynamicObject>, api_version: &str, kind: &str, name: &str, spec: &Value) {
    let object = json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name }, "spec": spec });
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

fn site() -> Value {
    json!({
        "hosts": ["shop.example.com"],
        "http": [
            { "name": "api", "match": [{ "uri": { "prefix": "/api" } }], "route": [{ "destination": { "host": "api" } }] },
            { "name": "main", "retries": { "attempts": 2 }, "route": [
                { "destination": { "host": "web", "port": { "number": 80 } }, "weight": 100 },
            ] },
        ],
    })
}

/// A rule that leads routes, without pods and without the VirtualService.
async fn routed(prefix: &str, mut switch: Value) -> App {
    switch["settle"] = json!("1s");
    let switch = json!({ "virtualService": switch });
    let spec = json!({ "idleAfter": "1s", "minAwake": "0s", "handOver": { "policy": "Never" }, "switch": switch });
    App::ruled(shared().await, prefix, spec, 1, 0).await
}

/// Once it is in force its pods are younger than that.
async fn deploy(app: &App, name: &str) {
    app.reaches(TrafficMode::Waking).await;
    let captured: Timestamp =
        sites(app).get(name).await.unwrap().annotations()["captured.reeve.dev/web"].parse().unwrap();
    eventually("the second of the capture is over", || async {
        if Timestamp::now().as_second() > captured.as_second() { Ok(()) } else { Err("not yet") }
    })
    .await;
    app.deploy().await;
}

/// The host of each route.
fn hosts(object: &DynamicObject) -> Vec<String> {
    let routes = object.data.pointer("/spec/http").and_then(Value::as_array).cloned().unwrap_or_default();
    let host = |route: &Value| route.pointer("/route/0/destination/host").and_then(Value::as_str).map(str::to_owned);
    routes.iter().filter_map(host).collect()
}

/// As a proxy of Istio would: to the Service that the last route names.
async fn call(app: &App, name: &str) -> Answer {
    let host = hosts(&sites(app).get(name).await.unwrap()).pop().unwrap();
    if host == "web" {
        return get(app.address, "/index.html").await.unwrap();
    }
    let service = app.services().get(&host).await.unwrap();
    let address = service.spec.unwrap().cluster_ip.unwrap().parse().unwrap();
    let address = app.place.node.reach(SocketAddr::new(address, 80)).unwrap();
    get(address, "/index.html").await.unwrap()
}

fn message(rule: &ScalingRule) -> String {
    let conditions = rule.status.iter().flat_map(|status| &status.conditions);
    conditions.filter(|condition| condition.type_ == "Ready").map(|condition| condition.message.clone()).collect()
}

async fn says(app: &App, words: &str) {
    until(&app.rules(), "web", &format!("it says {words:?}"), |rule| message(rule).contains(words)).await;
}

async fn is_gone<K>(api: &Api<K>, name: &str)
where
    K: Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    eventually(&format!("{name} is gone"), || async {
        match api.get_opt(name).await {
            Ok(None) => Ok(()),
            Ok(Some(_)) => Err("it is there".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    })
    .await;
}

#[tokio::test]
async fn a_named_route_leads_to_the_resolver_while_the_target_sleeps_and_is_given_back() {
    let app = routed("routes", json!({ "name": "site", "routes": ["main"] })).await;
    says(&app, "there is no VirtualService site").await;
    create(&sites(&app), "networking.istio.io/v1", "VirtualService", "site", &site()).await;
    deploy(&app, "site").await;
    app.reaches(TrafficMode::Asleep).await;
    let captured = sites(&app).get("site").await.unwrap();
    assert_eq!(hosts(&captured), ["api", "web-reeve-door"]);
    assert_eq!(captured.data["spec"]["http"][0], site()["http"][0], "another route is not touched");
    let service = app.services().get("web").await.unwrap();
    assert_eq!(service.spec.unwrap().selector.unwrap().len(), 1, "nor is the Service");
    app.pods_are_gone().await;

    let answer = call(&app, "site").await;
    assert_eq!((answer.status, answer.body.as_str()), (StatusCode::OK, "hello\n"));
    app.reaches(TrafficMode::Asleep).await;
    app.rules().delete("web", &DeleteParams::default()).await.unwrap();
    is_gone(&app.rules(), "web").await;
    let given_back = sites(&app).get("site").await.unwrap();
    assert_eq!((&given_back.data["spec"], given_back.annotations().len()), (&site(), 0));
    assert_eq!(app.replicas().await, 1, "awake");
    is_gone(&app.services(), "web-reeve-door").await;
    assert_eq!(call(&app, "site").await.body, "hello\n");
}

#[tokio::test]
async fn what_somebody_changes_in_a_captured_route_counts_and_it_is_captured_still() {
    let app = routed("changed", json!({ "name": "site", "routes": ["main"] })).await;
    create(&sites(&app), "networking.istio.io/v1", "VirtualService", "site", &site()).await;
    deploy(&app, "site").await;
    app.reaches(TrafficMode::Asleep).await;
    // Who knows nothing of a capture writes the routes whole.
    let mut changed = site();
    changed["http"][1]["timeout"] = json!("7s");
    let params = PatchParams { field_manager: Some("kubectl".to_owned()), ..PatchParams::default() };
    let patch = Patch::Merge(json!({ "spec": { "http": changed["http"] } }));
    sites(&app).patch("site", &params, &patch).await.unwrap();
    until(&sites(&app), "site", "it is captured", |site| hosts(site) == ["api", "web-reeve-door"]).await;
    assert_eq!(call(&app, "site").await.body, "hello\n");
    app.change_rule(json!({ "spec": { "suspend": true } })).await;
    app.reaches(TrafficMode::Untouched).await;
    assert_eq!(sites(&app).get("site").await.unwrap().data["spec"], changed);
}

#[tokio::test]
async fn a_delegate_is_made_led_and_left_to_the_route_that_leads_to_it() {
    let app = routed("delegate", json!({ "name": "web-routes", "delegate": true })).await;
    deploy(&app, "web-routes").await;
    app.reaches(TrafficMode::Asleep).await;
    let made = sites(&app).get("web-routes").await.unwrap();
    assert_eq!(hosts(&made), ["web-reeve-door"]);
    assert_eq!(made.data["spec"].get("hosts"), None, "a delegate has no hosts of its own");
    assert_eq!(call(&app, "web-routes").await.body, "hello\n");
    app.rules().delete("web", &DeleteParams::default()).await.unwrap();
    is_gone(&app.rules(), "web").await;
    assert_eq!(hosts(&sites(&app).get("web-routes").await.unwrap()), ["web"]);
}

#[tokio::test]
async fn pods_that_take_only_what_the_mesh_encrypts_are_left_alone_and_it_is_said_by_what() {
    let app = routed("strict", json!({ "name": "site", "routes": ["main"] })).await;
    create(&sites(&app), "networking.istio.io/v1", "VirtualService", "site", &site()).await;
    deploy(&app, "site").await;
    app.reaches(TrafficMode::Asleep).await;
    let strict = json!({ "mtls": { "mode": "STRICT" } });
    let authentications = api(&app, "security.istio.io", "PeerAuthentication");
    create(&authentications, "security.istio.io/v1", "PeerAuthentication", "default", &strict).await;
    says(&app, &format!("PeerAuthentication {}/default", app.namespace)).await;
    app.reaches(TrafficMode::Untouched).await;
    assert_eq!(sites(&app).get("site").await.unwrap().data["spec"], site());
    assert_eq!(app.replicas().await, 1);
    authentications.delete("default", &DeleteParams::default()).await.unwrap();
    app.reaches(TrafficMode::Proxied).await;
}
