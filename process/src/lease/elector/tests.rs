use std::time::Duration;

use super::*;
use crate::lease::Timing;

const LEASE: Duration = Duration::from_secs(15);

fn config(identity: &str) -> LeaseConfig {
    LeaseConfig { identity: identity.to_owned(), timing: Timing::default(), ..LeaseConfig::new("ns", "x") }
}

fn elector(identity: &str) -> Elector {
    Elector::new(config(identity))
}

fn at(seconds: u64) -> Now {
    let wall = Timestamp::from_second(1_700_000_000).unwrap();
    Now { boot: BootTime::since_boot(Duration::from_secs(seconds)), wall }
}

/// The record as a server gives it.
fn held_by(holder: &str, version: u32) -> Lease {
    let mut lease = record::created(&config(holder), at(0).wall);
    lease.metadata.uid = Some("u".to_owned());
    lease.metadata.resource_version = Some(version.to_string());
    lease
}

fn read(elector: &mut Elector, lease: Option<Lease>, now: u64) -> Action {
    assert!(matches!(elector.step(Event::Due, at(now)), Action::Read));
    elector.step(Event::Read(lease), at(now))
}

/// Made leader by a write that was sent and confirmed at `now`.
fn leading(now: u64) -> Elector {
    let mut elector = elector("me");
    written(&mut elector, now, now);
    elector
}

fn written(elector: &mut Elector, sent: u64, now: u64) {
    let lease = held_by("me", 1);
    assert!(matches!(elector.step(Event::Written { lease, sent: at(sent).boot }, at(now)), Action::Wait));
}

fn replaces_with<'a>(action: &'a Action, holder: Option<&str>) -> &'a Lease {
    let Action::Replace(lease) = action else { panic!("does not replace: {action:?}") };
    assert_eq!(record::holder(lease), holder);
    lease
}

#[test]
fn a_lease_that_never_was_is_created_at_once() {
    let Action::Create(lease) = read(&mut elector("me"), None, 0) else { panic!("does not create") };
    let spec = lease.spec.unwrap();
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_duration_seconds), (Some("me"), Some(15)));
    assert_eq!(spec.lease_transitions, Some(0));
}

#[test]
fn a_lease_without_a_holder_is_taken_at_once() {
    let given_up = record::released(held_by("other", 7));
    let action = read(&mut elector("me"), Some(given_up), 0);
    let lease = replaces_with(&action, Some("me"));
    assert_eq!(lease.metadata.resource_version.as_deref(), Some("7"));
    assert_eq!(lease.spec.as_ref().unwrap().lease_transitions, Some(1));
}

#[test]
fn a_silent_holder_is_waited_for_as_long_as_it_asked_counted_from_our_own_first_look() {
    let mut elector = elector("me");
    // Its times are long past by the wall clock; that says nothing.
    assert!(matches!(read(&mut elector, Some(held_by("other", 7)), 100), Action::Wait));
    assert!(matches!(read(&mut elector, Some(held_by("other", 7)), 114), Action::Wait));
    replaces_with(&read(&mut elector, Some(held_by("other", 7)), 115), Some("me"));
}

#[test]
fn any_sign_of_life_starts_the_wait_anew() {
    let mut elector = elector("me");
    read(&mut elector, Some(held_by("other", 7)), 100);
    assert!(matches!(read(&mut elector, Some(held_by("other", 8)), 114), Action::Wait));
    assert!(matches!(read(&mut elector, Some(held_by("other", 8)), 128), Action::Wait));
    replaces_with(&read(&mut elector, Some(held_by("other", 8)), 129), Some("me"));
}

#[test]
fn the_duration_that_the_holder_wrote_counts_not_our_own() {
    let mut elector = elector("me");
    let mut patient = held_by("other", 7);
    patient.spec.as_mut().unwrap().lease_duration_seconds = Some(60);
    read(&mut elector, Some(patient.clone()), 0);
    assert!(matches!(read(&mut elector, Some(patient.clone()), 59), Action::Wait));
    replaces_with(&read(&mut elector, Some(patient), 60), Some("me"));
}

#[test]
fn the_right_to_act_counts_from_when_the_renewal_was_sent() {
    let mut elector = elector("me");
    written(&mut elector, 100, 103);
    assert_eq!(elector.leading_until(), Some(at(110).boot));
}

#[test]
fn an_answer_that_comes_after_the_deadline_gives_no_right() {
    let mut elector = elector("me");
    written(&mut elector, 100, 110);
    assert_eq!(elector.leading_until(), None);
}

#[test]
fn a_holder_that_cannot_renew_stops_at_its_deadline() {
    let mut elector = leading(100);
    elector.step(Event::Failed, at(109));
    assert_eq!(elector.leading_until(), Some(at(110).boot));
    assert!(matches!(elector.step(Event::Due, at(110)), Action::Read));
    assert_eq!(elector.leading_until(), None);
}

#[test]
fn a_holder_renews_without_reading_until_it_is_unsure() {
    let mut elector = leading(100);
    replaces_with(&elector.step(Event::Due, at(102)), Some("me"));
    elector.step(Event::Failed, at(103));
    replaces_with(&read(&mut elector, Some(held_by("me", 9)), 104), Some("me"));
}

#[test]
fn a_holder_that_finds_another_in_its_place_stops_at_once_and_waits_like_anyone() {
    for found in [held_by("other", 9), record::released(held_by("me", 9))] {
        let mut elector = leading(100);
        elector.step(Event::Refused, at(102));
        read(&mut elector, Some(found), 104);
        assert_eq!(elector.leading_until(), None);
    }
}

#[test]
fn a_holder_that_lapsed_takes_its_own_record_up_again() {
    let mut elector = leading(100);
    elector.step(Event::Failed, at(105));
    let action = read(&mut elector, Some(held_by("me", 9)), 120);
    assert_eq!(elector.leading_until(), None);
    replaces_with(&action, Some("me"));
}

#[test]
fn a_record_that_vanished_may_still_have_a_holder_who_does_not_know() {
    let mut elector = elector("me");
    read(&mut elector, Some(held_by("other", 7)), 100);
    assert!(matches!(read(&mut elector, None, 114), Action::Wait));
    assert!(matches!(read(&mut elector, None, 128), Action::Wait));
    assert!(matches!(read(&mut elector, None, 129), Action::Create(_)));
}

#[test]
fn a_holder_whose_record_vanished_writes_it_again() {
    let mut elector = leading(100);
    elector.step(Event::Refused, at(102));
    assert!(matches!(read(&mut elector, None, 104), Action::Create(_)));
    assert_eq!(elector.leading_until(), Some(at(110).boot));
}

#[test]
fn a_request_gets_no_more_time_than_is_left() {
    let elector = leading(100);
    assert_eq!(elector.request_within(at(100).boot), Timing::default().request());
    assert_eq!(elector.request_within(at(109).boot), Duration::from_secs(1));
    assert_eq!(elector.request_within(at(111).boot), Duration::ZERO);
    assert_eq!(elector.wait_time(at(109).boot, 1.0), Duration::from_secs(1));
}

#[test]
fn only_our_own_record_is_given_up_and_the_rest_of_it_stays() {
    let mut ours = held_by("me", 7);
    ours.spec.as_mut().unwrap().preferred_holder = Some("someone".to_owned());
    let released = elector("me").release(ours.clone()).unwrap();
    ours.spec.as_mut().unwrap().holder_identity = None;
    assert_eq!(released, ours);
    assert_eq!(elector("me").release(held_by("other", 7)), None);
}

#[test]
fn a_holder_that_asks_for_years_is_waited_for_a_few_lease_durations() {
    let mut elector = elector("me");
    let mut years = held_by("other", 1);
    years.spec.as_mut().unwrap().lease_duration_seconds = Some(i32::MAX);
    assert!(matches!(read(&mut elector, Some(years.clone()), 0), Action::Wait));
    assert!(matches!(read(&mut elector, Some(years.clone()), 59), Action::Wait));
    replaces_with(&read(&mut elector, Some(years), 60), Some("me"));
}

#[test]
fn a_standby_knows_where_the_holder_is_found_and_says_its_own_place_when_it_takes_over() {
    let place = |port: u16| Some(SocketAddr::from(([10, 0, 0, 1], port)));
    let mut elector = Elector::new(LeaseConfig { address: place(2), ..config("me") });
    assert_eq!(elector.leader_address(), None);
    let mut held = record::created(&LeaseConfig { address: place(1), ..config("other") }, at(0).wall);
    held.metadata.resource_version = Some("1".to_owned());
    assert!(matches!(read(&mut elector, Some(held.clone()), 0), Action::Wait));
    assert_eq!(elector.leader_address(), place(1));
    assert_eq!(record::address(&record::released(held.clone())), None, "whoever gave it up is not asked any more");
    let taken = read(&mut elector, Some(held.clone()), LEASE.as_secs());
    assert_eq!(record::address(replaces_with(&taken, Some("me"))), place(2));
    written(&mut elector, 15, 15);
    assert_eq!(elector.leader_address(), None, "it leads itself");

    let mut silent = Elector::new(config("silent"));
    assert!(matches!(read(&mut silent, Some(held.clone()), 0), Action::Wait));
    let taken = read(&mut silent, Some(held), LEASE.as_secs());
    assert_eq!(record::address(replaces_with(&taken, Some("silent"))), None, "not where the one before was");
}
