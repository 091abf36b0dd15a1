//! What a rule asks of KEDA: the object that scales its target, and what KEDA made of it.
//!
//! `plan` decides from the objects there are, `edge` writes, `offer` decides what KEDA is answered when it asks back.

mod edge;
mod objects;
mod offer;
mod plan;

pub(super) use edge::{carry_out, is_installed};
pub(super) use objects::{ScaledJob, ScaledObject, pod_labels};
pub(super) use offer::{offer, wake_replicas};
pub(super) use plan::{KedaState, Plan, Surroundings, plan};
