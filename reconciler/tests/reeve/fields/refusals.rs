//! What the API server answers when it refuses, and what we make of it.

use kube::Client;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use reeve_crds::Reason;
use reeve_reconciler_engine::api_error::ApiError;
use reeve_tests::eventually;
use serde_json::{Value, json};

use super::{MANAGER, Place, deployment, name};

fn api_error(answer: kube::Result<DynamicObject>) -> ApiError {
    ApiError::of(&answer.expect_err("it was accepted"))
}

fn config_map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "a": "b" } })
}

/// Objects, the change that their kind does not allow, and the field that the message names.
fn unchangeable() -> Vec<(Value, &'static str, Value, &'static str)> {
    let workload = |kind: &str, api: &str| {
        let mut object = deployment();
        object["kind"] = kind.into();
        object["apiVersion"] = api.into();
        object["spec"].as_object_mut().unwrap().remove("replicas");
        object
    };
    let mut job = workload("Job", "batch/v1");
    job["spec"] = json!({ "suspend": true, "template": { "spec": {
        "restartPolicy": "Never", "containers": [{ "name": "c", "image": "a", "env": [{ "name": "A", "value": "hunter2" }] }],
    } } });
    let mut stateful = workload("StatefulSet", "apps/v1");
    stateful["spec"]["serviceName"] = "web".into();
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "web" },
        "spec": { "containers": [{ "name": "c", "image": "a", "env": [{ "name": "A", "value": "b" }] }] },
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" }, "spec": { "ports": [{ "port": 80 }] },
    });
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "data" },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "a", "resources": { "requests": { "storage": "1Gi" } },
        },
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "web" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a" },
    });
    let mut frozen = config_map("frozen");
    frozen["immutable"] = true.into();
    let mut secret = frozen.clone();
    secret["kind"] = "Secret".into();
    secret["data"] = json!({ "a": "Yg==" });
    vec![
        (workload("Deployment", "apps/v1"), "/spec/selector/matchLabels", json!({ "x": "y" }), "spec.selector"),
        (workload("DaemonSet", "apps/v1"), "/spec/selector/matchLabels", json!({ "x": "y" }), "spec.selector"),
        (stateful, "/spec/serviceName", json!("other"), "spec"),
        (job, "/spec/template/spec/containers/0/image", json!("b"), "spec.template"),
        (pod, "/spec/containers/0/env/0/value", json!("hunter2"), "spec"),
        (service, "/spec/clusterIP", json!("None"), "spec.clusterIPs[0]"),
        (claim, "/spec/storageClassName", json!("b"), "spec"),
        (binding, "/roleRef/name", json!("b"), "roleRef"),
        (frozen, "/data/a", json!("c"), "data"),
        (secret, "/data/a", json!("Yw=="), "data"),
    ]
}

#[tokio::test]
async fn a_change_that_a_kind_does_not_allow_is_immutable() {
    let place = Place::new("refused").await;
    for (object, pointer, value, field) in unchangeable() {
        place.apply(&object).await.unwrap();
        let mut changed = object.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        changed.pointer_mut(parent).unwrap()[key] = value;
        if pointer.ends_with("matchLabels") {
            changed["spec"]["template"]["metadata"]["labels"] = json!({ "x": "y" });
        }

        let api_error = api_error(place.apply_as(&changed, &PatchParams::apply(MANAGER).force()).await);

        let kind = &object["kind"];
        assert_eq!((api_error.reason, api_error.transient), (Reason::Immutable, false), "{kind}: {api_error:?}");
        assert!(api_error.message.starts_with(&format!("{field}: ")), "{kind}: {}", api_error.message);
        assert!(!api_error.message.contains("hunter2"), "{kind}: {}", api_error.message);
    }
}

#[tokio::test]
async fn what_is_told_of_values_of_the_wrong_type_does_not_hold_them() {
    let place = Place::new("refused").await;
    let secret = |field: &str, value: Value| {
        let mut secret = config_map("secret");
        secret["kind"] = "Secret".into();
        secret.as_object_mut().unwrap().remove("data");
        secret[field] = value;
        secret
    };
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "web" },
        "spec": { "containers": [{ "name": "c", "image": "a" }] },
    });
    pod["spec"]["containers"][0]["resources"] = json!({ "limits": { "memory": "hunter2" } });
    let cases = [
        secret("stringData", json!({ "password": ["hunter2"] })),
        secret("stringData", json!({ "password": { "a": "hunter2" }, "other": ["hunter2"] })),
        secret("stringData", json!({ "password": 42_424_242 })),
        secret("data", json!({ "password": "hunter2!" })),
        secret("data", json!(["hunter2"])),
        secret("immutable", json!("hunter2")),
        pod,
    ];
    for object in cases {
        let api_error = api_error(place.apply(&object).await);
        assert_eq!(api_error.reason, Reason::Invalid, "{object}: {api_error:?}");
        assert!(!api_error.message.contains("hunter2"), "{}", api_error.message);
        assert!(!api_error.message.contains("42424242"), "{}", api_error.message);
    }
}

#[tokio::test]
async fn a_storage_class_cannot_change_its_provisioner() {
    let place = Place::new("refused").await;
    let class = |provisioner: &str| {
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": { "name": place.namespace },
            "provisioner": provisioner,
        })
    };
    place.apply_to_cluster(&class("a.io/b")).await.unwrap();

    let api_error = api_error(place.apply_to_cluster(&class("a.io/c")).await);
    place.cluster_api(&class("")).delete(&place.namespace, &kube::api::DeleteParams::default()).await.unwrap();

    assert_eq!(api_error.reason, Reason::Immutable);
    assert_eq!(api_error.message, "provisioner: updates to provisioner are forbidden.");
}

#[tokio::test]
async fn a_mistake_in_an_object_that_exists_is_invalid_and_not_immutable() {
    let place = Place::new("refused").await;
    place.apply(&deployment()).await.unwrap();
    let mut mismatch = deployment();
    mismatch["spec"]["template"]["metadata"]["labels"]["app"] = "other".into();
    let mut negative = deployment();
    negative["spec"]["replicas"] = (-1).into();
    let mut unknown = deployment();
    unknown["spec"]["replicaz"] = 1.into();
    let mut mistyped = deployment();
    mistyped["spec"]["replicas"] = "two".into();

    let cases = [
        (mismatch, "spec.template.metadata.labels: `selector` does not match template `labels`"),
        (negative, "spec.replicas: must be greater than or equal to 0"),
        (unknown, ".spec.replicaz: field not declared in schema"),
        (mistyped, ".spec.replicas: expected numeric (int or float), got string"),
    ];
    for (object, message) in cases {
        let api_error = api_error(place.apply(&object).await);
        assert_eq!((api_error.reason, api_error.transient), (Reason::Invalid, false), "{api_error:?}");
        assert!(api_error.message.ends_with(message), "{}", api_error.message);
    }
}

#[tokio::test]
async fn what_is_not_there_is_told_apart() {
    let place = Place::new("refused").await;
    let unknown_group = json!({ "apiVersion": "no.such/v1", "kind": "Thing", "metadata": { "name": "a" } });
    assert_eq!(api_error(place.apply(&unknown_group).await).reason, Reason::MissingKind);
    let unknown_kind = json!({ "apiVersion": "apps/v1", "kind": "Thing", "metadata": { "name": "a" } });
    assert_eq!(api_error(place.apply(&unknown_kind).await).reason, Reason::MissingKind);
    let gone = api_error(place.api(&config_map("nope")).get("nope").await);
    assert_eq!(gone.reason, Reason::Gone);
    let elsewhere = Place { namespace: "no-such-namespace".to_owned(), ..Place::new("refused").await };
    assert_eq!(api_error(elsewhere.apply(&config_map("a")).await).reason, Reason::MissingNamespace);
}

#[tokio::test]
async fn a_namespace_on_its_way_out_takes_nothing_new() {
    let place = Place::new("refused").await;
    let mut holder = config_map("holder");
    holder["metadata"]["finalizers"] = json!(["reeve.dev/hold"]);
    place.apply(&holder).await.unwrap();
    place.cluster.kubectl(&["delete", "namespace", &place.namespace, "--wait=false"]).await;

    let api_error = api_error(place.apply(&config_map("late")).await);
    holder["metadata"]["finalizers"] = json!([]);
    place.apply(&holder).await.unwrap();

    assert_eq!((api_error.reason, api_error.transient), (Reason::NamespaceTerminating, true), "{api_error:?}");
}

#[tokio::test]
async fn rights_credentials_and_size_each_have_their_reason() {
    let place = Place::new("refused").await;
    let mut config = place.cluster.config().unwrap();
    config.auth_info.impersonate = Some("nobody".to_owned());
    let nobody = Place { client: Client::try_from(config).unwrap(), namespace: place.namespace.clone(), ..place };
    let forbidden = api_error(nobody.apply(&config_map("a")).await);
    assert_eq!(forbidden.reason, Reason::Forbidden);
    assert!(forbidden.message.contains("User \"nobody\" cannot patch resource \"configmaps\""), "{forbidden:?}");

    let mut config = nobody.cluster.config().unwrap();
    config.auth_info = kube::config::AuthInfo { token: Some("expired".to_owned().into()), ..Default::default() };
    let stranger = Place { client: Client::try_from(config).unwrap(), ..nobody };
    assert_eq!(api_error(stranger.apply(&config_map("a")).await).reason, Reason::Unauthorized);

    let place = Place { client: stranger.cluster.client(), ..stranger };
    for bytes in [1_100_000, 3_200_000] {
        let mut large = config_map("large");
        large["data"]["a"] = "x".repeat(bytes).into();
        assert_eq!(api_error(place.apply(&large).await).reason, Reason::TooLarge, "{bytes}");
    }
}

#[tokio::test]
async fn a_write_in_between_passes_and_one_who_was_first_is_told() {
    let place = Place::new("refused").await;
    let created = place.apply(&config_map("a")).await.unwrap();
    place.write_as("other", &config_map("a"), &json!({ "data": { "x": "y" } })).await;
    let mut stale = config_map("a");
    stale["metadata"]["resourceVersion"] = created.metadata.resource_version.into();

    let conflict = api_error(place.apply(&stale).await);
    let body: DynamicObject = serde_json::from_value(config_map("a")).unwrap();
    let exists = api_error(place.api(&config_map("a")).create(&PostParams::default(), &body).await);

    assert_eq!((conflict.reason, conflict.transient), (Reason::Conflict, true), "{conflict:?}");
    assert_eq!(exists.reason, Reason::AlreadyExists);
}

#[tokio::test]
async fn a_quota_that_is_used_up_is_named() {
    let place = Place::new("refused").await;
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "none" },
        "spec": { "hard": { "persistentvolumeclaims": "0" } },
    });
    let claim = unchangeable().remove(6).0;
    place.apply(&quota).await.unwrap();

    // Until the quota is seen by the API server and counted by its controller, the answer is another one.
    let asking = PatchParams::apply(MANAGER).dry_run();
    let api_error = eventually("the quota counts", || async {
        let Err(error) = place.apply_as(&claim, &asking).await else { return Err("it was accepted".to_owned()) };
        let api_error = ApiError::of(&error);
        if api_error.message.contains("exceeded quota") { Ok(api_error) } else { Err(api_error.message) }
    })
    .await;

    assert_eq!((api_error.reason, api_error.transient), (Reason::QuotaExceeded, true));
    assert!(api_error.message.contains("exceeded quota: none, requested: persistentvolumeclaims=1"), "{api_error:?}");
}

#[tokio::test]
async fn a_webhook_that_is_dead_and_a_policy_that_denies_are_told_apart() {
    let place = Place::new("refused").await;
    let selector = json!({ "matchLabels": { "kubernetes.io/metadata.name": place.namespace } });
    let rules = |resource: &str| json!([{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource] }]);
    let objects = [
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": { "name": place.namespace },
            "webhooks": [{
                "name": "dead.reeve.dev", "clientConfig": { "url": "https://127.0.0.1:1/" }, "rules": rules("configmaps"),
                "namespaceSelector": selector, "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 2,
            }],
        }),
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": { "name": place.namespace },
            "spec": {
                "matchConstraints": { "resourceRules": rules("serviceaccounts"), "namespaceSelector": selector },
                "validations": [{ "expression": "object.metadata.name != 'bad'", "message": "no such accounts here" }],
            },
        }),
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": { "name": place.namespace },
            "spec": { "policyName": place.namespace, "validationActions": ["Deny"] },
        }),
    ];
    for object in &objects {
        place.apply_to_cluster(object).await.unwrap();
    }
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "bad" } });

    let dead = until_refused(&place, &config_map("a")).await;
    let denied = until_refused(&place, &account).await;
    for object in &objects {
        place.cluster_api(object).delete(name(object), &kube::api::DeleteParams::default()).await.unwrap();
    }

    assert_eq!((dead.reason, dead.transient, dead.server_down), (Reason::WebhookUnavailable, true, false), "{dead:?}");
    assert!(dead.message.contains("dead.reeve.dev") && dead.message.contains("connection refused"), "{dead:?}");
    assert_eq!((denied.reason, denied.transient), (Reason::RefusedByWebhook, false), "{denied:?}");
    assert!(denied.message.ends_with("denied request: no such accounts here"), "{denied:?}");
}

/// Rules of admission take a moment to be known to the API server.
async fn until_refused(place: &Place, object: &Value) -> ApiError {
    eventually("it is refused", || async {
        let params = PatchParams { dry_run: true, ..PatchParams::apply(MANAGER) };
        match place.api(object).patch(name(object), &params, &Patch::Apply(object)).await {
            Ok(_) => Err("accepted"),
            Err(error) => Ok(ApiError::of(&error)),
        }
    })
    .await
}
