//! An object that someone changed: who, what, and what is done about it.

use std::collections::HashMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use reeve_crds::outcome::DriftedObject;
use reeve_renderer_objects::key::ObjectKey;
use serde_json::Value;

use super::component::ComponentState;
use super::contest::Turn;
use super::machine::Task;
use super::run::{ComponentRun, Done, Report};
use crate::FIELD_MANAGER;
use crate::apply::Applier;
use crate::desired::{DesiredObject, Stage};
use crate::error::ReconcileError;
use crate::fields::{self, DriftedField};
use crate::inventory::object_ref;
use crate::payload;

/// Repairs of which the status still tells.
const REPAIRS_SHOWN: usize = 9;

/// What is new of what others had changed of the objects that a task looked at: all of its stages, if it came to its end.
pub(super) fn of_task(record: &mut ComponentState, task: Task, report: &mut Report, is_done: bool) -> Vec<Drifted> {
    if !matches!(task, Task::ApplyDefinitions | Task::Apply) {
        return Vec::new();
    }
    let desired = record.desired.clone();
    let is_definition = |key: &ObjectKey| {
        let object = desired.as_ref().and_then(|desired| desired.object(key));
        object.is_some_and(|object| object.stage == Stage::Definitions)
    };
    let looked_at = |key: &ObjectKey| is_done && is_definition(key) == (task == Task::ApplyDefinitions);
    merge(&mut record.drift, std::mem::take(&mut report.drifted), looked_at)
}

/// Takes in what others had changed, and gives what of it is new. Repairs are remembered for a while.
fn merge(
    known: &mut HashMap<ObjectKey, Drifted>,
    drifted: Vec<Drifted>,
    looked_at: impl Fn(&ObjectKey) -> bool,
) -> Vec<Drifted> {
    let before = std::mem::take(known);
    let repaired = before.iter().filter(|(_, drifted)| drifted.repaired).take(REPAIRS_SHOWN);
    let stands = before.iter().filter(|(key, drifted)| !drifted.repaired && !looked_at(key));
    *known = repaired.chain(stands).map(|(key, drifted)| (key.clone(), drifted.clone())).collect();
    let mut news = Vec::new();
    for drifted in drifted {
        let (is_known, drifted) = match before.get(&drifted.key) {
            Some(before) => (drifted.is_known(before), drifted.no_younger_than(before)),
            None => (false, drifted),
        };
        if !is_known || drifted.repaired {
            news.push(drifted.clone());
        }
        known.insert(drifted.key.clone(), drifted);
    }
    news
}

/// An object that someone changed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Drifted {
    pub(super) key: ObjectKey,
    /// The fields that we own now, by which a report of the same drift is known again.
    pub(super) owned: Option<Box<str>>,
    pub(super) repaired: bool,
    /// Nobody wrote down when it was changed, as of the scale subresource: the time is the one at which it was seen.
    pub(super) untimed: bool,
    pub(super) shown: DriftedObject,
}

impl Drifted {
    pub(super) fn new(key: &ObjectKey, owned: Option<Box<str>>, fields: &[DriftedField], now: Timestamp) -> Self {
        let culprit = fields.iter().find(|field| field.manager.is_some()).or(fields.first());
        // In seconds, as the API server writes times.
        let seen_at = Timestamp::from_second(now.as_second()).unwrap_or(now);
        let changed_at = culprit.map(|field| field.time.unwrap_or(seen_at));
        Self {
            key: key.clone(),
            owned,
            repaired: false,
            untimed: culprit.is_some_and(|field| field.time.is_none()),
            shown: DriftedObject {
                object: object_ref(key),
                fields: fields.iter().take(10).map(|field| field.path.to_string()).collect(),
                manager: culprit.and_then(|field| field.manager.clone()),
                changed_at: changed_at.map(Time),
                repairs: None,
                contested: None,
            },
        }
    }

    /// Whether this was told already, and stands as it did.
    pub(super) fn is_known(&self, told: &Self) -> bool {
        !told.repaired && told.owned == self.owned
    }

    /// As it was told: another look at the same drift does not make it younger.
    pub(super) fn no_younger_than(mut self, told: &Self) -> Self {
        if self.untimed && told.untimed && self.is_known(told) {
            self.shown.changed_at.clone_from(&told.shown.changed_at);
        }
        self
    }

    /// What happened, in a sentence.
    pub(super) fn sentence(&self) -> String {
        if self.shown.fields.is_empty() {
            let outcome = match (self.repaired, self.shown.contested) {
                (true, Some(true)) => "; made anew, and from now on less often, since it is deleted each time",
                (true, _) => "; made anew",
                (false, _) => "; not made anew for now, since it is deleted each time",
            };
            return format!("{}: deleted by somebody{outcome}", self.key);
        }
        let fields = self.shown.fields.join(", ");
        let who = self.shown.manager.as_deref().unwrap_or("somebody");
        let verb = if self.untimed { ", seen at" } else { " at" };
        let when = self.shown.changed_at.as_ref().map(|time| format!("{verb} {}", time.0)).unwrap_or_default();
        let outcome = match (self.repaired, self.shown.contested) {
            (true, Some(true)) => {
                format!(
                    "; put right again, and from now on less often, since {who} and {FIELD_MANAGER} change it in turns"
                )
            }
            (true, _) => "; put right".to_owned(),
            (false, Some(true)) => format!("; left for now, since {who} and {FIELD_MANAGER} change it in turns"),
            (false, _) => "; left as it is, as the policy says".to_owned(),
        };
        format!("{}: {fields} changed by {who}{when}{outcome}", self.key)
    }
}

impl ComponentRun {
    /// Finds out who changed what, tells, and puts it right if that is wanted.
    pub(super) async fn repair(&self, applier: &Applier, object: &DesiredObject) -> Result<Done, ReconcileError> {
        let kind = applier.kind(object).await?;
        let Some(live) = applier.get(&object.key, &kind).await? else { return self.write(applier, object).await };
        let fields = self.drifted_fields(object, &live);
        let Some(seen) = applier.watch_cache.get(&object.key) else { return self.write(applier, object).await };
        if fields.is_empty() {
            // Ours as it was: the books were behind, or a field that others may change changed hands.
            self.record(object, &seen);
            return Ok(Done::default());
        }
        let wants_repair = self.ctx.drift_mode(object) == reeve_crds::runtime::policy::DriftMode::Repair;
        let drifted = Drifted::new(&object.key, seen.owned.clone(), &fields, self.ctx.now());
        self.put_right(applier, object, drifted, wants_repair).await
    }

    /// Makes an object anew that somebody deleted, and tells. One that is there all the same lost the label by which it is
    /// watched, and gets that back.
    pub(super) async fn make_anew(&self, applier: &Applier, object: &DesiredObject) -> Result<Done, ReconcileError> {
        let key = &object.key;
        let kind = applier.kind(object).await?;
        let known = self.ctx.inventory.read(|inventory| inventory.get(key).and_then(|entry| entry.uid.clone()));
        let there = applier.get(key, &kind).await?;
        let there = there.filter(|there| there["metadata"]["uid"].as_str() == known.as_deref());
        let fields = there.map(|there| self.drifted_fields(object, &there));
        if fields.as_ref().is_some_and(Vec::is_empty) {
            return self.write(applier, object).await;
        }
        let fields = fields.unwrap_or_default();
        let drifted = Drifted::new(key, None, &fields, self.ctx.now());
        self.put_right(applier, object, drifted, true).await
    }

    /// The fields of an object that others changed.
    fn drifted_fields(&self, object: &DesiredObject, live: &Value) -> Vec<DriftedField> {
        let us = self.ctx.owner.manager();
        let wanted = payload::without(&object.value(), Some(live), &object.ignored, &us);
        fields::drifted(&wanted, &fields::managed_fields(live), &us)
    }

    async fn put_right(
        &self,
        applier: &Applier,
        object: &DesiredObject,
        mut drifted: Drifted,
        wants_repair: bool,
    ) -> Result<Done, ReconcileError> {
        let now = self.ctx.now();
        let turn = self.ctx.contests.turn(&object.key, now);
        let (Turn::Now(repairs) | Turn::Later(_, repairs)) = turn;
        drifted.shown.repairs = i32::try_from(repairs).ok().filter(|repairs| *repairs > 0);
        match turn {
            Turn::Now(_) if wants_repair => {
                let mut done = self.write(applier, object).await?;
                drifted.repaired = true;
                drifted.shown.contested = self.ctx.contests.repaired(&object.key, now).then_some(true);
                drifted.shown.repairs = i32::try_from(repairs + 1).ok();
                done.drifted = Some(drifted);
                Ok(done)
            }
            Turn::Now(_) => Ok(Done { drifted: Some(drifted), ..Done::default() }),
            Turn::Later(at, _) => {
                drifted.shown.contested = Some(true);
                Ok(Done { drifted: Some(drifted), again_at: Some(at), ..Done::default() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::{Operation, Path, Step};

    fn replicas(time: Option<&str>) -> DriftedField {
        DriftedField {
            path: Path(vec![Step::Field("spec".to_owned()), Step::Field("replicas".to_owned())]),
            manager: Some("kubectl".to_owned()),
            operation: Some(Operation::Update),
            time: time.map(|time| time.parse().unwrap()),
            removed: false,
        }
    }

    fn seen(time: Option<&str>, now: &str) -> Drifted {
        let key = ObjectKey { group: "apps".into(), kind: "Deployment".into(), namespace: None, name: "web".into() };
        Drifted::new(&key, Some("ours".into()), &[replicas(time)], now.parse().unwrap())
    }

    fn changed_at(drifted: &Drifted) -> String {
        drifted.shown.changed_at.as_ref().unwrap().0.to_string()
    }

    #[test]
    fn a_change_that_nobody_timed_is_told_with_the_time_at_which_it_was_seen() {
        let timed = seen(Some("2026-01-01T00:00:02Z"), "2026-01-01T00:00:09Z").sentence();
        assert!(timed.contains("spec.replicas changed by kubectl at 2026-01-01T00:00:02Z;"), "{timed}");
        let scaled = seen(None, "2026-01-01T00:00:09Z");
        let sentence = scaled.sentence();
        assert!(sentence.contains("spec.replicas changed by kubectl, seen at 2026-01-01T00:00:09Z;"), "{sentence}");
        assert_eq!(changed_at(&scaled), "2026-01-01T00:00:09Z");
    }

    #[test]
    fn another_look_at_the_same_drift_keeps_the_time_at_which_it_was_seen_first() {
        let first = seen(None, "2026-01-01T00:00:09Z");
        let again = || seen(None, "2026-01-01T00:10:00Z");
        assert_eq!(changed_at(&again().no_younger_than(&first)), "2026-01-01T00:00:09Z");
        let other = Drifted { owned: Some("less".into()), ..first.clone() };
        assert_eq!(changed_at(&again().no_younger_than(&other)), "2026-01-01T00:10:00Z", "more was changed since");
        let repaired = Drifted { repaired: true, ..first };
        assert_eq!(changed_at(&again().no_younger_than(&repaired)), "2026-01-01T00:10:00Z", "it was changed once more");
        let timed = seen(Some("2026-01-01T00:05:00Z"), "2026-01-01T00:10:00Z");
        assert_eq!(changed_at(&timed.no_younger_than(&other)), "2026-01-01T00:05:00Z");
    }
}
