//! Tells how it is going: statuses where they changed, an event and a line where something happened.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use reeve_crds::outcome::{Failure, Outcome};
use reeve_crds::runtime::Applier;
use reeve_crds::{Lenient, Reason, State};
use reeve_renderer_objects::key::ObjectKey;
use tracing::{info, warn};

use super::{Count, Effect, Machine, Observed};
use crate::clock::{after, since};
use crate::error::ReconcileError;
use crate::notification::NotificationBody;
use crate::rollup::{RuntimeSummary, severity};
use crate::runtime::component::{ComponentState, Phase, job_under_way};
use crate::runtime::drift::Drifted;
use crate::runtime::status::{self, RuntimeFacts, counted, is_of};
use crate::runtime::status_writer::Urgency;

/// How many of the objects that were taken away are named.
const REMOVED_SHOWN: usize = 10;
/// Failures in a row after which people are told.
const REPEATED: u32 = 3;
/// How often the status of a whole runtime is put together while it is under way. It speaks of every component, and with
/// many of them there is always one of which there is something new.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// How soon a status must be seen that follows on one of this state. What is only looked at again, without a change of it,
/// is mostly soon as it was.
fn urgency(before: Option<State>, turned: bool, settled: bool, changes: bool) -> Urgency {
    match (turned, settled) {
        (true, true) => Urgency::Now,
        (true, false) if changes && before.is_none() => Urgency::Begun,
        (true, false) if changes => Urgency::Turned,
        (true | false, _) => Urgency::Soon,
    }
}

impl Machine {
    /// Writes what changed.
    pub(super) fn report(&mut self, view: &dyn Observed) {
        let shown = self.status.state;
        if self.desired.is_none() && shown.is_some() && self.suspended == (shown == Some(State::Suspended)) {
            // Until Git has spoken, what was said last stands.
            return;
        }
        let touched = std::mem::take(&mut self.touched);
        if touched.is_empty() && self.desired.is_some() && self.status.state.is_some() && !self.status_is_stale() {
            return;
        }
        let now = self.now;
        let mut turns = Vec::new();
        for name in touched {
            let Some(record) = self.components.get_mut(&name) else { continue };
            if record.verifying {
                continue;
            }
            let busy = record.desired.clone().filter(|_| record.is_busy());
            record.job = busy.and_then(|desired| job_under_way(&desired, view));
            if matches!(record.phase, Phase::Settling { deadline } if record.is_late(deadline, now)) {
                record.answer_request();
            }
            let spec = match (&record.desired, &record.spec) {
                (Some(desired), _) => status::component_spec(&self.name, desired),
                // On its way out it is what it was.
                (None, Some(before)) => before.clone(),
                (None, None) => continue,
            };
            let status = status::component(record, now);
            if status == record.status && record.spec.as_ref() == Some(&spec) {
                continue;
            }
            let before = record.status.state;
            let turned = status.state != before;
            let settled = !matches!(status.state, Some(State::Processing | State::Deleting));
            let late = status.state == Some(State::Error) && record.error.is_none();
            let failure = status.failure.clone().filter(|failure| late && record.is_new(failure, turned));
            record.status = status.clone();
            record.spec = Some(spec.clone());
            if turned || failure.is_some() {
                turns.push((name, failure, status.state == Some(State::Ready)));
            }
            let good = record.status.last_good.as_ref();
            let changes = record.desired.as_ref().is_none_or(|desired| !good.is_some_and(|good| is_of(good, desired)));
            let urgency = urgency(before, turned, settled, changes);
            self.effects.push(Effect::PatchComponent(Box::new((spec, status)), urgency));
        }
        for (name, failure, well) in turns {
            if well {
                self.report_recovered(&name);
            }
            if let Some(failure) = failure {
                self.report_late(&name, &failure);
            } else if well {
                self.no_longer_fails(&name, &format!("{name} is ready again, and so is everything else"));
            }
        }
        self.report_runtime(view);
    }

    /// Whether it is being taken away. What is suspended is not, unless somebody deleted it.
    fn is_leaving(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some() || self.leaving.is_some() && !self.suspended
    }

    fn status_is_stale(&self) -> bool {
        self.status.observed_generation != self.object.metadata.generation
            || self.handled.is_some() && self.handled != self.status.last_handled_reconcile_at
            || self.report_due.is_some_and(|due| due <= self.now)
    }

    /// Whether the whole is under way, as it says already, and was put together a moment ago.
    fn may_wait(&self, now: Timestamp) -> bool {
        let worst = self.components.iter().map(|record| record.state(now)).max_by_key(|state| severity(*state));
        now < after(self.last_reported, REPORT_EVERY)
            && !self.suspended
            && self.leaving.is_none()
            && [worst, self.status.state] == [Some(State::Processing); 2]
    }

    fn applier(&self) -> Applier {
        Applier {
            kind: Some(Lenient::Known(self.object.spec.target.kind)),
            identity: Some(self.identity.clone()),
            version: Some(reeve_process::version::VERSION.to_owned()),
            kubernetes_version: self.capabilities.as_ref().map(|capabilities| capabilities.version.clone()),
        }
    }

    fn report_runtime(&mut self, view: &dyn Observed) {
        if self.components.iter().any(|record| record.verifying) {
            return;
        }
        let now = self.now;
        if self.may_wait(now) {
            self.report_due = Some(after(self.last_reported, REPORT_EVERY));
            return;
        }
        self.last_reported = now;
        self.report_due = None;
        let busy = self.components.iter().any(ComponentState::is_busy);
        let facts = RuntimeFacts {
            before: &self.status,
            generation: self.object.metadata.generation,
            desired: self.desired.as_deref().filter(|_| self.leaving.is_none()),
            suspended: self.suspended.then_some(if self.source_suspended {
                "its source is suspended or gone"
            } else {
                "spec.suspend is set"
            }),
            deleting: self.is_leaving(),
            objects: view.entry_count(),
            applier: self.applier(),
            capabilities: self.capabilities.as_ref(),
            handled: self.handled.clone().filter(|_| !busy),
        };
        let mut status = status::runtime(&facts, &self.components, now);
        let state = status.state.unwrap_or_default();
        if state == State::Ready {
            // There will be nothing more for a while.
            self.effects.push(Effect::StoreInventory);
            // What is suspended was not applied: the change goes on when it is resumed.
            if !self.components.iter().any(|record| record.phase == Phase::Suspended) {
                self.end_rollout(&mut status);
            }
        }
        let message = status.conditions.iter().find(|condition| condition.type_ == "Ready");
        let mut components = std::collections::BTreeMap::new();
        self.components.iter().for_each(|record| *components.entry(record.state(now)).or_default() += 1);
        let message = message.map(|ready| ready.message.clone()).unwrap_or_default();
        self.effects.push(Effect::Summarize(RuntimeSummary { state, message, components }));
        // That another process looks after it is no news by itself.
        if (reeve_crds::RuntimeStatus { applier: self.status.applier.clone(), ..status.clone() }) == self.status {
            return;
        }
        let before = self.status.state;
        let turned = status.state != before;
        let settled = !matches!(state, State::Processing | State::Deleting);
        self.status = status.clone();
        let urgency = urgency(before, turned, settled, self.rollout.is_some());
        self.effects.push(Effect::PatchRuntime(Box::new(status), urgency));
    }

    /// A change of the whole runtime is done.
    fn end_rollout(&mut self, status: &mut reeve_crds::RuntimeStatus) {
        let Some(rollout) = self.rollout.take() else { return };
        let Some(desired) = self.desired.clone() else { return };
        let now = self.now;
        let took = since(now, rollout.began);
        // Its own components may have brought what was missing.
        self.check_capabilities();
        let millis = std::time::Duration::from_millis(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        let entry = reeve_crds::outcome::HistoryEntry {
            revision: desired.revision.shown.to_string(),
            digest: desired.digest.to_string(),
            version: None,
            outcome: Lenient::Known(Outcome::Succeeded),
            started_at: Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(rollout.began)),
            apply_time: None,
            total_time: Some(Lenient::Known(millis.into())),
            changes: Some(rollout.changes),
            message: None,
        };
        status::remember(&mut status.history, entry);
        let note = format!(
            "{} is applied and healthy: {} changed in {}",
            desired.revision.shown,
            counted(rollout.changes, "object"),
            reeve_crds::Duration::from(millis)
        );
        info!(revision = %desired.revision.shown, changes = rollout.changes, milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX), "applied");
        self.emit(None, false, Reason::Applied, &note);
        self.effects.push(Effect::Count(Count::RolledOut(took)));
        self.effects.push(Effect::Notify(NotificationBody::Applied {
            revision: desired.revision.shown.to_string(),
            message: note,
        }));
    }

    /// One line and one event for all that a task took away.
    pub(super) fn report_removed(&mut self, name: &Arc<str>, removed: &[ObjectKey]) {
        if removed.is_empty() {
            return;
        }
        let named = some_of(removed);
        info!(component = %name, objects = removed.len(), "deleted {named}");
        // The component's own object may be gone before anybody reads it there.
        self.emit(None, false, Reason::Pruned, &format!("{name}: deleted {named}"));
    }

    /// One line and one event for all that left Git and stays although it was to be deleted.
    pub(super) fn report_left(&mut self, name: &Arc<str>, left: &[ObjectKey]) {
        if left.is_empty() {
            return;
        }
        let named = some_of(left);
        warn!(component = %name, objects = left.len(), "{named} left Git and stays: it is not the object that was applied");
        let note = format!(
            "{name}: {named} left Git and stays: somebody made it anew with our labels; delete it by hand if nobody needs it"
        );
        self.emit(None, true, Reason::Left, &note);
    }

    /// People who were told of failures are told when the last of them is over.
    pub(super) fn no_longer_fails(&mut self, name: &Arc<str>, message: &str) {
        if self.failing.remove(name) && self.failing.is_empty() {
            self.effects.push(Effect::Notify(NotificationBody::Recovered { message: message.to_owned() }));
        }
    }

    fn report_recovered(&mut self, name: &Arc<str>) {
        let Some(record) = self.components.get_mut(name) else { return };
        if record.failing_reason.take().is_some() {
            info!(component = %name, "ready again");
            self.emit(Some(name), false, Reason::Recovered, "it is applied and healthy again");
        }
    }

    /// One line and one event per changed failure, not per try.
    pub(super) fn report_error(&mut self, name: &Arc<str>, error: &ReconcileError, attempts: u32, is_new: bool) {
        self.effects.push(Effect::Count(Count::Failed(error.reason)));
        self.mark_failing(name, error.reason);
        if is_new {
            warn!(component = %name, reason = %error.reason, "{}", error.message);
            self.emit(Some(name), true, error.reason, &error.message);
        }
        if attempts == REPEATED {
            self.notify_failure(name, error.reason, &error.message);
        }
    }

    /// Health did not come in time, or will not come.
    fn report_late(&mut self, name: &Arc<str>, failure: &Failure) {
        let reason = failure.reason.parse().unwrap_or(Reason::Failed);
        self.effects.push(Effect::Count(Count::Failed(reason)));
        self.mark_failing(name, reason);
        warn!(component = %name, %reason, "{}", failure.message);
        self.emit(Some(name), true, reason, &failure.message);
        self.notify_failure(name, reason, &failure.message);
    }

    fn mark_failing(&mut self, name: &Arc<str>, reason: Reason) {
        if let Some(record) = self.components.get_mut(name) {
            record.failing_reason = Some(reason);
        }
    }

    /// It will not mend itself soon: what, and what was last good.
    fn notify_failure(&mut self, name: &Arc<str>, reason: Reason, message: &str) {
        let last_good = self.status.last_good.as_ref().map_or("nothing yet", |good| &good.revision);
        let message = format!("{name}: {message} (last good: {last_good})");
        self.failing.insert(name.clone());
        self.emit(None, true, Reason::Failed, &message);
        self.effects.push(Effect::Notify(NotificationBody::Failed { reason, message }));
    }

    pub(super) fn report_drift(&mut self, name: &Arc<str>, drifted: &Drifted) {
        let sentence = drifted.sentence();
        let outcome = match (drifted.repaired, drifted.shown.contested) {
            (_, Some(true)) => "contested",
            (true, _) => "repaired",
            (false, _) => "reported",
        };
        self.effects.push(Effect::Count(Count::Drifted(outcome)));
        info!(component = %name, object = %drifted.key, "drift: {sentence}");
        self.emit(Some(name), true, Reason::Drifted, &sentence);
        self.effects.push(Effect::Notify(NotificationBody::Drifted { message: sentence }));
    }
}

/// The first few of these objects, and how many more there are.
fn some_of(keys: &[ObjectKey]) -> String {
    let named: Vec<String> = keys.iter().take(REMOVED_SHOWN).map(ToString::to_string).collect();
    match keys.len().saturating_sub(REMOVED_SHOWN) {
        0 => named.join(", "),
        rest => format!("{} and {rest} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_change_is_told_of_before_it_is_done() {
        let ready = Some(State::Ready);
        assert_eq!(urgency(ready, true, false, true), Urgency::Turned);
        assert_eq!(urgency(None, true, false, true), Urgency::Begun, "nothing that was said is untrue");
        assert_eq!(urgency(ready, true, false, false), Urgency::Soon, "it is looked at again");
        assert_eq!(urgency(ready, true, true, false), Urgency::Now);
        assert_eq!(urgency(ready, false, false, true), Urgency::Soon);
    }
}
