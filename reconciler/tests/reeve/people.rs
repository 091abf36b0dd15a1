//! The commands that talk to a cluster, run against a real API server as a person runs them.

mod connection;
mod estate;
mod get;
