//! Keeps one runtime to what is desired: plan, apply, wait, prune, repair, report.
//!
//! Owns server-side apply with a field manager per runtime, the inventory, health, drift and the statuses of runtimes and
//! components. Decisions are pure functions in modules of their own; the API server is a named edge around them. It
//! knows neither Git nor templates: what is desired is handed to it as a bundle.

pub mod admission;
pub mod api_error;
pub mod apply;
pub mod backoff;
pub mod clock;
pub mod cluster;
pub mod conditions;
pub mod desired;
pub mod error;
pub mod event;
pub mod fields;
pub mod hash;
pub mod health;
pub mod inventory;
pub mod live;
mod merge_patch;
pub mod metrics;
pub mod notification;
pub mod owner;
pub mod patch;
pub mod payload;
pub mod plan;
pub mod preview;
pub mod rollup;
pub mod runtime;
pub mod target;
pub mod text;

/// The field manager of Reeve's own kinds. What a runtime applies has a manager of its own: [`fields::Manager`].
pub const FIELD_MANAGER: &str = "reeve";
