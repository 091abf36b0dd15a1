//! Conditions that keep the time of their last change.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use reeve_crds::{Condition, Reason};

/// What all conditions of one status have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditions<'a> {
    /// Those of the status before.
    pub(crate) old: &'a [Condition],
    pub(crate) generation: Option<i64>,
    pub(crate) now: Timestamp,
}

impl Conditions<'_> {
    pub(crate) fn condition(&self, kind: &str, holds: bool, reason: Reason, message: &str) -> Condition {
        let status = if holds { "True" } else { "False" };
        let before = self.old.iter().find(|condition| condition.type_ == kind && condition.status == status);
        Condition {
            type_: kind.to_owned(),
            status: status.to_owned(),
            observed_generation: self.generation,
            last_transition_time: before.map_or(Time(self.now), |before| before.last_transition_time.clone()),
            reason: reason.as_str().to_owned(),
            message: cut(message),
        }
    }
}

/// As much of a text as the schemas allow.
pub(crate) fn cut(text: &str) -> String {
    const MESSAGE: usize = 1024;
    text.chars().take(MESSAGE).collect()
}
