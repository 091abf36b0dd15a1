use reeve_crds::runtime::policy::Adoption;
use serde_json::json;

use super::*;
use crate::fields::Conflicts;

fn metadata(labels: &Value, managed: &[(&str, &str, Value)]) -> ObjectMeta {
    let managed: Vec<Value> = managed
        .iter()
        .map(|(manager, operation, fields)| json!({ "manager": manager, "operation": operation, "fieldsV1": fields }))
        .collect();
    serde_json::from_value(json!({ "labels": labels, "managedFields": managed })).unwrap()
}

fn labels(runtime: &str) -> Value {
    json!({ RUNTIME_LABEL: runtime, NAMESPACE_LABEL: "fleet" })
}

fn content() -> Value {
    json!({ "f:metadata": { "f:annotations": { "f:reeve.dev/content": {} } } })
}

fn owner(of: &ObjectMeta) -> Option<String> {
    hold(of).owner.map(|owner| owner.to_string())
}

#[test]
fn a_changed_label_does_not_make_an_object_another_runtimes() {
    let stolen = metadata(&labels("ghost"), &[("reeve:fleet/eu", "Apply", content())]);
    assert_eq!(owner(&stolen).as_deref(), Some("fleet/eu"));
    assert!(hold(&stolen).applied.is_some());
}

#[test]
fn of_two_runtimes_the_one_that_applied_the_content_has_the_object() {
    let rest = json!({ "f:data": { "f:a": {} } });
    let both = metadata(&labels("eu"), &[("reeve:fleet/eu", "Apply", rest), ("reeve:fleet/us", "Apply", content())]);
    assert_eq!(owner(&both).as_deref(), Some("fleet/us"));
}

#[test]
fn where_nobody_wrote_down_who_applied_an_object_its_labels_count() {
    let restored = metadata(&labels("eu"), &[("velero", "Update", content())]);
    assert_eq!(owner(&restored).as_deref(), Some("fleet/eu"));
    assert!(hold(&restored).applied.is_none());
    let earlier = metadata(&labels("eu"), &[("reeve", "Apply", content())]);
    assert_eq!((owner(&earlier).as_deref(), hold(&earlier).legacy), (Some("fleet/eu"), true));
    assert_eq!(owner(&metadata(&json!({}), &[])), None);
}

#[test]
fn a_hashed_manager_is_known_by_the_labels_and_is_somebody_elses_without_them() {
    let name = "x".repeat(200);
    let manager = Owner::new("fleet", &name).manager();
    let ours = metadata(&labels(&name), &[(manager.as_str(), "Apply", content())]);
    assert_eq!(owner(&ours), Some(format!("fleet/{name}")));
    let stolen = metadata(&labels("ghost"), &[(manager.as_str(), "Apply", content())]);
    assert_eq!(owner(&stolen).as_deref(), Some(manager.as_str()));
}

/// What is done about a conflict with this manager over an object that this manager applied.
fn settled(by: &str, operation: &str, holder: &str, freed: Option<&str>, adoption: Adoption) -> Settlement {
    let using = if operation == "Update" { " using v1" } else { "" };
    let conflict = json!({ "reason": "FieldManagerConflict", "field": ".data.a", "message": format!("conflict with \"{by}\"{using}") });
    let status = json!({ "code": 409, "reason": "Conflict", "message": "", "details": { "causes": [conflict] } });
    let conflicts = Conflicts::of(&serde_json::from_value(status).unwrap()).unwrap();
    let there = metadata(&json!({}), &[(holder, "Apply", content())]);
    let freed = freed.map(|runtime| Owner::new("fleet", runtime));
    settle(&conflicts, &there, &Owner::new("fleet", "eu"), freed.as_ref(), adoption)
}

#[test]
fn what_another_runtime_has_is_never_forced_and_what_it_let_go_of_is_taken_over() {
    use Adoption::{Always, Unowned};
    let claimed = Settlement::Claimed(Owner::new("fleet", "us"));
    for adoption in [Unowned, Always] {
        assert_eq!(settled("reeve:fleet/us", "Apply", "reeve:fleet/us", None, adoption), claimed);
        assert_eq!(settled("kubectl-edit", "Update", "reeve:fleet/us", None, adoption), claimed);
        assert_eq!(settled("reeve:fleet/us", "Apply", "reeve:fleet/us", Some("us"), adoption), Settlement::TakeOver);
        assert_eq!(
            settled("reeve:fleet/us", "Apply", "reeve:fleet/eu", None, adoption),
            Settlement::TakeOver,
            "a leftover"
        );
        assert_eq!(settled("kubectl-edit", "Update", "reeve:fleet/eu", None, adoption), Settlement::Force);
    }
    assert_eq!(settled("flux", "Apply", "flux", None, Unowned), Settlement::Refuse);
    assert_eq!(settled("flux", "Apply", "flux", None, Always), Settlement::Force);
}
