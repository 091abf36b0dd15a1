//! Sits between kubelet and the container runtime and shows hooked calls to plugins before they pass.
//!
//! Owns the byte-exact pass-through, the splice of changed fields and the hook chain. The proxy itself has no API client;
//! what it must do reaches it by file.

pub mod args;
mod backend;
mod body;
mod breaker;
mod call;
mod chain;
mod field;
mod grpc;
mod handover;
mod hook;
mod hooks;
mod koordinator;
mod message;
mod plugin;
mod proxy;
mod registration;
mod registry;
mod server;
mod socket;
mod splice;
mod store;
mod subject;
mod systemd;
