//! What a component's record and the statuses say, without a cluster.

use std::time::Duration;

use jiff::Timestamp;
use reeve_crds::Reason;
use reeve_crds::condition::Condition;
use reeve_crds::runtime_component::{ComponentTarget, Health as ObjectHealth, RuntimeComponentStatus, UnhealthyObject};
use reeve_crds::{Lenient, ObjectRef, State};
use reeve_renderer_objects::key::ObjectKey;

use super::component::{ComponentState, Phase};
use super::status;
use crate::clock::{after, since};
use crate::conditions::set_condition;
use crate::desired::DesiredComponent;
use crate::error::ReconcileError;
use crate::owner::Release;

mod jobs;
mod machine;

const START: Timestamp = Timestamp::UNIX_EPOCH;

fn at(seconds: u64) -> Timestamp {
    after(START, Duration::from_secs(seconds))
}

fn record(phase: Phase) -> ComponentState {
    ComponentState { phase, ..ComponentState::new("web".into(), RuntimeComponentStatus::default(), START) }
}

/// A component without objects, whose content has this digest.
fn component(digest: &str) -> DesiredComponent {
    DesiredComponent {
        name: "web".into(),
        chart: "web".into(),
        version: "1.0.0".into(),
        channel: None,
        namespace: "shop".into(),
        release: Release::new("shop".into(), "web".into()),
        target: ComponentTarget::Runtime,
        depends_on: Vec::new(),
        service_account: None,
        timeout: None,
        origin: String::new(),
        digest: digest.into(),
        objects: Vec::new(),
        jobs: Vec::new(),
        health: Vec::new().into(),
        health_rules: Vec::new().into(),
    }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey { group: "".into(), kind: "ConfigMap".into(), namespace: Some("shop".into()), name: name.into() }
}

fn failed(error: ReconcileError, seconds: u64) -> ComponentState {
    ComponentState { error: Some((error, at(seconds))), ..record(Phase::Failed { retry_at: at(seconds + 2) }) }
}

#[test]
fn each_phase_has_its_state() {
    let settling = || Phase::Settling { deadline: at(10) };
    let cases = [
        (Phase::ApplyingDefinitions, State::Processing),
        (Phase::Waiting(vec!["base".into()]), State::Processing),
        (Phase::Applying, State::Processing),
        (settling(), State::Processing),
        (Phase::Finishing, State::Processing),
        (Phase::Ready, State::Ready),
        (Phase::Suspended, State::Suspended),
        (Phase::Removing, State::Deleting),
    ];
    for (phase, state) in cases {
        assert_eq!(record(phase.clone()).state(at(1)), state, "{phase:?}");
    }
    assert_eq!(record(settling()).state(at(10)), State::Error, "late");
    assert_eq!(failed(ReconcileError::transient(Reason::Refused, "x"), 0).state(at(1)), State::Error);
    assert_eq!(failed(ReconcileError::terminal(Reason::Invalid, "x"), 0).state(at(1)), State::Warning);
    let trying_again =
        ComponentState { phase: Phase::Applying, ..failed(ReconcileError::transient(Reason::Refused, "x"), 0) };
    assert_eq!(trying_again.state(at(1)), State::Error, "a try does not make it better");
    let known = ComponentState { verifying: true, ..record(Phase::Applying) };
    assert_eq!(known.state(at(1)), State::Ready, "what was ready is so until something speaks against it");
}

#[test]
fn that_something_is_under_way_or_stuck_is_said_only_while_it_is() {
    let said = |record: &ComponentState| {
        let status = status::component(record, at(1));
        let kinds = status.conditions.into_iter().map(|condition| condition.type_);
        kinds.filter(|kind| ["Reconciling", "Stalled"].contains(&kind.as_str())).collect::<Vec<_>>()
    };
    let mut record = record(Phase::Applying);
    assert_eq!(said(&record), ["Reconciling"]);
    record.status = status::component(&record, at(1));
    record.phase = Phase::Ready;
    assert_eq!(said(&record), [""; 0], "it was said before, and holds no more");
    assert_eq!(said(&failed(ReconcileError::terminal(Reason::Invalid, "x"), 0)), ["Stalled"]);
}

/// A component with one object that does so, and has ten seconds to become healthy.
fn settling(health: ObjectHealth) -> ComponentState {
    let mut record = record(Phase::Settling { deadline: at(10) });
    let object = ObjectRef { kind: "Job".to_owned(), name: "a".to_owned(), ..ObjectRef::default() };
    let message = Some("it broke".to_owned());
    record.health.unhealthy.push(UnhealthyObject { object, health: Lenient::Known(health), message });
    record.health.total = 1;
    record
}

#[test]
fn what_the_last_step_failed_for_is_told_until_it_is_done() {
    let (mut record, wait) = (record(Phase::Finishing), Duration::from_mins(1));
    let error = ReconcileError::transient(Reason::TimedOut, "another runtime has not taken it over");
    record.on_failed(&error, wait, at(30));
    let next_try = |record: &mut ComponentState, phase, seconds| {
        record.on_applied(None, wait, at(seconds));
        record.phase = phase;
        record.state(at(seconds))
    };
    assert_eq!(next_try(&mut record, Phase::Finishing, 32), State::Error, "nothing of it is done yet");
    record.on_ready(at(40));
    assert_eq!(record.state(at(40)), State::Ready);
    // What an earlier step failed for is over when all is applied.
    record.phase = Phase::Applying;
    record.on_failed(&error, wait, at(50));
    assert_eq!(next_try(&mut record, Phase::Finishing, 52), State::Processing);
}

#[test]
fn an_object_that_failed_makes_a_component_late_before_its_time() {
    assert_eq!(settling(ObjectHealth::Failed).state(at(1)), State::Error);
    assert_eq!(settling(ObjectHealth::InProgress).state(at(1)), State::Processing);
}

#[test]
fn an_object_that_failed_is_the_reason_before_and_after_the_deadline() {
    let failure = |health, now| status::component(&settling(health), now).failure;
    for now in [at(5), at(20)] {
        let failure = failure(ObjectHealth::Failed, now).unwrap();
        assert_eq!((failure.reason.as_str(), failure.message.as_str()), ("Unhealthy", "Job a: it broke"));
        assert_eq!(failure.object.unwrap().name, "a");
        assert_eq!(failure.since.unwrap().0, now, "when it was seen");
    }
    assert_eq!(failure(ObjectHealth::InProgress, at(5)), None);
    let late = failure(ObjectHealth::InProgress, at(20)).unwrap();
    assert_eq!((late.reason.as_str(), late.since.unwrap().0), ("TimedOut", at(10)));
}

#[test]
fn that_something_failed_after_its_time_is_told_once() {
    let failure = |health| status::component(&settling(health), at(20)).failure.unwrap();
    let (late, broken) = (failure(ObjectHealth::InProgress), failure(ObjectHealth::Failed));
    let mut record = settling(ObjectHealth::Failed);
    record.failing_reason = late.reason.parse().ok();
    assert!(!record.is_new(&late, false), "it was told");
    assert!(record.is_new(&broken, false), "it is more than late");
    record.failing_reason = broken.reason.parse().ok();
    assert!(!record.is_new(&broken, false), "it was told");
    assert!(!record.is_new(&late, false), "it is less than what was told");
    assert!(record.is_new(&broken, true), "it was well in between");
}

#[test]
fn pauses_grow_to_a_limit_and_are_no_shorter_than_the_server_asks() {
    let most = Duration::from_mins(1);
    let error = ReconcileError::transient(Reason::Refused, "x");
    let pause = |attempts| {
        let record = ComponentState { attempts, ..record(Phase::Applying) };
        since(record.next_try(&error, START, most), START)
    };
    assert!(pause(0) >= Duration::from_millis(1500) && pause(0) <= Duration::from_millis(2500), "{:?}", pause(0));
    assert!(pause(1) > pause(0) && pause(3) > pause(1));
    assert!(pause(30) <= most.mul_f64(1.25) && pause(30) >= most.mul_f64(0.75), "{:?}", pause(30));
    assert_eq!(pause(2), pause(2), "the same each time");
    let asked = ReconcileError { retry_after: Some(Duration::from_secs(30)), ..error.clone() };
    assert_eq!(since(record(Phase::Applying).next_try(&asked, START, most), START), Duration::from_secs(30));
}

#[test]
fn a_condition_has_the_time_at_which_it_turned() {
    let mut conditions: Vec<Condition> = Vec::new();
    let mut set = |holds, reason: Reason, now| {
        set_condition(&mut conditions, "Ready", holds, reason, "words", Some(1), now);
        (conditions.len(), conditions[0].last_transition_time.0, conditions[0].reason.clone())
    };
    assert_eq!(set(false, Reason::Conflict, at(1)), (1, at(1), "Conflict".to_owned()));
    assert_eq!(set(false, Reason::Invalid, at(2)), (1, at(1), "Invalid".to_owned()), "another reason is no turn");
    assert_eq!(set(true, Reason::Succeeded, at(3)), (1, at(3), "Succeeded".to_owned()));
}

#[test]
fn a_failure_that_repeats_keeps_its_time_and_another_has_its_own() {
    let mut record = failed(ReconcileError::transient(Reason::Refused, "first words").about(&key("a")), 5);
    record.status = status::component(&record, at(6));
    let since = |record: &ComponentState| {
        record.status.failure.as_ref().and_then(|failure| failure.since.clone()).map(|time| time.0)
    };
    assert_eq!(since(&record), Some(at(5)));
    record.error = Some((ReconcileError::transient(Reason::Refused, "other words").about(&key("a")), at(50)));
    record.status = status::component(&record, at(51));
    assert_eq!(since(&record), Some(at(5)), "the same failure");
    record.error = Some((ReconcileError::transient(Reason::Refused, "words").about(&key("b")), at(60)));
    record.status = status::component(&record, at(61));
    assert_eq!(since(&record), Some(at(60)), "of another object");
    record.error = None;
    record.phase = Phase::Ready;
    record.status = status::component(&record, at(70));
    assert_eq!(record.status.failure, None);
}
