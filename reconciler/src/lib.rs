//! Keeps a cluster to a Git repository: fetch, plan, apply, wait, prune, repair.
//!
//! Owns Git access, the plan, server-side apply with a field manager per runtime, the inventory and health. Decisions are
//! pure functions in modules of their own; Git and the API server are named edges around them. It never renders (that
//! is `renderer`) and knows nothing of Dapr or of the proxies.

pub mod admission;
pub mod clock;
pub mod cluster;
pub mod controller;
pub mod desired;
mod event;
pub mod fields;
pub mod git;
mod hash;
pub mod health;
pub mod ledger;
pub mod live;
pub mod merge_patch;
pub mod metrics;
pub mod news;
pub mod notification;
pub mod owner;
pub mod payload;
pub mod plan;
pub mod preview;
pub mod refusal;
pub mod runtime;
pub mod source;
pub mod tree;

/// The field manager of Reeve's own kinds. What a runtime applies has a manager of its own: [`fields::Manager`].
pub const FIELD_MANAGER: &str = "reeve";
