//! Server-side apply: who wrote what is kept apart, and nothing is written twice.

use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use reeve_tests::Cluster;
use serde_json::{Value, json};

use super::subject;
use super::{git_source, node_hook};

#[tokio::test]
async fn applying_the_same_object_again_changes_nothing() {
    let cluster = Cluster::shared().await;
    cluster.crds().await;
    let ns = cluster.namespace("apply").await;
    for subject in subject::all() {
        let api = subject.api(cluster.client(), &ns);
        let name = format!("{ns}-twice");
        let spec: Value = serde_json::from_str(&subject.spec.to_string().replace("$NAME", &name)).unwrap();
        let object = subject.object(&name, &spec);
        let first = apply(&api, &name, "reeve", &object).await;
        let second = apply(&api, &name, "reeve", &object).await;
        assert_eq!(first.metadata.resource_version, second.metadata.resource_version, "{}", subject.resource.kind);
    }
}

#[tokio::test]
async fn two_writers_of_one_list_keep_their_own_items() {
    let cluster = Cluster::shared().await;
    cluster.crds().await;
    let ns = cluster.namespace("merge").await;
    let source = git_source::subject();
    let api = source.api(cluster.client(), &ns);
    let spec = |names: &[&str]| {
        let notifications: Vec<Value> =
            names.iter().map(|name| json!({ "name": name, "secretRef": { "name": "chat" } })).collect();
        json!({ "url": "file:///srv/fleet.git", "ref": { "branch": "main" }, "notifications": notifications })
    };
    apply(&api, "shared", "platform", &source.object("shared", &spec(&["platform"]))).await;
    apply(&api, "shared", "on-call", &source.object("shared", &spec(&["on-call"]))).await;
    let both = apply(&api, "shared", "platform", &source.object("shared", &spec(&[]))).await;
    assert_eq!(names(&both.data["spec"]["notifications"]), ["on-call"]);

    let hook = node_hook::subject();
    let api = hook.api(cluster.client(), &ns);
    let name = format!("{ns}-shared");
    let spec = |plugin: &str| {
        let endpoint = format!("/run/{plugin}.sock");
        let plugin = json!({ "name": plugin, "endpoint": endpoint, "hooks": [{ "type": "PreCreateContainer" }] });
        json!({ "nodeSelector": { "matchLabels": { "pool": "batch" } }, "plugins": [plugin] })
    };
    apply(&api, &name, "base", &hook.object(&name, &spec("koordlet"))).await;
    let both = apply(&api, &name, "tenant", &hook.object(&name, &spec("audit"))).await;
    assert_eq!(names(&both.data["spec"]["plugins"]), ["koordlet", "audit"]);
}

#[tokio::test]
async fn two_writers_of_conditions_keep_their_own() {
    let cluster = Cluster::shared().await;
    cluster.crds().await;
    let ns = cluster.namespace("conditions").await;
    let source = git_source::subject();
    let api = source.api(cluster.client(), &ns);
    apply(&api, "shared", "user", &source.object("shared", &source.spec)).await;
    for kind in ["Fetched", "Verified"] {
        let mut object = source.object("shared", &Value::Null);
        object.as_object_mut().unwrap().remove("spec");
        object["status"] = json!({ "conditions": [{
            "type": kind,
            "status": "True",
            "lastTransitionTime": "2026-11-16T12:00:00Z",
            "reason": "Succeeded",
            "message": ""
        }] });
        api.patch_status("shared", &PatchParams::apply(kind), &Patch::Apply(object)).await.unwrap();
    }
    let live = api.get("shared").await.unwrap();
    let kinds: Vec<&str> =
        live.data["status"]["conditions"].as_array().unwrap().iter().map(|c| c["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["Fetched", "Verified"]);
}

async fn apply(api: &Api<DynamicObject>, name: &str, manager: &str, object: &Value) -> DynamicObject {
    let applied = api.patch(name, &PatchParams::apply(manager), &Patch::Apply(object)).await;
    applied.unwrap_or_else(|error| panic!("{manager} cannot apply {object}: {error}"))
}

fn names(items: &Value) -> Vec<&str> {
    items.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}
