//! A `Runtime` with every field, and what breaks its rules.

use reeve_crds::Runtime;
use serde_json::{Value, json};

use super::case::{Case, case};
use super::subject::{Subject, conditions};

pub(super) fn subject() -> Subject {
    Subject::new::<Runtime>(true, json!({}), spec(), status(), cases())
}

fn spec() -> Value {
    json!({
        "sourceRef": { "name": "fleet" },
        "file": "runtimes/eu/prod-1.yaml",
        "target": {
            "type": "KubeConfig",
            "kubeConfigSecretRef": { "name": "eu-prod-1", "key": "value" },
            "serviceAccount": { "name": "reeve-applier", "namespace": "reeve-system" },
            "namespace": "shop",
            "namespaces": ["shop", "payments"]
        },
        "channel": "regular",
        "wave": "canary",
        "capabilities": { "kubernetesVersion": "v1.35.4", "apiVersions": ["keda.sh/v1alpha1/ScaledObject"] },
        "interval": "1m",
        "timeout": "5m",
        "maxBackoff": "5m",
        "concurrency": 8,
        "prune": true,
        "drift": {
            "mode": "Repair",
            "fullCheckInterval": "1h",
            "ignore": [{
                "paths": ["/spec/replicas"], "group": "apps", "kind": "Deployment", "namespace": "shop", "name": "web"
            }]
        },
        "adoption": "Unowned",
        "recreate": "Never",
        "deletionPolicy": "Orphan",
        "dapr": {
            "reload": "Auto",
            "settleTime": "5s",
            "proofTimeout": "1m15s",
            "maxConcurrentRestarts": 2,
            "maxRestartsPerHour": 6
        },
        "suspend": false
    })
}

pub(super) fn rendered() -> Value {
    json!({
        "revision": "main@4f1c2aa90b3d",
        "commit": "4f1c2aa90b3d5e6f708192a3b4c5d6e7f8091a2b",
        "digest": "sha256:9b74c9897bac770ffc029102a200c5de",
        "version": "1.4.2",
        "since": "2026-11-16T12:00:00Z"
    })
}

pub(super) fn object() -> Value {
    json!({ "group": "apps", "kind": "Deployment", "namespace": "shop", "name": "web" })
}

pub(super) fn drift() -> Value {
    json!({
        "objects": 1,
        "since": "2026-11-16T12:00:00Z",
        "examples": [{
            "object": object(),
            "fields": ["spec.replicas"],
            "manager": "kubectl-edit",
            "changedAt": "2026-11-16T12:00:00Z",
            "repairs": 2,
            "contested": false
        }]
    })
}

pub(super) fn failure() -> Value {
    json!({
        "reason": "Refused",
        "message": "exceeded quota",
        "component": "payments",
        "object": object(),
        "revision": "main@77aa01bc42de",
        "since": "2026-11-16T12:00:00Z"
    })
}

pub(super) fn history() -> Value {
    json!([{
        "revision": "main@4f1c2aa90b3d",
        "digest": "sha256:9b74c9897bac770ffc029102a200c5de",
        "version": "1.4.2",
        "outcome": "Succeeded",
        "startedAt": "2026-11-16T12:00:00Z",
        "applyTime": "1.2s",
        "totalTime": "14s",
        "changes": 12,
        "message": "all healthy"
    }])
}

fn status() -> Value {
    json!({
        "observedGeneration": 1,
        "state": "Processing",
        "conditions": conditions(),
        "desired": rendered(),
        "applied": rendered(),
        "lastGood": rendered(),
        "held": {
            "at": rendered(),
            "wave": "canary",
            "message": "7 of 500 runtimes are unhealthy",
            "since": "2026-11-16T12:00:00Z"
        },
        "cluster": {
            "uid": "0e7c1f4a-9a51-4a5e-8f0e-5a4d1c1f9d3b",
            "kubeConfigSecretRef": { "name": "eu-kubeconfig", "key": "value" }
        },
        "componentsReady": { "ready": 3, "total": 4, "summary": "3/4" },
        "components": [{ "name": "payments", "version": "1.4.2", "state": "Processing", "message": "1 of 3 pods" }],
        "objects": 120,
        "drift": drift(),
        "failure": failure(),
        "applier": {
            "type": "KubeConfig",
            "identity": "reeve-7d9f",
            "version": "0.1.0",
            "kubernetesVersion": "v1.35.4"
        },
        "history": history(),
        "lastHandledReconcileAt": "2026-11-16T12:00:00Z"
    })
}

fn cases() -> Vec<Case> {
    [identity_cases(), vec![file_case()]].concat()
}

fn file_case() -> Case {
    case(
        "the file of a runtime is in the repository",
        "spec.file",
        "write a path relative to the root of the repository without . or .., such as clusters/eu",
    )
    .refuses(json!({ "file": "../secrets.yaml" }))
    .accepts(json!({ "file": "runtimes/prod.yaml" }))
}

fn identity_cases() -> Vec<Case> {
    vec![
        case(
            "a runtime does not lose its source",
            "spec",
            "keep spec.sourceRef: to hand the runtime to another GitSource set spec.deletionPolicy to Orphan, delete this Runtime, and let the other create it",
        )
        .refuses_change(json!({ "sourceRef": null }))
        .accepts(json!({ "channel": "fast" })),
        case(
            "a runtime does not change its source",
            "spec.sourceRef",
            "leave spec.sourceRef as it was: to hand the runtime to another GitSource set spec.deletionPolicy to Orphan, delete this Runtime, and let the other create it",
        )
        .refuses_change(json!({ "sourceRef": { "name": "other" } }))
        .accepts(json!({ "suspend": true })),
        case(
            "a remote runtime has a kubeconfig",
            "spec.target",
            "add kubeConfigSecretRef: the name of a Secret with the kubeconfig of the cluster",
        )
        .refuses(json!({ "target": { "kubeConfigSecretRef": null } }))
        .accepts(json!({ "target": { "kubeConfigSecretRef": { "name": "eu-prod-1" } } })),
        case(
            "the own cluster needs no kubeconfig",
            "spec.target",
            "write type: KubeConfig, or remove kubeConfigSecretRef: InCluster means the cluster that Reeve itself runs in",
        )
        .refuses(json!({ "target": { "type": "InCluster" } }))
        .accepts(json!({ "target": { "type": "InCluster", "kubeConfigSecretRef": null } })),
        case(
            "a tenant's own namespace is one of its namespaces",
            "spec.target",
            "set target.namespace to one of target.namespaces: objects that name no namespace go there",
        )
        .refuses(json!({ "target": { "namespace": "default" } }))
        .accepts(json!({ "target": { "namespace": "payments" } })),
        case(
            "a namespace has the name of one",
            "spec.target.namespace",
            "write the name of a namespace: lower case letters, digits and dashes, such as shop",
        )
        .given(json!({ "target": { "namespaces": null } }))
        .refuses(json!({ "target": { "namespace": "The Shop" } }))
        .accepts(json!({ "target": { "namespace": "the-shop" } })),
        case(
            "a version of Kubernetes is a version",
            "spec.capabilities.kubernetesVersion",
            "write a version of Kubernetes, such as v1.35.4 or \"1.35\", in quotes",
        )
        .refuses(json!({ "capabilities": { "kubernetesVersion": "latest" } }))
        .accepts(json!({ "capabilities": { "kubernetesVersion": "1.35" } })),
        case(
            "ignored fields are JSON pointers",
            "spec.drift.ignore[].paths",
            "write JSON pointers that start with /, such as /spec/replicas",
        )
        .refuses(json!({ "drift": { "ignore": [{ "paths": ["spec.replicas"] }] } }))
        .accepts(json!({ "drift": { "ignore": [{ "paths": ["/spec/replicas"] }] } })),
    ]
}
