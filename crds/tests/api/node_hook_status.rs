//! A `NodeHookStatus` with every field, and what breaks its rules.

use reeve_crds::NodeHookStatus;
use serde_json::{Value, json};

use super::case::{Case, case};
use super::subject::{Subject, conditions};

pub(super) fn subject() -> Subject {
    Subject::new::<NodeHookStatus>(false, json!({ "node": "$NAME" }), json!({ "node": "$NAME" }), status(), cases())
}

fn calls() -> Value {
    json!({
        "calls": 812, "failures": 3, "timeouts": 1, "refusals": 2, "changes": 400, "forbiddenChanges": 1, "conflicts": 0,
        "p50": "310us", "p99": "1.8ms"
    })
}

fn status() -> Value {
    json!({
        "observedGeneration": 1,
        "state": "Ready",
        "conditions": conditions(),
        "observedAt": "2026-11-16T12:00:00Z",
        "digest": "sha256:9b74c9897bac770f",
        "proxy": {
            "version": "0.1.0",
            "runtime": "containerd 2.1.4",
            "startedAt": "2026-11-16T12:00:00Z"
        },
        "live": { "ready": 1, "total": 1, "summary": "1/1" },
        "openCircuits": 0,
        "totals": calls(),
        "hooks": [{
            "name": "colocation",
            "generation": 3,
            "git": "main@sha1:9b74c9897bac770ffc029102a200c5de",
            "revision": "sha256:9b74c9897bac770f",
            "percent": 10,
            "lastGood": "sha256:77de68daecd823ba",
            "returned": "12 of 40 calls to plugin koordlet failed"
        }],
        "plugins": [{
            "source": "colocation",
            "plugin": "koordlet",
            "revision": "sha256:9b74c9897bac770f",
            "endpoint": "/var/run/koordlet/koordlet.sock",
            "mode": "Enforce",
            "hooks": ["PreCreateContainer"],
            "circuit": "Closed",
            "circuitSince": "2026-11-16T12:00:00Z",
            "calls": calls(),
            "lastError": {
                "time": "2026-11-16T12:00:00Z",
                "hook": "PreCreateContainer",
                "pod": "shop/web-1",
                "message": "deadline exceeded"
            }
        }],
        "badFiles": [{ "file": "koordlet.json", "message": "line 3: expected a comma" }]
    })
}

fn cases() -> Vec<Case> {
    vec![
        case(
            "a status is named like its node",
            "",
            "name the NodeHookStatus like its node: metadata.name and spec.node must be equal",
        )
        .refuses(json!({ "node": "another" }))
        .accepts(json!({})),
        case(
            "a status keeps its node",
            "spec.node",
            "leave spec.node as it was: each node has a NodeHookStatus of its own",
        )
        .refuses_change(json!({ "node": "another" }))
        .accepts(json!({})),
    ]
}
