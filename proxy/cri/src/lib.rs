//! Sits between kubelet and the container runtime and shows hooked calls to plugins before they pass.
//!
//! Owns the byte-exact pass-through, the splice of changed fields and the hook chain. The proxy itself has no API client;
//! what it must do reaches it by file, and what it has to say is read from a local socket. `hook_set` and `state` are what it
//! shares with the feed, which has one.

pub mod args;
mod backend;
mod body;
mod breaker;
mod call;
mod chain;
mod docker;
mod field;
pub mod fuzzing;
mod grpc;
mod handover;
pub mod hook;
pub mod hook_set;
mod hooks;
mod install;
mod koordinator;
mod message;
mod plugin;
pub mod protocol;
mod provenance;
mod proxy;
mod recording;
mod reeve;
mod registration;
mod registry;
pub mod selector;
mod server;
pub mod settings;
mod share;
mod socket;
mod splice;
pub mod state;
mod stats;
mod store;
mod subject;
mod systemd;
