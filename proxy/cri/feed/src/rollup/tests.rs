use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, Time};
use serde_json::json;

use super::*;
use crate::selection::tests::{batch, hook};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).unwrap()
}

/// What a node says of the hook `a` at a generation.
fn status(node: &str, generation: i64, returned: Option<&str>, heard: i64) -> NodeHookStatus {
    let mut live = json!({ "name": "a", "generation": generation, "revision": "sha256:1" });
    if let Some(returned) = returned {
        live["returned"] = json!(returned);
    }
    serde_json::from_value(json!({
        "apiVersion": "reeve.dev/v1alpha1", "kind": "NodeHookStatus",
        "metadata": { "name": node }, "spec": { "node": node },
        "status": {
            "state": "Ready", "observedAt": at(heard).to_string(), "hooks": [live],
            "conditions": [{ "type": "Live", "status": "True", "reason": "Succeeded", "message": "",
                "lastTransitionTime": at(0).to_string() }],
        },
    }))
    .unwrap()
}

fn summed(hook: &NodeHook, statuses: &[NodeHookStatus], now: i64) -> NodeHookRollout {
    let labels = batch();
    let members: Vec<Member> = statuses
        .iter()
        .map(|status| Member { name: status.name_any(), labels: &labels, status: Some(status) })
        .collect();
    roll_up(hook, &members, None, at(now))
}

#[test]
fn a_hook_is_ready_when_its_generation_is_live_on_all_nodes_that_it_selects() {
    let hook = hook("a", 1, 1, 100);
    let rollout = summed(&hook, &[status("n1", 1, None, 0), status("n2", 1, None, 0)], 10);
    assert_eq!((rollout.state, rollout.nodes.unwrap().summary.as_str()), (Some(State::Ready), "2/2"));
    let rollout = summed(&hook, &[status("n1", 1, None, 0), status("n2", 0, None, 0)], 10);
    assert_eq!((rollout.state, rollout.nodes.unwrap().summary.as_str()), (Some(State::Processing), "1/2"));
    assert_eq!(rollout.not_ready[0].node, "n2");
    let rollout = summed(&hook, &[status("n1", 1, None, 0), status("n2", 1, Some("too slow"), 0)], 10);
    assert_eq!(rollout.state, Some(State::Warning));
    assert!(rollout.not_ready[0].message.ends_with("too slow"));
    let nowhere = roll_up(&hook, &[], None, at(0));
    assert_eq!(nowhere.state, Some(State::Warning), "no node is no success");
}

#[test]
fn a_node_that_fell_silent_is_not_ready() {
    let hook = hook("a", 1, 1, 100);
    let statuses = [status("n1", 1, None, 0)];
    assert_eq!(summed(&hook, &statuses, 899).state, Some(State::Ready));
    assert_eq!(summed(&hook, &statuses, 900).state, Some(State::Warning));
}

#[test]
fn a_suspended_hook_says_so_and_is_nowhere() {
    let mut hook = hook("a", 1, 1, 100);
    hook.spec.suspend = true;
    let rollout = summed(&hook, &[status("n1", 1, None, 0)], 0);
    assert_eq!((rollout.state, rollout.nodes.unwrap().total), (Some(State::Suspended), 0));
}

#[test]
fn the_git_revision_is_the_one_that_was_applied_once_the_content_was_written() {
    let component = |since: i64, revision: &str| -> RuntimeComponent {
        serde_json::from_value(json!({
            "apiVersion": "reeve.dev/v1alpha1", "kind": "RuntimeComponent", "metadata": { "name": "r.c" },
            "spec": { "runtime": "r", "component": "c", "chart": "c", "version": "1" },
            "status": { "applied": { "revision": revision, "digest": "d", "since": at(since).to_string() } },
        }))
        .unwrap()
    };
    let mut hook = hook("a", 1, 1, 100);
    let written = ManagedFieldsEntry { time: Some(Time(at(100))), ..ManagedFieldsEntry::default() };
    let status_write = ManagedFieldsEntry {
        time: Some(Time(at(500))),
        subresource: Some("status".to_owned()),
        ..ManagedFieldsEntry::default()
    };
    hook.metadata.managed_fields = Some(vec![written, status_write]);
    assert_eq!(revision(&hook, None), None);
    assert_eq!(revision(&hook, Some(&component(99, "main@old"))), None, "that was before");
    assert_eq!(revision(&hook, Some(&component(100, "main@new"))).as_deref(), Some("main@new"));
    let known = NodeHookRollout {
        observed_generation: Some(1),
        revision: Some("main@new".to_owned()),
        ..NodeHookRollout::default()
    };
    hook.status = Some(known);
    let later = component(900, "main@later");
    assert_eq!(revision(&hook, Some(&later)).as_deref(), Some("main@new"), "a commit that leaves it as it is");
    hook.metadata.generation = Some(2);
    assert_eq!(revision(&hook, Some(&later)).as_deref(), Some("main@later"));
}
