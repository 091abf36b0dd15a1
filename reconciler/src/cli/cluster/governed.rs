//! What Reeve's kinds have in common for whoever looks at them: a word, a state, a reason, columns.

use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::jiff::Timestamp;
use kube::Resource;
use reeve_crds::{Condition, GitSource, Inventory, Runtime, RuntimeComponent, State, condition};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::cell::Cell;

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
    /// How it is doing, if it is a kind that does.
    fn standing(&self) -> Option<State>;
    /// Why, for people.
    fn message(&self) -> Option<&str>;
}

/// A kind with a state, which people suspend and reconcile.
pub(super) trait Governed: Shown {
    /// What its status says, as all kinds say it.
    fn reported(&self) -> Reported<'_>;
    /// Whether people asked Reeve to keep its hands off.
    fn is_suspended(&self) -> bool;
    /// How many of what it has are ready.
    fn ready(&self) -> Option<&str>;
    /// What is in force, as people say it.
    fn revision(&self) -> Option<&str>;
}

/// What a status says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reported<'a> {
    pub(super) state: Option<State>,
    pub(super) observed_generation: Option<i64>,
    pub(super) conditions: &'a [Condition],
    /// The value of the annotation reeve.dev/reconcile that was last acted upon.
    pub(super) handled: Option<&'a str>,
}

impl Reported<'_> {
    fn ready_condition(&self) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.type_ == condition::kind::READY)
    }
}

/// The state, unless it speaks of a spec that is no more: then Ready is not known to be so.
pub(super) fn standing<K: Governed>(object: &K) -> State {
    let reported = object.reported();
    let state = reported.state.unwrap_or(State::Unknown);
    let meta = object.meta();
    if meta.deletion_timestamp.is_some() {
        return State::Deleting;
    }
    let old = matches!((reported.observed_generation, meta.generation), (Some(seen), Some(now)) if seen < now);
    if state == State::Ready && old { State::Processing } else { state }
}

/// The reason of the state, in one word.
pub(super) fn reason<K: Governed>(object: &K) -> Option<String> {
    object.reported().ready_condition().map(|condition| condition.reason.clone()).filter(|reason| !reason.is_empty())
}

fn message<'a>(conditions: &'a [Condition], failure: Option<&'a str>) -> Option<&'a str> {
    let ready = conditions.iter().find(|condition| condition.type_ == condition::kind::READY);
    failure.or_else(|| ready.map(|condition| &*condition.message)).filter(|message| !message.is_empty())
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

    fn standing(&self) -> Option<State> {
        Some(standing(self))
    }

    fn message(&self) -> Option<&str> {
        let status = self.status.as_ref()?;
        message(&status.conditions, status.rejected.as_ref().map(|rejected| &*rejected.message))
    }
}

impl Governed for GitSource {
    fn reported(&self) -> Reported<'_> {
        self.status.as_ref().map_or_else(Reported::default, |status| Reported {
            state: status.state,
            observed_generation: status.observed_generation,
            conditions: &status.conditions,
            handled: status.last_handled_reconcile_at.as_deref(),
        })
    }

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

    fn standing(&self) -> Option<State> {
        Some(standing(self))
    }

    fn message(&self) -> Option<&str> {
        let status = self.status.as_ref()?;
        message(&status.conditions, status.failure.as_ref().map(|failure| &*failure.message))
    }
}

impl Governed for Runtime {
    fn reported(&self) -> Reported<'_> {
        self.status.as_ref().map_or_else(Reported::default, |status| Reported {
            state: status.state,
            observed_generation: status.observed_generation,
            conditions: &status.conditions,
            handled: status.last_handled_reconcile_at.as_deref(),
        })
    }

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

    fn standing(&self) -> Option<State> {
        Some(standing(self))
    }

    fn message(&self) -> Option<&str> {
        let status = self.status.as_ref()?;
        message(&status.conditions, status.failure.as_ref().map(|failure| &*failure.message))
    }
}

impl Governed for RuntimeComponent {
    fn reported(&self) -> Reported<'_> {
        self.status.as_ref().map_or_else(Reported::default, |status| Reported {
            state: status.state,
            observed_generation: status.observed_generation,
            conditions: &status.conditions,
            handled: status.last_handled_reconcile_at.as_deref(),
        })
    }

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

    fn standing(&self) -> Option<State> {
        None
    }

    fn message(&self) -> Option<&str> {
        None
    }
}
