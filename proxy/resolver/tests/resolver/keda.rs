//! Rules that use KEDA: the object that a rule asks for, on a real API server with KEDA's own CRDs, and what KEDA's own
//! client is answered. Where no KEDA runs, the test does as it would.

use http::StatusCode;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use reeve_crds::ScalingRule;
use reeve_crds::scaling_rule::status::TrafficMode;
use reeve_tests::{eventually, until};
use serde_json::{Value, json};

use crate::client::get;
use crate::place::{App, shared};

mod peer;
mod real;

use peer::{Watch, ask};

fn api(app: &App, kind: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("keda.sh", "v1alpha1", kind));
    Api::namespaced_with(app.place.client(), &app.namespace, &resource)
}

async fn create(app: &App, kind: &str, name: &str, spec: &Value) {
    let object = json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": kind, "metadata": { "name": name }, "spec": spec,
    });
    api(app, kind).create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

/// As KEDA says it of an object that it scales by.
async fn accept(app: &App, name: &str) {
    let ready = json!({ "type": "Ready", "status": "True", "reason": "Ready", "message": "defined correctly" });
    let patch = Patch::Merge(json!({ "status": { "conditions": [ready] } }));
    api(app, "ScaledObject").patch_status(name, &PatchParams::default(), &patch).await.unwrap();
}

fn condition(rule: &ScalingRule) -> Option<(String, String, String)> {
    let conditions = rule.status.as_ref()?.conditions.iter();
    let found = conditions.into_iter().find(|condition| condition.type_ == "KedaReady")?;
    Some((found.status.clone(), found.reason.clone(), found.message.clone()))
}

async fn is_ready(app: &App, wanted: &str, reason: &str) -> String {
    let what = format!("KedaReady is {wanted}: {reason}");
    let rule = until(&app.rules(), "web", &what, |rule| {
        condition(rule).is_some_and(|(status, why, _)| status == wanted && why == reason)
    })
    .await;
    condition(&rule).unwrap().2
}

fn spec(keda: &Value) -> Value {
    json!({
        "idleAfter": "2s", "minAwake": "0s", "handOver": { "policy": "Never" },
        "replicas": { "wake": 2, "max": 4 }, "keda": keda,
    })
}

#[tokio::test]
async fn keda_lets_the_target_sleep_when_it_may_and_is_pushed_when_a_request_waits() {
    let app = App::new(shared().await, "keda", spec(&json!({ "pollingInterval": "1s", "targetPerReplica": 5 }))).await;
    let object = until(&api(&app, "ScaledObject"), "web", "it is there", |_| true).await;
    let fields = &object.data["spec"];
    assert_eq!((&fields["minReplicaCount"], &fields["maxReplicaCount"]), (&json!(2), &json!(4)), "{fields}");
    let trigger = fields["triggers"][0].clone();
    assert_eq!(trigger["metadata"]["scalerAddress"], "192.0.2.10:9471");

    app.reaches(TrafficMode::Proxied).await;
    is_ready(&app, "False", "Progressing").await;
    assert_eq!(ask(&app, &trigger, &["active"]).await, json!({ "active": true }));
    accept(&app, "web").await;
    is_ready(&app, "True", "Succeeded").await;
    let may_sleep = eventually("KEDA is told that it may sleep", || async {
        let answer = ask(&app, &trigger, &["active"]).await;
        if answer == json!({ "active": false }) { Ok(()) } else { Err(answer) }
    });
    may_sleep.await;
    assert_eq!(app.replicas().await, 1, "KEDA scales, and nobody else");
    app.scale(0).await;
    app.reaches(TrafficMode::Asleep).await;

    let specs = json!([{ "metricName": "reeve-concurrency", "targetSize": 5, "targetSizeFloat": 5 }]);
    assert_eq!(ask(&app, &trigger, &["specs"]).await, json!({ "specs": specs }));
    let values = json!([{ "metricName": "reeve-concurrency" }]);
    let asked = ["-metric=reeve-concurrency", "metrics"];
    assert_eq!(ask(&app, &trigger, &asked).await, json!({ "values": values }), "none waits");
    assert_eq!(ask(&app, &trigger, &["stream-specs"]).await["code"], "Unimplemented");
    assert_eq!(ask(&app, &json!({ "metadata": { "rule": "other" } }), &["active"]).await["code"], "NotFound");

    let mut watch = Watch::start(&app, &trigger);
    assert_eq!(watch.next().await, json!({ "active": false }));
    let (answer, pushed) = tokio::join!(get(app.address, "/index.html"), watch.next());
    assert_eq!(pushed, json!({ "active": true }));
    assert_eq!(answer.unwrap().status, StatusCode::OK);
    assert_eq!(app.replicas().await, 2, "woken without KEDA");

    app.rules().delete("web", &DeleteParams::default()).await.unwrap();
    eventually("the object is gone with its rule", || async {
        let found = api(&app, "ScaledObject").get_opt("web").await.map_err(|error| error.to_string())?;
        if found.is_none() { Ok(()) } else { Err("it is there".to_owned()) }
    })
    .await;
    assert_eq!(watch.last().await, json!({ "ended": true }), "KEDA connects again at once");
}

#[tokio::test]
async fn the_object_of_somebody_else_is_a_conflict_until_it_may_be_adopted_and_is_given_back() {
    let app = App::ruled(shared().await, "adopt", json!({ "handOver": { "policy": "Never" } }), 1, 0).await;
    app.deploy().await;
    let hours = json!({ "timezone": "UTC", "start": "0 8 * * *", "end": "0 9 * * *", "desiredReplicas": "1" });
    let theirs = json!({ "scaleTargetRef": { "name": "web" }, "triggers": [{ "type": "cron", "metadata": hours }] });
    create(&app, "ScaledObject", "theirs", &theirs).await;
    app.change_rule(json!({ "spec": { "keda": {}, "replicas": { "max": 4 } } })).await;
    let message = is_ready(&app, "False", "Conflict").await;
    assert!(message.contains("theirs"), "{message}");

    app.change_rule(json!({ "spec": { "keda": { "adopt": true } } })).await;
    let adopted = until(&api(&app, "ScaledObject"), "theirs", "it is adopted", |object| {
        object.data["spec"]["maxReplicaCount"] == json!(4)
    })
    .await;
    assert_eq!(adopted.data["spec"]["triggers"][0]["type"], "external-push");
    accept(&app, "theirs").await;
    is_ready(&app, "True", "Succeeded").await;
    app.change_rule(json!({ "spec": { "keda": null, "replicas": { "max": null } } })).await;
    let back = until(&api(&app, "ScaledObject"), "theirs", "it is given back", |object| {
        object.data["spec"].get("maxReplicaCount").is_none()
    })
    .await;
    assert_eq!(back.data["spec"], theirs);
}

#[tokio::test]
async fn a_scaled_job_that_a_rule_names_creates_its_jobs_for_what_waits_and_is_given_back() {
    let mut spec = spec(&json!({ "targetPerReplica": 3 }));
    spec["scaleTarget"] = json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "name": "web" });
    spec["hold"] = json!({ "timeout": "8s" });
    let app = App::ruled(shared().await, "job", spec, 1, 0).await;
    is_ready(&app, "False", "NotFound").await;
    let theirs = json!({
        "jobTargetRef": { "template": {
            "metadata": { "labels": { "app": "web" } },
            "spec": { "restartPolicy": "Never", "containers": [{ "name": "web", "image": "web" }] },
        } },
        "pollingInterval": 60, "triggers": [{ "type": "kafka", "metadata": { "topic": "orders" } }],
    });
    create(&app, "ScaledJob", "web", &theirs).await;
    let ours = until(&api(&app, "ScaledJob"), "web", "it is configured", |job| {
        job.data["spec"]["pollingInterval"] == json!(1)
    })
    .await;
    let trigger = ours.data["spec"]["triggers"][0].clone();
    assert_eq!(trigger["type"], "external");
    app.reaches(TrafficMode::Asleep).await;
    let asked = ["-metric=reeve-concurrency", "metrics"];
    let (answer, ()) = tokio::join!(get(app.address, "/index.html"), async {
        let value = |count: i32| json!({ "values": [{ "metricName": "reeve-concurrency", "metricValue": count, "metricValueFloat": count }] });
        eventually("KEDA is told of as many as two Jobs take", || async {
            let answer = ask(&app, &trigger, &asked).await;
            if answer == value(6) { Ok(()) } else { Err(answer) }
        })
        .await;
        assert_eq!(ask(&app, &trigger, &["active"]).await, json!({ "active": true }));
    });
    assert_eq!(answer.unwrap().status, StatusCode::GATEWAY_TIMEOUT, "no KEDA runs here");
    app.rules().delete("web", &DeleteParams::default()).await.unwrap();
    let back = until(&api(&app, "ScaledJob"), "web", "it is given back", |job| {
        job.data["spec"]["pollingInterval"] == json!(60)
    })
    .await;
    assert_eq!(back.data["spec"], theirs);
}
