//! What a machine does with a Runtime that changed, without a cluster.

use std::sync::Arc;
use std::time::Duration;

use reeve_crds::{Runtime, State};
use reeve_renderer_objects::key::ObjectKey;
use serde_json::json;

use super::{at, component};
use crate::desired::{Desired, Revision};
use crate::inventory::Entry;
use crate::live::Live;
use crate::plan::View;
use crate::runtime::machine::{Effect, Event, Machine, Observed};
use crate::runtime::status_writer::Urgency;
use crate::runtime::tests::START;
use crate::runtime::{DesiredState, Message};

/// A cluster and an inventory without anything.
struct Nothing;

impl View for Nothing {
    fn entry(&self, _: &ObjectKey) -> Option<Entry> {
        None
    }

    fn live(&self, _: &ObjectKey) -> Option<Live> {
        None
    }
}

impl Observed for Nothing {
    fn entries(&self) -> Vec<(ObjectKey, Arc<str>)> {
        Vec::new()
    }

    fn entry_count(&self) -> usize {
        0
    }

    fn is_offered(&self, _: &ObjectKey) -> bool {
        false
    }

    fn entries_of(&self, _: &str) -> Vec<(ObjectKey, Entry)> {
        Vec::new()
    }
}

fn checked_every(interval: &str) -> Arc<Runtime> {
    let runtime = json!({
        "apiVersion": "reeve.dev/v1alpha1", "kind": "Runtime", "metadata": { "name": "eu", "namespace": "fleet" },
        "spec": { "drift": { "fullCheckInterval": interval } },
    });
    Arc::new(serde_json::from_value(runtime).unwrap())
}

#[test]
fn a_changed_interval_of_full_checks_is_in_force_before_the_old_one_is_over() {
    let mut machine = Machine::new(&checked_every("10h"), "test".to_owned(), [], [], START);
    assert_eq!(machine.next_timer(), at(36_000));
    let changed = Message { object: Some(checked_every("1m")), ..Message::default() };
    machine.step(Event::Message(Box::new(changed)), &Nothing, at(10));
    assert_eq!(machine.next_timer(), at(70));
    let later = at(10) + Duration::from_mins(1);
    machine.step(Event::Timer, &Nothing, later);
    assert_eq!(machine.next_timer(), at(130), "and the next one comes as long after");
}

#[test]
fn a_change_that_begins_while_something_is_not_well_is_told_at_once() {
    let desired = |revision: &str| {
        let revision = Revision { shown: revision.into(), ..Revision::default() };
        let component = component(&revision.shown);
        Arc::new(Desired { digest: revision.shown.clone(), revision, components: vec![Arc::new(component)] })
    };
    let mut machine = Machine::new(&checked_every("10h"), "test".to_owned(), [], [], START);
    let mut told = |desired: Arc<Desired>, seconds| {
        let desired = DesiredState::Present(desired);
        let message = Message { object: Some(checked_every("10h")), desired, ..Message::default() };
        let effects = machine.step(Event::Message(Box::new(message)), &Nothing, at(seconds));
        let urgency = |effect| match effect {
            Effect::PatchRuntime(status, urgency) => Some((status.state, urgency)),
            _ => None,
        };
        effects.into_iter().find_map(urgency)
    };
    assert_eq!(told(desired("one"), 10), Some((Some(State::Processing), Urgency::Begun)));
    // It is Processing still, and for all that anybody knows the cluster says something else.
    assert_eq!(told(desired("two"), 20), Some((Some(State::Processing), Urgency::Turned)));
}
