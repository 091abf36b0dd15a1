use reeve_crds::runtime::policy::{DriftMode, IgnoredFields};
use serde_json::json;

use super::*;
use crate::fields::Manager;

mod delegation;

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
