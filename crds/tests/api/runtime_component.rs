//! A `RuntimeComponent` with every field, and what breaks its rules.

use reeve_crds::RuntimeComponent;
use serde_json::{Value, json};

use super::case::{Case, case};
use super::runtime::{drift, failure, history, object, rendered};
use super::subject::{Subject, conditions};

pub(super) fn subject() -> Subject {
    Subject::new::<RuntimeComponent>(
        true,
        json!({ "runtime": "eu-prod-1", "component": "payments", "chart": "payments", "version": "1.4.2" }),
        spec(),
        status(),
        cases(),
    )
}

fn spec() -> Value {
    json!({
        "runtime": "eu-prod-1",
        "component": "payments",
        "target": "Runtime",
        "chart": "payments",
        "version": "1.4.2",
        "channel": "regular",
        "namespace": "shop",
        "origin": "runtimes/eu/prod-1.yaml:14",
        "dependsOn": ["dapr"],
        "serviceAccountName": "payments-applier",
        "timeout": "10m",
        "suspend": false
    })
}

fn status() -> Value {
    json!({
        "observedGeneration": 1,
        "state": "Processing",
        "conditions": conditions(),
        "desired": rendered(),
        "applied": rendered(),
        "lastGood": rendered(),
        "health": { "ready": 12, "total": 13, "summary": "12/13" },
        "unhealthy": [{ "object": object(), "health": "InProgress", "message": "1 of 3 replicas available" }],
        "waitsFor": ["dapr"],
        "drift": drift(),
        "failure": failure(),
        "jobs": [{
            "name": "migrate",
            "phase": "Before",
            "digest": "sha256:9b74c9897bac770ffc029102a200c5de",
            "outcome": "Succeeded",
            "finishedAt": "2026-11-16T12:00:00Z"
        }],
        "history": history(),
        "lastHandledReconcileAt": "2026-11-16T12:00:00Z"
    })
}

fn cases() -> Vec<Case> {
    vec![
        case(
            "a component does not move to another runtime",
            "spec.runtime",
            "leave spec.runtime as it was: a component of another runtime is another RuntimeComponent",
        )
        .refuses_change(json!({ "runtime": "eu-prod-2" }))
        .accepts(json!({ "version": "1.4.3" })),
        case(
            "a component keeps its name",
            "spec.component",
            "leave spec.component as it was: a renamed component is a new RuntimeComponent and the removal of the old",
        )
        .refuses_change(json!({ "component": "billing" }))
        .accepts(json!({ "chart": "billing" })),
        case(
            "a component keeps its target",
            "spec.target",
            "leave spec.target as it was: to move a component remove it from Git, wait until it is gone, and add it with the other target",
        )
        .refuses_change(json!({ "target": "ControlPlane" }))
        .accepts(json!({ "suspend": true })),
        case(
            "a target that is left out means the default, not the old one",
            "spec.target",
            "leave spec.target as it was: to move a component remove it from Git, wait until it is gone, and add it with the other target",
        )
        .given(json!({ "target": "ControlPlane" }))
        .refuses_change(json!({ "target": null }))
        .accepts(json!({ "suspend": true })),
        case(
            "a namespace has the name of one",
            "spec.namespace",
            "write the name of a namespace: lower case letters, digits and dashes, such as shop",
        )
        .refuses(json!({ "namespace": "The Shop" }))
        .accepts(json!({ "namespace": "the-shop" })),
        case(
            "a component does not wait for itself",
            "spec",
            "remove the component's own name from spec.dependsOn: a component cannot wait for itself",
        )
        .refuses(json!({ "dependsOn": ["dapr", "payments"] }))
        .accepts(json!({ "dependsOn": ["dapr", "redis"] })),
    ]
}
