//! What every Reeve binary does alike: logs, metrics, an admin server, the way out, and a leader lease.
//!
//! Without the feature `cluster` there is no API client in it: no gate, no lease. Without the feature `args`, for
//! libraries, the flags are plain fields.
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use clap::Parser;
//! use reeve_process::{Process, ProcessArgs};
//!
//! #[derive(Parser)]
//! #[command(version = reeve_process::version::LONG)]
//! struct Args {
//!     #[command(flatten)]
//!     process: ProcessArgs,
//! }
//!
//! fn main() -> ExitCode {
//!     let args = Args::parse();
//!     reeve_process::run(&args.process, "reeve-example", work)
//! }
//!
//! async fn work(process: Process) -> Result<(), std::io::Error> {
//!     let ready = process.health.check("work");
//!     ready.pass();
//!     process.shutdown.draining().await;
//!     Ok(())
//! }
//! ```

mod admin;
pub mod args;
#[cfg(feature = "cluster")]
pub mod boot_clock;
mod error;
#[cfg(feature = "cluster")]
pub mod gate;
pub mod health;
pub mod heap;
#[cfg(feature = "cluster")]
pub mod lease;
pub mod logs;
pub mod metrics;
mod process;
pub mod secret;
pub mod server;
pub mod shutdown;
pub mod version;

pub use args::ProcessArgs;
pub use error::error_chain;
#[cfg(feature = "cluster")]
pub use gate::{Gate, NotLeader, Term};
#[cfg(feature = "cluster")]
pub use lease::LeaseConfig;
pub use process::{Process, run};
