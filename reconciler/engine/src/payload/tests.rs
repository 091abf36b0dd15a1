use reeve_crds::runtime::policy::{DriftMode, IgnoredFields};
use serde_json::json;

use super::*;
use crate::fields::Manager;

fn manager() -> Manager {
    Manager::of_runtime("fleet/eu")
}

fn pointers(all: &[&str]) -> Vec<Pointer> {
    all.iter().map(|text| text.parse().unwrap()).collect()
}

fn annotated(annotations: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "annotations": annotations } })
}

#[test]
fn the_mark_names_the_content_and_does_not_count_itself() {
    let object = annotated(&json!({ "x": "y" }));

    let marked = with_content(&object);

    let mark = marked["metadata"]["annotations"][CONTENT].as_str().unwrap();
    assert_eq!(mark, content_hash(&object));
    assert_eq!(mark.len(), 32);
    assert_eq!(content_hash(&marked), mark);
    assert_eq!(with_content(&marked), marked);
    assert_ne!(content_hash(&annotated(&json!({ "x": "z" }))), mark);
    assert_eq!(
        with_content(&json!({ "metadata": { "annotations": null } }))["metadata"]["annotations"]
            .as_object()
            .unwrap()
            .len(),
        1
    );
    assert!(with_content(&json!({ "kind": "X" }))["metadata"]["annotations"][CONTENT].is_string());
}

#[test]
fn texts_of_a_secret_are_sent_as_the_api_server_keeps_them() {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" },
        "data": { "a": "b2xk", "b": "Yg==" }, "stringData": { "a": "new", "c": "" },
    });

    let sent = with_content(&secret);

    assert_eq!(sent["data"], json!({ "a": "bmV3", "b": "Yg==", "c": "" }));
    assert_eq!(sent.get("stringData"), None);
    let wrong = json!({ "apiVersion": "v1", "kind": "Secret", "stringData": { "a": 1 } });
    assert_eq!(with_content(&wrong)["stringData"], json!({ "a": 1 }), "the API server says what is wrong with it");
}

fn live(spec: &Value, managers: &[(&str, &str, Value)]) -> Value {
    let entry = |(manager, operation, fields): &(&str, &str, Value)| json!({ "manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": { "f:spec": fields } });
    let managed: Value = managers.iter().map(entry).collect();
    json!({ "metadata": { "managedFields": managed }, "spec": spec })
}

fn sent(desired: &Value, live: &Value, path: &str) -> Value {
    without(&json!({ "spec": desired }), Some(live), &pointers(&[path]), &manager())
}

#[test]
fn an_object_that_is_not_there_gets_ignored_fields_as_first_values() {
    let desired = json!({ "spec": { "replicas": 2 } });

    assert_eq!(without(&desired, None, &pointers(&["/spec/replicas"]), &manager()), desired);
}

#[test]
fn an_ignored_field_is_left_out_where_another_owns_it_and_is_gits_where_only_we_do() {
    let desired = json!({ "replicas": 2, "paused": false });
    let replicas = || json!({ "f:replicas": {} });
    let ours = ("reeve:fleet/eu", "Apply", json!({ "f:replicas": {}, "f:paused": {} }));

    let scaled = live(
        &json!({ "replicas": 5 }),
        &[("reeve:fleet/eu", "Apply", json!({ "f:paused": {} })), ("keda", "Update", replicas())],
    );
    assert_eq!(sent(&desired, &scaled, "/spec/replicas"), json!({ "spec": { "paused": false } }));
    let shared = live(&json!({ "replicas": 5 }), &[ours.clone(), ("keda", "Apply", replicas())]);
    assert_eq!(sent(&desired, &shared, "/spec/replicas"), json!({ "spec": { "paused": false } }));
    let only_ours = live(&json!({ "replicas": 5 }), &[ours]);
    assert_eq!(sent(&desired, &only_ours, "/spec/replicas"), json!({ "spec": desired }), "Git said 5 before");
    let nobodys = live(&json!({}), &[("reeve:fleet/eu", "Apply", json!({ "f:paused": {} }))]);
    assert_eq!(sent(&desired, &nobodys, "/spec/replicas"), json!({ "spec": { "paused": false } }));
    assert_eq!(sent(&json!({ "paused": true }), &nobodys, "/spec/replicas"), json!({ "spec": { "paused": true } }));
}

#[test]
fn below_an_ignored_map_each_field_has_its_own_owner() {
    let desired = json!({ "labels": { "ours": "1", "theirs": "1", "gone": "1" }, "x": 1 });
    let live = live(
        &json!({ "labels": { "ours": "2", "theirs": "2", "more": "2" } }),
        &[
            ("reeve:fleet/eu", "Apply", json!({ "f:labels": { "f:ours": {} } })),
            ("other", "Update", json!({ "f:labels": { ".": {}, "f:theirs": {}, "f:more": {} } })),
        ],
    );

    assert_eq!(sent(&desired, &live, "/spec/labels"), json!({ "spec": { "labels": { "ours": "1" }, "x": 1 } }));
}

#[test]
fn a_map_that_is_empty_without_the_field_goes_too() {
    let live = live(&json!({ "a": { "b": 2 } }), &[("other", "Update", json!({ "f:a": { "f:b": {} } }))]);

    assert_eq!(sent(&json!({ "a": { "b": 1 }, "c": 1 }), &live, "/spec/a/b"), json!({ "spec": { "c": 1 } }));
}

#[test]
fn git_changes_an_atomic_whole_of_which_a_part_is_anothers() {
    let captured = |app: &str| {
        let selector = json!({ "selector": { "app": app, "reeve.dev/captured": "web" } });
        live(&selector, &[("reeve-resolver", "Update", json!({ "f:selector": {} }))])
    };
    let wanted = |app: &str| json!({ "selector": { "app": app } });
    let part = "/spec/selector/reeve.dev~1captured";
    assert_eq!(sent(&wanted("web"), &captured("web"), part), json!({}), "nothing of it is to be changed");
    let both = json!({ "spec": { "selector": { "app": "shop", "reeve.dev/captured": "web" } } });
    assert_eq!(sent(&wanted("shop"), &captured("web"), part), both, "Git's change counts, and the capture stays");
    let released = live(&wanted("web"), &[("reeve-resolver", "Update", json!({ "f:selector": {} }))]);
    assert_eq!(sent(&wanted("shop"), &released, part), json!({ "spec": { "selector": { "app": "shop" } } }));
    assert_eq!(sent(&wanted("web"), &released, part), json!({}));
}

#[test]
fn an_atomic_whole_is_left_out_whole() {
    let captured =
        live(&json!({ "selector": { "never": "matches" } }), &[("resolver", "Apply", json!({ "f:selector": {} }))]);
    let desired = json!({ "selector": { "app": "web" }, "type": "ClusterIP" });
    assert_eq!(sent(&desired, &captured, "/spec/selector"), json!({ "spec": { "type": "ClusterIP" } }));
    assert_eq!(sent(&desired, &captured, "/spec/selector/app"), json!({ "spec": { "type": "ClusterIP" } }));

    let ours = live(&json!({ "args": ["a", "z"] }), &[("reeve:fleet/eu", "Apply", json!({ "f:args": {} }))]);
    assert_eq!(sent(&json!({ "args": ["a", "b"] }), &ours, "/spec/args/1"), json!({ "spec": { "args": ["a", "b"] } }));
}

#[test]
fn an_item_of_a_list_is_found_in_the_live_one_by_its_keys() {
    let desired = json!({ "containers": [{ "name": "web", "image": "web:1" }, { "name": "log", "image": "log:1" }] });
    let spec = json!({ "containers": [{ "name": "log", "image": "log:9" }, { "name": "web", "image": "web:9" }] });
    let container = |image: bool| {
        if image { json!({ ".": {}, "f:name": {}, "f:image": {} }) } else { json!({ ".": {}, "f:name": {} }) }
    };
    let ours = |web: bool| json!({ "f:containers": { "k:{\"name\":\"web\"}": container(web), "k:{\"name\":\"log\"}": container(true) } });
    let theirs = json!({ "f:containers": { "k:{\"name\":\"web\"}": { "f:image": {} } } });

    let taken = live(&spec, &[("reeve:fleet/eu", "Apply", ours(false)), ("other", "Update", theirs)]);
    assert_eq!(
        sent(&desired, &taken, "/spec/containers/0/image"),
        json!({ "spec": { "containers": [{ "name": "web" }, { "name": "log", "image": "log:1" }] } })
    );
    let kept = live(&spec, &[("reeve:fleet/eu", "Apply", ours(true))]);
    assert_eq!(sent(&desired, &kept, "/spec/containers/0/image"), json!({ "spec": desired }));
    assert_eq!(sent(&desired, &kept, "/spec/containers/0/name"), json!({ "spec": desired }), "the key stays");
    assert_eq!(sent(&desired, &kept, "/spec/containers/0"), json!({ "spec": desired }));
}

#[test]
fn several_items_of_a_list_are_left_out_by_the_places_that_git_has() {
    let desired = json!({ "finalizers": ["a", "b", "c", "d"] });
    let live = live(
        &json!({ "finalizers": ["a", "b", "c", "d"] }),
        &[
            (
                "other",
                "Apply",
                json!({
                    "f:finalizers": { "v:\"a\"": {}, "v:\"c\"": {} }
                }),
            ),
            ("reeve:fleet/eu", "Apply", json!({ "f:finalizers": { "v:\"b\"": {}, "v:\"d\"": {} } })),
        ],
    );

    let payload = without(
        &json!({ "spec": desired }),
        Some(&live),
        &pointers(&["/spec/finalizers/0", "/spec/finalizers/2"]),
        &manager(),
    );

    assert_eq!(payload, json!({ "spec": { "finalizers": ["b", "d"] } }));
}

#[test]
fn without_known_owners_nothing_is_given_up() {
    let live = json!({ "metadata": {}, "spec": { "replicas": 5 } });

    assert_eq!(sent(&json!({ "replicas": 2 }), &live, "/spec/replicas"), json!({ "spec": { "replicas": 5 } }));
}

#[test]
fn pointers_are_checked() {
    assert_eq!("/a~1b/c~0d/0".parse::<Pointer>().unwrap().to_string(), "/a~1b/c~0d/0");
    for wrong in ["", "/", "spec/replicas", "/a~2b", "/a~", "/kind", "/metadata", "/metadata/name"] {
        assert!(wrong.parse::<Pointer>().is_err(), "{wrong}");
    }
}

#[test]
fn a_policy_is_for_the_objects_that_it_names() {
    let rule = |group: Option<&str>, kind: Option<&str>, name: Option<&str>| IgnoredFields {
        paths: vec!["/spec/replicas".to_owned()],
        group: group.map(str::to_owned),
        kind: kind.map(str::to_owned),
        namespace: None,
        name: name.map(str::to_owned),
    };
    let object = object_ref(&json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" } }));
    let count = |rule: IgnoredFields| ignored_by(&[rule], &object).unwrap().len();

    assert_eq!(count(rule(None, None, None)), 1);
    assert_eq!(count(rule(Some("apps"), Some("Deployment"), Some("web"))), 1);
    assert_eq!(count(rule(Some(""), None, None)), 0);
    assert_eq!(count(rule(None, Some("StatefulSet"), None)), 0);
    assert_eq!(count(rule(None, None, Some("other"))), 0);
}

#[test]
fn an_object_says_in_annotations_how_it_is_treated() {
    assert_eq!(options(&annotated(&json!({}))), Ok(Options::default()));
    assert_eq!(options(&json!({ "kind": "X" })), Ok(Options::default()));
    let all = annotated(&json!({
        "reeve.dev/apply": "IfMissing", "reeve.dev/prune": "Never", "reeve.dev/drift": "Report",
        "reeve.dev/ignore": "/spec/replicas, /metadata/labels/a~1b",
    }));
    let read = Options {
        apply: Apply::IfMissing,
        prune: Prune::Never,
        drift: Some(DriftMode::Report),
        ignore: pointers(&["/spec/replicas", "/metadata/labels/a~1b"]),
    };
    assert_eq!(options(&all), Ok(read));
}

#[test]
fn an_unknown_word_is_an_error_that_names_the_words_there_are() {
    let told =
        |annotation: &str, value: Value| options(&annotated(&json!({ annotation: value }))).unwrap_err().to_string();

    assert_eq!(
        told("reeve.dev/apply", json!("never")),
        "annotation reeve.dev/apply says \"never\": write Always, IfMissing or Never"
    );
    assert_eq!(told("reeve.dev/prune", json!("No")), "annotation reeve.dev/prune says \"No\": write Never or Always");
    assert_eq!(
        told("reeve.dev/drift", json!("")),
        "annotation reeve.dev/drift says \"\": write Repair, Report or Ignore"
    );
    assert_eq!(told("reeve.dev/apply", json!(true)), "annotation reeve.dev/apply is not a text: put it in quotes");
    assert_eq!(told("reeve.dev/ignore", json!("spec")), "annotation reeve.dev/ignore is not a list of fields");
}

#[test]
fn an_unknown_annotation_of_ours_is_an_error_that_says_what_was_probably_meant() {
    let told = |annotation: &str| options(&annotated(&json!({ annotation: "Never" }))).unwrap_err().to_string();

    assert_eq!(told("reeve.dev/prunne"), "annotation reeve.dev/prunne is not known: did you mean `reeve.dev/prune`?");
    assert_eq!(
        told("reeve.dev/zone"),
        "annotation reeve.dev/zone is not known: there are reeve.dev/apply, reeve.dev/prune, reeve.dev/drift, \
         reeve.dev/ignore"
    );
    assert!(options(&annotated(&json!({ "example.com/prunne": "x", "reeve.dev/reconcile": "now" }))).is_ok());
}

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
