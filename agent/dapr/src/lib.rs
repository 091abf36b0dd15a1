//! Which Dapr sidecars a change concerns, and how each of them gets it.
//!
//! Owns the rules R0 to R21, the functional hash of a Dapr resource, the record of what the sidecars of a workload run,
//! the decision what to do next, and the checks of Dapr resources before they are applied. Everything here is a function of plain data:
//! no clock, no randomness, no network, no cluster.

pub mod decide;
pub mod entry;
pub mod expected;
pub mod fingerprint;
pub mod gate;
pub mod kind;
pub mod ledger;
pub mod preflight;
pub mod record;
pub mod resource;
pub mod rule;
pub mod rules;
pub mod version;
pub mod world;

pub use decide::{Decision, Means, Verdict, decide};
pub use fingerprint::{Fingerprint, Hash, functional_hash};
pub use kind::Kind;
pub use record::Record;
pub use resource::Resource;
pub use rule::Rule;
pub use world::World;

#[cfg(test)]
mod kit;
