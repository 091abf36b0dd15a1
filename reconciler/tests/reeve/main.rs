//! The reconciler against real parts: its command line, Git servers, an API server.

// Tells clippy that the functions behind the tests are test code too.
#![cfg(test)]

mod cli;
mod cli_cluster;
mod engine;
mod fields;
mod git;
mod installed;
mod pages;
