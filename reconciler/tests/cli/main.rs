//! The binary `reeve`, run as a person or a CI job runs it.

// Tells clippy that the functions behind the tests are test code too.
#![cfg(test)]

mod commands;
mod diff;
mod explain;
mod git;
mod new;
mod render;
mod repository;
mod validate;
