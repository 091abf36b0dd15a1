//! `reeve run` as people run it, on a real API server: what is in Git is in the cluster, whatever happens in between.

mod adoption;
mod annotations;
mod commits;
mod control_plane;
mod crash;
mod drift;
mod ending;
mod faults;
mod health;
mod isolation;
mod jobs;
mod leaving;
mod metrics;
mod monitoring;
mod notifications;
mod order;
mod page;
mod proxy;
pub(crate) mod reeve;
mod refusals;
mod restart;
mod road;
mod runtimes;
pub(crate) mod scene;
mod signatures;
mod suspend;
mod transports;
