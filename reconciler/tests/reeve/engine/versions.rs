//! A kind changes its versions.

use kube::ResourceExt as _;
use kube::api::DeleteParams;
use reeve_crds::{Runtime, State};

use super::fixture::{Fixture, gadgets};

fn gadget(group: &str, version: &str, spec: &str) -> String {
    format!("apiVersion: {group}/{version}\nkind: Gadget\nmetadata: {{ name: one }}\nspec: {{ {spec} }}\n---\n")
}

#[tokio::test]
async fn an_object_moves_to_the_new_version_in_the_commit_that_drops_the_old_one() {
    let fixture = Fixture::new("versions").await;
    let group = format!("{}.example.com", fixture.namespace);
    fixture.component("web", "1.0.0", &(gadgets(&group, true) + &gadget(&group, "v1alpha1", "stays: a, goes: b")));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let there = fixture.dynamic(&format!("{group}/v1"), "Gadget", Some(&fixture.target));
    let before = there.get("one").await.unwrap();
    let definition = gadgets(&group, false);
    let without =
        definition.lines().filter(|line| !line.contains("name: v1alpha1")).collect::<Vec<_>>().join("\n") + "\n";
    assert_ne!(without, definition);
    fixture.component("web", "1.1.0", &(without + &gadget(&group, "v1", "stays: c")));
    let second = fixture.push();
    fixture.applied(&second).await;
    let after = there.get("one").await.unwrap();
    assert_eq!(after.uid(), before.uid());
    assert_eq!(
        after.data["spec"],
        serde_json::json!({ "stays": "c" }),
        "what was ours in the old version was ours still"
    );
}

#[tokio::test]
async fn what_left_git_while_its_version_went_with_it_does_not_hold_a_resumed_runtime_up() {
    let fixture = Fixture::new("suspend-version").await;
    let group = format!("{}.example.com", fixture.namespace);
    fixture.component("web", "1.0.0", &(gadgets(&group, true) + &gadget(&group, "v1alpha1", "")));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    fixture.suspend::<Runtime>(&fixture.runtime, true).await;
    fixture.runtime_is(State::Suspended).await;
    fixture.component("web", "1.1.0", &gadgets(&group, false));
    let second = fixture.push();
    let definitions = fixture.dynamic("apiextensions.k8s.io/v1", "CustomResourceDefinition", None);
    let definition = format!("gadgets.{group}");
    definitions.delete(&definition, &DeleteParams::default()).await.unwrap();
    fixture.gone(&definitions, &definition).await;
    fixture.suspend::<Runtime>(&fixture.runtime, false).await;
    fixture.applied(&second).await;
}
