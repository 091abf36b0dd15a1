//! What people, commits and accidents do in a simulation.

use std::sync::Arc;
use std::time::Duration;

use reeve_crds::runtime::policy::{DeletionPolicy, DriftMode};
use reeve_crds::runtime::target::TargetType;
use reeve_crds::{Runtime, annotation};
use reeve_renderer_objects::key::ObjectKey;

use super::cluster::health;
use super::fleet;
use super::world::World;
use super::writes;
use crate::clock::after;
use crate::health::HealthState;
use crate::live::Index;
use crate::runtime::worker::DesiredState;

impl World {
    /// Somebody does something.
    pub(super) fn act(&mut self) {
        let names: Vec<&'static str> = self.homes.keys().copied().collect();
        let Some(name) = self.random.pick(&names).copied() else { return };
        match self.random.below(100) {
            0..25 => self.commit(name),
            25..32 => self.remove_file(name),
            32..52 => self.touch_object(),
            52..60 => self.change_spec(name),
            60..66 => self.suspend(name),
            66..69 => self.delete_runtime(name),
            69..77 => {
                self.note(|| "the process is killed".to_owned());
                self.crash();
            }
            77..87 => {
                let seconds = [1, 10, 100, 2000][self.random.below(4)];
                self.note(|| format!("{seconds} s pass"));
                self.now = after(self.now, Duration::from_secs(seconds));
                // What is wrong with it is found by the next step.
                let _ = self.ring();
            }
            87..94 => {
                self.failures = [0, 0, 20, 60][self.random.below(4)];
                let failures = self.failures;
                self.note(|| format!("{failures} % of requests fail"));
            }
            _ => self.request(name),
        }
    }

    fn commit(&mut self, name: &'static str) {
        self.revisions += 1;
        let desired = Arc::new(fleet::desired(name, self.revisions, &mut self.random));
        self.note(|| format!("commit for {name}: {}", desired.digest));
        if let Some(home) = self.homes.get_mut(name) {
            home.desired = DesiredState::Present(desired);
        }
        self.publish(name);
    }

    fn remove_file(&mut self, name: &'static str) {
        self.note(|| format!("the file of {name} leaves Git"));
        if let Some(home) = self.homes.get_mut(name) {
            home.desired = DesiredState::Absent { keeps_objects: false };
        }
        self.notify_worker(name);
    }

    /// Somebody changes, deletes or breaks an object, or makes one that deletes slowly.
    fn touch_object(&mut self) {
        let keys: Vec<ObjectKey> = self.cluster.objects.keys().cloned().collect();
        let Some(key) = self.random.pick(&keys).cloned() else { return };
        let what = self.random.below(4);
        self.note(|| format!("{key}: {}", ["edited", "deleted", "unhealthy", "has a finalizer"][what]));
        match what {
            0 => self.cluster.edit(&key, |live| live.owned = Some("edited".into())),
            1 if self.cluster.objects.get(&key).is_some_and(|live| live.deleting.is_none()) => {
                self.cluster.delete(&key, None);
            }
            2 => self.cluster.edit(&key, |live| {
                live.health = live.health.as_ref().map(|_| health(HealthState::Failed));
            }),
            _ => drop(self.cluster.finalized.insert(key)),
        }
    }

    fn edit_runtime(&mut self, name: &'static str, change: impl FnOnce(&mut Runtime)) {
        if let Some(object) = self.homes.get_mut(name).and_then(|home| home.object.as_mut()) {
            let object = Arc::make_mut(object);
            let before = object.spec.clone();
            change(object);
            if object.spec != before {
                object.metadata.generation = object.metadata.generation.map(|generation| generation + 1);
            }
        }
        self.notify_worker(name);
    }

    fn change_spec(&mut self, name: &'static str) {
        let (what, flag) = (self.random.below(3), self.random.percent(50));
        self.note(|| format!("{name}: {} is changed ({flag})", ["target", "deletionPolicy", "drift.mode"][what]));
        self.edit_runtime(name, |object| match what {
            0 => object.spec.target.kind = if flag { TargetType::Agent } else { TargetType::InCluster },
            1 => object.spec.deletion_policy = if flag { DeletionPolicy::Delete } else { DeletionPolicy::Orphan },
            _ => object.spec.drift.mode = if flag { DriftMode::Report } else { DriftMode::Repair },
        });
    }

    fn suspend(&mut self, name: &'static str) {
        let (what, flag) = (self.random.below(3), self.random.percent(50));
        self.note(|| format!("{name}: {} suspended: {flag}", ["runtime", "source", "a component"][what]));
        match what {
            0 => self.edit_runtime(name, |object| object.spec.suspend = flag.then_some(true)),
            1 => {
                self.homes.values_mut().for_each(|home| home.source_suspended = flag);
                let names: Vec<&'static str> = self.homes.keys().copied().collect();
                for name in names {
                    self.notify_worker(name);
                }
            }
            _ => {
                let home = self.homes.get_mut(name);
                if let Some(component) = home.and_then(|home| home.components.values_mut().next()) {
                    component.spec.suspend = flag.then_some(true);
                    component.metadata.generation = component.metadata.generation.map(|generation| generation + 1);
                }
                self.notify_worker(name);
            }
        }
    }

    fn delete_runtime(&mut self, name: &'static str) {
        self.note(|| format!("kubectl delete runtime {name}"));
        let now = self.now;
        self.edit_runtime(name, |object| {
            let time = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now);
            object.metadata.deletion_timestamp.get_or_insert(time);
        });
    }

    fn request(&mut self, name: &'static str) {
        self.note(|| format!("reeve reconcile {name}"));
        let at = self.steps.to_string();
        self.edit_runtime(name, |object| {
            object.metadata.annotations.get_or_insert_default().insert(annotation::RECONCILE.to_owned(), at);
        });
    }

    /// Nothing fails any more, nothing is suspended, every target is here, and no object is broken.
    pub(super) fn calm_down(&mut self) {
        self.note(|| "from here on nothing fails and nobody does anything".to_owned());
        self.failures = 0;
        let names: Vec<&'static str> = self.homes.keys().copied().collect();
        for name in names {
            if let Some(home) = self.homes.get_mut(name) {
                home.source_suspended = false;
                home.components.values_mut().for_each(|component| component.spec.suspend = None);
            }
            self.edit_runtime(name, |object| {
                object.spec.suspend = None;
                object.spec.target.kind = TargetType::InCluster;
                object.spec.drift.mode = DriftMode::Repair;
            });
        }
        let broken: Vec<ObjectKey> = self.cluster.objects.keys().cloned().collect();
        for key in broken {
            let is_broken = |live: &crate::live::Live| {
                live.health.as_ref().is_some_and(|health| health.state == HealthState::Failed)
            };
            if self.cluster.objects.get(&key).is_some_and(is_broken) {
                self.cluster.edit(&key, |live| live.health = Some(health(HealthState::Current)));
            }
        }
    }

    /// The process dies and another one starts. What it had sent arrives, or does not.
    pub(super) fn crash(&mut self) {
        self.crashes += 1;
        self.workers.clear();
        while !self.in_flight.is_empty() {
            let reaches = self.random.percent(50);
            writes::land(self, 0, Some(reaches));
        }
        self.index = Index::default();
        for (key, live) in self.cluster.objects.iter().filter(|(_, live)| live.owner.is_some()) {
            self.index.seen(key.clone(), live.clone());
        }
        self.cluster.changed.clear();
        self.homes.values_mut().for_each(|home| home.source_is_ready = false);
    }
}
