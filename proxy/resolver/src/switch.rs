//! The switch: leads traffic to the data plane and away from it, and lets targets sleep. Of several, one leads.

use std::net::SocketAddr;

use reeve_process::Process;

use crate::args::{ClusterArgs, Failure};

pub mod machine;

/// Flags of the switch.
#[derive(Clone, Debug, clap::Args)]
pub struct SwitchArgs {
    /// Where replicas of the data plane report
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:9470")]
    pub report_address: SocketAddr,
}

/// Runs a contender until it is told to stop.
pub async fn run(_args: SwitchArgs, _cluster: ClusterArgs, process: Process) -> Result<(), Failure> {
    process.shutdown.draining().await;
    Ok(())
}
