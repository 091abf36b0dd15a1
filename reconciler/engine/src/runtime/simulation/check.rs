//! What must hold, during a history and at its end.

use reeve_crds::State;
use reeve_crds::runtime::policy::DeletionPolicy;
use reeve_renderer_objects::key::ObjectKey;

use super::worker::ModelWorker;
use super::world::World;
use crate::clock::after;
use crate::desired::{Desired, is_protected};
use crate::live::Live;
use crate::owner::Owner;
use crate::payload::Prune;
use crate::runtime::component::Phase;
use crate::runtime::worker::DesiredState;

impl World {
    /// No machine sleeps past the next try of a component, nor past its next full check.
    pub(super) fn check_timers(&self, name: &str) -> Result<(), String> {
        let Some(worker) = self.workers.get(name) else { return Ok(()) };
        let next = worker.machine.next_timer();
        let tries = worker.machine.components().filter_map(|component| match component.phase {
            Phase::Failed { retry_at } => Some(retry_at),
            _ => None,
        });
        let full_check = after(self.now, worker.spec.drift.full_check_interval.into());
        match tries.chain([full_check]).min() {
            Some(due) if next > due => Err(format!("{name} would sleep until {next}, and something is due at {due}")),
            _ => Ok(()),
        }
    }

    /// Nobody says Ready of what was not applied. What happened since, of which it was not told yet, does not count.
    pub(super) fn check_ready(&self, name: &str) -> Result<(), String> {
        let Some(worker) = self.workers.get(name).filter(|worker| worker.says_ready) else { return Ok(()) };
        let Some(desired) = worker.desired.as_ref().filter(|_| worker.finalize.is_none()) else { return Ok(()) };
        let awake = desired.components.iter().filter(|component| !worker.suspended.contains(&component.name));
        let unapplied = awake.flat_map(|component| &component.objects).find(|object| {
            let is_so = |live: &Live| {
                live.owner.as_ref() == Some(&worker.owner) && live.content.as_deref() == Some(&object.content)
            };
            let is_told = !worker.changed_keys.contains(&object.key);
            is_told && !self.index.get(&object.key).is_some_and(|live| is_so(&live))
        });
        match unapplied {
            Some(object) => Err(format!("{name} says Ready, but {} is not applied", object.key)),
            None => Ok(()),
        }
    }

    /// A Runtime goes only when nothing of it is left that is to go with it.
    pub(super) fn check_finalized(&self, name: &str, worker: &ModelWorker) -> Result<(), String> {
        let deletes = worker.spec.deletion_policy == DeletionPolicy::Delete;
        let sent = self.in_flight.iter().find(|sent| sent.owner == worker.owner).map(|sent| sent.object.key.clone());
        match self.left_of(name, None).into_iter().next().or(sent) {
            Some(key) if deletes => Err(format!("{name} goes, and {key} stays")),
            _ => Ok(()),
        }
    }

    /// Objects of a runtime that Git does not want and that nothing keeps.
    fn left_of(&self, name: &str, desired: Option<&Desired>) -> Vec<ObjectKey> {
        let owner = Owner::new(super::fleet::NAMESPACE, name);
        let wanted = desired.map(Desired::owners).unwrap_or_default();
        let is_left = |key: &ObjectKey, live: &Live| {
            live.owner.as_ref() == Some(&owner)
                && !self.cluster.orphans.contains(&live.uid)
                && live.prune != Prune::Never
                && !is_protected(&key.group, &key.kind)
                && !wanted.contains_key(key)
        };
        let left = self.cluster.objects.iter().filter(|(key, live)| is_left(key, live));
        left.map(|(key, _)| key.clone()).collect()
    }

    /// Everything is as Git says, and the statuses say so.
    pub(super) fn check_converged(&self) -> Result<(), String> {
        for (name, home) in &self.homes {
            match &home.desired {
                DesiredState::Present(desired) => self.check_present(name, desired)?,
                DesiredState::Absent { .. } if home.object.is_some() => {
                    return Err(format!("{name} left Git, and its Runtime is still there ({:?})", self.state(name)));
                }
                DesiredState::Absent { .. } | DesiredState::Elsewhere | DesiredState::Unknown => {}
            }
        }
        Ok(())
    }

    fn check_present(&self, name: &str, desired: &Desired) -> Result<(), String> {
        let owner = Owner::new(super::fleet::NAMESPACE, name);
        let objects = desired.components.iter().flat_map(|component| &component.objects);
        let mut is_disputed = false;
        for object in objects {
            let live = self.cluster.objects.get(&object.key);
            if live.is_some_and(|live| {
                live.owner.as_ref().is_some_and(|other| *other != owner && self.is_claimed(other, &object.key))
            }) {
                is_disputed = true;
                continue;
            }
            let is_so = live.is_some_and(|live| {
                live.owned.as_deref() == Some(&object.content)
                    && live.owner.as_ref() == Some(&owner)
                    && live.deleting.is_none()
            });
            // What depends on something disputed waits for it.
            if !is_so && !self.is_disputed(&owner, desired) {
                let entry = self.workers.get(name).and_then(|worker| worker.books.inventory.get(&object.key));
                let phases = self.phases(name);
                return Err(format!(
                    "{name}: {} is not as Git says: {live:?}, written down as {entry:?}; {phases}",
                    object.key
                ));
            }
        }
        let state = self.state(name);
        if (state == Some(State::Ready)) == is_disputed {
            return Err(format!("{name} is {state:?}, and another has an object of it: {is_disputed}"));
        }
        match self.left_of(name, Some(desired)).first() {
            Some(key) if !is_disputed => Err(format!("{name}: {key} left Git and is still there")),
            _ => Ok(()),
        }
    }

    /// How far the components of a runtime are, for whoever reads a history.
    pub(super) fn phases(&self, name: &str) -> String {
        let worker = self.workers.get(name);
        let components = worker.into_iter().flat_map(|worker| worker.machine.components());
        let phases: Vec<String> =
            components.map(|component| format!("{}: {:?}", component.name, component.phase)).collect();
        format!("its components are {phases:?}")
    }

    /// Whether another runtime has an object that this one wants.
    fn is_disputed(&self, owner: &Owner, desired: &Desired) -> bool {
        desired.components.iter().flat_map(|component| &component.objects).any(|object| {
            let other = self.cluster.objects.get(&object.key).and_then(|live| live.owner.as_ref());
            other.is_some_and(|other| other != owner && self.is_claimed(other, &object.key))
        })
    }

    /// Whether a runtime has an object and has it in Git. What left Git there is another's for the taking.
    fn is_claimed(&self, owner: &Owner, key: &ObjectKey) -> bool {
        let wants = |desired: &DesiredState| match desired {
            DesiredState::Present(desired) => desired.owners().contains_key(key),
            DesiredState::Absent { .. } | DesiredState::Elsewhere | DesiredState::Unknown => false,
        };
        self.is_kept(owner, key) && self.homes.get(owner.runtime()).is_some_and(|home| wants(&home.desired))
    }

    /// Once all is as Git says, looking at it again writes nothing.
    pub(super) fn check_at_rest(&mut self) -> Result<(), String> {
        let before = (self.cluster.writes, self.status_writes);
        for _ in 0..4 {
            self.turn_clock()?;
            self.run_out()?;
        }
        let after = (self.cluster.writes, self.status_writes);
        if after == before {
            return Ok(());
        }
        Err(format!("at rest {} objects and {} statuses are written", after.0 - before.0, after.1 - before.1))
    }
}
