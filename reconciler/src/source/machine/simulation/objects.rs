//! The objects of the model.

use std::sync::Arc;

use reeve_crds::GitSource;
use reeve_reconciler_engine::desired::{Desired, Revision};
use reeve_reconciler_git::{CommitFacts, Fetched, Moved};
use serde_json::json;

use crate::source::builder::Changed;
use crate::source::object::Manifest;

pub(super) fn source() -> Arc<GitSource> {
    let object = json!({
        "apiVersion": "reeve.dev/v1alpha1", "kind": "GitSource",
        "metadata": { "name": "fleet", "namespace": "fleet", "generation": 1 },
        "spec": { "url": "https://git.example.com/fleet.git", "ref": { "branch": "main" }, "interval": "1m" },
    });
    Arc::new(serde_json::from_value(object).unwrap())
}

pub(super) fn runtime(name: &str, content: usize) -> Changed {
    let object = json!({
        "apiVersion": "reeve.dev/v1alpha1", "kind": "Runtime", "metadata": { "name": name },
        "spec": { "sourceRef": { "name": "fleet" }, "deletionPolicy": "Delete", "file": content.to_string() },
    });
    let desired = Desired { revision: Revision::default(), digest: content.to_string().into(), components: Vec::new() };
    (name.into(), Arc::new(desired), Manifest::new(&object))
}

pub(super) fn fetched(number: usize) -> Fetched {
    Fetched {
        commit: CommitFacts {
            id: number.to_string(),
            author: String::new(),
            subject: String::new(),
            committed_at: None,
        },
        tag: None,
        revision: format!("main@{number}"),
        moved: Moved::Forward,
        received_objects: 0,
        received_bytes: 0,
        rebuilt: false,
    }
}
