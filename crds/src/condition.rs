//! Conditions: the Kubernetes type, a bounded schema for it, and the names that Reeve writes into it.
//!
//! A condition's `reason` is for programmes and comes from `reason`; its `message` is for people.

pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::{Schema, SchemaGenerator, json_schema};

use crate::schema::MESSAGE;

/// Types of conditions.
pub mod types {
    /// The object is as its spec says and healthy; on every kind with conditions.
    pub const READY: &str = "Ready";
    /// Work is under way; `False` when there is nothing to do.
    pub const RECONCILING: &str = "Reconciling";
    /// Nothing will change until a person acts.
    pub const STALLED: &str = "Stalled";
    /// `GitSource`: the repository was reached and the ref resolved.
    pub const FETCHED: &str = "Fetched";
    /// `GitSource`: the commit's signature satisfies `spec.verify`.
    pub const VERIFIED: &str = "Verified";
    /// `GitSource`: the whole repository is valid; the commit may be applied.
    pub const VALIDATED: &str = "Validated";
    /// `GitSource`: the Runtimes are what the revision in force says.
    pub const PUBLISHED: &str = "Published";
    /// `Runtime`, `RuntimeComponent`: the desired digest was applied.
    pub const APPLIED: &str = "Applied";
    /// `Runtime`, `RuntimeComponent`: all applied objects are healthy.
    pub const HEALTHY: &str = "Healthy";
    /// `Runtime`, `RuntimeComponent`: a field that Reeve owns was changed by someone else.
    pub const DRIFTED: &str = "Drifted";
    /// `Runtime`: the cluster can be reached, or its agent was heard.
    pub const REACHABLE: &str = "Reachable";
    /// `Runtime`: the cluster offers what `spec.capabilities` declares.
    pub const CAPABLE: &str = "Capable";
    /// `Runtime`: a wave was halted and this runtime is kept at an earlier digest.
    pub const HELD: &str = "Held";
    /// `ScalingRule`: all Services in front of the target are covered, so it may sleep.
    pub const COVERED: &str = "Covered";
    /// `ScalingRule`: the path of traffic was proven by a probe.
    pub const PROVEN: &str = "Proven";
    /// `ScalingRule`: the KEDA object is ours and KEDA has accepted it.
    pub const KEDA_READY: &str = "KedaReady";
    /// `NodeHook`, `NodeHookStatus`: the hooks are live in the revision that the spec has.
    pub const LIVE: &str = "Live";
    /// `DaprWorkload`: every pod runs what was applied.
    pub const CURRENT: &str = "Current";
    /// `DaprWorkload`: something keeps the workload from being brought up to date.
    pub const BLOCKED: &str = "Blocked";
}

/// The schema of a list of conditions: one of each type, merged by type, every text bounded.
pub(crate) fn list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 16,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "lastTransitionTime", "reason", "message"],
            "properties": {
                "type": { "type": "string", "maxLength": 128, "description": "What the condition is about, such as Ready." },
                "status": {
                    "type": "string",
                    "enum": ["True", "False", "Unknown"],
                    "description": "Whether it holds: True, False or Unknown."
                },
                "observedGeneration": {
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0,
                    "description": "metadata.generation of the spec that this condition speaks of. If it is lower than \
                        the object's, the newest spec has not been looked at yet."
                },
                "lastTransitionTime": {
                    "type": "string",
                    "format": "date-time",
                    "description": "When the status last changed from one value to another."
                },
                "reason": {
                    "type": "string",
                    "maxLength": 128,
                    "description": "Why, in one word for programmes, such as Progressing."
                },
                "message": { "type": "string", "maxLength": MESSAGE, "description": "Why, in a sentence for people." }
            }
        }
    })
}
