//! Holds requests for services that are scaled to zero, wakes their targets, and leaves the path again.
//!
//! Owns the data plane, the traffic switch and the KEDA external scaler. It reads `ScalingRule`s and never Git.
