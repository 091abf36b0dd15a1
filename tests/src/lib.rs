//! Starts the real servers that tests and benchmarks talk to.
//!
//! ```no_run
//! # async fn example() {
//! let cluster = reeve_tests::Cluster::shared().await;
//! let namespace = cluster.namespace("example").await;
//! cluster.kubectl(&["create", "configmap", "x", "-n", &namespace]).await;
//! # }
//! ```
//!
//! Owns how each server is found, built, started, waited for and ended. It never fakes one, and nothing but tests and
//! benches depends on it.

pub mod assets;
mod audit;
mod background;
mod cgroup;
mod cluster;
mod control_plane;
mod failure;
mod faults;
mod git;
mod harness_binary;
mod hook_plugin;
mod koord;
mod kubeconfig;
mod node;
mod parts;
mod pki;
mod relay;
mod run_folder;
mod shared_cluster;
mod supervisor;
mod wait;

pub mod command;

pub use audit::{AuditEvent, AuditLog};
pub use cluster::Cluster;
pub use control_plane::ControlPlane;
pub use faults::Forwarder;
pub use git::{BasicAuth, CommitId, GitHttp, GitRepository, GitSsh, SigningKey};
pub use harness_binary::beside;
pub use hook_plugin::{HookPlugin, listening};
pub use koord::start_koord_runtime_proxy;
pub use node::{ContainerRuntime, CriPlace, Docker, Image, Node};
pub use pki::GIT_HOST;
pub use supervisor::{Process, Server, Supervisor};
pub use wait::{PATIENCE, eventually, until, within};
