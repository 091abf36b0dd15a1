//! Everything of one history: Git, the kinds of Reeve in the cluster, the objects, and the process that works on them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use kube::api::ObjectMeta;
use reeve_crds::State;
use reeve_crds::inventory::InventorySpec;
use reeve_renderer_objects::key::ObjectKey;

use super::cluster::{ModelCluster, health};
use super::fleet::{self, Home};
use super::random::Random;
use super::task::{InFlight, Surroundings};
use super::worker::ModelWorker;
use super::writes;
use crate::health::HealthState;
use crate::inventory::Inventory;
use crate::live::Index;
use crate::owner::Owner;
use crate::runtime::component::ComponentState;
use crate::runtime::machine::Event;
use crate::runtime::worker::{DesiredState, Message, Role, UserOverrides};

/// A history.
pub(super) struct World {
    pub(super) random: Random,
    pub(super) now: Timestamp,
    pub(super) cluster: ModelCluster,
    pub(super) homes: BTreeMap<&'static str, Home>,
    pub(super) workers: BTreeMap<&'static str, ModelWorker>,
    pub(super) index: Index,
    pub(super) in_flight: Vec<InFlight>,
    /// Out of a hundred requests so many fail.
    pub(super) failures: usize,
    pub(super) revisions: usize,
    pub(super) uids: usize,
    pub(super) status_writes: usize,
    pub(super) steps: usize,
    pub(super) crashes: usize,
    keeps_log: bool,
    pub(super) log: Vec<String>,
}

/// Something that may happen next, without anybody's doing.
#[derive(Clone, Debug)]
enum Tick {
    ReadGit(&'static str),
    Supervise(&'static str),
    Message(&'static str),
    Objects(&'static str),
    Event(&'static str),
    Task(&'static str, Arc<str>),
    Store(&'static str),
    Status(&'static str),
    Finalize(&'static str),
    Watch(ObjectKey),
    Land(usize),
    Converge(ObjectKey),
}

impl World {
    pub(super) fn new(seed: u64, keeps_log: bool) -> Self {
        let mut world = Self {
            random: Random::new(seed),
            now: Timestamp::UNIX_EPOCH,
            cluster: ModelCluster::default(),
            homes: BTreeMap::new(),
            workers: BTreeMap::new(),
            index: Index::default(),
            in_flight: Vec::new(),
            failures: 0,
            revisions: 0,
            uids: 0,
            status_writes: 0,
            steps: 0,
            crashes: 0,
            keeps_log,
            log: Vec::new(),
        };
        let names = ["eu", "us", "ap"];
        for name in &names[..=world.random.below(names.len())] {
            let deletes = world.random.percent(70);
            world.homes.insert(name, Home { deletes, ..Home::default() });
        }
        world
    }

    /// A history of so many actions, and then its end: without failures everything has to become as Git says.
    pub(super) fn run(&mut self, actions: usize) -> Result<(), String> {
        for _ in 0..actions {
            self.act();
            for _ in 0..self.random.below(12) {
                self.tick_once()?;
            }
        }
        self.calm_down();
        self.settle()?;
        self.check_converged()?;
        self.check_at_rest()
    }

    pub(super) fn note(&mut self, line: impl FnOnce() -> String) {
        if self.keeps_log {
            let at = self.now.as_second();
            self.log.push(format!("{at:>7} s  {}", line()));
        }
    }

    /// Lets one of the things happen that can. False if none can.
    pub(super) fn tick_once(&mut self) -> Result<bool, String> {
        let possible = self.possible();
        let Some(tick) = self.random.pick(&possible).cloned() else { return Ok(false) };
        self.steps += 1;
        self.note(|| format!("{tick:?}"));
        self.tick(tick)?;
        Ok(true)
    }

    fn possible(&self) -> Vec<Tick> {
        let mut ticks = Vec::new();
        for (name, home) in &self.homes {
            if !home.source_is_ready {
                ticks.push(Tick::ReadGit(name));
            }
            if !self.workers.contains_key(name) && self.role(name).is_some_and(|role| role != Role::Leave) {
                ticks.push(Tick::Supervise(name));
            }
        }
        for (name, worker) in &self.workers {
            if worker.finalize.is_some() {
                ticks.push(Tick::Finalize(name));
                continue;
            }
            let can = |is_so: bool, tick: Tick| is_so.then_some(tick);
            ticks.extend(can(worker.has_message, Tick::Message(name)));
            ticks.extend(can(!worker.changed_keys.is_empty(), Tick::Objects(name)));
            ticks.extend(can(!worker.events.is_empty(), Tick::Event(name)));
            ticks.extend(can(!worker.books.inventory.dirty().is_empty(), Tick::Store(name)));
            ticks.extend(can(!worker.status_writes.is_empty(), Tick::Status(name)));
            let ready = worker.tasks.iter().filter(|(_, task)| task.can_go_on(worker, &self.cluster, &self.in_flight));
            ticks.extend(ready.map(|(component, _)| Tick::Task(name, component.clone())));
        }
        ticks.extend(self.cluster.changed.iter().cloned().map(Tick::Watch));
        ticks.extend((0..self.in_flight.len()).map(Tick::Land));
        let unsettled = |live: &crate::live::Live| {
            live.deleting.is_some()
                || live.health.as_ref().is_some_and(|health| health.state == HealthState::InProgress)
        };
        let unsettled = self.cluster.objects.iter().filter(|(_, live)| unsettled(live));
        ticks.extend(unsettled.map(|(key, _)| Tick::Converge(key.clone())));
        ticks
    }

    fn tick(&mut self, tick: Tick) -> Result<(), String> {
        match tick {
            Tick::ReadGit(name) => self.read_git(name),
            Tick::Supervise(name) => self.supervise(name),
            Tick::Message(name) => self.deliver_message(name)?,
            Tick::Objects(name) => {
                let keys = self.workers[name].changed_keys.take_changed();
                self.step(name, Event::ObjectsChanged(keys))?;
            }
            Tick::Event(name) => {
                let event = self.workers.get_mut(name).and_then(|worker| worker.events.pop_front());
                if let Some(event) = event {
                    if matches!(event, Event::AllChecked) {
                        self.list();
                    }
                    self.step(name, event)?;
                }
            }
            Tick::Task(name, component) => self.advance_task(name, &component)?,
            Tick::Store(name) => writes::store(self, name),
            Tick::Status(name) => writes::write_status(self, name),
            Tick::Finalize(name) => writes::finalize(self, name)?,
            Tick::Watch(key) => self.see(&key),
            Tick::Land(at) => writes::land(self, at, None),
            Tick::Converge(key) => self.converge(&key),
        }
        Ok(())
    }

    /// The machine of a runtime takes an event in.
    pub(super) fn step(&mut self, name: &'static str, event: Event) -> Result<(), String> {
        let Some(worker) = self.workers.get_mut(name) else { return Ok(()) };
        worker.step(event, &self.index, self.now)?;
        if self.keeps_log {
            let phases = self.phases(name);
            self.note(|| format!("  {name}: {phases}"));
        }
        self.check_timers(name)?;
        self.check_ready(name)
    }

    /// A source that starts reads Git, and makes the Runtime that it says.
    fn read_git(&mut self, name: &'static str) {
        if let Some(home) = self.homes.get_mut(name) {
            home.source_is_ready = true;
        }
        self.publish(name);
    }

    /// Creates the Runtime of a file, and tells whoever works on it.
    pub(super) fn publish(&mut self, name: &'static str) {
        let Some(home) = self.homes.get_mut(name) else { return };
        if home.source_is_ready && home.object.is_none() && matches!(home.desired, DesiredState::Present(_)) {
            self.uids += 1;
            home.object = Some(Arc::new(fleet::runtime(name, self.uids, home.deletes)));
        }
        self.notify_worker(name);
    }

    pub(super) fn notify_worker(&mut self, name: &'static str) {
        if let Some(worker) = self.workers.get_mut(name) {
            worker.has_message = true;
        }
    }

    fn message(&self, name: &str) -> Message {
        let home = &self.homes[name];
        let components = home.components.iter().map(|(name, object)| (name.clone(), UserOverrides::of(object)));
        Message { components: components.collect(), ..home.brief() }
    }

    fn role(&self, name: &str) -> Option<Role> {
        Role::of(&self.homes[name].brief())
    }

    fn supervise(&mut self, name: &'static str) {
        let Some(role) = self.role(name) else { return };
        let home = &self.homes[name];
        let Some(object) = home.object.clone() else { return };
        let now = self.now;
        let found = home.components.iter().map(|(name, object)| {
            let mut state = ComponentState::new(name.clone(), object.status.clone().unwrap_or_default(), now);
            let mut spec = object.spec.clone();
            state.suspended = spec.suspend.take() == Some(true);
            state.spec = Some(spec);
            state
        });
        let stored = |(name, (spec, version)): (&String, &(InventorySpec, u64))| {
            let metadata = ObjectMeta {
                name: Some(name.clone()),
                uid: Some(name.clone()),
                resource_version: Some(version.to_string()),
                ..ObjectMeta::default()
            };
            (spec.clone(), metadata.into())
        };
        let inventory = Inventory::load(name.into(), home.pages.iter().map(stored));
        let worker = ModelWorker::new(&object, role, found.collect(), inventory, &self.index, now);
        self.workers.insert(name, worker);
    }

    fn deliver_message(&mut self, name: &'static str) -> Result<(), String> {
        let message = self.message(name);
        let role = Role::of(&message);
        let Some(worker) = self.workers.get_mut(name) else { return Ok(()) };
        worker.has_message = false;
        if message.object.is_none() || role.as_ref() != Some(&worker.role) {
            // What is under way ends, what is known is stored, and another worker begins.
            writes::store(self, name);
            self.workers.remove(name);
            return Ok(());
        }
        let goes_on_elsewhere = message
            .object
            .as_ref()
            .is_some_and(|object| object.spec.target.kind != reeve_crds::runtime::target::TargetType::InCluster);
        self.step(name, Event::Message(Box::new(message)))?;
        let applies = self.workers.get(name).is_some_and(|worker| worker.desired_components() > 0);
        if goes_on_elsewhere && applies {
            return Err(format!("{name} is applied although its target is elsewhere"));
        }
        Ok(())
    }

    /// Whether a runtime has an object in its stored inventory.
    pub(super) fn is_kept(&self, owner: &Owner, key: &ObjectKey) -> bool {
        let Some(home) = self.homes.get(owner.runtime()).filter(|home| home.object.is_some()) else { return false };
        home.pages.values().any(|(page, _)| {
            page.entries.iter().any(|entry| {
                entry.kind == *key.kind
                    && entry.group == *key.group
                    && entry.name == *key.name
                    && Some(entry.namespace.as_str()).filter(|namespace| !namespace.is_empty())
                        == key.namespace.as_deref()
            })
        })
    }

    fn freed(&self, owner: &Owner) -> BTreeSet<ObjectKey> {
        let other = |live: &crate::live::Live| live.owner.clone().filter(|other| other != owner);
        let objects = self.cluster.objects.iter();
        let is_free = |other: &Owner, key: &ObjectKey| !self.is_kept(other, key) || self.index.is_offered(other, key);
        let free = objects.filter(|(key, live)| other(live).is_some_and(|other| is_free(&other, key)));
        free.map(|(key, _)| key.clone()).collect()
    }

    fn advance_task(&mut self, name: &'static str, component: &Arc<str>) -> Result<(), String> {
        let owner = Owner::new(fleet::NAMESPACE, name);
        let freed = self.freed(&owner);
        let Some(worker) = self.workers.get_mut(name) else { return Ok(()) };
        let Some(mut task) = worker.tasks.remove(component) else { return Ok(()) };
        let mut around = Surroundings {
            cluster: &mut self.cluster,
            index: &self.index,
            in_flight: &mut self.in_flight,
            freed,
            now: self.now,
        };
        match task.advance(worker, &mut around)? {
            None => {
                worker.tasks.insert(component.clone(), task);
                Ok(())
            }
            Some(ended) => self.step(name, Event::TaskFinished(Box::new(ended))),
        }
    }

    /// A watch tells of an object as it is now.
    fn see(&mut self, key: &ObjectKey) {
        self.cluster.changed.remove(key);
        match self.cluster.objects.get(key).filter(|live| live.owner.is_some()) {
            Some(live) => self.index.seen(key.clone(), live.clone()),
            None => self.index.gone(key, None),
        }
    }

    fn list(&mut self) {
        let keys: Vec<ObjectKey> = self.cluster.changed.iter().cloned().collect();
        for key in &keys {
            self.see(key);
        }
    }

    /// Controllers of the cluster go on: what is deleted goes, what starts is ready.
    fn converge(&mut self, key: &ObjectKey) {
        let Some(live) = self.cluster.objects.get(key) else { return };
        if live.deleting.is_some() {
            self.cluster.finalized.remove(key);
            self.cluster.remove(key);
        } else {
            self.cluster.edit(key, |live| live.health = Some(health(HealthState::Current)));
        }
    }

    /// Lets everything happen that can, and turns the clock to the next timer, until nothing is left but waiting.
    fn settle(&mut self) -> Result<(), String> {
        let (mut before, mut quiet) = ((0, 0), 0);
        for _ in 0..100 {
            self.run_out()?;
            let written = (self.cluster.writes, self.status_writes);
            quiet = if written == before { quiet + 1 } else { 0 };
            // One that failed may wait for its next try longer than others for their next look.
            if quiet > 3 * self.workers.len() {
                return Ok(());
            }
            before = written;
            self.turn_clock()?;
        }
        Err("it writes for ever".to_owned())
    }

    pub(super) fn run_out(&mut self) -> Result<(), String> {
        for _ in 0..3000 {
            if !self.tick_once()? {
                return Ok(());
            }
        }
        Err("it never comes to rest".to_owned())
    }

    /// Turns the clock to the next timer.
    pub(super) fn turn_clock(&mut self) -> Result<(), String> {
        let Some(next) = self.workers.values().map(|worker| worker.machine.next_timer()).min() else { return Ok(()) };
        self.now = self.now.max(next);
        self.ring()
    }

    /// Rings the timers that are due.
    pub(super) fn ring(&mut self) -> Result<(), String> {
        let now = self.now;
        let due =
            self.workers.iter().filter(|(_, worker)| worker.machine.next_timer() <= now && worker.finalize.is_none());
        let due: Vec<&'static str> = due.map(|(name, _)| *name).collect();
        due.into_iter().try_for_each(|name| self.step(name, Event::Timer))
    }

    pub(super) fn state(&self, name: &str) -> Option<State> {
        self.homes[name].object.as_ref()?.status.as_ref()?.state
    }
}
