//! What Reeve's kinds have in common for whoever looks at them: a word, a state, a reason, columns.

use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::jiff::Timestamp;
use kube::Resource;
use reeve_crds::{Condition, GitSource, Inventory, Runtime, RuntimeComponent, State, condition};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::cell::Cell;

mod scaling;

/// A kind that `reeve get` lists.
pub(super) trait Shown:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + DeserializeOwned
    + Serialize
    + Send
    + Sync
    + 'static
{
    /// What people call it.
    const WORD: &'static str;
    /// Columns after the name, without age and message.
    const COLUMNS: &'static [&'static str];
    /// Columns that only `-o wide` shows.
    const WIDE: &'static [&'static str];

    /// What stands in `COLUMNS`.
    fn cells(&self) -> Vec<Cell>;
    /// What stands in `WIDE`.
    fn wide(&self) -> Vec<Cell>;
    /// What its status says, if it is a kind with a state.
    fn reported(&self) -> Option<Reported<'_>>;

    /// How it is doing, unless its state speaks of a spec that is no more: then Ready is not known to be so.
    fn standing(&self) -> Option<State> {
        let reported = self.reported()?;
        if self.meta().deletion_timestamp.is_some() {
            return Some(State::Deleting);
        }
        let state = reported.state.unwrap_or(State::Unknown);
        Some(if self.is_outdated() { State::Processing } else { state })
    }

    /// Whether it is called Ready by someone who did not look at its spec as it is now.
    fn is_outdated(&self) -> bool {
        self.reported().is_some_and(|reported| {
            let seen = (reported.observed_generation, self.meta().generation);
            reported.state == Some(State::Ready) && matches!(seen, (Some(seen), Some(now)) if seen < now)
        })
    }

    /// Why, for people.
    fn message(&self) -> Option<&str> {
        let reported = self.reported()?;
        if self.is_outdated() {
            return Some("it changed, and was not looked at since");
        }
        // Of what the status says, this alone belongs to the reason that is shown beside it.
        reported.ready_condition().map(|condition| &*condition.message).filter(|message| !message.is_empty())
    }
}

/// A kind with a state, which people suspend and reconcile.
pub(super) trait Governed: Shown {
    /// Whether people asked Reeve to keep its hands off.
    fn is_suspended(&self) -> bool;
    /// How many of what it has are ready.
    fn ready(&self) -> Option<&str>;
    /// What is in force, as people say it.
    fn revision(&self) -> Option<&str>;
}

/// What a status says, as all kinds say it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reported<'a> {
    state: Option<State>,
    observed_generation: Option<i64>,
    conditions: &'a [Condition],
    /// The value of the annotation reeve.dev/reconcile that was last acted upon.
    pub(super) handled: Option<&'a str>,
}

impl<'a> Reported<'a> {
    fn ready_condition(&self) -> Option<&'a Condition> {
        self.conditions.iter().find(|condition| condition.type_ == condition::types::READY)
    }

    /// Whether the newest commit could not be put in force: not fetched, not signed as it must be, or not valid.
    pub(super) fn is_held_back(&self) -> bool {
        let steps = [condition::types::FETCHED, condition::types::VERIFIED, condition::types::VALIDATED];
        self.conditions.iter().any(|condition| steps.contains(&&*condition.type_) && condition.status == "False")
    }
}

/// The fields that the statuses of all kinds with a state have.
macro_rules! reported {
    ($object:expr) => {
        Some($object.status.as_ref().map_or_else(Reported::default, |status| Reported {
            state: status.state,
            observed_generation: status.observed_generation,
            conditions: &status.conditions,
            handled: status.last_handled_reconcile_at.as_deref(),
        }))
    };
}

/// How something that has a state is doing.
pub(super) fn standing<K: Governed>(object: &K) -> State {
    object.standing().unwrap_or(State::Unknown)
}

/// The reason of the state, in one word.
pub(super) fn reason<K: Shown>(object: &K) -> Option<String> {
    let ready = object.reported().filter(|_| !object.is_outdated())?.ready_condition();
    ready.map(|condition| condition.reason.clone()).filter(|reason| !reason.is_empty())
}

/// When it was made.
pub(super) fn created<K: Resource>(object: &K) -> Option<Timestamp> {
    object.meta().creation_timestamp.as_ref().map(|time| time.0)
}

fn yes(value: bool) -> Cell {
    Cell::Text(if value { "yes" } else { "no" }.to_owned())
}

impl Shown for GitSource {
    const WORD: &'static str = "source";
    const COLUMNS: &'static [&'static str] = &["STATE", "REASON", "REVISION", "RUNTIMES", "REJECTED"];
    const WIDE: &'static [&'static str] = &["URL", "PATH", "SUSPENDED"];

    fn cells(&self) -> Vec<Cell> {
        let rejected = self.status.as_ref().and_then(|status| status.rejected.as_ref());
        vec![
            Cell::State(self.standing()),
            Cell::text(reason(self)),
            Cell::text(self.revision()),
            Cell::text(self.ready()),
            Cell::text(rejected.map(|rejected| &rejected.revision)),
        ]
    }

    fn wide(&self) -> Vec<Cell> {
        let path = Some(self.spec.path.as_str()).filter(|path| !path.is_empty());
        let url = reeve_process::secret::scrub(&self.spec.url);
        vec![Cell::text(Some(url)), Cell::text(path), yes(self.is_suspended())]
    }

    fn reported(&self) -> Option<Reported<'_>> {
        reported!(self)
    }
}

impl Governed for GitSource {
    fn is_suspended(&self) -> bool {
        self.spec.suspend
    }

    fn ready(&self) -> Option<&str> {
        Some(&*self.status.as_ref()?.runtimes.as_ref()?.summary)
    }

    fn revision(&self) -> Option<&str> {
        self.status.as_ref()?.revision.as_deref()
    }
}

impl Shown for Runtime {
    const WORD: &'static str = "runtime";
    const COLUMNS: &'static [&'static str] = &["STATE", "REASON", "COMPONENTS", "REVISION", "DRIFT", "CHANNEL"];
    const WIDE: &'static [&'static str] = &["DESIRED", "WAVE", "SOURCE", "SUSPENDED"];

    fn cells(&self) -> Vec<Cell> {
        let drift = self.status.as_ref().and_then(|status| status.drift.as_ref());
        vec![
            Cell::State(self.standing()),
            Cell::text(reason(self)),
            Cell::text(self.ready()),
            Cell::text(self.revision()),
            Cell::number(drift.map(|drift| drift.objects)),
            Cell::text(self.spec.channel.as_ref()),
        ]
    }

    fn wide(&self) -> Vec<Cell> {
        let desired = self.status.as_ref().and_then(|status| status.desired.as_ref());
        vec![
            Cell::text(desired.map(|desired| &desired.revision)),
            Cell::text(self.spec.wave.as_ref()),
            Cell::text(self.spec.source_ref.as_ref().map(|source| &source.name)),
            yes(self.is_suspended()),
        ]
    }

    fn reported(&self) -> Option<Reported<'_>> {
        reported!(self)
    }
}

impl Governed for Runtime {
    fn is_suspended(&self) -> bool {
        self.spec.suspend == Some(true)
    }

    fn ready(&self) -> Option<&str> {
        Some(&*self.status.as_ref()?.components_ready.as_ref()?.summary)
    }

    fn revision(&self) -> Option<&str> {
        Some(&*self.status.as_ref()?.applied.as_ref()?.revision)
    }
}

impl Shown for RuntimeComponent {
    const WORD: &'static str = "component";
    const COLUMNS: &'static [&'static str] = &["RUNTIME", "VERSION", "STATE", "REASON", "HEALTHY", "DRIFT"];
    const WIDE: &'static [&'static str] = &["CHART", "WANTED", "REVISION", "SUSPENDED"];

    fn cells(&self) -> Vec<Cell> {
        let status = self.status.as_ref();
        let version = status.and_then(|status| status.applied.as_ref()).and_then(|applied| applied.version.as_ref());
        vec![
            Cell::text(Some(&self.spec.runtime)),
            Cell::text(version),
            Cell::State(self.standing()),
            Cell::text(reason(self)),
            Cell::text(self.ready()),
            Cell::number(status.and_then(|status| status.drift.as_ref()).map(|drift| drift.objects)),
        ]
    }

    fn wide(&self) -> Vec<Cell> {
        vec![
            Cell::text(Some(&self.spec.chart)),
            Cell::text(Some(&self.spec.version)),
            Cell::text(self.revision()),
            yes(self.is_suspended()),
        ]
    }

    fn reported(&self) -> Option<Reported<'_>> {
        reported!(self)
    }
}

impl Governed for RuntimeComponent {
    fn is_suspended(&self) -> bool {
        self.spec.suspend == Some(true)
    }

    fn ready(&self) -> Option<&str> {
        Some(&*self.status.as_ref()?.health.as_ref()?.summary)
    }

    fn revision(&self) -> Option<&str> {
        Some(&*self.status.as_ref()?.applied.as_ref()?.revision)
    }
}

impl Shown for Inventory {
    const WORD: &'static str = "inventory";
    const COLUMNS: &'static [&'static str] = &["RUNTIME", "PAGE", "APPLIED", "PLANNED", "DELETING"];
    const WIDE: &'static [&'static str] = &["TARGET", "DIGEST", "WRITER"];

    fn cells(&self) -> Vec<Cell> {
        let counts = &self.spec.counts;
        let mut cells = vec![Cell::text(Some(&self.spec.runtime))];
        cells.extend(
            [self.spec.page, counts.applied, counts.planned, counts.deleting].map(|number| Cell::number(Some(number))),
        );
        cells
    }

    fn wide(&self) -> Vec<Cell> {
        vec![
            Cell::Text(format!("{:?}", self.spec.target)),
            Cell::text(self.spec.digest.as_ref()),
            Cell::text(self.spec.writer.as_ref()),
        ]
    }

    fn reported(&self) -> Option<Reported<'_>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reason_and_message_are_of_the_same_failure() {
        let source: GitSource = serde_json::from_value(json!({
            "apiVersion": "reeve.dev/v1alpha1", "kind": "GitSource", "metadata": { "name": "fleet" },
            "spec": { "url": "https://git.example.com/fleet.git", "ref": { "branch": "main" } },
            "status": {
                "state": "Error",
                "conditions": [{
                    "type": "Ready", "status": "False", "reason": "Unreachable", "message": "no route to host",
                    "lastTransitionTime": "2026-01-02T03:04:05Z",
                }],
                "rejected": { "revision": "main@4f1c2aa90b3d", "reason": "Invalid", "message": "a.yaml:1: no" },
            },
        }))
        .unwrap();
        assert_eq!((reason(&source).as_deref(), source.message()), (Some("Unreachable"), Some("no route to host")));
    }
}
