//! Works inside a runtime: makes each Dapr sidecar run the configuration that is in its cluster.
//!
//! Owns the watches that the rules of `reeve-agent-dapr` look at, the restarts that they ask for, and the `DaprWorkload` of
//! each workload. Applying is the engine's; the agent never renders and never reads Git.

pub mod args;
mod leader;
pub mod sidecars;
