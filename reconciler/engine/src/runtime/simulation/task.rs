//! A task in the simulation: goes by the rules of the real one (`RunSpec`, `plan`), one request at a time.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use reeve_crds::Reason;
use reeve_crds::inventory::EntryState;
use reeve_renderer_objects::key::ObjectKey;

use super::cluster::ModelCluster;
use super::worker::{ModelWorker, Sight};
use crate::desired::{DesiredObject, Stage};
use crate::error::ReconcileError;
use crate::inventory::{Change, Entry};
use crate::live::{Index, Live};
use crate::plan::{self, Action, Removal, Step, leave};
use crate::runtime::drift::Drifted;
use crate::runtime::machine::{Task, TaskEnd, Work};
use crate::runtime::removal::{awaits, kept_for};
use crate::runtime::run::{Report, RunSpec};

/// A task under way.
pub(super) struct ModelTask {
    component: Arc<str>,
    task: Task,
    number: u64,
    work: Work,
    report: Report,
    errors: Vec<ReconcileError>,
    todo: VecDeque<Todo>,
}

/// What a task does next.
#[derive(Clone, Debug)]
enum Todo {
    Announce,
    Plan(Stage),
    /// The change has to be stored.
    AwaitStored(u64),
    Step(Step),
    /// The answer to a write has to come.
    AwaitAnswer(ObjectKey),
    PlanRemovals,
    Remove(ObjectKey),
    /// The object of this uid has to be gone.
    AwaitGone(ObjectKey, Box<str>),
    Flush,
}

/// A write that was sent, and what came of it.
pub(super) struct InFlight {
    pub(super) owner: crate::owner::Owner,
    pub(super) component: Arc<str>,
    pub(super) number: u64,
    pub(super) object: DesiredObject,
    /// Whether its Runtime went meanwhile, and left its objects behind.
    pub(super) orphaned: bool,
}

/// What a task may touch.
pub(super) struct Surroundings<'a> {
    pub(super) cluster: &'a mut ModelCluster,
    pub(super) index: &'a Index,
    pub(super) in_flight: &'a mut Vec<InFlight>,
    /// Objects whose marks name runtimes that do not have them.
    pub(super) freed: BTreeSet<ObjectKey>,
    pub(super) now: jiff::Timestamp,
}

impl ModelTask {
    pub(super) fn new(component: Arc<str>, task: Task, number: u64, work: Work) -> Self {
        let todo = match task {
            Task::ApplyDefinitions => vec![Todo::Plan(Stage::Definitions)],
            Task::Apply => {
                let stages = [Stage::Prerequisites, Stage::Main, Stage::Webhooks].map(Todo::Plan);
                [Todo::Announce].into_iter().chain(stages).collect()
            }
            Task::Finish => vec![Todo::PlanRemovals],
            Task::Remove => vec![Todo::PlanRemovals, Todo::Flush],
        };
        Self { component, task, number, work, report: Report::default(), errors: Vec::new(), todo: todo.into() }
    }

    fn spec(&self) -> Option<RunSpec> {
        match &self.work {
            Work::Run(spec) => Some((**spec).clone()),
            Work::Remove { .. } => None,
        }
    }

    /// Whether it is its turn, and not somebody else's.
    pub(super) fn can_go_on(&self, worker: &ModelWorker, cluster: &ModelCluster, in_flight: &[InFlight]) -> bool {
        let is_under_way = |key: &ObjectKey| in_flight.iter().any(|sent| sent.object.key == *key);
        match self.todo.front() {
            Some(Todo::AwaitStored(number)) => worker.stored >= *number,
            Some(Todo::AwaitAnswer(_)) => false,
            Some(Todo::AwaitGone(key, uid)) => cluster.objects.get(key).is_none_or(|live| live.uid != *uid),
            Some(Todo::Remove(key)) => !is_under_way(key),
            _ => true,
        }
    }

    /// Does one thing. How it ended, once there is nothing more to do.
    pub(super) fn advance(
        &mut self,
        worker: &mut ModelWorker,
        around: &mut Surroundings<'_>,
    ) -> Result<Option<TaskEnd>, String> {
        match self.todo.pop_front() {
            None => return Ok(Some(self.end())),
            Some(Todo::Announce) => {
                let Some(spec) = self.spec() else { return Ok(None) };
                let announced = spec.announced(&sight(worker, around), &worker.owner);
                self.await_stored(worker.books.put(announced, []));
            }
            Some(Todo::Plan(stage)) => self.plan(stage, worker, around),
            Some(Todo::Step(step)) => self.step(&step, worker, around),
            Some(Todo::PlanRemovals) => self.plan_removals(worker, around),
            Some(Todo::Remove(key)) => self.remove(&key, worker, around)?,
            Some(Todo::AwaitGone(key, uid)) => {
                around.index.gone(&key, Some(&uid));
                worker.books.record_changes([Change::Drop(key)]);
            }
            Some(Todo::Flush) => {
                let is_dirty = !worker.books.inventory.dirty().is_empty();
                self.await_stored(is_dirty.then_some(worker.books.changes));
            }
            Some(Todo::AwaitStored(_) | Todo::AwaitAnswer(_)) => {}
        }
        Ok(None)
    }

    /// The answer to a write came. What was written is in the books; a failure ends the task after its stage.
    pub(super) fn answer(&mut self, sent: &InFlight, answer: Result<Live, ReconcileError>, worker: &mut ModelWorker) {
        let is_awaited = |todo: &Todo| matches!(todo, Todo::AwaitAnswer(key) if *key == sent.object.key);
        if self.number != sent.number || !self.todo.front().is_some_and(is_awaited) {
            return;
        }
        self.todo.pop_front();
        let Some(spec) = self.spec() else { return };
        match answer {
            Ok(live) => {
                self.report.changes += 1;
                let entry = spec.applied(&sent.object, &live);
                worker.books.record_changes([Change::Put(sent.object.key.clone(), entry)]);
            }
            Err(error) => self.errors.push(error),
        }
    }

    fn await_stored(&mut self, number: Option<u64>) {
        if let Some(number) = number {
            self.todo.push_front(Todo::AwaitStored(number));
        }
    }

    fn plan(&mut self, stage: Stage, worker: &mut ModelWorker, around: &Surroundings<'_>) {
        let Some(spec) = self.spec() else { return };
        if !self.errors.is_empty() {
            return self.todo.clear();
        }
        let sight = sight(worker, around);
        let entries = crate::runtime::machine::Observed::entries_of(&sight, &self.component);
        let plan = plan::component(&spec.desired, entries, &sight, &worker.rules(), &|key| worker.wanted.has(key));
        let of_stage = |key: &ObjectKey| spec.desired.object(key).is_some_and(|object| object.stage == stage);
        for (key, owner) in plan.claimed.iter().filter(|(key, _)| of_stage(key)) {
            self.errors.push(ReconcileError::terminal(Reason::Conflict, format!("{key} belongs to {owner}")));
        }
        let steps: Vec<Step> = plan.steps.into_iter().filter(|step| step.stage == stage).collect();
        let released = spec.released(&steps);
        let planned = spec.write_ahead(&steps, &sight);
        let written: Vec<ObjectKey> =
            steps.iter().filter(|step| step.action.writes()).map(|step| step.key.clone()).collect();
        for step in steps.into_iter().rev() {
            self.todo.push_front(Todo::Step(step));
        }
        worker.books.record_changes(released);
        self.await_stored(worker.books.put(planned, &written));
    }

    fn step(&mut self, step: &Step, worker: &ModelWorker, around: &mut Surroundings<'_>) {
        let Some(spec) = self.spec() else { return };
        let Some(object) = spec.desired.object(&step.key).cloned() else { return };
        match step.action {
            Action::Keep | Action::Leave => {}
            Action::Report => {
                let owned = around.index.get(&step.key).and_then(|live| live.owned);
                self.report.drifted.push(Drifted::new(&step.key, owned, &[], around.now));
            }
            Action::Replace if around.cluster.objects.contains_key(&step.key) => {
                // It is waited for here, and made again then.
                let uid = around.index.get(&step.key).map(|live| live.uid).unwrap_or_default();
                self.todo.push_back(Todo::Plan(object.stage));
                self.todo.push_front(Todo::AwaitGone(step.key.clone(), uid));
            }
            Action::Create | Action::Update | Action::Verify | Action::Repair | Action::Replace => {
                self.todo.push_front(Todo::AwaitAnswer(step.key.clone()));
                let (owner, component) = (worker.owner.clone(), self.component.clone());
                around.in_flight.push(InFlight { owner, component, number: self.number, object, orphaned: false });
            }
        }
    }

    fn plan_removals(&mut self, worker: &ModelWorker, around: &Surroundings<'_>) {
        let sight = sight(worker, around);
        let entries = crate::runtime::machine::Observed::entries_of(&sight, &self.component);
        let is_wanted = |key: &ObjectKey| worker.wanted.has(key);
        let plan = match self.spec() {
            Some(spec) => plan::component(&spec.desired, entries, &sight, &worker.rules(), &is_wanted),
            None => plan::removal(entries, &sight, &worker.rules(), &is_wanted),
        };
        for (key, ..) in plan.removals.into_iter().rev() {
            self.todo.push_front(Todo::Remove(key));
        }
    }

    fn remove(
        &mut self,
        key: &ObjectKey,
        worker: &mut ModelWorker,
        around: &mut Surroundings<'_>,
    ) -> Result<(), String> {
        let Some(entry) = worker.books.inventory.get(key).cloned() else { return Ok(()) };
        let there = around.cluster.objects.get(key).cloned();
        let uid = match plan::removal_of(key, &entry, &sight(worker, around), &worker.rules()) {
            Removal::Release | Removal::Forget => None,
            Removal::Settle => {
                let ours = there.as_ref().filter(|live| live.owner.as_ref() == Some(&worker.owner));
                let goes = |live: &&Live| leave(key, live, &worker.rules()) == Removal::Delete;
                ours.filter(goes).map(|live| live.uid.clone())
            }
            Removal::Delete => around.index.get(key).map(|live| live.uid).or(entry.uid.clone()),
        };
        let Some(uid) = uid else {
            worker.books.record_changes([Change::Drop(key.clone())]);
            return Ok(());
        };
        let wanted = around.index.wanted_by_another(key, &worker.owner);
        if let Some((other, _)) = kept_for(&worker.owner, wanted)
            && there.as_ref().is_some_and(|live| live.uid == uid && live.deleting.is_none())
        {
            self.errors.push(awaits(key, &other));
            return Ok(());
        }
        if let Some(live) = there.filter(|live| live.uid == uid) {
            let is_ours = live.owner.as_ref() == Some(&worker.owner) || entry.uid.as_ref() == Some(&live.uid);
            if !is_ours || worker.wanted.has(key) {
                return Err(format!("{} deletes {key}, which is not to be deleted", worker.owner));
            }
        }
        if around.cluster.delete(key, Some(&uid)) {
            around.index.gone(key, Some(&uid));
            worker.books.record_changes([Change::Drop(key.clone())]);
        } else {
            let going = Entry { state: EntryState::Deleting, ..entry };
            worker.books.record_changes([Change::Put(key.clone(), going)]);
            self.todo.push_front(Todo::AwaitGone(key.clone(), uid));
        }
        self.report.removed.push(key.clone());
        Ok(())
    }

    fn end(&mut self) -> TaskEnd {
        TaskEnd {
            component: self.component.clone(),
            task: self.task,
            number: self.number,
            report: std::mem::take(&mut self.report),
            result: crate::runtime::run::worst(std::mem::take(&mut self.errors)),
        }
    }
}

fn sight<'a>(worker: &'a ModelWorker, around: &Surroundings<'a>) -> Sight<'a> {
    Sight { index: around.index, inventory: &worker.books.inventory, freed: around.freed.clone() }
}
