//! A `DaprWorkload` with every field, and what breaks its rules.

use reeve_crds::DaprWorkload;
use serde_json::{Value, json};

use super::case::{Case, case};
use super::subject::{Subject, conditions};

pub(super) fn subject() -> Subject {
    Subject::new::<DaprWorkload>(
        true,
        json!({ "workload": { "name": "nodeapp" }, "appID": "nodeapp" }),
        spec(),
        status(),
        cases(),
    )
}

fn spec() -> Value {
    json!({
        "workload": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "nodeapp" },
        "appID": "nodeapp",
        "shared": false,
        "configuration": "tracing"
    })
}

fn status() -> Value {
    json!({
        "observedGeneration": 1,
        "state": "Warning",
        "conditions": conditions(),
        "appliedHash": "9b74c9897bac770f",
        "runningHash": "fc029102a200c5de",
        "hashKey": "0f3b27f0a1c2d4e5",
        "pods": { "ready": 1, "total": 2, "summary": "1/2" },
        "sidecar": { "version": "1.17.2", "hotReload": false, "native": false, "missing": 0, "appID": "nodeapp", "configuration": "tracing" },
        "reload": "Auto",
        "change": {
            "method": "Restart",
            "rule": "R1",
            "message": "Component statestore changed and daprd 1.17.2 does not reload",
            "proof": "Pending",
            "appliedAt": "2026-11-16T12:00:00Z",
            "startedAt": "2026-11-16T12:00:05Z",
            "token": "9b74c9897bac770f",
            "finishedAt": "2026-11-16T12:01:00Z"
        },
        "blocked": {
            "reason": "DisruptionBudget",
            "message": "PodDisruptionBudget nodeapp allows no disruption",
            "since": "2026-11-16T12:00:00Z"
        },
        "resources": [{
            "kind": "Component", "name": "statestore", "appliedHash": "9b74c9897bac770f", "runningHash": "fc029102a200c5de"
        }],
        "restarts": [{
            "startedAt": "2026-11-16T12:00:00Z",
            "token": "fc029102a200c5de",
            "message": "Component statestore changed"
        }]
    })
}

fn cases() -> Vec<Case> {
    vec![
        case(
            "a ledger belongs to one workload",
            "spec.workload",
            "leave spec.workload as it was: each workload has a DaprWorkload of its own",
        )
        .refuses_change(json!({ "workload": { "name": "other" } }))
        .accepts(json!({ "configuration": "other" })),
        case(
            "an app-id is one that Dapr takes",
            "spec.appID",
            "write an app-id of lower case letters, digits and dashes, at most 58 of them, such as order-processor",
        )
        .refuses(json!({ "appID": "node.app" }))
        .accepts(json!({ "appID": "node-app" })),
    ]
}
