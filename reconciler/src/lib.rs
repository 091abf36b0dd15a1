//! Keeps clusters to a Git repository: fetches, renders, publishes, and has the engine apply.
//!
//! Owns sources (a repository that is followed and the Runtimes published from it), the controller that starts a worker
//! per Runtime, notifications and metrics. Git is in `reconciler/git`, applying in `reconciler/engine`, rendering in
//! `renderer`; of Dapr it checks resources before they are applied, and of the proxies it knows nothing.

pub mod controller;
pub mod dapr;
pub mod metrics;
pub mod notification;
mod remote;
pub mod source;
