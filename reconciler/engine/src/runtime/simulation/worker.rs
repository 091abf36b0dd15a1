//! The shell of a machine in the simulation: keeps what effects ask for until the world lets it happen.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use reeve_crds::runtime_component::{RuntimeComponentSpec, RuntimeComponentStatus};
use reeve_crds::{Runtime, RuntimeSpec, RuntimeStatus, State};
use reeve_renderer_objects::key::ObjectKey;

use super::task::ModelTask;
use crate::desired::Desired;
use crate::inventory::{Entry, Inventory, Pending};
use crate::live::{ChangedKeys, Index, Live};
use crate::owner::Owner;
use crate::plan::{Rules, View};
use crate::runtime::Wanted;
use crate::runtime::capabilities::CapabilityReport;
use crate::runtime::component::ComponentState;
use crate::runtime::machine::{Effect, Event, Machine, Observed, Work};
use crate::runtime::worker::Role;

/// What a machine and its tasks look at.
pub(super) struct Sight<'a> {
    pub(super) index: &'a Index,
    pub(super) inventory: &'a Inventory,
    /// Objects that bear the marks of runtimes which do not have them.
    pub(super) freed: BTreeSet<ObjectKey>,
}

impl View for Sight<'_> {
    fn entry(&self, key: &ObjectKey) -> Option<Entry> {
        self.inventory.get(key).cloned()
    }

    fn live(&self, key: &ObjectKey) -> Option<Live> {
        let live = self.index.get(key)?;
        Some(if self.freed.contains(key) { Live { owner: None, ..live } } else { live })
    }
}

impl Observed for Sight<'_> {
    fn entries(&self) -> Vec<(ObjectKey, Arc<str>)> {
        self.inventory.iter().map(|(key, entry)| (key.clone(), entry.component.clone())).collect()
    }

    fn entry_count(&self) -> usize {
        self.inventory.iter().count()
    }

    fn is_offered(&self, key: &ObjectKey) -> bool {
        let owner = self.index.get(key).and_then(|live| live.owner);
        owner.is_some_and(|owner| self.index.is_offered(&owner, key))
    }

    fn entries_of(&self, component: &str) -> Vec<(ObjectKey, Entry)> {
        let of = self.inventory.iter().filter(|(_, entry)| &*entry.component == component);
        of.map(|(key, entry)| (key.clone(), entry.clone())).collect()
    }
}

/// A status on its way to the cluster.
#[derive(Debug)]
pub(super) enum StatusWrite {
    Runtime(Box<RuntimeStatus>),
    Component(Box<(RuntimeComponentSpec, RuntimeComponentStatus)>),
    Gone(Arc<str>),
}

/// One runtime as a process works on it.
pub(super) struct ModelWorker {
    pub(super) owner: Owner,
    pub(super) role: Role,
    pub(super) machine: Machine,
    pub(super) books: Pending,
    /// The last change that is stored.
    pub(super) stored: u64,
    pub(super) wanted: Wanted,
    /// What is worked towards, as the machine said last.
    pub(super) desired: Option<Arc<Desired>>,
    pub(super) spec: Arc<RuntimeSpec>,
    /// Components that are left alone, as their statuses say.
    pub(super) suspended: BTreeSet<Arc<str>>,
    pub(super) changed_keys: ChangedKeys,
    pub(super) tasks: BTreeMap<Arc<str>, ModelTask>,
    pub(super) status_writes: VecDeque<StatusWrite>,
    pub(super) events: VecDeque<Event>,
    /// Whether the last step says that the runtime is ready.
    pub(super) says_ready: bool,
    /// Whether Git or people have said something that it was not told yet.
    pub(super) has_message: bool,
    /// Whether everything is gone, and whether the Runtime goes because its file left Git.
    pub(super) finalize: Option<bool>,
}

impl ModelWorker {
    pub(super) fn new(
        object: &Arc<Runtime>,
        role: Role,
        found: Vec<ComponentState>,
        inventory: Inventory,
        index: &Index,
        now: Timestamp,
    ) -> Self {
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let owner = Owner::new(super::fleet::NAMESPACE, name);
        let wanted = Wanted::default();
        let interest = wanted.clone();
        let changed_keys = index.subscribe(
            owner.clone(),
            Some(Arc::new(move |key: &ObjectKey| interest.get(key).map(|wanted| wanted.want))),
        );
        let suspended = found.iter().filter(|found| found.suspended).map(|found| found.name.clone());
        let suspended = suspended.collect();
        Self {
            machine: Machine::new(object, "simulation".to_owned(), found, inventory.components(), now),
            books: Pending::new(inventory),
            stored: 0,
            wanted,
            desired: None,
            spec: Arc::new(object.spec.clone()),
            suspended,
            changed_keys,
            tasks: BTreeMap::new(),
            status_writes: VecDeque::new(),
            events: VecDeque::new(),
            says_ready: false,
            has_message: true,
            finalize: None,
            owner,
            role,
        }
    }

    pub(super) fn rules(&self) -> Rules {
        Rules { owner: self.owner.clone(), drift: self.spec.drift.mode, prune: self.spec.prune }
    }

    /// Has the machine decide, and takes its effects in. What is wrong with them, if something is.
    pub(super) fn step(&mut self, event: Event, index: &Index, now: Timestamp) -> Result<(), String> {
        let sight = Sight { index, inventory: &self.books.inventory, freed: BTreeSet::new() };
        let effects = self.machine.step(event, &sight, now);
        self.says_ready = false;
        effects.into_iter().try_for_each(|effect| self.accept(effect, index))
    }

    fn accept(&mut self, effect: Effect, index: &Index) -> Result<(), String> {
        match effect {
            Effect::Start { component, task, number, work } => {
                let is_applied = matches!(work, Work::Run(_));
                if is_applied && !matches!(self.role, Role::Reconcile { .. }) {
                    return Err(format!("{component} of {} is applied although its target is elsewhere", self.owner));
                }
                if self.tasks.contains_key(&component) {
                    return Err(format!("{component} of {} has two tasks at once", self.owner));
                }
                self.tasks.insert(component.clone(), ModelTask::new(component, task, number, work));
            }
            Effect::Cancel(component) => drop(self.tasks.remove(&component)),
            Effect::CancelAll => self.tasks.clear(),
            Effect::SetSpec(spec) => self.spec = spec,
            Effect::SetWanted(desired) => {
                let dropped = self.wanted.set(&desired);
                index.no_longer_wanted(&self.owner, &dropped);
                self.desired = Some(desired);
            }
            Effect::Offer(keys) => index.offer(&self.owner, &keys),
            Effect::PatchRuntime(status, _) => {
                self.says_ready = status.state == Some(State::Ready);
                self.status_writes.push_back(StatusWrite::Runtime(status));
            }
            Effect::PatchComponent(written, _) => {
                let component: Arc<str> = written.0.component.as_str().into();
                if written.1.state == Some(State::Suspended) {
                    self.suspended.insert(component);
                } else {
                    self.suspended.remove(&component);
                }
                self.status_writes.push_back(StatusWrite::Component(written));
            }
            Effect::DeleteComponent(component) => self.status_writes.push_back(StatusWrite::Gone(component)),
            Effect::RestorePage { page, uid } => {
                if self.books.inventory.lost(&page, &uid) {
                    self.books.changes += 1;
                }
            }
            Effect::CheckCapabilities(_) => {
                let report = CapabilityReport { version: "1.35".to_owned(), ..CapabilityReport::default() };
                self.events.retain(|event| !matches!(event, Event::Capabilities(_)));
                self.events.push_back(Event::Capabilities(report));
            }
            Effect::CheckAll => self.events.push_back(Event::AllChecked),
            Effect::Finalize { delete } => self.finalize = Some(delete),
            Effect::Fail(error) => return Err(format!("{} cannot go on: {}", self.owner, error.message)),
            Effect::SetHealthRules(..)
            | Effect::ForgetContests(_)
            | Effect::ObserveComponent { .. }
            | Effect::StoreInventory
            | Effect::EmitEvent { .. }
            | Effect::Notify(_)
            | Effect::Summarize(_)
            | Effect::Count(_) => {}
        }
        Ok(())
    }

    /// How many components are worked towards.
    pub(super) fn desired_components(&self) -> usize {
        self.desired.as_ref().map_or(0, |desired| desired.components.len())
    }
}
