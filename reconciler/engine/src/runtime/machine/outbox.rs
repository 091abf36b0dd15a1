//! What a step has decided so far, and what people hear of it: an event and a line where something happened.

use std::collections::BTreeSet;
use std::sync::Arc;

use reeve_crds::Reason;
use reeve_crds::outcome::Failure;
use reeve_renderer_objects::key::ObjectKey;
use tracing::{info, warn};

use super::{Count, Effect};
use crate::error::ReconcileError;
use crate::notification::NotificationBody;
use crate::runtime::drift::Drifted;

/// How many of the objects that were taken away are named.
const REMOVED_SHOWN: usize = 10;
/// Failures in a row after which people are told.
const REPEATED: u32 = 3;

/// The effects of a step.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    effects: Vec<Effect>,
    /// Components of whose repeated failure people were told.
    failing: BTreeSet<Arc<str>>,
}

impl Outbox {
    /// One more effect.
    pub(super) fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// All of them.
    pub(super) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// An event about the Runtime, or about a component.
    pub(super) fn emit(&mut self, component: Option<&Arc<str>>, warning: bool, reason: Reason, note: &str) {
        let component = component.cloned();
        self.effects.push(Effect::EmitEvent { component, warning, reason, note: note.to_owned() });
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

    /// A component that failed is as it should be.
    pub(super) fn report_recovered(&mut self, name: &Arc<str>) {
        info!(component = %name, "ready again");
        self.emit(Some(name), false, Reason::Recovered, "it is applied and healthy again");
    }

    /// One line and one event per changed failure, not per try.
    pub(super) fn report_error(
        &mut self,
        name: &Arc<str>,
        error: &ReconcileError,
        attempts: u32,
        is_new: bool,
        last_good: &str,
    ) {
        self.effects.push(Effect::Count(Count::Failed(error.reason)));
        if is_new {
            warn!(component = %name, reason = %error.reason, "{}", error.message);
            self.emit(Some(name), true, error.reason, &error.message);
        }
        if attempts == REPEATED {
            self.notify_failure(name, error.reason, &error.message, last_good);
        }
    }

    /// Health did not come in time, or will not come.
    pub(super) fn report_late(&mut self, name: &Arc<str>, failure: &Failure, last_good: &str) {
        let reason = reason_of(failure);
        self.effects.push(Effect::Count(Count::Failed(reason)));
        warn!(component = %name, %reason, "{}", failure.message);
        self.emit(Some(name), true, reason, &failure.message);
        self.notify_failure(name, reason, &failure.message, last_good);
    }

    /// It will not mend itself soon: what, and what was last good.
    fn notify_failure(&mut self, name: &Arc<str>, reason: Reason, message: &str, last_good: &str) {
        let message = format!("{name}: {message} (last good: {last_good})");
        self.failing.insert(name.clone());
        self.emit(None, true, Reason::Failed, &message);
        self.effects.push(Effect::Notify(NotificationBody::Failed { reason, message }));
    }

    /// Somebody changed what a component has.
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

/// The reason of a failure in a status.
pub(super) fn reason_of(failure: &Failure) -> Reason {
    failure.reason.parse().unwrap_or(Reason::Failed)
}

/// The first few of these objects, and how many more there are.
fn some_of(keys: &[ObjectKey]) -> String {
    let named: Vec<String> = keys.iter().take(REMOVED_SHOWN).map(ToString::to_string).collect();
    match keys.len().saturating_sub(REMOVED_SHOWN) {
        0 => named.join(", "),
        rest => format!("{} and {rest} more", named.join(", ")),
    }
}
