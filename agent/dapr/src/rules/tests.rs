//! One test for each rule, over whole decisions: what is decided for which version, and for whom nothing is.

use serde_json::json;

use crate::kit::{Shop, id, id_of, image, object, pod, store};
use crate::rule::Rule;
use crate::world::{OwnerKind, Role, SourceKind, StartValue, Workload, WorkloadId};
use crate::{Means, Verdict};

/// A shop whose sidecars run a state store, seen once.
fn shop(version: &str) -> Shop {
    let mut shop = Shop::new(version);
    shop.apply(&store("one", &json!({})));
    shop.decide();
    shop
}

#[test]
fn r0_what_dapr_does_not_read_changes_nothing() {
    let mut shop = shop("1.17.0");
    let mut labelled = store("one", &json!({ "scopes": [] }));
    labelled["metadata"]["labels"] = json!({ "team": "x" });
    labelled["metadata"]["annotations"] = json!({ "note": "y" });
    labelled["metadata"]["resourceVersion"] = json!("77");
    shop.apply(&labelled);
    assert_eq!(shop.outcome(), "a:nothing b:nothing c:nothing");
}

#[test]
fn r1_a_changed_component_is_reloaded_or_restarts() {
    for (version, word) in [("1.12.0", "restart"), ("1.17.0", "restart"), ("1.18.0", "hot")] {
        let mut shop = shop(version);
        shop.apply(&store("two", &json!({})));
        assert_eq!(shop.outcome(), format!("a:{word}/R1 b:{word}/R1 c:{word}/R1"), "{version} changed");
        let mut shop = self::shop(version);
        shop.delete("statestore");
        assert_eq!(shop.of("a"), format!("{word}/R1"), "{version} deleted");
        let mut shop = Shop::new(version);
        shop.decide();
        shop.apply(&store("one", &json!({})));
        assert_eq!(shop.of("a"), format!("{word}/R1"), "{version} created");
    }
    let mut gated = Shop::with_feature("1.13.0", Some(true));
    gated.decide();
    gated.apply(&store("one", &json!({})));
    assert_eq!(gated.of("a"), "hot/R1");
}

#[test]
fn r1_another_namespace_is_not_concerned() {
    let mut shop = shop("1.17.0");
    let mut other = store("two", &json!({}));
    other["metadata"]["namespace"] = json!("elsewhere");
    shop.apply(&other);
    assert_eq!(shop.outcome(), "a:nothing b:nothing c:nothing");
}

#[test]
fn r2_gained_and_lost_apps_are_concerned_and_kept_ones_only_if_they_reload() {
    for (version, outcome) in [
        ("1.17.0", "a:restart/R2 b:nothing/R2 c:restart/R2 d:nothing"),
        ("1.18.3", "a:hot/R2 b:hot/R2 c:hot/R2 d:nothing"),
    ] {
        let mut shop = Shop::new(version);
        let mut fourth = Workload::new("d", 1);
        fourth.pods = vec![pod("d", version, None)];
        shop.world.workloads.insert(id("d"), fourth);
        shop.apply(&store("one", &json!({ "scopes": ["a", "b"] })));
        shop.decide();
        shop.apply(&store("one", &json!({ "scopes": ["b", "c"] })));
        let before = shop.decide();
        // For an app that stays, what is decided is on record at once.
        assert_eq!(crate::kit::word(&before[&id("b")]), outcome.split(' ').nth(1).unwrap()[2..]);
        let after = shop.outcome();
        for (app, expected) in after.split(' ').zip(outcome.split(' ')).filter(|(app, _)| !app.starts_with('b')) {
            assert_eq!(app, expected, "{version}");
        }
    }
}

#[test]
fn r3_an_actor_state_store_is_reloaded_since_1_18_3() {
    let actor = |host: &str, is: bool| {
        let mut object = store(host, &json!({}));
        if is {
            object["spec"]["metadata"]
                .as_array_mut()
                .unwrap()
                .push(json!({ "name": "actorStateStore", "value": "true" }));
        }
        object
    };
    for (version, word) in [("1.17.0", "restart/R3"), ("1.18.2", "restart/R3"), ("1.18.3", "hot/R3")] {
        for (before, after) in
            [((true, "one"), (true, "two")), ((false, "one"), (true, "one")), ((true, "one"), (false, "one"))]
        {
            let mut shop = Shop::new(version);
            shop.apply(&actor(before.1, before.0));
            shop.decide();
            shop.apply(&actor(after.1, after.0));
            assert_eq!(shop.of("a"), word, "{version} {before:?} {after:?}");
        }
        let mut shop = Shop::new(version);
        shop.apply(&actor("one", true));
        shop.decide();
        shop.delete("statestore");
        assert_eq!(shop.of("a"), word, "the record knows what a deleted component was");
    }
}

#[test]
fn r4_a_workflow_backend_is_reloaded_since_1_15() {
    let backend =
        |value: &str| object("Component", "backend", &json!({ "type": "workflowbackend.actors", "version": value }));
    for (version, word) in [("1.14.0", "restart/R4"), ("1.15.0", "hot/R4"), ("1.18.0", "hot/R4")] {
        let mut shop = Shop::with_feature(version, Some(true));
        shop.apply(&backend("v1"));
        shop.decide();
        shop.apply(&backend("v2"));
        assert_eq!(shop.of("a"), word, "{version}");
    }
}

#[test]
fn r5_a_secret_store_concerns_those_whose_components_read_from_it() {
    for (version, outcome) in
        [("1.17.0", "a:restart/R5 b:restart/R5 c:nothing"), ("1.18.0", "a:hot/R5 b:hot/R5 c:nothing")]
    {
        let vault = |address: &str| {
            let mut vault = object(
                "Component",
                "vault",
                &json!({ "type": "secretstores.hashicorp.vault", "version": "v1",
                "metadata": [{ "name": "vaultAddr", "value": address }] }),
            );
            vault["scopes"] = json!(["a"]);
            vault
        };
        let mut shop = Shop::new(version);
        shop.apply(&vault("one"));
        shop.apply(&store("one", &json!({ "scopes": ["b"], "auth": { "secretStore": "vault" } })));
        shop.decide();
        shop.apply(&vault("two"));
        assert_eq!(shop.outcome(), outcome, "{version}");
    }
}

#[test]
fn r6_a_subscription_is_reloaded_since_1_14() {
    let subscription = |topic: &str| {
        let spec = json!({ "pubsubname": "p", "topic": topic, "routes": { "default": "/" } });
        object("Subscription", "orders", &spec)
    };
    for (version, word) in [("1.13.0", "restart/R6"), ("1.14.0", "hot/R6"), ("1.18.0", "hot/R6")] {
        let mut shop = Shop::with_feature(version, Some(true));
        shop.apply(&subscription("one"));
        shop.decide();
        shop.apply(&subscription("two"));
        assert_eq!(shop.of("a"), word, "{version}");
    }
}

#[test]
fn r7_endpoints_and_resiliency_are_reloaded_since_1_18_if_the_operator_tells() {
    let endpoint = |kind: &str, value: &str| object(kind, "github", &json!({ "baseUrl": value }));
    for kind in ["HTTPEndpoint", "Resiliency"] {
        for (version, operator, word) in
            [("1.17.0", true, "restart/R7"), ("1.18.0", true, "hot/R7"), ("1.18.0", false, "OperatorDown/R7")]
        {
            let mut shop = Shop::with_feature(version, Some(true));
            shop.apply(&endpoint(kind, "one"));
            shop.decide();
            shop.world.control_plane.operator_ready = operator;
            shop.apply(&endpoint(kind, "two"));
            assert_eq!(shop.of("a"), word, "{kind} {version}");
            if !operator {
                shop.world.control_plane.operator_ready = true;
                assert_eq!(shop.of("a"), "restart/R7", "nobody told the sidecars of it, so they restart");
            }
        }
    }
}

#[test]
fn r8_a_configuration_concerns_those_that_name_it() {
    let configuration =
        |rate: &str| object("Configuration", "tracing", &json!({ "tracing": { "samplingRate": rate } }));
    for (version, word) in [("1.17.0", "restart/R8"), ("1.18.0", "hot/R8"), ("1.18.2", "hot/R8")] {
        let mut shop = Shop::with_feature(version, Some(true));
        shop.workload("a").configuration = Some("tracing".to_owned());
        shop.apply(&configuration("0"));
        shop.decide();
        shop.apply(&configuration("1"));
        assert_eq!(shop.outcome(), format!("a:{word} b:nothing c:nothing"), "{version}");
    }
}

#[test]
fn r8_hot_reload_that_is_turned_on_needs_a_restart_and_that_is_turned_off_does_not() {
    let configuration = |on: bool| {
        object("Configuration", "features", &json!({ "features": [{ "name": "HotReload", "enabled": on }] }))
    };
    for (before, word) in [(false, "restart/R8"), (true, "hot/R8")] {
        let mut shop = Shop::with_feature("1.18.2", Some(before));
        shop.workload("a").configuration = Some("features".to_owned());
        shop.apply(&configuration(before));
        shop.decide();
        shop.apply(&configuration(!before));
        // The agent reads the feature from the Configuration, which is newer than the process.
        shop.workload("a").pods = vec![pod("a", "1.18.2", Some(!before))];
        assert_eq!(shop.of("a"), word);
    }
}

#[test]
fn r9_the_control_plane_takes_its_configuration_over_first() {
    let mut system = object("Configuration", "daprsystem", &json!({ "mtls": { "enabled": true } }));
    system["metadata"]["namespace"] = json!("dapr-system");
    let mut shop = Shop::new("1.18.3");
    let sentry =
        WorkloadId { namespace: "dapr-system".to_owned(), kind: OwnerKind::Deployment, name: "dapr-sentry".to_owned() };
    let mut workload = Workload::new("dapr-sentry", 1);
    workload.role = Role::ControlPlane;
    workload.pods = vec![pod("sentry", "1.18.3", None)];
    shop.world.workloads.insert(sentry.clone(), workload);
    shop.apply(&system);
    shop.decide();
    system["spec"]["mtls"]["enabled"] = json!(false);
    shop.apply(&system);
    assert_eq!(
        shop.outcome(),
        "dapr-sentry:restart/R9 a:ControlPlaneFirst/R9 b:ControlPlaneFirst/R9 c:ControlPlaneFirst/R9"
    );
    shop.roll();
    shop.decide();
    assert_eq!(
        shop.outcome(),
        "dapr-sentry:nothing a:restart/R9 b:restart/R9 c:restart/R9",
        "hot reload does not help"
    );
}

#[test]
fn r10_servers_of_tools_and_workflow_policies_are_reloaded() {
    for kind in ["MCPServer", "WorkflowAccessPolicy"] {
        for (feature, word) in [(None, "hot/R10"), (Some(false), "restart/R10")] {
            let mut shop = Shop::with_feature("1.18.0", feature);
            shop.apply(&object(kind, "x", &json!({ "endpoint": 1 })));
            shop.decide();
            shop.apply(&object(kind, "x", &json!({ "endpoint": 2 })));
            assert_eq!(shop.of("a"), word, "{kind}");
        }
    }
}

#[test]
fn r11_a_secret_behind_a_component_is_read_again_or_restarts() {
    for (version, word) in [("1.17.0", "restart/R11"), ("1.18.0", "hot/R11")] {
        let mut shop = Shop::new(version);
        let mut component = store("one", &json!({ "scopes": ["a"] }));
        component["spec"]["metadata"][0] =
            json!({ "name": "redisPassword", "secretKeyRef": { "name": "redis", "key": "p" } });
        shop.apply(&component);
        shop.secret("redis", "p", "one");
        shop.secret("redis", "unused", "one");
        shop.decide();
        shop.secret("redis", "unused", "two");
        assert_eq!(shop.outcome(), "a:nothing b:nothing c:nothing", "a key that nobody names");
        shop.secret("redis", "p", "two");
        assert_eq!(shop.outcome(), format!("a:{word} b:nothing c:nothing"), "{version}");
    }
}

#[test]
fn r12_a_secret_behind_an_endpoint_or_a_configuration_needs_a_restart() {
    for kind in ["HTTPEndpoint", "Configuration"] {
        let mut shop = Shop::new("1.18.3");
        shop.workload("a").configuration = Some("x".to_owned());
        let headers = json!([{ "name": "Authorization", "secretKeyRef": { "name": "token", "key": "t" } }]);
        shop.apply(&object(kind, "x", &json!({ "headers": headers })));
        shop.secret("token", "t", "one");
        shop.decide();
        shop.secret("token", "t", "two");
        assert_eq!(shop.of("a"), "restart/R12", "{kind}");
    }
}

#[test]
fn r13_a_secret_of_another_store_needs_a_restart_once_the_resource_says_so() {
    let mut shop = Shop::new("1.18.3");
    let mut component = store("one", &json!({ "auth": { "secretStore": "vault" } }));
    component["spec"]["metadata"][0] =
        json!({ "name": "redisPassword", "secretKeyRef": { "name": "redis", "key": "p" } });
    shop.apply(&component);
    shop.decide();
    shop.secret("redis", "p", "of the same name in Kubernetes");
    assert_eq!(shop.of("a"), "nothing");
    component["metadata"]["annotations"] = json!({ "reeve.dev/secret-revision": "2" });
    shop.apply(&component);
    assert_eq!(shop.of("a"), "restart/R13");
}

#[test]
fn r14_what_a_sidecar_reads_when_it_starts_needs_a_restart() {
    let mut shop = Shop::new("1.18.3");
    let value = |name: &str, key: Option<&str>| StartValue {
        kind: SourceKind::Secret,
        name: name.to_owned(),
        key: key.map(str::to_owned),
    };
    shop.workload("a").start_values = [value("api-token", Some("token"))].into();
    shop.workload("b").start_values = [value("certificates", None)].into();
    shop.secret("api-token", "token", "one");
    shop.secret("certificates", "tls.crt", "one");
    shop.decide();
    shop.secret("api-token", "other", "two");
    assert_eq!(shop.outcome(), "a:nothing b:nothing c:nothing");
    shop.secret("api-token", "token", "two");
    assert_eq!(shop.outcome(), "a:restart/R14 b:nothing c:nothing");
    shop.secret("certificates", "tls.key", "new");
    assert_eq!(shop.outcome(), "a:restart/R14 b:restart/R14 c:nothing");
}

#[test]
fn r14_what_a_new_template_reads_comes_with_its_own_rollout() {
    let mut shop = shop("1.17.0");
    shop.secret("api-token", "token", "one");
    let value = StartValue { kind: SourceKind::Secret, name: "api-token".to_owned(), key: None };
    shop.workload("a").start_values = [value].into();
    assert_eq!(shop.outcome(), "a:nothing b:nothing c:nothing", "its pods started with it");
    shop.secret("api-token", "token", "two");
    assert_eq!(shop.outcome(), "a:restart/R14 b:nothing c:nothing");
    shop.roll();
    shop.workload("a").start_values.clear();
    assert_eq!(shop.outcome(), "a:nothing b:nothing c:nothing");
}

#[test]
fn r15_the_container_of_a_pluggable_component_needs_a_restart_where_it_is_injected() {
    let with = |container: &str| {
        let mut component = store("one", &json!({}));
        component["metadata"]["annotations"] = json!({ "dapr.io/component-container": container });
        component
    };
    let mut shop = Shop::new("1.18.3");
    shop.workload("a").injects_containers = true;
    shop.apply(&with("one"));
    shop.decide();
    shop.apply(&with("two"));
    assert_eq!(shop.outcome(), "a:restart/R15 b:nothing c:nothing");
}

#[test]
fn r16_a_changed_template_is_taken_over_by_its_own_rollout() {
    let mut shop = shop("1.17.0");
    for name in ["one", "two"] {
        shop.apply(&object("Configuration", name, &json!({ "tracing": { "samplingRate": name } })));
    }
    shop.workload("a").configuration = Some("one".to_owned());
    assert_eq!(shop.of("a"), "nothing", "a template that names a Configuration");
    shop.workload("a").configuration = Some("two".to_owned());
    assert_eq!(shop.of("a"), "nothing", "a template that names another one");
    shop.apply(&store("one", &json!({ "scopes": ["a"] })));
    shop.settle();
    shop.workload("a").app_id = "renamed".to_owned();
    assert_eq!(shop.of("a"), "nothing", "a template that names another app");
    shop.apply(&object("Configuration", "two", &json!({ "tracing": { "samplingRate": "other" } })));
    assert_eq!(shop.of("a"), "restart/R8", "the Configuration itself changed");
}

#[test]
fn r17_a_sidecar_of_another_image_than_the_injectors_needs_a_restart() {
    let mut shop = shop("1.18.2");
    shop.workload("b").names_image = true;
    shop.decide();
    shop.world.control_plane.sidecar_image = Some(image("1.18.3"));
    shop.workload("c").pods = vec![pod("c", "1.18.3", None)];
    assert_eq!(shop.outcome(), "a:restart/R17 b:nothing c:nothing", "b names its image, c was rolled by somebody else");
}

#[test]
fn r18_a_pod_without_its_sidecar_is_replaced_when_the_injector_is_ready() {
    let mut shop = Shop::new("1.18.3");
    shop.workload("a").pods[0].sidecar = None;
    shop.world.control_plane.injector_ready = false;
    assert_eq!(shop.of("a"), "InjectorDown/R18", "also at first contact");
    shop.world.control_plane.injector_ready = true;
    let decision = shop.decide()[&id("a")].clone();
    let pods = vec![("a".to_owned(), "uid-a".to_owned())];
    assert_eq!(decision.verdict, Verdict::Restart(Means::Evict(None, pods)));
    assert_eq!(
        shop.decide()[&id("a")].record.restarts.len(),
        1,
        "the same pods are one restart, however often it is tried"
    );
    shop.workload("a").pods = vec![pod("new", "1.18.3", None)];
    assert_eq!(shop.outcome(), "a:nothing b:nothing c:nothing");
}

#[test]
fn r19_of_a_shared_sidecar_the_workload_that_runs_it_restarts() {
    let mut shop = shop("1.17.0");
    let shared = id_of(OwnerKind::DaemonSet, "a-shared");
    let mut workload = Workload::new("a", 1);
    workload.role = Role::Shared;
    workload.pods = vec![pod("shared", "1.17.0", None)];
    // The app's own pods have no sidecar, and so the app is no workload of ours.
    shop.world.workloads.remove(&id("a"));
    shop.world.workloads.insert(shared.clone(), workload);
    shop.decide();
    shop.world.control_plane.injector_ready = false;
    shop.apply(&store("two", &json!({ "scopes": ["a"] })));
    let decisions = shop.settle();
    assert_eq!(crate::kit::word(&decisions[&shared]), "restart/R1", "it needs no injector");
    assert_eq!(crate::kit::word(&decisions[&id("b")]), "InjectorDown/R2", "and b lost the component");
}

#[test]
fn r20_pods_with_the_token_of_the_restart_have_it() {
    let mut shop = shop("1.17.0");
    shop.workload("a").replicas = 2;
    shop.workload("a").pods.push(pod("a2", "1.17.0", None));
    shop.decide();
    shop.apply(&store("two", &json!({})));
    let decisions = shop.settle();
    let Verdict::Restart(Means::Template(token)) = &decisions[&id("a")].verdict else { panic!("no restart") };
    shop.workload("a").pods[0].token = Some(token.clone());
    assert_eq!(shop.of("a"), "restart/R1", "one of two pods has it");
    shop.workload("a").pods[1].token = Some(token.clone());
    shop.workload("a").pods[1].ready = false;
    assert_eq!(shop.of("a"), "restart/R1", "both have it, one is not ready");
    shop.workload("a").pods[1].ready = true;
    assert_eq!(shop.of("a"), "nothing");
    assert_eq!(shop.decide()[&id("a")].record.running, shop.decide()[&id("a")].record.applied);
}

#[test]
fn r21_jobs_are_never_restarted_and_bare_pods_are_reported() {
    let mut shop = shop("1.17.0");
    for kind in [OwnerKind::Job, OwnerKind::Pod] {
        let mut workload = Workload::new("x", 1);
        workload.pods = vec![pod("x", "1.17.0", None)];
        shop.world.workloads.insert(id_of(kind, "x"), workload);
    }
    shop.decide();
    shop.apply(&store("two", &json!({})));
    let decisions = shop.decide();
    assert_eq!(crate::kit::word(&decisions[&id_of(OwnerKind::Job, "x")]), "nothing/R21");
    let bare = &decisions[&id_of(OwnerKind::Pod, "x")];
    assert_eq!(crate::kit::word(bare), "report/R21");
    assert!(bare.why.ends_with("nothing would bring Pod shop/x back, so replace it by hand"), "{}", bare.why);
}

#[test]
fn every_rule_has_a_test_of_its_name() {
    let text = include_str!("tests.rs");
    for rule in Rule::ALL {
        let name = format!("fn {}_", rule.as_str().to_lowercase());
        assert!(text.contains(&name), "no test {name}");
        assert!(!rule.text().is_empty());
    }
    assert_eq!(Rule::ALL.len(), 22);
}

#[test]
fn the_reason_names_object_and_version() {
    let mut shop = shop("1.17.2");
    shop.apply(&store("two", &json!({})));
    let decision = shop.settle()[&id("a")].clone();
    assert_eq!(decision.why, "Component statestore changed, and daprd 1.17.2 does not reload");
}
