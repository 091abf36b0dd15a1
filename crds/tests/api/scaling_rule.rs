//! A `ScalingRule` with every field, and what breaks its rules.

use reeve_crds::ScalingRule;
use serde_json::{Value, json};

use super::case::{Case, case};
use super::node_hook::cases_of_selector;
use super::subject::{Subject, conditions};

pub(super) fn subject() -> Subject {
    let cases = [
        identity_cases(),
        selector_cases(),
        switch_cases(),
        replica_cases(),
        answer_cases(),
        window_cases(),
        path_cases(),
    ]
    .concat();
    Subject::new::<ScalingRule>(
        true,
        json!({ "services": [{ "name": "web" }], "keda": {}, "answers": [{ "name": "probe", "path": "/" }] }),
        spec(),
        status(),
        cases,
    )
}

fn spec() -> Value {
    json!({
        "services": [{ "name": "web" }],
        "scaleTarget": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" },
        "mode": "Enforce",
        "idleAfter": "5m",
        "minAwake": "1m",
        "replicas": { "wake": 2, "max": 10, "heldPerReplica": 50 },
        "readiness": { "from": "Probe", "path": "/ready" },
        "hold": {
            "timeout": "1m",
            "maxRequests": 1000,
            "maxRequestsPerClient": 100,
            "maxMemoryMiB": 64,
            "releasePerReplica": 20,
            "page": { "status": 503, "headers": { "Content-Type": "text/html" }, "body": "<p>Waking up</p>" }
        },
        "traffic": { "outside": "Page", "inside": "Hold" },
        "answerProbes": true,
        "answers": [{
            "name": "bots",
            "path": "/robots.txt",
            "methods": ["GET", "HEAD"],
            "headers": { "User-Agent": ".*[Bb]ot.*" },
            "when": "Asleep",
            "response": { "status": 200, "headers": { "Content-Type": "text/plain" }, "body": "Disallow: /" }
        }],
        "awake": [{ "name": "office", "start": "0 8 * * 1-5", "duration": "10h", "timeZone": "Europe/Berlin" }],
        "handOver": {
            "policy": "Auto",
            "inFlight": 50,
            "requestsPerSecond": 100,
            "after": "5s",
            "lookAfter": "1m",
            "lookAfterMax": "30m"
        },
        "ports": [{
            "port": 443,
            "tls": { "secretName": "web-tls" },
            "backendTls": { "caSecretName": "pods-ca", "serverName": "web.shop.svc" },
            "acceptProxyProtocol": true,
            "sendProxyProtocol": true
        }],
        "switch": {
            "virtualService": { "name": "web", "routes": ["main"], "delegate": false, "settle": "10s" }
        },
        "keda": keda(),
        "suspend": false
    })
}

fn keda() -> Value {
    json!({
        "adopt": false,
        "metric": "Concurrency",
        "targetPerReplica": 100,
        "pollingInterval": "30s",
        "triggers": [{
            "name": "cpu",
            "type": "cpu",
            "metadata": { "value": "80" },
            "authenticationRef": { "name": "prom", "kind": "TriggerAuthentication" },
            "metricType": "Utilization"
        }],
        "fallback": { "failureThreshold": 3, "replicas": 2 },
        "scaleDownStabilization": "5m"
    })
}

fn status() -> Value {
    json!({
        "lastHandledWakeAt": "2026-11-01T08:00:00Z",
        "lastHandledSleepAt": "2026-11-01T09:00:00Z",
        "observedGeneration": 1,
        "state": "Ready",
        "conditions": conditions(),
        "mode": "Asleep",
        "modeSince": "2026-11-16T12:00:00Z",
        "modeChanges": 28,
        "target": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" },
        "replicas": 0,
        "restoreReplicas": 3,
        "resolvers": 2,
        "held": 0,
        "lastRequestTime": "2026-11-16T12:00:00Z",
        "lastColdStart": {
            "startedAt": "2026-11-16T12:00:00Z",
            "cause": "GET /orders",
            "replicas": 1,
            "held": 12,
            "scaled": "4ms",
            "ready": "1.1s",
            "total": "1.12s"
        },
        "totals": { "sleeps": 14, "wakes": 14, "asleep": "14h10m" },
        "observed": { "sleeps": 2, "wakes": 2, "asleep": "3h" },
        "ports": [{ "service": "web", "port": 80, "name": "http", "appProtocol": "http", "resolverPort": 20001 }],
        "uncoveredServices": ["web-admin"],
        "selection": {
            "targets": 3, "ready": 2, "asleep": 1,
            "laggards": [{ "name": "all-api", "reason": "UncoveredService" }],
            "excluded": [{ "name": "db", "reason": "Service db is headless" }]
        },
        "kedaObject": "web"
    })
}

fn selector_cases() -> Vec<Case> {
    cases_of_selector(
        "spec.selector",
        |selector| json!({ "services": null, "scaleTarget": null, "switch": null, "selector": selector }),
    )
}

fn identity_cases() -> Vec<Case> {
    let presence = "leave spec.scaleTarget as it was, set or unset: for another target create another ScalingRule and delete this one";
    let either = "write either spec.services or spec.selector; selector: {} means every Service of the namespace";
    let found = "leave spec.scaleTarget out: a rule with spec.selector finds the targets by itself";
    let kept = "leave spec.selector set or unset as it was: create another ScalingRule and delete this one";
    let selecting = json!({ "services": null, "scaleTarget": null, "switch": null, "selector": {} });
    vec![
        case("a rule lists Services or chooses them", "spec", either)
            .refuses(json!({ "services": [] }))
            .accepts(selecting.clone()),
        case("a rule that chooses finds its targets", "spec", found)
            .refuses(json!({ "services": null, "switch": null, "selector": {} }))
            .accepts(selecting.clone()),
        case("a rule goes on choosing", "spec", kept)
            .given(selecting)
            .refuses_change(json!({ "selector": null, "services": [{ "name": "web" }] }))
            .accepts(json!({ "idleAfter": "10m" })),
        case("a rule does not lose its target", "spec", presence)
            .refuses_change(json!({ "scaleTarget": null }))
            .accepts(json!({ "idleAfter": "10m" })),
        case("a rule that finds its target does not get another", "spec", presence)
            .given(json!({ "scaleTarget": null }))
            .refuses_change(json!({ "scaleTarget": { "name": "web" } }))
            .accepts(json!({ "idleAfter": "10m" })),
        case(
            "a rule keeps its target",
            "spec.scaleTarget",
            "leave spec.scaleTarget as it was: for another target create another ScalingRule and delete this one",
        )
        .refuses_change(json!({ "scaleTarget": { "name": "api" } }))
        .accepts(json!({ "suspend": true })),
    ]
}

fn switch_cases() -> Vec<Case> {
    let by_routes = |more: Value| {
        let mut switch = json!({ "name": "web", "routes": null });
        for (key, value) in more.as_object().into_iter().flatten() {
            switch[key] = value.clone();
        }
        json!({ "switch": { "virtualService": switch } })
    };
    let kept = "leave spec.switch set or unset as it was: create another ScalingRule and delete this one";
    let chosen = "write spec.services: a rule with spec.selector cannot name routes";
    let one = "write one Service in spec.services: the route of a delegate leads to one";
    let named = "leave routes out: a VirtualService that is made as a delegate has one route";
    let name = "leave spec.switch.virtualService.name as it was: for another one create another ScalingRule and delete this one";
    let mut choosing = by_routes(json!({}));
    (choosing["services"], choosing["scaleTarget"], choosing["selector"]) = (Value::Null, Value::Null, json!({}));
    let mut two = by_routes(json!({ "delegate": true }));
    two["services"] = json!([{ "name": "web" }, { "name": "api" }]);
    vec![
        case("a rule goes on switching by what it did", "spec", kept)
            .given(by_routes(json!({})))
            .refuses_change(json!({ "switch": null }))
            .accepts(json!({ "idleAfter": "10m" })),
        case("a rule that chooses has no routes", "spec", chosen).refuses(choosing).accepts(by_routes(json!({}))),
        case("a delegate leads to one Service", "spec", one)
            .refuses(two)
            .accepts(by_routes(json!({ "delegate": true }))),
        case("a delegate has one route", "spec.switch.virtualService", named)
            .refuses(by_routes(json!({ "delegate": true, "routes": ["main"] })))
            .accepts(by_routes(json!({ "routes": ["main"] }))),
        case("a rule keeps its VirtualService", "spec.switch.virtualService.name", name)
            .given(by_routes(json!({})))
            .refuses_change(by_routes(json!({ "name": "api" })))
            .accepts(by_routes(json!({ "routes": ["main"] }))),
    ]
}

fn replica_cases() -> Vec<Case> {
    let signal = "add a trigger such as cpu or prometheus to spec.keda.triggers, or write spec.handOver.policy: Never: once Reeve leaves the path its own metric is gone and the target would shrink under load";
    vec![
        case(
            "a rule wakes no more than it may have",
            "spec.replicas",
            "write a wake that is not above max, such as wake: 1 and max: 10",
        )
        .refuses(json!({ "replicas": { "wake": 11 } }))
        .accepts(json!({ "replicas": { "wake": 11, "max": null } })),
        case("a rule that leaves the path has another signal", "spec", signal)
            .refuses(json!({ "keda": { "triggers": [] } }))
            .accepts(json!({ "keda": { "triggers": [] }, "handOver": { "policy": "Never" } })),
        case(
            "a rule without KEDA has no more than it wakes",
            "spec",
            "add spec.keda, or write spec.replicas.max no higher than spec.replicas.wake: above wake it is KEDA that scales",
        )
        .refuses(json!({ "keda": null }))
        .accepts(json!({ "keda": null, "replicas": { "max": 2 } })),
        case("a ScaledJob needs KEDA", "spec", "add spec.keda: only KEDA creates the Jobs of a ScaledJob")
            .refuses(json!({
                "keda": null, "replicas": { "max": 2 },
                "scaleTarget": { "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "name": "web" },
            }))
            .accepts(json!({ "scaleTarget": { "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "name": "web" } })),
        case(
            "Reeve's own trigger keeps its name",
            "spec.keda.triggers[].name",
            "write another name: reeve is the name of the trigger that Reeve adds itself",
        )
        .refuses(json!({ "keda": { "triggers": [{ "name": "reeve", "type": "cpu" }] } }))
        .accepts(json!({ "keda": { "triggers": [{ "name": "cpu", "type": "cpu" }] } })),
        case("a trigger's keys are short", "spec.keda.triggers[].metadata", "write keys of at most 253 characters")
            .refuses(json!({ "keda": { "triggers": [{ "name": "cpu", "type": "cpu", "metadata": { "k".repeat(254): "" } }] } }))
            .accepts(json!({ "keda": { "triggers": [{ "name": "cpu", "type": "cpu", "metadata": { "k".repeat(253): "" } }] } })),
    ]
}

fn answer_cases() -> Vec<Case> {
    let absolute = "write a path that starts with /, such as /healthz";
    let header = "write names of headers of at most 128 characters without spaces or colons, such as Content-Type";
    let answer = |fields: Value| json!({ "answers": [super::case::merged(json!({ "name": "probe" }), &fields)] });
    vec![
        case(
            "an answer does not match everything",
            "spec.answers[]",
            "write at least one of path, pathPrefix, methods and headers: an answer that matches every request would never wake the target",
        )
        .refuses(answer(json!({})))
        .accepts(answer(json!({ "methods": ["OPTIONS"] }))),
        case("an answer has one path", "spec.answers[]", "write either path or pathPrefix")
            .refuses(answer(json!({ "path": "/a", "pathPrefix": "/a/" })))
            .accepts(answer(json!({ "pathPrefix": "/a/" }))),
        case("an answer's path is absolute", "spec.answers[].path", absolute)
            .refuses(answer(json!({ "path": "healthz" })))
            .accepts(answer(json!({ "path": "/healthz" }))),
        case("an answer's prefix is absolute", "spec.answers[].pathPrefix", absolute)
            .refuses(answer(json!({ "pathPrefix": "static/" })))
            .accepts(answer(json!({ "pathPrefix": "/static/" }))),
        case("an answer's headers are headers", "spec.answers[].headers", header)
            .refuses(answer(json!({ "headers": { "User Agent": ".*" } })))
            .accepts(answer(json!({ "headers": { "User-Agent": ".*" } }))),
        case("a response's headers are headers", "spec.answers[].response.headers", header)
            .refuses(answer(json!({ "path": "/a", "response": { "headers": { "X:Y": "" } } })))
            .accepts(answer(json!({ "path": "/a", "response": { "headers": { "X-Y": "" } } }))),
        case("a page's headers are headers", "spec.hold.page.headers", header)
            .refuses(json!({ "hold": { "page": { "headers": { "": "text/html" } } } }))
            .accepts(json!({ "hold": { "page": { "headers": { "Content-Language": "en" } } } })),
    ]
}

fn window_cases() -> Vec<Case> {
    let window = |changes: &Value| {
        let window = json!({ "name": "office", "start": "0 8 * * 1-5", "duration": "10h" });
        json!({ "awake": [super::case::merged(window, changes)] })
    };
    vec![
        case(
            "a window begins at a time that cron knows",
            "spec.awake[].start",
            "write five fields with one space between them (minute, hour, day, month, weekday), such as 0 8 * * 1-5",
        )
        .refuses(window(&json!({ "start": "08:00" })))
        .accepts(window(&json!({ "start": "*/30 8-18 * JAN,FEB MON-FRI" }))),
        case(
            "a time zone has a name",
            "spec.awake[].timeZone",
            "write a time zone as the IANA database names it, such as Europe/Berlin or UTC",
        )
        .refuses(window(&json!({ "timeZone": "+02:00" })))
        .accepts(window(&json!({ "timeZone": "America/Argentina/Buenos_Aires" }))),
    ]
}

fn path_cases() -> Vec<Case> {
    vec![
        case("a probe's path is absolute", "spec.readiness.path", "write a path that starts with /, such as /healthz")
            .refuses(json!({ "readiness": { "path": "ready" } }))
            .accepts(json!({ "readiness": { "path": "/" } })),
        case("looks grow apart", "spec.handOver", "write a value of lookAfterMax that is not below lookAfter")
            .refuses(json!({ "handOver": { "lookAfter": "1h" } }))
            .accepts(json!({ "handOver": { "lookAfter": "1h", "lookAfterMax": "60m" } })),
    ]
}
