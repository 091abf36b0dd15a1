//! Starts servers through a small process of its own, so that they end with whoever wanted them.
//!
//! A test that panics drops its [`Supervisor`]; a test runner that is killed closes the pipe. Both ways the supervising
//! process ends every server and everything those have started, and removes their files. It is `reeve-harness supervise`.

mod client;
mod family;
mod protocol;
mod serve;

pub(crate) use client::while_running;
pub use client::{Process, Supervisor};
pub use protocol::Server;
pub(crate) use serve::serve;
