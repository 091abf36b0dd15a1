//! What a machine is told, and what it answers: events, effects and the tasks between them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use reeve_crds::runtime::{Capabilities, RuntimeStatus};
use reeve_crds::runtime_component::{RuntimeComponentSpec, RuntimeComponentStatus};
use reeve_crds::{Reason, RuntimeSpec};
use reeve_renderer_objects::key::ObjectKey;

use crate::desired::{Desired, DesiredComponent};
use crate::error::ReconcileError;
use crate::health::Expressions;
use crate::inventory::Entry;
use crate::notification::NotificationBody;
use crate::plan::View;
use crate::rollup::RuntimeSummary;
use crate::runtime::capabilities::CapabilityReport;
use crate::runtime::run::{Report, RunSpec};
use crate::runtime::status_writer::Urgency;
use crate::runtime::worker::Message;

/// What the machine may look at: objects as they are, and the inventory.
pub(in crate::runtime) trait Observed: View {
    /// The objects of the inventory, and the component that each belongs to.
    fn entries(&self) -> Vec<(ObjectKey, Arc<str>)>;

    /// How many objects the inventory has.
    fn entry_count(&self) -> usize;

    /// Whether the runtime that has an object lets another have it.
    fn is_offered(&self, key: &ObjectKey) -> bool;

    /// The entries of a component.
    fn entries_of(&self, component: &str) -> Vec<(ObjectKey, Entry)>;
}

/// What happened.
#[derive(Debug)]
pub(in crate::runtime) enum Event {
    /// Git, people or a watch of Reeve's own kinds have something new to say; of objects that went only those that count.
    Message(Box<Message>),
    /// Objects of the runtime changed.
    ObjectsChanged(BTreeSet<ObjectKey>),
    /// Somebody else wrote the statuses of these components, or of the runtime, which has no name here.
    StatusesOverwritten(BTreeSet<Option<Arc<str>>>),
    /// Everything was listed again.
    AllChecked,
    /// A task ended.
    TaskFinished(Box<TaskEnd>),
    /// The cluster said what it offers.
    Capabilities(CapabilityReport),
    /// The time of [`Machine::next_timer`](super::Machine::next_timer) has come.
    Timer,
}

/// What is to be done. The order counts.
#[derive(Debug)]
pub(in crate::runtime) enum Effect {
    /// Begin a task.
    Start { component: Arc<str>, task: Task, number: u64, work: Work },
    /// Give a component's task up.
    Cancel(Arc<str>),
    /// Give all tasks up.
    CancelAll,
    /// Tasks work by this spec from now on.
    SetSpec(Arc<RuntimeSpec>),
    /// What tasks may not take away, and whose changes are heard of.
    SetWanted(Arc<Desired>),
    /// Other runtimes may have these objects, if they want them.
    Offer(BTreeSet<ObjectKey>),
    /// How the health of a component's own kinds is told.
    SetHealthRules(Arc<str>, Arc<[Expressions]>),
    /// Fights over these objects are forgotten.
    ForgetContests(Arc<DesiredComponent>),
    /// Write the status of the Runtime.
    PatchRuntime(Box<RuntimeStatus>, Urgency),
    /// Write a `RuntimeComponent` and its status.
    PatchComponent(Box<(RuntimeComponentSpec, RuntimeComponentStatus)>, Urgency),
    /// Delete a `RuntimeComponent`.
    DeleteComponent(Arc<str>),
    /// A `RuntimeComponent` has this generation, and a spec of this hash.
    ObserveComponent { component: Arc<str>, generation: Option<i64>, spec: String },
    /// A page of the inventory is gone and has to be stored again.
    RestorePage { page: Arc<str>, uid: String },
    /// Store the inventory soon: nothing more will change for a while.
    StoreInventory,
    /// Emit an event about the Runtime, or about a component.
    EmitEvent { component: Option<Arc<str>>, warning: bool, reason: Reason, note: String },
    /// Notify people.
    Notify(NotificationBody),
    /// How the runtime is doing, for its source.
    Summarize(RuntimeSummary),
    /// Count something.
    Count(Count),
    /// Ask the cluster whether it offers this.
    CheckCapabilities(Capabilities),
    /// List everything again.
    CheckAll,
    /// Nothing is left of the runtime: let its Runtime go, or delete it if its file left Git.
    Finalize { delete: bool },
    /// The work cannot go on.
    Fail(ReconcileError),
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::runtime) enum Count {
    /// A failed try of a component.
    Failed(Reason),
    /// Drift, by what was done about it.
    Drifted(&'static str),
    /// How long a new revision took until the runtime was ready.
    RolledOut(Duration),
}

/// What a task of a component is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::runtime) enum Task {
    /// Namespaces and CRDs, which others may need.
    ApplyDefinitions,
    /// Everything else.
    Apply,
    /// What comes last: Jobs, and taking away what left Git.
    Finish,
    /// The component left Git.
    Remove,
}

/// What a task works with.
#[derive(Clone, Debug)]
pub(in crate::runtime) enum Work {
    /// A component that Git wants.
    Run(Box<RunSpec>),
    /// One that it does not want any more, and as whom it was applied.
    Remove { account: Option<String> },
}

/// How a task ended.
#[derive(Debug)]
pub(in crate::runtime) struct TaskEnd {
    pub(in crate::runtime) component: Arc<str>,
    pub(in crate::runtime) task: Task,
    pub(in crate::runtime) number: u64,
    pub(in crate::runtime) report: Report,
    pub(in crate::runtime) result: Result<(), ReconcileError>,
}
