//! A `NodeHook` with every field, and what breaks its rules.

use reeve_crds::NodeHook;
use serde_json::{Value, json};

use super::case::{Case, case};
use super::subject::{Subject, conditions};

pub(super) fn subject() -> Subject {
    Subject::new::<NodeHook>(false, least(), spec(), status(), cases())
}

fn selector() -> Value {
    json!({
        "matchLabels": { "pool": "batch" },
        "matchExpressions": [{ "key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"] }]
    })
}

fn plugin() -> Value {
    json!({
        "name": "koordlet",
        "endpoint": "/var/run/koordlet/koordlet.sock",
        "peerUID": 0,
        "protocol": "Koordinator",
        "mode": "Enforce",
        "hooks": [
            { "type": "PreCreateContainer", "failurePolicy": "Fail", "timeout": "2s" },
            { "type": "PostStopContainer", "failurePolicy": "Ignore", "timeout": "2s" }
        ],
        "merge": "Echo",
        "read": ["PodLabels", "EnvNames"],
        "write": ["CpusetCpus", "CpuShares"],
        "concurrency": 64,
        "circuitBreaker": { "failures": 5, "openFor": "30s" }
    })
}

fn spec() -> Value {
    json!({
        "nodeSelector": selector(),
        "order": 100,
        "plugins": [plugin()],
        "conflicts": "Fail",
        "pods": { "namespaces": ["shop"], "selector": selector() },
        "exempt": { "namespaces": ["kube-system"], "staticPods": true },
        "budget": { "percent": 25, "max": "10s" },
        "canary": { "percent": 10, "maxFailurePercent": 1, "maxLatency": "50ms" },
        "runningContainers": { "onChange": "Update", "updatesPerMinute": 60 },
        "whileNotLive": "NoSchedule",
        "suspend": false
    })
}

fn least() -> Value {
    let plugin =
        json!({ "name": "koordlet", "endpoint": "/run/koordlet.sock", "hooks": [{ "type": "PreStartContainer" }] });
    json!({ "nodeSelector": { "matchLabels": { "kubernetes.io/os": "linux" } }, "plugins": [plugin] })
}

fn status() -> Value {
    json!({
        "observedGeneration": 1,
        "state": "Processing",
        "conditions": conditions(),
        "nodes": { "ready": 11, "total": 12, "summary": "11/12" },
        "notReady": [{ "node": "node-7", "message": "socket /var/run/koordlet/koordlet.sock is absent" }],
        "revision": "main@sha1:9b74c9897bac770ffc029102a200c5de"
    })
}

/// The whole plugin with some of its fields changed.
fn with(changes: &Value) -> Value {
    json!({ "plugins": [super::case::merged(plugin(), changes)] })
}

fn cases() -> Vec<Case> {
    let everywhere = case(
        "hooks do not get everywhere by leaving something out",
        "spec.nodeSelector",
        "write matchLabels or matchExpressions below nodeSelector, such as matchLabels: {pool: batch}; for every node matchLabels: {kubernetes.io/os: linux}",
    )
    .refuses(json!({ "nodeSelector": { "matchLabels": null, "matchExpressions": null } }))
    .accepts(json!({ "nodeSelector": { "matchLabels": { "kubernetes.io/os": "linux" }, "matchExpressions": null } }));
    [vec![everywhere], plugin_cases(), hook_cases(), selector_cases()].concat()
}

fn plugin_cases() -> Vec<Case> {
    let path = "write the absolute path of a unix socket without unix:// and without . or .., such as /var/run/koordlet/koordlet.sock";
    let two = |name: &str, endpoint: &str| {
        let other = super::case::merged(plugin(), &json!({ "name": name, "endpoint": endpoint }));
        json!({ "plugins": [plugin(), other] })
    };
    vec![
        case(
            "a plugin is named once",
            "spec.plugins",
            "give each plugin a name of its own: to ask one plugin on more calls add them to its hooks",
        )
        .refuses(two("koordlet", "/run/other.sock"))
        .accepts(two("other", "/run/other.sock")),
        case(
            "a socket is named once",
            "spec.plugins",
            "list each endpoint once: to ask one plugin on more calls add them to its hooks",
        )
        .refuses(two("other", "/var/run/koordlet/koordlet.sock"))
        .accepts(two("other", "/run/other.sock")),
        case("an endpoint is a path", "spec.plugins[].endpoint", path)
            .refuses(with(&json!({ "endpoint": "unix:///run/koordlet.sock" })))
            .accepts(with(&json!({ "endpoint": "/run/koordlet.sock" }))),
        case("an endpoint is absolute", "spec.plugins[].endpoint", path)
            .refuses(with(&json!({ "endpoint": "run/koordlet.sock" })))
            .accepts(with(&json!({ "endpoint": "/run/koordlet.sock" }))),
        case("an endpoint does not climb", "spec.plugins[].endpoint", path)
            .refuses(with(&json!({ "endpoint": "/run/../etc/koordlet.sock" })))
            .accepts(with(&json!({ "endpoint": "/run/..koordlet.sock" }))),
        case(
            "names of variables cannot be changed alone",
            "spec.plugins[].write",
            "write EnvValues instead of EnvNames: who may change variables changes their values",
        )
        .refuses(with(&json!({ "write": ["EnvNames"] })))
        .accepts(with(&json!({ "write": ["EnvValues"] }))),
    ]
}

fn hook_cases() -> Vec<Case> {
    let hook = |kind: &str, policy: &str| with(&json!({ "hooks": [{ "type": kind, "failurePolicy": policy }] }));
    let reeve = |kind: &str, policy: &str| {
        with(&json!({ "protocol": "Reeve", "hooks": [{ "type": kind, "failurePolicy": policy }] }))
    };
    let teardown = "write failurePolicy: Ignore on hooks that stop or remove: with Fail a broken plugin would keep pods from ever going away";
    let mut cases = vec![
        case(
            "what only Reeve's protocol can say needs it",
            "spec.plugins[]",
            "write protocol: Reeve: Koordinator's protocol knows only PreRunPodSandbox, PostStopPodSandbox, PreCreateContainer, PreStartContainer, PostStartContainer, PostStopContainer and PreUpdateContainerResources",
        )
        .refuses(hook("PreUpdatePodSandboxResources", "Ignore"))
        .accepts(reeve("PreUpdatePodSandboxResources", "Fail")),
        case(
            "an audit refuses nothing",
            "spec.plugins[]",
            "write failurePolicy: Ignore on all hooks of a plugin in mode Audit: it is only listened to",
        )
        .refuses(with(&json!({ "mode": "Audit" })))
        .accepts(with(&json!({ "mode": "Audit", "hooks": [{ "type": "PreCreateContainer" }] }))),
        case(
            "a container that runs cannot be refused",
            "spec.plugins[].hooks",
            "write failurePolicy: Ignore on PostStartContainer: the container runs already, there is nothing left to refuse",
        )
        .refuses(hook("PostStartContainer", "Fail"))
        .accepts(hook("PostStartContainer", "Ignore")),
    ];
    for kind in [
        "PostStopContainer",
        "PostStopPodSandbox",
        "PreRemovePodSandbox",
        "PostRemovePodSandbox",
        "PostRemoveContainer",
    ] {
        let case = case(&format!("{kind} never fails a call"), "spec.plugins[].hooks", teardown);
        cases.push(case.refuses(reeve(kind, "Fail")).accepts(reeve(kind, "Ignore")));
    }
    cases
}

fn selector_cases() -> Vec<Case> {
    let at = |place: &str| {
        let steps: Vec<String> = place.rsplit('.').map(str::to_owned).collect();
        cases_of_selector(&format!("spec.{place}"), move |selector| {
            steps.iter().fold(selector, |below, step| json!({ step: below }))
        })
    };
    [at("nodeSelector"), at("pods.selector")].concat()
}

/// What every selector refuses, at this place, where `put` puts it.
pub(super) fn cases_of_selector(place: &str, put: impl Fn(Value) -> Value) -> Vec<Case> {
    let values = "write values with operator In or NotIn, and none with Exists or DoesNotExist";
    let keys = "write keys of labels as Kubernetes has them, such as node.kubernetes.io/instance-type";
    let label = |key: &str| json!({ "matchLabels": { key: "yes" } });
    let expression = |operator: &str, values: Value| json!({ "matchExpressions": [{ "key": "pool", "operator": operator, "values": values }] });
    let long = "k".repeat(318);
    let at = |field: &str| format!("{place}.{field}");
    vec![
        case("a selector's operator In has values", &at("matchExpressions[]"), values)
            .refuses(put(expression("In", json!([]))))
            .accepts(put(expression("In", json!(["batch"])))),
        case("a selector's operator Exists has no values", &at("matchExpressions[]"), values)
            .refuses(put(expression("Exists", json!(["batch"]))))
            .accepts(put(expression("Exists", json!([])))),
        case("a label's key is as long as Kubernetes allows", &at("matchLabels"), keys)
            .refuses(put(label(&long)))
            .accepts(put(label(&long[..317]))),
    ]
}
