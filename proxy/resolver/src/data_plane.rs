//! The data plane: takes, counts, holds and forwards requests. It never writes but the scale of a target that sleeps.

use reeve_process::Process;

use crate::args::{ClusterArgs, Failure};

mod answer;
mod body;
mod connection;
mod deadline;
mod forward;
mod headers;
mod hold;
mod lane;
mod listener;
mod plane;
mod prefixed;
mod refusal;
mod rule;
mod settings;
mod table;
mod tap;
mod upstream;

#[cfg(test)]
mod tests;

/// Flags of the data plane.
#[derive(Clone, Debug, clap::Args)]
pub struct DataPlaneArgs {
    /// Name of this replica, unique among all: the pod's
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    pub replica: String,
}

/// Runs a replica until it is told to stop.
pub async fn run(_args: DataPlaneArgs, _cluster: ClusterArgs, process: Process) -> Result<(), Failure> {
    process.shutdown.draining().await;
    Ok(())
}
