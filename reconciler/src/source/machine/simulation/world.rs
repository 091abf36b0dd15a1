//! A source and all that it talks to, as a model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use reeve_crds::condition::types;
use reeve_crds::git_source::GitSourceStatus;
use reeve_crds::{GitSource, Reason, Runtime, State};
use reeve_reconciler_engine::clock::after;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_engine::rollup::RuntimeSummary;

use super::super::{BuildOrder, Built, Effect, Event, Fetch, Machine, Observed};
use super::objects::{fetched, runtime, source};
use crate::source::builder::{Changed, RenderedRevision};

const NAMES: [&str; 9] = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
const ACTIONS: usize = 30;

/// A commit: what it says of each runtime, and whether it can be used.
#[derive(Clone, Debug, Default)]
struct Commit {
    runtimes: BTreeMap<Arc<str>, usize>,
    is_good: bool,
}

/// What a machine has under way.
#[derive(Debug)]
enum Task {
    Fetch,
    Build(BuildOrder),
    Write(Vec<Changed>),
}

/// A Runtime in the cluster.
#[derive(Clone, Debug)]
struct Cell {
    object: Arc<Runtime>,
    content: usize,
    /// Whether its worker was told that its file left Git.
    removed: bool,
}

/// A history.
pub(super) struct World {
    random: u64,
    now: Timestamp,
    commits: Vec<Commit>,
    /// The commit in force, as the machine said last.
    accepted: Option<usize>,
    /// A newer commit that was refused: nobody knows what it would have removed, or wanted back.
    refused: Option<usize>,
    /// Commits that the mirror keeps.
    kept: Option<usize>,
    object: Arc<GitSource>,
    cluster: BTreeMap<Arc<str>, Cell>,
    /// Out of a hundred requests so many fail.
    failures: usize,
    machine: Machine,
    task: Option<Task>,
    event: Option<Event>,
    pub(super) steps: usize,
    pub(super) log: Vec<String>,
}

struct View<'a>(&'a BTreeMap<Arc<str>, Cell>);

impl Observed for View<'_> {
    fn object(&self, name: &str) -> Option<Arc<Runtime>> {
        self.0.get(name).map(|cell| cell.object.clone())
    }

    fn runtimes(&self) -> Vec<Arc<str>> {
        self.0.keys().cloned().collect()
    }

    fn summaries(&self) -> BTreeMap<Arc<str>, RuntimeSummary> {
        self.0.keys().filter_map(|name| Some((name.clone(), self.summary(name)?))).collect()
    }

    fn summary(&self, name: &str) -> Option<RuntimeSummary> {
        let state = |cell: &Cell| if cell.removed { State::Deleting } else { State::Ready };
        self.0.get(name).map(|cell| RuntimeSummary { state: state(cell), ..RuntimeSummary::default() })
    }

    fn is_read(&self) -> bool {
        true
    }
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let (object, now) = (source(), Timestamp::UNIX_EPOCH);
        let machine = Machine::new(object.clone(), now);
        Self {
            random: seed,
            now,
            commits: vec![Commit { is_good: true, ..Commit::default() }],
            accepted: None,
            refused: None,
            kept: None,
            object,
            cluster: BTreeMap::new(),
            failures: 0,
            machine,
            task: None,
            event: Some(Event::Started),
            steps: 0,
            log: Vec::new(),
        }
    }

    /// A number below this (splitmix64).
    fn below(&mut self, bound: usize) -> usize {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(bound).unwrap()).unwrap()
    }

    fn fails(&mut self) -> bool {
        self.below(100) < self.failures
    }

    pub(super) fn run(&mut self) -> Result<(), String> {
        for _ in 0..ACTIONS {
            self.act();
            for _ in 0..self.below(8) {
                self.tick()?;
            }
        }
        self.failures = 0;
        self.edit(|object| object.spec.suspend = false);
        for _ in 0..600 {
            self.tick()?;
        }
        self.check_converged()
    }

    /// Somebody does something.
    fn act(&mut self) {
        match self.below(10) {
            0..4 => self.commit(),
            4 => {
                let suspend = self.below(2) == 0;
                self.log.push(format!("suspended: {suspend}"));
                self.edit(|object| object.spec.suspend = suspend);
            }
            5 => self.failures = [0, 0, 30, 80][self.below(4)],
            6 => {
                self.log.push("the process is killed".to_owned());
                self.machine = Machine::new(self.object.clone(), self.now);
                self.task = None;
                self.event = Some(Event::Started);
                self.cluster.values_mut().for_each(|cell| cell.removed = false);
            }
            7 => {
                let names: Vec<Arc<str>> = self.cluster.keys().cloned().collect();
                if !names.is_empty() {
                    let gone = self.below(names.len());
                    self.log.push(format!("kubectl delete runtime {}", names[gone]));
                    self.cluster.remove(&names[gone]);
                    self.event.get_or_insert(Event::Object(self.object.clone()));
                }
            }
            _ => self.now = after(self.now, Duration::from_secs(self.below(200) as u64)),
        }
    }

    fn commit(&mut self) {
        let mut commit = self.commits.last().cloned().unwrap_or_default();
        commit.is_good = self.below(5) > 0;
        for _ in 0..=self.below(3) {
            let name = NAMES[self.below(NAMES.len())];
            if self.below(3) == 0 {
                commit.runtimes.remove(name);
            } else {
                commit.runtimes.insert(name.into(), self.below(3));
            }
        }
        self.log.push(format!("commit {}: {commit:?}", self.commits.len()));
        self.commits.push(commit);
        self.event.get_or_insert(Event::Push);
    }

    fn edit(&mut self, change: impl FnOnce(&mut GitSource)) {
        change(Arc::make_mut(&mut self.object));
        // What is under way ends before the object is looked at, and a newer one replaces it.
        self.event = Some(Event::Object(self.object.clone()));
    }

    /// Something happens: what is under way ends, somebody's doing is noticed, a worker goes on, or time passes.
    fn tick(&mut self) -> Result<(), String> {
        self.steps += 1;
        let event = match (self.task.take(), self.event.take()) {
            (Some(task), event) => {
                self.event = event;
                self.finish(task)
            }
            (None, Some(event)) => event,
            (None, None) if self.machine.has_more() => Event::Timer,
            (None, None) => {
                if self.remove_one()? {
                    return Ok(());
                }
                let next = self.machine.next_timer();
                if next == Timestamp::MAX && !self.object.spec.suspend {
                    return Err("nothing is due any more".to_owned());
                }
                if next < Timestamp::MAX {
                    self.now = self.now.max(next);
                }
                Event::Timer
            }
        };
        let effects = self.machine.step(event, &View(&self.cluster), self.now);
        effects.into_iter().try_for_each(|effect| self.execute(effect))
    }

    /// A worker whose runtime left Git ends it.
    fn remove_one(&mut self) -> Result<bool, String> {
        let Some(name) = self.cluster.iter().find(|(_, cell)| cell.removed).map(|(name, _)| name.clone()) else {
            return Ok(false);
        };
        if self.in_force().is_some_and(|commit| commit.runtimes.contains_key(&name)) {
            return Err(format!("{name} is removed, and the commit in force has it"));
        }
        if let Some(refused) = self.refused {
            return Err(format!("{name} is removed, and the newer commit {refused} was refused"));
        }
        self.log.push(format!("{name} is gone"));
        self.cluster.remove(&name);
        self.event = Some(Event::Object(self.object.clone()));
        Ok(true)
    }

    fn in_force(&self) -> Option<&Commit> {
        self.accepted.and_then(|number| self.commits.get(number))
    }

    fn finish(&mut self, task: Task) -> Event {
        let failed = || ReconcileError::transient(Reason::Unreachable, "it fails");
        match task {
            Task::Fetch => {
                let result = if self.fails() { Err(failed()) } else { Ok((fetched(self.commits.len() - 1), Ok(None))) };
                Event::Fetched(Box::new(Fetch { result }))
            }
            Task::Build(order) => {
                let number: usize = order.revision.commit.parse().unwrap();
                let commit = &self.commits[number];
                let changed = commit.runtimes.iter().map(|(name, content)| runtime(name, *content));
                let is_other = |changed: &Changed| {
                    order.in_force.get(&changed.0).is_none_or(|before| before.1.digest != changed.1.digest)
                };
                let changed: Vec<Changed> = changed.filter(is_other).collect();
                let names: BTreeSet<Arc<str>> = commit.runtimes.keys().cloned().collect();
                let result = if commit.is_good {
                    Ok(RenderedRevision::of(changed, names))
                } else {
                    Err(ReconcileError::terminal(Reason::Invalid, "it is bad"))
                };
                if result.is_ok() {
                    // Whatever is built well is put in force, by the one who asked for it.
                    self.accepted = Some(number);
                    self.refused.take_if(|refused| *refused < number);
                } else {
                    self.refused = Some(number);
                }
                Event::Built(Box::new(Built { result, kept: self.kept == Some(number) }))
            }
            Task::Write(changed) => {
                let mut results = Vec::new();
                for (name, desired, object) in changed {
                    if self.fails() {
                        results.push((name, Err(failed())));
                        continue;
                    }
                    let object: Runtime = serde_json::from_value(object.read()).unwrap();
                    let content = desired.digest.parse().unwrap();
                    self.cluster.insert(name.clone(), Cell { object: Arc::new(object), content, removed: false });
                    results.push((name, Ok(())));
                }
                Event::Written(results)
            }
        }
    }

    fn execute(&mut self, effect: Effect) -> Result<(), String> {
        let task = match effect {
            Effect::Fetch(_) => Task::Fetch,
            Effect::Build(order) => Task::Build(order),
            Effect::Write(changed) => Task::Write(changed.into_iter().map(|(changed, _)| changed).collect()),
            Effect::KeepCommit(active) => {
                self.kept = active.revision.commit.parse().ok();
                return Ok(());
            }
            Effect::SendRemoval(names) => {
                if self.object.spec.suspend {
                    return Err(format!("{names:?} are removed while the source is suspended"));
                }
                for (name, _) in names {
                    self.log.push(format!("the file of {name} left Git"));
                    self.cluster.entry(name).and_modify(|cell| cell.removed = true);
                }
                return Ok(());
            }
            Effect::HoldRemoval(names) => {
                for name in names {
                    self.cluster.entry(name).and_modify(|cell| cell.removed = false);
                }
                return Ok(());
            }
            Effect::PatchStatus(status, _) => return self.patch_status(*status),
            Effect::RegisterWebhook
            | Effect::SetPublishing(_)
            | Effect::SendSuspend { .. }
            | Effect::DeleteRuntimes(_)
            | Effect::EnsureFinalizer
            | Effect::RemoveFinalizer
            | Effect::EmitEvent { .. }
            | Effect::Notify(_)
            | Effect::Count(_) => return Ok(()),
        };
        if let Task::Write(changed) = &task {
            let wanted = self.in_force().cloned().unwrap_or_default();
            let is_so = |changed: &Changed| {
                wanted.runtimes.get(&changed.0).is_some_and(|it| *changed.1.digest == *it.to_string())
            };
            if let Some((name, ..)) = changed.iter().find(|changed| !is_so(changed)) {
                return Err(format!("{name} is written otherwise than the commit in force says"));
            }
        }
        match self.task.replace(task) {
            None => Ok(()),
            Some(before) => Err(format!("{before:?} is under way, and something else begins")),
        }
    }

    fn patch_status(&mut self, status: GitSourceStatus) -> Result<(), String> {
        let published = status.conditions.iter().any(|it| it.type_ == types::PUBLISHED && it.status == "True");
        let is_newest = |commit: &reeve_crds::git_source::status::Commit| {
            self.accepted.is_some_and(|number| commit.id == number.to_string())
        };
        let published = published && status.commit.as_ref().is_some_and(is_newest);
        // What somebody deleted since is restored with the next look.
        let unwritten = self.in_force().and_then(|commit| {
            let is_so = |(name, content): &(&Arc<str>, &usize)| {
                self.cluster.get(*name).is_none_or(|cell| cell.content == **content)
            };
            commit.runtimes.iter().find(|it| !is_so(it)).map(|(name, _)| name.clone())
        });
        Arc::make_mut(&mut self.object).status = Some(status);
        match unwritten {
            Some(name) if published => Err(format!("the status says Published, and {name} is not")),
            _ => Ok(()),
        }
    }

    fn check_converged(&self) -> Result<(), String> {
        let good = self.commits.iter().rev().find(|commit| commit.is_good).cloned().unwrap_or_default();
        let newest_is_good = self.commits.last().is_some_and(|commit| commit.is_good);
        // A good commit before a bad one may never have been fetched.
        let wanted = if newest_is_good { Some(&good) } else { self.in_force() };
        let Some(wanted) = wanted else { return Ok(()) };
        let is: BTreeMap<Arc<str>, usize> =
            self.cluster.iter().map(|(name, cell)| (name.clone(), cell.content)).collect();
        let withheld = self.machine.report.withheld.is_some();
        let missing = wanted.runtimes.iter().find(|(name, content)| is.get(*name) != Some(*content));
        let left = is.keys().find(|name| !wanted.runtimes.contains_key(*name));
        match (missing, left) {
            (Some((name, _)), _) => Err(format!("{name} is not as Git says: {is:?}, wanted {wanted:?}")),
            (None, Some(name)) if !withheld && newest_is_good => Err(format!("{name} left Git and is still there")),
            (None, None) if withheld => Err("removals are withheld, and there are none".to_owned()),
            _ => Ok(()),
        }
    }
}
