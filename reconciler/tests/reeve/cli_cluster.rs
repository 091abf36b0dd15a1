//! The commands that talk to a cluster, run against a real API server as a person runs them.

mod aggregated;
mod check;
mod connection;
mod events;
mod fixture;
mod get;
pub(crate) mod install;
mod live;
mod plan;
mod reconcile;
mod rights;
mod scaling;
mod suspend;
mod trace;
mod tree;
mod uninstall;
mod watching;
