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

/// A conflict with each of these managers, by this operation.
fn conflicts(with: &[(&str, &str)]) -> Conflicts {
    let conflict = |(by, operation): &(&str, &str)| {
        let using = if *operation == "Update" { " using v1" } else { "" };
        json!({ "reason": "FieldManagerConflict", "field": ".data.a", "message": format!("conflict with \"{by}\"{using}") })
    };
    let causes: Vec<Value> = with.iter().map(conflict).collect();
    let status = json!({ "code": 409, "reason": "Conflict", "message": "", "details": { "causes": causes } });
    Conflicts::of(&serde_json::from_value(status).unwrap()).unwrap()
}

/// What is done about a conflict with this manager over an object that this manager applied.
fn settled(by: &str, operation: &str, holder: &str, freed: Option<&str>, adoption: Adoption) -> Settlement {
    let there = metadata(&json!({}), &[(holder, "Apply", content())]);
    let freed = freed.map(|runtime| Owner::new("fleet", runtime));
    let owner = Owner::new("fleet", "eu");
    let claimant = Claimant { owner: &owner, freed: freed.as_ref(), release: None, adoption };
    claimant.settle(&conflicts(&[(by, operation)]), &there)
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

/// An object that Helm installed for release `web` of namespace `shop`, in a program of this name.
fn installed(managed: &[(&str, &str, Value)]) -> ObjectMeta {
    let mut installed = metadata(&json!({ "app.kubernetes.io/managed-by": "Helm" }), managed);
    let marks = [("meta.helm.sh/release-name", "web"), ("meta.helm.sh/release-namespace", "shop")];
    installed.annotations = Some(marks.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    installed
}

fn marks() -> Value {
    json!({ "f:metadata": { "f:annotations": { "f:meta.helm.sh/release-name": {} } } })
}

/// What a component does about these conflicts that takes the place of release `web` of this namespace.
fn settled_for(namespace: &str, there: &ObjectMeta, with: &[(&str, &str)], adoption: Adoption) -> Settlement {
    let (owner, release) = (Owner::new("fleet", "eu"), Release::new(namespace.into(), "web".into()));
    let claimant = Claimant { owner: &owner, freed: None, release: Some(&release), adoption };
    claimant.settle(&conflicts(with), there)
}

#[test]
fn what_helm_installed_goes_to_the_component_in_the_place_of_its_release_and_to_no_other() {
    use Adoption::{Always, Unowned};
    let other = Settlement::Released(Release::new("shop".into(), "web".into()));
    // Helm 3 writes by Update, Helm 4 by Apply; Flux has it under another name.
    for (manager, operation) in [("helm", "Update"), ("helm", "Apply"), ("helm-controller", "Apply")] {
        let there = installed(&[(manager, operation, marks())]);
        let conflicts = [(manager, operation)];
        assert_eq!(settled_for("shop", &there, &conflicts, Unowned), Settlement::TakeOver);
        assert_eq!(settled_for("blog", &there, &conflicts, Unowned), other);
        assert_eq!(settled_for("blog", &there, &conflicts, Always), Settlement::TakeOver);
    }
}

#[test]
fn another_tool_that_applies_an_object_of_a_release_keeps_it() {
    use Adoption::{Always, Unowned};
    let there = installed(&[("helm", "Update", marks()), ("flux", "Apply", json!({ "f:data": { "f:a": {} } }))]);
    let both = [("helm", "Update"), ("flux", "Apply")];
    assert_eq!(settled_for("shop", &there, &both, Unowned), Settlement::Refuse);
    assert_eq!(settled_for("shop", &there, &both, Always), Settlement::TakeOver);
    assert_eq!(settled_for("shop", &there, &[("flux", "Apply")], Always), Settlement::Force);
}

#[test]
fn marks_of_a_release_on_an_object_that_is_ours_are_drift() {
    let there = installed(&[("reeve:fleet/eu", "Apply", content()), ("helm", "Update", marks())]);
    assert_eq!(settled_for("blog", &there, &[("helm", "Update")], Adoption::Unowned), Settlement::Force);
}

#[test]
fn an_object_with_half_of_a_releases_marks_is_nobodys_release() {
    let mut there = installed(&[("helm", "Update", marks())]);
    there.annotations.as_mut().unwrap().remove("meta.helm.sh/release-namespace");
    let nobody = Settlement::Released(Release::new("".into(), "web".into()));
    assert_eq!(settled_for("shop", &there, &[("helm", "Update")], Adoption::Unowned), nobody);
}
