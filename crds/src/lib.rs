//! Rust types of every Reeve kind, group `reeve.dev`, version `v1alpha1`, and the CRDs made from them.
//!
//! One file per kind holds its spec and status; the pieces that kinds share have a module each. Documentation
//! comments of fields become `kubectl explain`. Nothing here talks to a cluster.

#![expect(
    clippy::doc_markdown,
    rustdoc::bare_urls,
    reason = "documentation of fields is what `kubectl explain` prints, and that is plain text"
)]
#![expect(
    clippy::duplicated_attributes,
    reason = "the lint takes the columns of a kind for one and the same attribute"
)]

pub mod annotation;
pub mod condition;
mod count;
pub mod dapr_workload;
pub mod definitions;
pub mod docs;
mod duration;
pub mod git_source;
pub mod inventory;
mod lenient;
pub mod node_hook;
pub mod node_hook_status;
pub mod outcome;
mod reason;
mod reference;
pub mod runtime;
pub mod runtime_component;
pub mod scaling_rule;
mod schema;
mod selector;
mod state;

pub use condition::Condition;
pub use count::Count;
pub use dapr_workload::{DaprWorkload, DaprWorkloadSpec, DaprWorkloadStatus};
pub use duration::{Duration, DurationError};
pub use git_source::{GitSource, GitSourceSpec, GitSourceStatus};
pub use inventory::{Inventory, InventoryEntry, InventorySpec};
pub use lenient::Lenient;
pub use node_hook::{NodeHook, NodeHookRollout, NodeHookSpec};
pub use node_hook_status::{NodeHookStatus, NodeHookStatusSpec, NodeHookStatusStatus};
pub use reason::{Reason, UnknownReason};
pub use reference::{LocalRef, ObjectRef, SecretRef, WorkloadRef};
pub use runtime::{Runtime, RuntimeSpec, RuntimeStatus};
pub use runtime_component::{RuntimeComponent, RuntimeComponentSpec, RuntimeComponentStatus};
pub use scaling_rule::{ScalingRule, ScalingRuleSpec, ScalingRuleStatus};
pub use selector::{Operator, Requirement, Selector};
pub use state::State;

/// The API group of every kind.
pub const GROUP: &str = "reeve.dev";
/// The version of every kind.
pub const VERSION: &str = "v1alpha1";
