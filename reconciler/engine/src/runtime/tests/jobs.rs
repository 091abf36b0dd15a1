//! A Job that ends after the wait for it was given up.

use std::sync::Arc;

use reeve_crds::Reason;
use reeve_renderer_objects::hook::Hook;
use reeve_renderer_objects::key::{ObjectKey, Origin};

use super::{component, failed};
use crate::desired::{DesiredComponent, DesiredJob, DesiredObject, Stage};
use crate::error::ReconcileError;
use crate::health::{Health, HealthState};
use crate::inventory::Entry;
use crate::live::Live;
use crate::payload::{Options, Prune};
use crate::plan::View;
use crate::runtime::component::{ComponentState, Phase};

/// A cluster that has one Job, if any.
struct Cluster(Option<Live>);

impl View for Cluster {
    fn entry(&self, _: &ObjectKey) -> Option<Entry> {
        None
    }

    fn live(&self, _: &ObjectKey) -> Option<Live> {
        self.0.clone()
    }
}

fn with_job(state: HealthState, content: &str) -> Cluster {
    Cluster(Some(Live {
        uid: "1".into(),
        resource_version: 1,
        content: Some(content.into()),
        owner: None,
        owned: None,
        legacy: false,
        leftovers: false,
        component: None,
        deleting: None,
        prune: Prune::Default,
        health: Some(Health { state, message: String::new(), fails_at: None }),
    }))
}

fn key(name: &str) -> ObjectKey {
    ObjectKey { group: "batch".into(), kind: "Job".into(), namespace: Some("shop".into()), name: name.into() }
}

/// A component with a Job, which failed so.
fn waited(error: ReconcileError) -> ComponentState {
    let object = DesiredObject {
        key: key("migrate"),
        api_version: "batch/v1".into(),
        stage: Stage::Main,
        content: "this".into(),
        payload: b"{}".to_vec().into(),
        options: Options::default(),
        ignored: Vec::new(),
        keep: false,
        origin: Origin { file: "a.yaml".into(), document: 1, line: 1 },
    };
    let hook = Hook { phases: Vec::new(), weight: 0, deletion: Vec::new() };
    let desired = DesiredComponent { jobs: vec![DesiredJob { object, hook }], ..component("d") };
    ComponentState { desired: Some(Arc::new(desired)), ..failed(error, 5) }
}

#[test]
fn a_job_that_ends_after_its_time_is_noticed_before_the_next_try() {
    let late = || waited(ReconcileError::transient(Reason::TimedOut, "not done").about(&key("migrate")));
    let ended =
        |record: ComponentState, state| record.ended_late(&with_job(state, "this")).map(|(_, health)| health.state);
    for state in [HealthState::Current, HealthState::Failed] {
        assert_eq!(ended(late(), state), Some(state));
    }
    for state in [HealthState::InProgress, HealthState::Terminating] {
        assert_eq!(ended(late(), state), None, "it goes on");
    }
    assert_eq!(
        ended(ComponentState { phase: Phase::Applying, ..late() }, HealthState::Current),
        None,
        "it is waited for"
    );
    assert!(late().ended_late(&with_job(HealthState::Current, "other")).is_none(), "it is the one of before");
    assert!(late().ended_late(&Cluster(None)).is_none(), "it is gone");
}

#[test]
fn a_job_that_was_told_to_have_failed_is_left_until_the_next_try() {
    let failed = waited(ReconcileError::transient(Reason::JobFailed, "it broke").about(&key("migrate")));
    assert!(failed.ended_late(&with_job(HealthState::Failed, "this")).is_none());
    let other = waited(ReconcileError::transient(Reason::TimedOut, "still there").about(&super::key("a")));
    assert!(other.ended_late(&with_job(HealthState::Current, "this")).is_none(), "it was not waited for");
}
