use kube::core::Status;
use kube::core::response::{StatusCause, StatusDetails};
use serde_json::{Value, json};

use super::*;

const OURS: &str = "reeve:fleet/eu";

fn manager() -> Manager {
    Manager::of_runtime("fleet/eu")
}

/// Hash of what our manager applied.
fn owned(managed: &[ManagedFieldsEntry]) -> Option<String> {
    managed.iter().find(|entry| is_applied_by(entry, OURS)).and_then(owned_hash)
}

fn entries(written: Value) -> Vec<ManagedFieldsEntry> {
    serde_json::from_value(written).unwrap()
}

fn entry(manager: &str, operation: &str, second: u8, fields: &Value) -> Value {
    json!({
        "manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
        "time": format!("2026-01-01T00:00:{second:02}Z"), "fieldsV1": fields,
    })
}

/// What the API server kept of `desired`.
fn our_fields() -> Value {
    json!({
        "f:metadata": { "f:labels": { "f:app": {} } },
        "f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:template": { "f:spec": { "f:containers": { "k:{\"name\":\"web\"}": {
                ".": {},
                "f:args": {},
                "f:image": {},
                "f:name": {},
                "f:ports": {
                    "k:{\"containerPort\":53,\"protocol\":\"TCP\"}": { ".": {}, "f:containerPort": {} },
                    "k:{\"containerPort\":53,\"protocol\":\"UDP\"}": { ".": {}, "f:containerPort": {}, "f:protocol": {} },
                },
            } } } },
        },
    })
}

fn desired() -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": "web", "namespace": "shop", "labels": { "app": "web" }, "creationTimestamp": null },
        "spec": {
            "replicas": 2,
            "selector": { "matchLabels": { "app": "web" } },
            "template": { "spec": { "containers": [{
                "name": "web",
                "image": "web:1",
                "args": ["a", "b"],
                "ports": [{ "containerPort": 53, "protocol": "UDP" }, { "containerPort": 53 }],
            }] } },
        },
        "status": { "replicas": 9 },
    })
}

/// Takes away what the pointer names, as the API server does when somebody else writes it.
fn lost(mut fields: Value, parent: &str, step: &str) -> Value {
    fields.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(step).unwrap();
    fields
}

fn told(found: &[DriftedField]) -> Vec<String> {
    let manager = |field: &DriftedField| field.manager.clone().unwrap_or_else(|| "nobody".to_owned());
    let verb = |field: &DriftedField| if field.removed { "removed" } else { "taken" };
    found.iter().map(|field| format!("{} {} by {}", field.path, verb(field), manager(field))).collect()
}

#[test]
fn what_is_as_it_was_applied_has_not_drifted() {
    let managed = entries(json!([
        entry(OURS, "Apply", 1, &our_fields()),
        entry("other", "Update", 2, &json!({ "f:metadata": { "f:annotations": { "f:seen": {} } } })),
    ]));

    assert_eq!(drifted(&desired(), &managed, &manager()), vec![]);
}

#[test]
fn a_field_that_somebody_took_is_named_with_its_new_owner() {
    let managed = entries(json!([
        entry(OURS, "Apply", 1, &lost(our_fields(), "/f:spec", "f:replicas")),
        {
            "manager": "kubectl", "operation": "Update", "subresource": "scale", "apiVersion": "apps/v1",
            "time": "2026-01-01T00:00:02Z", "fieldsV1": { "f:spec": { "f:replicas": {} } },
        },
        entry("bystander", "Update", 3, &json!({ "f:metadata": { "f:annotations": { ".": {}, "f:seen": {} } } })),
    ]));

    let found = drifted(&desired(), &managed, &manager());

    assert_eq!(told(&found), ["spec.replicas taken by kubectl"]);
    assert_eq!(found[0].operation, Some(Operation::Update));
    assert_eq!(found[0].time, Some("2026-01-01T00:00:02Z".parse().unwrap()));
}

#[test]
fn an_atomic_list_and_an_atomic_map_are_taken_whole() {
    let containers = "/f:spec/f:template/f:spec/f:containers/k:{\"name\":\"web\"}";
    let ours = lost(lost(our_fields(), containers, "f:args"), "/f:spec", "f:selector");
    let theirs = json!({ "f:spec": {
        "f:selector": {},
        "f:template": { "f:spec": { "f:containers": { "k:{\"name\":\"web\"}": { "f:args": {} } } } },
    } });
    let managed = entries(json!([entry(OURS, "Apply", 1, &ours), entry("kubectl-edit", "Update", 2, &theirs)]));

    let found = told(&drifted(&desired(), &managed, &manager()));

    assert_eq!(
        found,
        [
            "spec.selector taken by kubectl-edit",
            "spec.template.spec.containers[name=\"web\"].args taken by kubectl-edit",
        ]
    );
}

#[test]
fn a_removed_field_is_blamed_on_the_last_who_wrote_since_we_applied() {
    let ours = lost(our_fields(), "/f:spec", "f:replicas");
    let elsewhere = json!({ "f:metadata": { "f:annotations": { "f:seen": {} } } });
    let status = json!({
        "manager": "controller", "operation": "Update", "subresource": "status", "time": "2026-01-01T00:00:09Z",
        "fieldsV1": { "f:status": { "f:replicas": {} } },
    });
    let with = |others: &[Value]| {
        let mut all = vec![entry(OURS, "Apply", 5, &ours), status.clone()];
        all.extend(others.iter().cloned());
        told(&drifted(&desired(), &entries(Value::Array(all)), &manager()))
    };

    let before = entry("early", "Update", 4, &elsewhere);
    let after = entry("late", "Update", 6, &elsewhere);
    let applier = entry("applier", "Apply", 7, &elsewhere);
    assert_eq!(with(&[before.clone(), after, applier]), ["spec.replicas removed by late"]);
    assert_eq!(with(&[before]), ["spec.replicas removed by nobody"]);
}

#[test]
fn a_removed_item_of_a_list_is_named_by_its_keys() {
    let ports = "/f:spec/f:template/f:spec/f:containers/k:{\"name\":\"web\"}/f:ports";
    let ours = lost(our_fields(), ports, "k:{\"containerPort\":53,\"protocol\":\"UDP\"}");

    let found = told(&drifted(&desired(), &entries(json!([entry(OURS, "Apply", 1, &ours)])), &manager()));

    let path = "spec.template.spec.containers[name=\"web\"].ports[containerPort=53,protocol=\"UDP\"]";
    assert_eq!(found, [format!("{path} removed by nobody")]);
}

#[test]
fn an_item_that_leaves_out_a_defaulted_key_is_matched_with_the_default() {
    let ports = "/f:spec/f:template/f:spec/f:containers/k:{\"name\":\"web\"}/f:ports";
    let mut ours =
        lost(our_fields(), &format!("{ports}/k:{{\"containerPort\":53,\"protocol\":\"TCP\"}}"), "f:containerPort");
    // It comes first in order and would fit as well, were it not for the default.
    ours.pointer_mut(ports).unwrap()["k:{\"containerPort\":53,\"protocol\":\"SCTP\"}"] =
        json!({ ".": {}, "f:containerPort": {}, "f:protocol": {} });

    let found = told(&drifted(&desired(), &entries(json!([entry(OURS, "Apply", 1, &ours)])), &manager()));

    assert_eq!(found.len(), 1);
    assert!(found[0].contains("[containerPort=53,protocol=\"TCP\"].containerPort removed"), "{found:?}");
}

#[test]
fn items_of_a_set_are_matched_by_value() {
    let desired = json!({ "metadata": { "finalizers": ["a/b", "c/d"] } });
    let managed = entries(json!([entry(
        OURS,
        "Apply",
        1,
        &json!({
            "f:metadata": { "f:finalizers": { "v:\"a/b\"": {} } }
        })
    )]));

    assert_eq!(told(&drifted(&desired, &managed, &manager())), ["metadata.finalizers[=\"c/d\"] removed by nobody"]);
}

#[test]
fn without_an_entry_of_ours_each_owner_is_named() {
    let desired = json!({ "data": { "one": "1", "two": "2" } });
    let managed = entries(json!([
        entry("a", "Update", 1, &json!({ "f:data": { ".": {}, "f:one": {} } })),
        entry("b", "Apply", 2, &json!({ "f:data": { "f:two": {} } })),
    ]));

    assert_eq!(told(&drifted(&desired, &managed, &manager())), ["data.one taken by a", "data.two taken by b"]);
}

#[test]
fn the_hash_is_of_our_own_applied_fields_alone() {
    let ours = entry(OURS, "Apply", 1, &our_fields());
    let plain = owned(&entries(json!([ours]))).unwrap();
    let status = json!({
        "manager": OURS, "operation": "Apply", "subresource": "status", "fieldsV1": { "f:status": { "f:x": {} } },
    });
    let crowd = json!([
        status,
        entry(OURS, "Update", 7, &json!({ "f:data": {} })),
        entry("other", "Apply", 8, &json!({ "f:data": {} })),
        entry(OURS, "Apply", 9, &our_fields()),
    ]);

    assert_eq!(owned(&entries(crowd)), Some(plain.clone()));
    let less = entry(OURS, "Apply", 1, &lost(our_fields(), "/f:spec", "f:replicas"));
    assert_ne!(owned(&entries(json!([less]))), Some(plain));
    assert_eq!(owned(&entries(json!([status]))), None);
    assert_eq!(owned(&entries(json!([entry(OURS, "Apply", 1, &json!({}))]))), None);
    assert_eq!(owned(&[]), None);
}

#[test]
fn a_set_is_written_as_it_was_read() {
    let fields = json!({
        "f:a": { ".": {}, "f:b": {} },
        "f:list": { "i:3": {}, "k:{\"a\":1,\"b\":\"x\\\"y\"}": { ".": {} , "f:c": {}}, "v:\"x\"": {}, "v:5": {} },
        "z:new": {},
    });

    let paths = Paths::of(&k8s_openapi::apimachinery::pkg::apis::meta::v1::FieldsV1(fields.clone()));

    assert_eq!(paths.fields().0, fields);
    let printed: Vec<String> = paths.list().iter().map(ToString::to_string).collect();
    let expected = [
        "a",
        "a.b",
        "list[a=1,b=\"x\\\"y\"]",
        "list[a=1,b=\"x\\\"y\"].c",
        "list[=\"x\"]",
        "list[=5]",
        "list[3]",
        "[z:new]",
    ];
    assert_eq!(printed, expected);
}

#[test]
fn sets_are_compared_field_by_field() {
    let read = |fields: Value| Paths::of(&k8s_openapi::apimachinery::pkg::apis::meta::v1::FieldsV1(fields));
    let one = read(json!({ "f:spec": { "f:a": {}, "f:b": {} }, "f:data": { ".": {}, "f:x": {} } }));
    let other = read(json!({ "f:spec": { "f:a": {} }, "f:data": { "f:x": {} } }));

    assert_eq!(one.difference(&other).to_string(), "data, spec.b");
    assert!(other.difference(&one).is_empty());
    assert_eq!(other.clone().union(one.clone()), one);
    assert!(one.contains(&Path::of_fields(["spec", "a"])));
    assert!(one.contains(&Path::of_fields(["spec", "a", "below"])), "what is owned whole is owned below too");
    assert!(!one.contains(&Path::of_fields(["spec"])), "only its fields are");
    assert!(one.touches(&Path::of_fields(["spec"])));
    assert!(!other.contains(&Path::of_fields(["spec", "b"])));
}

#[test]
fn the_fields_of_kubectl_apply_become_ours() {
    let last_applied = json!({ "f:metadata": { "f:annotations": { ".": {}, format!("f:{LAST_APPLIED}"): {} } } });
    let managed = entries(json!([
        entry("kubectl-client-side-apply", "Update", 1, &json!({ "f:data": { ".": {}, "f:one": {} } })),
        entry("kubectl-last-applied", "Apply", 2, &last_applied),
        entry("kubectl-edit", "Update", 3, &json!({ "f:data": { "f:two": {} } })),
        entry(OURS, "Apply", 4, &json!({ "f:data": { "f:three": {} } })),
    ]));

    let taken = takeover(&managed, &manager(), |_| false).unwrap();

    assert!(taken.remove_last_applied);
    let managers: Vec<&str> = taken.managed.iter().filter_map(|entry| entry.manager.as_deref()).collect();
    assert_eq!(managers, [OURS, "kubectl-edit"]);
    let ours = Paths::of(taken.managed[0].fields_v1.as_ref().unwrap()).to_string();
    assert_eq!(ours, format!("data, data.one, data.three, metadata.annotations, metadata.annotations.{LAST_APPLIED}"));
    assert_eq!(takeover(&taken.managed, &manager(), |_| false), None, "the second time there is nothing to do");
}

#[test]
fn a_takeover_of_an_object_that_we_never_applied_makes_our_entry() {
    let theirs = entry("before-first-apply", "Update", 1, &json!({ "f:data": { "f:one": {} } }));

    let taken = takeover(&entries(json!([theirs])), &manager(), |_| false).unwrap();

    assert!(!taken.remove_last_applied);
    assert_eq!(taken.managed, entries(json!([entry(OURS, "Apply", 1, &json!({ "f:data": { "f:one": {} } }))])));
}

#[test]
fn a_takeover_removes_no_annotation_that_is_not_there() {
    let theirs = entry("before-first-apply", "Update", 1, &json!({ "f:metadata": { "f:annotations": {} } }));

    let taken = takeover(&entries(json!([theirs])), &manager(), |_| false).unwrap();

    assert!(!taken.remove_last_applied, "who made the map has none of its keys");
}

#[test]
fn who_has_the_map_of_annotations_alone_is_not_helm() {
    let map = entry("anybody", "Update", 1, &json!({ "f:metadata": { "f:annotations": {} } }));
    assert!(!is_written_by_helm(&entries(json!([map]))[0]));
}

#[test]
fn scaling_with_kubectl_is_not_kubectl_apply() {
    let scaled = json!({
        "manager": "kubectl", "operation": "Apply", "subresource": "scale", "fieldsV1": { "f:spec": { "f:replicas": {} } },
    });
    let edited = entry("kubectl", "Update", 2, &json!({ "f:data": { "f:two": {} } }));

    assert_eq!(takeover(&entries(json!([scaled, edited])), &manager(), |_| false), None);
}

fn refused(messages: &[(&str, &str)]) -> Status {
    let cause = |(field, message): &(&str, &str)| StatusCause {
        reason: "FieldManagerConflict".to_owned(),
        message: (*message).to_owned(),
        field: (*field).to_owned(),
    };
    let details = StatusDetails {
        name: String::new(),
        group: String::new(),
        kind: String::new(),
        uid: String::new(),
        causes: messages.iter().map(cause).collect(),
        retry_after_seconds: 0,
    };
    Status::failure("Apply failed", "Conflict").with_code(409).with_details(details)
}

#[test]
fn a_conflict_tells_an_applier_from_one_who_wrote_once() {
    let status = refused(&[
        (".spec.replicas", "conflict with \"kubectl\" with subresource \"scale\" using apps/v1"),
        (".data.a", "conflict with \"odd \\\" using name\""),
        (".data.b", "conflict with \"x\" using v1 at 2026-01-01T00:00:00Z"),
        (".data.c", "something new"),
    ]);

    let conflicts = Conflicts::of(&status).unwrap();

    let read: Vec<_> = conflicts.iter().map(|one| (one.manager.as_str(), one.operation, one.path.as_str())).collect();
    assert_eq!(
        read,
        [
            ("kubectl", Operation::Update, "spec.replicas"),
            ("odd \" using name", Operation::Apply, "data.a"),
            ("x", Operation::Update, "data.b"),
            ("something new", Operation::Apply, "data.c"),
        ]
    );
    assert!(!conflicts.all_updates());
    assert!(Conflicts::of(&refused(&[(".a", "conflict with \"x\" using v1")])).unwrap().all_updates());
    assert_eq!(Conflicts::of(&Status::failure("changed", "Conflict")), None);
    assert_eq!(conflicts.iter().next().unwrap().to_string(), "spec.replicas is written by kubectl");
}

#[test]
fn what_an_earlier_version_applied_becomes_ours_and_what_another_runtime_has_only_if_it_yields() {
    let fields = |name: &str| json!({ "f:data": { name: {} } });
    let managed = entries(json!([
        entry("reeve", "Apply", 1, &fields("f:one")),
        entry("reeve:fleet/us", "Apply", 2, &fields("f:two")),
    ]));
    let managers =
        |taken: &Takeover| -> Vec<String> { taken.managed.iter().filter_map(|entry| entry.manager.clone()).collect() };
    let kept = takeover(&managed, &manager(), |_| false).unwrap();
    assert_eq!(managers(&kept), [OURS, "reeve:fleet/us"]);
    let yielded = takeover(&managed, &manager(), |name| name == "reeve:fleet/us").unwrap();
    assert_eq!(managers(&yielded), [OURS]);
    assert_eq!(yielded.managed[0].fields_v1.as_ref().unwrap().0, json!({ "f:data": { "f:one": {}, "f:two": {} } }));
}

#[test]
fn what_helm_wrote_is_taken_over_whatever_its_program_is_called() {
    let marks = json!({ "f:metadata": { "f:annotations": { "f:meta.helm.sh/release-name": {} } } });
    let crd = json!({ "f:spec": { "f:group": {} } });
    for (name, operation, fields) in
        [("helm", "Update", &crd), ("helm", "Apply", &marks), ("helm-controller", "Update", &marks)]
    {
        let theirs = entry(name, operation, 1, fields);
        let taken = takeover(&entries(json!([theirs])), &manager(), |_| false).unwrap();
        assert_eq!(taken.managed.len(), 1, "{name}");
        assert!(is_applied_by(&taken.managed[0], OURS), "{name}");
        assert_eq!(
            Paths::of(taken.managed[0].fields_v1.as_ref().unwrap()),
            Paths::of(&entries(json!([theirs]))[0].fields_v1.clone().unwrap())
        );
        assert_eq!(takeover(&taken.managed, &manager(), |_| false), None, "what is ours now is not taken again");
    }
    let another = entry("somebody", "Update", 1, &crd);
    assert_eq!(takeover(&entries(json!([another])), &manager(), |_| false), None);
}
