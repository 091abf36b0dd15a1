//! `reeve get scaling`: what a scaling rule does, and what came of it.

use reeve_crds::ScalingRule;
use reeve_crds::scaling_rule::RuleMode;
use reeve_crds::scaling_rule::status::{Totals, TrafficMode};

use super::{Reported, Shown, reason};
use crate::cli::cluster::cell::Cell;

impl Shown for ScalingRule {
    const WORD: &'static str = "scaling rule";
    const COLUMNS: &'static [&'static str] =
        &["STATE", "REASON", "MODE", "REPLICAS", "HELD", "IDLE-AFTER", "LAST-REQUEST", "COLD-START", "SLEPT"];
    const WIDE: &'static [&'static str] = &["TARGET", "SLEEPS", "WAKES", "WOKEN-BY"];

    fn cells(&self) -> Vec<Cell> {
        let status = self.status.as_ref();
        let cold_start = status.and_then(|status| status.last_cold_start.as_ref());
        let took = cold_start.and_then(|one| one.total.as_ref()?.known().copied());
        let slept = totals(self).and_then(|totals| totals.asleep.as_ref()?.known().copied());
        vec![
            Cell::State(self.standing()),
            Cell::text(reason(self)),
            Cell::text(mode(self)),
            Cell::number(status.and_then(|status| status.replicas)),
            Cell::number(status.and_then(|status| status.held)),
            Cell::text(Some(self.spec.idle_after.to_string())),
            Cell::Age(status.and_then(|status| status.last_request_time.as_ref()).map(|time| time.0)),
            Cell::text(took.map(|took| took.to_string())),
            Cell::text(slept.map(|slept| slept.to_string())),
        ]
    }

    fn wide(&self) -> Vec<Cell> {
        let status = self.status.as_ref();
        let target = status.and_then(|status| status.target.as_ref());
        let cause = status.and_then(|status| status.last_cold_start.as_ref()?.cause.as_ref());
        vec![
            Cell::text(target.map(|target| format!("{}/{}", target.kind, target.name))),
            Cell::text(totals(self).map(|totals| totals.sleeps.to_string())),
            Cell::text(totals(self).map(|totals| totals.wakes.to_string())),
            Cell::text(cause),
        ]
    }

    fn reported(&self) -> Option<Reported<'_>> {
        Some(self.status.as_ref().map_or_else(Reported::default, |status| Reported {
            state: status.state,
            observed_generation: status.observed_generation,
            conditions: &status.conditions,
            handled: None,
        }))
    }
}

/// What came of a rule, or would have.
fn totals(rule: &ScalingRule) -> Option<&Totals> {
    let status = rule.status.as_ref()?;
    match rule.spec.mode {
        RuleMode::Enforce => status.totals.as_ref(),
        RuleMode::Observe => status.observed.as_ref(),
    }
}

/// Where the traffic goes, or that the rule only looks.
fn mode(rule: &ScalingRule) -> Option<String> {
    if rule.spec.mode == RuleMode::Observe {
        return Some("Observe".to_owned());
    }
    let mode: &TrafficMode = rule.status.as_ref()?.mode.as_ref()?.known()?;
    Some(format!("{mode:?}"))
}
