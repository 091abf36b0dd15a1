//! Keeps clusters to a Git repository: fetches, renders, publishes, and has the engine apply.
//!
//! Owns sources (a repository that is followed and the Runtimes published from it), the controller that starts a worker
//! per Runtime, notifications and metrics. Git is in `reconciler/git`, applying in `reconciler/engine`, rendering in
//! `renderer`; it knows nothing of Dapr or of the proxies.

pub mod controller;
pub mod metrics;
pub mod notification;
pub mod source;
