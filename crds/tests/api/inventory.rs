//! A `Inventory` with every field, and what breaks its rules.

use reeve_crds::Inventory;
use serde_json::{Value, json};

use super::case::{Case, case};
use super::subject::Subject;

pub(super) fn subject() -> Subject {
    Subject::new::<Inventory>(true, json!({ "runtime": "eu-prod-1" }), spec(), Value::Null, cases())
}

fn spec() -> Value {
    json!({
        "runtime": "eu-prod-1",
        "target": "Runtime",
        "page": 0,
        "digest": "sha256:9b74c9897bac770ffc029102a200c5de",
        "writer": "reeve-7d9f",
        "counts": { "planned": 0, "applied": 1, "deleting": 0 },
        "entries": [{
            "component": "payments",
            "group": "apps",
            "version": "v1",
            "kind": "Deployment",
            "namespace": "shop",
            "name": "web",
            "uid": "0c1f9f5e-8f5c-4c55-9d0c-0b7a3f3f2f11",
            "state": "Applied",
            "ownedFieldsHash": "9b74c9897bac770ffc029102a200c5de",
            "keptContentHash": "5d41402abc4b2a76b9719d911017c592"
        }]
    })
}

fn cases() -> Vec<Case> {
    let entry = |state: &str| json!({ "entries": [{ "component": "payments", "version": "v1", "kind": "Service", "name": "web", "state": state }] });
    vec![
        case(
            "a page belongs to one runtime",
            "spec.runtime",
            "leave spec.runtime as it was: another runtime has an Inventory of its own",
        )
        .refuses_change(json!({ "runtime": "eu-prod-2" }))
        .accepts(json!({ "digest": "sha256:00" })),
        case(
            "a page belongs to one target",
            "spec.target",
            "leave spec.target as it was: objects in the control plane have an Inventory of their own",
        )
        .refuses_change(json!({ "target": "ControlPlane" }))
        .accepts(json!({ "entries": [] })),
        case("a page keeps its number", "spec.page", "leave spec.page as it was: another page is another Inventory")
            .refuses_change(json!({ "page": 1 }))
            .accepts(json!({ "writer": "reeve-8e0a" })),
        case(
            "what was applied has a uid",
            "spec.entries[]",
            "write the uid of the object, or state: Planned as long as it is not known",
        )
        .refuses(entry("Applied"))
        .accepts(entry("Planned")),
    ]
}
