//! Keeps a cluster to a Git repository: fetch, plan, apply, wait, prune, repair.
//!
//! Owns Git access, the plan, server-side apply with the field manager `reeve`, the inventory and health. Decisions are
//! pure functions in modules of their own; Git and the API server are named edges around them. It never renders (that
//! is `renderer`) and knows nothing of Dapr or of the proxies.

pub mod git;
pub mod fields;
mod hash;
pub mod refusal;
pub mod tree;
