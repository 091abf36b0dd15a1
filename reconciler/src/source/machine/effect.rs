//! What a source's machine is told, and what it answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reeve_crds::git_source::GitSourceStatus;
use reeve_crds::{GitSource, Reason, Runtime};
use reeve_reconciler_engine::desired::Revision;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_engine::notification::NotificationBody;
use reeve_reconciler_engine::rollup::RuntimeSummary;
use reeve_reconciler_git::Fetched;

use super::ActiveRevision;
use crate::metrics::SourceFacts;
use crate::source::builder::{Changed, InForce, RenderedRevision};

/// What the machine may look at.
pub(in crate::source) trait Observed {
    /// The Runtime as the cluster has it.
    fn object(&self, name: &str) -> Option<Arc<Runtime>>;

    /// The names of those that come from the source.
    fn runtimes(&self) -> Vec<Arc<str>>;

    /// How each of them is doing.
    fn summaries(&self) -> BTreeMap<Arc<str>, RuntimeSummary>;

    /// How one of them is doing.
    fn summary(&self, name: &str) -> Option<RuntimeSummary>;

    /// Whether all of them know what they were sent.
    fn is_read(&self) -> bool;
}

/// What happened.
#[derive(Debug)]
pub(in crate::source) enum Event {
    /// The work begins.
    Started,
    /// Somebody changed the `GitSource`, or a Runtime of it went.
    Object(Arc<GitSource>),
    /// Somebody pushed.
    Push,
    /// Time passed, or runtimes do otherwise than before.
    Timer,
    /// Git was asked.
    Fetched(Box<Fetch>),
    /// A revision was read, checked and rendered.
    Built(Box<Built>),
    /// Runtimes were written, or could not be.
    Written(Vec<(Arc<str>, Result<(), ReconcileError>)>),
    /// What was under way broke off.
    BrokeOff,
}

/// What is to be done. The order counts. Of those that answer by an event only one is under way at a time.
#[derive(Debug)]
pub(in crate::source) enum Effect {
    /// Listen for pushes as the spec says. Answers by [`Machine::set_webhook`](super::Machine::set_webhook), at once.
    RegisterWebhook,
    /// Ask Git. Answers by [`Event::Fetched`].
    Fetch(FetchOrder),
    /// Read, check and render a revision. Answers by [`Event::Built`].
    Build(BuildOrder),
    /// What is in force must not be taken away by a force-push.
    KeepCommit(ActiveRevision),
    /// Write Runtimes, and tell their workers what Git wants; whether it could not be done the last time. Answers by
    /// [`Event::Written`].
    Write(Vec<(Changed, bool)>),
    /// Tell workers whether other runtimes are yet to be sent what the revision in force says.
    SetPublishing(bool),
    /// Tell workers that the files of their runtimes left Git.
    SendRemoval(Vec<(Arc<str>, bool)>),
    /// Tell workers not to remove their runtimes until they are told again what Git wants.
    HoldRemoval(Vec<Arc<str>>),
    /// Tell workers whether their source is suspended.
    SendSuspend { runtimes: BTreeSet<Arc<str>>, suspended: bool },
    /// Delete Runtimes, since the source goes.
    DeleteRuntimes(Vec<Arc<str>>),
    /// Put our finalizer on the `GitSource`.
    EnsureFinalizer,
    /// Take our finalizer off the `GitSource`: the work is over.
    RemoveFinalizer,
    /// Write the status, if it differs, and count the source so.
    PatchStatus(Box<GitSourceStatus>, SourceFacts),
    /// Emit an event about the `GitSource`.
    EmitEvent { warning: bool, reason: Reason, note: String },
    /// Notify people.
    Notify(NotificationBody),
    /// Count something.
    Count(Count),
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::source) enum Count {
    /// A revision was put in force.
    Accepted,
    /// A revision was refused.
    Rejected,
}

/// What is asked of Git.
#[derive(Debug)]
pub(in crate::source) struct FetchOrder {
    pub(in crate::source) object: Arc<GitSource>,
    /// The commit that was found the last time by the same reference.
    pub(in crate::source) last_seen: Option<String>,
}

/// What Git has, or why that is not known; and whether it is signed as the spec asks.
#[derive(Debug)]
pub(in crate::source) struct Fetch {
    pub(in crate::source) result: Result<(Fetched, Verified), ReconcileError>,
}

/// By whom something is signed, if it has to be.
pub(in crate::source) type Verified = Result<Option<String>, Distrust>;

/// Why a revision cannot be trusted.
#[derive(Debug)]
pub(in crate::source) enum Distrust {
    /// Nobody can be: the keys cannot be had.
    Keys(ReconcileError),
    /// It is not signed, or not as it should be.
    Revision(ReconcileError),
    /// It cannot be told now.
    Passing(ReconcileError),
}

/// A revision that is to be built.
#[derive(Debug)]
pub(in crate::source) struct BuildOrder {
    pub(in crate::source) url: String,
    pub(in crate::source) path: String,
    pub(in crate::source) revision: Revision,
    /// What is in force, whose released charts must not change.
    pub(in crate::source) active: Option<ActiveRevision>,
    pub(in crate::source) in_force: Arc<InForce>,
    /// Only if the mirror says that it was in force before, with this url and path.
    pub(in crate::source) only_if_kept: bool,
}

/// What became of it.
#[derive(Debug)]
pub(in crate::source) struct Built {
    pub(in crate::source) result: Result<RenderedRevision, ReconcileError>,
    /// Whether the mirror says that it was in force before, with this url and path.
    pub(in crate::source) kept: bool,
}
