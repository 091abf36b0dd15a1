//! Holds requests for services that are scaled to zero, wakes their targets, and leaves the path again.
//!
//! Owns the data plane, the traffic switch and the KEDA external scaler. It reads `ScalingRule`s and never Git.
//! The data plane and the switch know each other by [`report`] and by the status of `ScalingRule`s alone.

pub mod args;
pub mod data_plane;
mod protocol;
pub mod report;
mod scaler;
pub mod switch;
mod wake_size;
