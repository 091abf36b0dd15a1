//! What the process has written: it reaches the model of the cluster, or is lost on its way.

use std::sync::Arc;

use kube::api::ObjectMeta;
use reeve_crds::{Reason, RuntimeComponent};

use super::cluster::Claimed;
use super::fleet;
use super::worker::StatusWrite;
use super::world::World;
use crate::error::ReconcileError;
use crate::owner::Owner;

/// A write that was sent reaches the API server, or does not, and is answered, or not.
pub(super) fn land(world: &mut World, at: usize, reaches: Option<bool>) {
    let sent = world.in_flight.swap_remove(at);
    let fails = world.random.percent(world.failures);
    let reaches = reaches.unwrap_or(!fails || world.random.percent(50));
    let refused = || ReconcileError::transient(Reason::Refused, "refused");
    let mut answer = Err(refused());
    if reaches {
        let kept: Vec<Owner> = world
            .homes
            .keys()
            .map(|name| Owner::new(fleet::NAMESPACE, name))
            .filter(|owner| world.is_kept(owner, &sent.object.key))
            .filter(|owner| !world.index.is_offered(owner, &sent.object.key))
            .collect();
        let applied = world.cluster.apply(&sent.owner, &sent.component, &sent.object, |other| kept.contains(other));
        answer = match applied {
            Err(Claimed(other)) => {
                Err(ReconcileError::terminal(Reason::Conflict, format!("{} belongs to {other}", sent.object.key)))
            }
            Ok(live) if sent.orphaned => {
                world.cluster.orphans.insert(live.uid);
                Err(refused())
            }
            Ok(_) if fails => Err(refused()),
            Ok(live) => {
                world.index.written(sent.object.key.clone(), live.clone());
                Ok(live)
            }
        };
    }
    let worker =
        world.homes.keys().find(|name| **name == sent.owner.runtime()).and_then(|name| world.workers.get_mut(name));
    let Some(worker) = worker else { return };
    if let Some(mut task) = worker.tasks.remove(&sent.component) {
        task.answer(&sent, answer, worker);
        worker.tasks.insert(sent.component.clone(), task);
    }
}

/// Stores the pages of an inventory that changed.
pub(super) fn store(world: &mut World, name: &'static str) {
    if world.random.percent(world.failures) {
        return;
    }
    let (Some(worker), Some(home)) = (world.workers.get_mut(name), world.homes.get_mut(name)) else { return };
    let number = worker.books.changes;
    for at in worker.books.inventory.dirty() {
        let (page, spec, _) = worker.books.inventory.page(at);
        worker.books.inventory.writing(at);
        let version = home.pages.get(&page).map_or(1, |(_, version)| version + 1);
        let metadata = ObjectMeta {
            uid: Some(page.clone()),
            resource_version: Some(version.to_string()),
            ..ObjectMeta::default()
        };
        worker.books.inventory.written(at, metadata.into());
        home.pages.insert(page, (spec, version));
    }
    worker.stored = number;
    worker.books.stored(number);
}

/// Writes a status that a worker put off.
pub(super) fn write_status(world: &mut World, name: &'static str) {
    let (Some(worker), Some(home)) = (world.workers.get_mut(name), world.homes.get_mut(name)) else { return };
    world.status_writes += 1;
    match worker.status_writes.pop_front() {
        Some(StatusWrite::Runtime(status)) => {
            if let Some(object) = &mut home.object {
                Arc::make_mut(object).status = Some(*status);
            }
        }
        Some(StatusWrite::Component(written)) => {
            let (spec, status) = *written;
            let component: Arc<str> = spec.component.as_str().into();
            let object = home.components.entry(component).or_insert_with(|| {
                let mut object = RuntimeComponent::new(&spec.component, spec.clone());
                object.metadata.generation = Some(1);
                object
            });
            let suspend = object.spec.suspend;
            object.spec = spec;
            object.spec.suspend = suspend;
            object.status = Some(status);
        }
        Some(StatusWrite::Gone(component)) => drop(home.components.remove(&component)),
        None => {}
    }
    world.notify_worker(name);
}

/// The Runtime goes, and with it all that it owns. What its source wants since is made again.
pub(super) fn finalize(world: &mut World, name: &'static str) -> Result<(), String> {
    let Some(worker) = world.workers.remove(name) else { return Ok(()) };
    world.check_finalized(name, &worker)?;
    let left = world.cluster.objects.values().filter(|live| live.owner.as_ref() == Some(&worker.owner));
    world.cluster.orphans.extend(left.map(|live| live.uid.clone()));
    world.in_flight.iter_mut().filter(|sent| sent.owner == worker.owner).for_each(|sent| sent.orphaned = true);
    if let Some(home) = world.homes.get_mut(name) {
        home.object = None;
        home.components.clear();
        home.pages.clear();
    }
    world.publish(name);
    Ok(())
}
