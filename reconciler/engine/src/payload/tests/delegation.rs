//! What is left to the resolver and to the agent.

use serde_json::json;

use super::*;

fn rule(spec: &Value) -> Value {
    json!({
        "apiVersion": "reeve.dev/v1alpha1", "kind": "ScalingRule", "metadata": { "name": "r", "namespace": "shop" },
        "spec": spec,
    })
}

fn told(objects: &[Value]) -> Vec<String> {
    let found = delegated(objects);
    let line = |(key, paths): (&ObjectRef, &Vec<Pointer>)| {
        let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
        format!("{} {}/{}: {}", key.kind, key.namespace, key.name, paths.join(" "))
    };
    found.iter().map(line).collect()
}

#[test]
fn a_rule_takes_the_replicas_of_its_target_and_the_selector_of_its_services() {
    let spec = json!({ "services": [{ "name": "web" }, { "name": "api" }], "scaleTarget": { "name": "web" } });

    assert_eq!(
        told(&[rule(&spec)]),
        [
            "Service shop/api: /spec/selector/reeve.dev~1captured",
            "Service shop/web: /spec/selector/reeve.dev~1captured",
            "Deployment shop/web: /spec/replicas",
        ]
    );
}

fn site(routes: &Value) -> Value {
    json!({
        "apiVersion": "networking.istio.io/v1", "kind": "VirtualService",
        "metadata": { "name": "site", "namespace": "shop" }, "spec": { "hosts": ["shop.example.com"], "http": routes },
    })
}

fn to(name: &str, host: &str) -> Value {
    json!({ "name": name, "route": [{ "destination": { "host": host } }] })
}

fn routing(switch: &Value) -> Value {
    rule(&json!({
        "services": [{ "name": "web" }], "scaleTarget": { "name": "web" }, "switch": { "virtualService": switch },
    }))
}

#[test]
fn a_rule_takes_the_hosts_of_the_routes_that_it_names_and_leaves_its_services_alone() {
    let site = site(&json!([to("api", "web"), to("main", "web.shop.svc.cluster.local"), to("more", "web.other")]));
    let replicas = "Deployment shop/web: /spec/replicas";
    let named = [routing(&json!({ "name": "site", "routes": ["main"] })), site.clone()];
    assert_eq!(told(&named), [replicas, "VirtualService shop/site: /spec/http/1/route/0/destination/host"]);
    let all = [routing(&json!({ "name": "site" })), site];
    let both = "VirtualService shop/site: /spec/http/0/route/0/destination/host /spec/http/1/route/0/destination/host";
    assert_eq!(told(&all), [replicas, both], "a Service of another namespace is none of the rule's");
    assert_eq!(told(&[routing(&json!({ "name": "elsewhere" }))]), [replicas]);
}

#[test]
fn git_changes_routes_of_which_one_is_captured() {
    let rule = routing(&json!({ "name": "site", "routes": ["main"] }));
    let sent = |git: &Value, lives: &Value, owner: &str| {
        let git = site(git);
        let paths = &delegated(&[rule.clone(), git.clone()])[&object_ref(&git)];
        let operation = if owner == "reeve-resolver" { "Update" } else { "Apply" };
        let lives = live(&site(lives)["spec"], &[(owner, operation, json!({ "f:http": {} }))]);
        without(&git, Some(&lives), paths, &manager())["spec"].get("http").cloned()
    };
    let git = json!([to("api", "api"), to("main", "web")]);
    let captured = json!([to("api", "api"), to("main", "web-reeve-door")]);
    assert_eq!(sent(&git, &captured, "reeve-resolver"), None, "nothing of it is to be changed");
    let mut more = git.clone();
    more[1]["timeout"] = json!("3s");
    more[0] = to("first", "web");
    let led = sent(&more, &captured, "reeve-resolver").unwrap();
    assert_eq!((&led[1]["route"], &led[1]["timeout"]), (&captured[1]["route"], &json!("3s")), "and the capture stays");
    assert_eq!(led[0], more[0], "a route that the rule does not name is Git's alone");
    assert_eq!(sent(&git, &git, "reeve-resolver"), None, "given back");
    assert_eq!(sent(&more, &git, "reeve-resolver"), Some(more.clone()));
    assert_eq!(sent(&git, &git, "reeve:fleet/eu"), Some(git.clone()), "never captured");
}

#[test]
fn a_rule_that_chooses_takes_what_it_may_choose_by_its_labels() {
    let object = |kind: &str, version: &str, name: &str, spec: Value| {
        json!({
            "apiVersion": version, "kind": kind, "spec": spec,
            "metadata": { "name": name, "namespace": "shop", "labels": { "tier": name } },
        })
    };
    let pods = |name: &str| json!({ "template": { "metadata": { "labels": { "app": name } } } });
    let objects = [
        rule(&json!({ "selector": { "matchLabels": { "tier": "web" } } })),
        object("Service", "v1", "web", json!({ "selector": { "app": "web" } })),
        object("Service", "v1", "api", json!({ "selector": { "app": "api" } })),
        object("Deployment", "apps/v1", "web", pods("web")),
        object("Deployment", "apps/v1", "api", pods("api")),
    ];

    assert_eq!(
        told(&objects),
        ["Service shop/web: /spec/selector/reeve.dev~1captured", "Deployment shop/web: /spec/replicas"]
    );
}

#[test]
fn a_rule_takes_of_a_scaled_job_what_it_configures() {
    let target = json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "name": "web" });
    let spec = json!({ "services": [{ "name": "web" }], "scaleTarget": target, "keda": {} });

    assert_eq!(
        told(&[rule(&spec)])[1],
        "ScaledJob shop/web: /spec/maxReplicaCount /spec/minReplicaCount /spec/pollingInterval /spec/rollout \
         /spec/scalingStrategy /spec/triggers"
    );
}

#[test]
fn what_the_agent_restarted_a_workload_for_is_the_agents() {
    let workload = |annotations: &Value| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "namespace": "shop" },
            "spec": { "template": { "metadata": { "annotations": annotations } } },
        })
    };
    // As whoever copies what lives into Git writes it.
    let copied = workload(&json!({ "reeve.dev/dapr-restart": "9b74c9897bac770f", "note": "x" }));
    let path = "/spec/template/metadata/annotations/reeve.dev~1dapr-restart";

    assert_eq!(told(std::slice::from_ref(&copied)), [format!("Deployment shop/web: {path}")]);
    assert_eq!(told(&[workload(&json!({ "note": "x" }))]), Vec::<String>::new());
    let fields = json!({ "f:spec": { "f:template": { "f:metadata": { "f:annotations": { "f:reeve.dev/dapr-restart": {} } } } } });
    let mut alive = workload(&json!({ "reeve.dev/dapr-restart": "fc029102a200c5de", "note": "x" }));
    alive["metadata"]["managedFields"] = json!([{
        "manager": "reeve-agent", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": fields,
    }]);
    let paths = &delegated([&copied])[&object_ref(&copied)];
    let sent = without(&copied, Some(&alive), paths, &manager());
    assert_eq!(sent.pointer("/spec/template/metadata/annotations"), Some(&json!({ "note": "x" })));
}

#[test]
fn a_rule_that_only_watches_takes_nothing_nor_does_what_is_no_rule() {
    let watching = json!({ "services": [{ "name": "web" }], "scaleTarget": { "name": "web" }, "mode": "Observe" });

    assert_eq!(told(&[rule(&watching)]), Vec::<String>::new());
    assert_eq!(told(&[rule(&json!({ "services": "wrong" }))]), Vec::<String>::new());
}

#[test]
fn a_rule_without_a_target_takes_the_workloads_behind_its_services() {
    let workload = |kind: &str, namespace: &str, name: &str, app: &str| {
        json!({
            "apiVersion": "apps/v1", "kind": kind, "metadata": { "name": name, "namespace": namespace },
            "spec": { "template": { "metadata": { "labels": { "app": app, "more": "x" } } } },
        })
    };
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web", "namespace": "shop" },
        "spec": { "selector": { "app": "web" } },
    });
    let objects = [
        rule(&json!({ "services": [{ "name": "web" }] })),
        service,
        workload("Deployment", "shop", "web", "web"),
        workload("Deployment", "shop", "other", "other"),
        workload("Deployment", "elsewhere", "web", "web"),
    ];

    assert_eq!(
        told(&objects),
        ["Service shop/web: /spec/selector/reeve.dev~1captured", "Deployment shop/web: /spec/replicas"]
    );
}

#[test]
fn a_scaled_object_is_the_rules_only_if_it_adopts_it() {
    let scaler = |target: &Value| {
        json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": "s", "namespace": "shop" },
            "spec": { "scaleTargetRef": target },
        })
    };
    let rule = |keda: Value| {
        rule(&json!({
            "services": [{ "name": "web" }], "scaleTarget": { "name": "web" }, "keda": keda,
        }))
    };

    let adopted = told(&[rule(json!({ "adopt": true })), scaler(&json!({ "name": "web" }))]);
    assert_eq!(
        adopted,
        [
            "Service shop/web: /spec/selector/reeve.dev~1captured",
            "Deployment shop/web: /spec/replicas",
            "ScaledObject shop/s: /spec"
        ]
    );
    let left = told(&[rule(json!({})), scaler(&json!({ "name": "web" }))]);
    assert_eq!(left, ["Service shop/web: /spec/selector/reeve.dev~1captured", "Deployment shop/web: /spec/replicas"]);
    let of_another = told(&[rule(json!({ "adopt": true })), scaler(&json!({ "name": "web", "kind": "StatefulSet" }))]);
    assert_eq!(
        of_another,
        ["Service shop/web: /spec/selector/reeve.dev~1captured", "Deployment shop/web: /spec/replicas"]
    );
}
