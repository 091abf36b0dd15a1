//! The binary `reeve`, run as a person or a CI job runs it.

mod chart;
mod commands;
mod diff;
mod explain;
mod git;
mod new;
mod plan;
mod render;
pub(crate) mod repository;
mod validate;
