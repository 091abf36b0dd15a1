//! Differences for programs.
//!
//! `groups` lists `runtimes` and their `changes`, each with `component`, `object` (group, kind, namespace, name), `change`
//! (`added`, `removed`, `changed`, and of a cluster `refused`), `value` of what was added or removed, `fields` (path,
//! before, after) of what changed, and `reason` and `message` of what would be refused; a side that has no such field is
//! absent. `findings` are those of the later side, `failed` the runtimes that could not be compared,
//! `ended` those of a cluster whose file left Git.

use reeve_renderer::diff::{ChangeKind, FieldChange, ObjectChange};
use serde_json::{Value, json};

use super::{Answer, Side};
use crate::cli::report::json::finding;

pub(super) fn document(answer: &Answer) -> Value {
    let groups = answer.groups.iter().map(|group| {
        json!({
            "runtimes": group.runtimes.iter().map(|name| &**name).collect::<Vec<_>>(),
            "changes": group.changes.iter().map(change).collect::<Vec<_>>(),
        })
    });
    let failed = answer.failed.iter().map(|(runtime, side)| {
        let side = match side {
            Side::Before => "before",
            Side::After => "after",
        };
        json!({ "runtime": &**runtime, "side": side })
    });
    let ended = answer.ended.iter().map(
        |ended| json!({ "runtime": &*ended.runtime, "deletionPolicy": ended.policy, "objectsThatStay": ended.stay }),
    );
    json!({
        "groups": groups.collect::<Vec<_>>(),
        "findings": answer.findings.iter().map(finding).collect::<Vec<_>>(),
        "failed": failed.collect::<Vec<_>>(),
        "ended": ended.collect::<Vec<_>>(),
    })
}

fn change(change: &ObjectChange) -> Value {
    let key = &change.key;
    let mut shown = json!({
        "component": &*change.component,
        "object": {
            "group": &*key.group,
            "kind": &*key.kind,
            "namespace": key.namespace.as_deref(),
            "name": &*key.name,
        },
    });
    match &change.kind {
        ChangeKind::Added(object) => {
            shown["change"] = "added".into();
            shown["value"] = json!(object);
        }
        ChangeKind::Removed(object) => {
            shown["change"] = "removed".into();
            shown["value"] = json!(object);
        }
        ChangeKind::Changed(fields) => {
            shown["change"] = "changed".into();
            shown["fields"] = fields.iter().map(field).collect();
        }
        ChangeKind::Refused { reason, message } => {
            shown["change"] = "refused".into();
            shown["reason"] = (&**reason).into();
            shown["message"] = (&**message).into();
        }
    }
    shown
}

fn field(field: &FieldChange) -> Value {
    let mut shown = json!({ "path": field.path.to_string() });
    if let Some(before) = &field.before {
        shown["before"] = json!(before);
    }
    if let Some(after) = &field.after {
        shown["after"] = json!(after);
    }
    shown
}
