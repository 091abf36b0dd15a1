use super::*;

mod routes;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + seconds).unwrap()
}

/// A rule with one ready pod, out of the path, and one resolver that could take its traffic.
fn direct() -> Observed {
    Observed {
        policy: Policy {
            intent: Intent::Govern,
            idle_after: Duration::from_secs(10),
            min_awake: Duration::from_secs(30),
            wake: 2,
            hand_over: None,
            keep_awake: false,
            asked: None,
            sleep_by: SleepBy::Switch,
        },
        replicas: Some(3),
        shadow: false,
        ready_pods: 0,
        direct_pods: 3,
        direct_endpoints: 3,
        capture: Extent::None,
        slice: Slice::Absent,
        routes_settle: None,
        resolvers: Some(1),
        traffic: Some(Traffic { in_flight: 0, per_second: 0, last_request: None, holding: false, ready_pods: 3 }),
        held: 0,
        pods_quiet: true,
        keda_told: None,
    }
}

fn captured() -> Observed {
    Observed {
        shadow: true,
        ready_pods: 3,
        direct_pods: 0,
        direct_endpoints: 0,
        capture: Extent::All,
        slice: Slice::Current,
        ..direct()
    }
}

fn machine(mode: TrafficMode, since: Timestamp) -> Machine {
    Machine::recover(Some((mode, since)), None, &captured(), since)
}

fn step(machine: &mut Machine, observed: &Observed, now: Timestamp) -> Vec<Effect> {
    machine.step(Event::Observed(Box::new(observed.clone())), now)
}

fn turned(mode: TrafficMode) -> Vec<Effect> {
    vec![Effect::SetMode { mode, restore: None }]
}

fn holding() -> Traffic {
    Traffic { in_flight: 0, per_second: 0, last_request: None, holding: true, ready_pods: 3 }
}

#[test]
fn the_path_is_built_slice_first_and_trusted_only_when_it_is_proven() {
    let mut machine = machine(TrafficMode::Direct, at(0));
    assert_eq!(step(&mut machine, &direct(), at(1)), turned(TrafficMode::Entering));
    let mut seen = direct();
    assert_eq!(step(&mut machine, &seen, at(1)), [Effect::EnsureShadow]);
    seen.shadow = true;
    assert_eq!(step(&mut machine, &seen, at(1)), [Effect::WriteSlice]);
    seen.slice = Slice::Current;
    assert_eq!(step(&mut machine, &seen, at(1)), [Effect::Capture]);
    seen.capture = Extent::All;
    assert_eq!(step(&mut machine, &seen, at(1)), [], "pods are still in the Service's slices");
    let seen = captured();
    assert_eq!(step(&mut machine, &seen, at(2))[0], Effect::Probe);
    machine.step(Event::Probed { proven: false }, at(2));
    assert_eq!(step(&mut machine, &seen, at(2))[0], Effect::Probe);
    machine.step(Event::Probed { proven: true }, at(3));
    assert_eq!(step(&mut machine, &seen, at(3)), turned(TrafficMode::Proxied));
}

#[test]
fn a_target_sleeps_only_behind_a_barrier_that_every_replica_has_confirmed() {
    let mut machine = machine(TrafficMode::Proxied, at(0));
    let seen = captured();
    assert_eq!(step(&mut machine, &seen, at(29)), [Effect::LookAt(at(30))], "it stays awake for its minimum");
    let draining = vec![Effect::SetMode { mode: TrafficMode::Draining, restore: Some(3) }];
    assert_eq!(step(&mut machine, &seen, at(30)), draining);
    assert_eq!(step(&mut machine, &seen, at(31)), [Effect::LookAt(at(40))], "nobody confirmed yet");
    let seen = Observed { traffic: Some(holding()), ..captured() };
    assert_eq!(step(&mut machine, &seen, at(31))[0], Effect::Probe, "the capture is proven again");
    machine.step(Event::Probed { proven: true }, at(31));
    assert_eq!(step(&mut machine, &seen, at(31))[0], Effect::Scale { replicas: 0 });
    let seen = Observed { replicas: Some(0), ..seen };
    assert_eq!(step(&mut machine, &seen, at(32)).len(), 1, "pods are about to end");
    let seen = Observed { ready_pods: 0, ..seen };
    assert_eq!(step(&mut machine, &seen, at(32)).len(), 1, "a replica still knows one");
    let seen = Observed { traffic: seen.traffic.map(|traffic| Traffic { ready_pods: 0, ..traffic }), ..seen };
    let asleep = vec![Effect::SetMode { mode: TrafficMode::Asleep, restore: Some(3) }];
    assert_eq!(step(&mut machine, &seen, at(32)), asleep);
    assert_eq!(step(&mut machine, &seen, at(33)), []);
}

#[test]
fn nothing_sleeps_while_something_is_in_flight_held_unknown_or_may_bypass_the_resolver() {
    let traffic = captured().traffic.unwrap();
    let kept_awake = Policy { keep_awake: true, ..captured().policy };
    for seen in [
        Observed { traffic: Some(Traffic { in_flight: 1, ..traffic }), ..captured() },
        Observed { traffic: None, ..captured() },
        Observed { held: 1, ..captured() },
        Observed { pods_quiet: false, ..captured() },
        Observed { direct_endpoints: 1, ..captured() },
        Observed { policy: kept_awake, ..captured() },
        Observed { replicas: None, ..captured() },
    ] {
        let mut awake = machine(TrafficMode::Proxied, at(0));
        assert_eq!(step(&mut awake, &seen, at(1000)), [], "{seen:?}");
        let mut draining = machine(TrafficMode::Draining, at(0));
        assert_eq!(step(&mut draining, &seen, at(1)), turned(TrafficMode::Proxied), "{seen:?}");
    }
}

#[test]
fn a_recent_request_puts_the_sleep_off() {
    let mut machine = machine(TrafficMode::Proxied, at(0));
    let last_request = Some(at(95));
    let traffic = captured().traffic.map(|traffic| Traffic { last_request, ..traffic });
    let seen = Observed { traffic, ..captured() };
    assert_eq!(step(&mut machine, &seen, at(100)), [Effect::LookAt(at(105))]);
}

#[test]
fn a_held_request_wakes_a_target_that_sleeps() {
    let mut machine = machine(TrafficMode::Asleep, at(0));
    let seen = Observed { replicas: Some(0), ready_pods: 0, held: 1, traffic: None, ..captured() };
    assert_eq!(step(&mut machine, &seen, at(1)), [Effect::Scale { replicas: 2 }]);
    let seen = Observed { replicas: Some(2), ..seen };
    assert_eq!(step(&mut machine, &seen, at(1)), turned(TrafficMode::Waking));
    assert_eq!(step(&mut machine, &Observed { ready_pods: 1, ..seen }, at(2)), turned(TrafficMode::Proxied));
}

#[test]
fn a_barrier_that_is_not_confirmed_is_lifted() {
    let mut machine = machine(TrafficMode::Draining, at(0));
    assert_eq!(step(&mut machine, &captured(), at(10)), turned(TrafficMode::Proxied));
}

fn handing_over() -> Policy {
    let hand_over = HandOver {
        in_flight: 10,
        requests_per_second: Some(100),
        after: Duration::from_secs(5),
        look_after: Duration::from_mins(1),
        look_after_max: Duration::from_secs(200),
    };
    Policy { hand_over: Some(hand_over), ..direct().policy }
}

#[test]
fn a_busy_target_is_handed_over_selector_first_and_looked_at_ever_more_seldom() {
    let mut machine = machine(TrafficMode::Proxied, at(0));
    for (round, wait) in [(1, 60), (2, 120), (3, 200), (4, 200)] {
        let start = round * 1000;
        let traffic = Some(Traffic { in_flight: 10, ..captured().traffic.unwrap() });
        let seen = Observed { policy: handing_over(), traffic, ..captured() };
        assert_eq!(step(&mut machine, &seen, at(start)), []);
        assert_eq!(step(&mut machine, &seen, at(start + 5)), turned(TrafficMode::HandingOver));
        assert_eq!(step(&mut machine, &seen, at(start + 5)), [Effect::Release]);
        let seen = Observed { capture: Extent::None, ..seen };
        assert_eq!(step(&mut machine, &seen, at(start + 5)), [], "no pod is in the Service's slices yet");
        let seen = Observed { direct_pods: 1, direct_endpoints: 1, ..seen };
        assert_eq!(step(&mut machine, &seen, at(start + 5)), [Effect::DeleteSlice]);
        let seen = Observed { slice: Slice::Absent, ..seen };
        assert_eq!(step(&mut machine, &seen, at(start + 6)), turned(TrafficMode::Direct));
        assert_eq!(step(&mut machine, &seen, at(start + 5 + wait)), [Effect::LookAt(at(start + 6 + wait))]);
        assert_eq!(step(&mut machine, &seen, at(start + 6 + wait)), turned(TrafficMode::Entering));
        let seen = Observed { policy: handing_over(), ..captured() };
        machine.step(Event::Probed { proven: true }, at(start + 7 + wait));
        assert_eq!(step(&mut machine, &seen, at(start + 7 + wait)), turned(TrafficMode::Proxied));
    }
}

#[test]
fn a_rate_counts_as_busy_too() {
    let mut machine = machine(TrafficMode::Proxied, at(0));
    let traffic = Some(Traffic { per_second: 100, ..captured().traffic.unwrap() });
    let seen = Observed { policy: handing_over(), traffic, ..captured() };
    step(&mut machine, &seen, at(1));
    assert_eq!(machine.mode(), TrafficMode::Proxied);
    assert_eq!(step(&mut machine, &seen, at(6)), turned(TrafficMode::HandingOver));
}

#[test]
fn a_target_that_somebody_else_brings_to_zero_is_captured_and_woken_by_the_next_request() {
    let mut machine = machine(TrafficMode::Direct, at(0));
    let seen = Observed { policy: handing_over(), replicas: Some(0), direct_pods: 0, ..direct() };
    assert_eq!(step(&mut machine, &seen, at(1)), turned(TrafficMode::Entering));
    let seen = Observed { policy: handing_over(), replicas: Some(0), ready_pods: 0, ..captured() };
    machine.step(Event::Probed { proven: true }, at(2));
    assert_eq!(step(&mut machine, &seen, at(2)), turned(TrafficMode::Asleep));
    assert_eq!(step(&mut machine, &Observed { held: 1, ..seen }, at(3)), [Effect::Scale { replicas: 2 }]);
}

#[test]
fn without_a_living_resolver_the_service_is_direct_and_its_target_awake() {
    let seen = Observed { replicas: Some(0), ready_pods: 0, resolvers: Some(0), ..captured() };
    let mut machine = Machine::recover(Some((TrafficMode::Asleep, at(0))), Some(3), &seen, at(0));
    let failed = vec![Effect::SetMode { mode: TrafficMode::FailOpen, restore: Some(3) }];
    assert_eq!(step(&mut machine, &seen, at(1)), failed);
    assert_eq!(step(&mut machine, &seen, at(1)), [Effect::Release, Effect::Scale { replicas: 3 }]);
    let seen = Observed { replicas: Some(3), capture: Extent::None, slice: Slice::Stale, ..seen };
    assert_eq!(step(&mut machine, &seen, at(2)), [Effect::DeleteSlice]);
    let seen = Observed { slice: Slice::Absent, ..seen };
    assert_eq!(step(&mut machine, &seen, at(3)), []);
    let back = Observed { resolvers: Some(1), ..seen };
    let entering = vec![Effect::SetMode { mode: TrafficMode::Entering, restore: Some(3) }];
    assert_eq!(step(&mut machine, &back, at(4)), entering);
}

#[test]
fn resolvers_that_are_only_unknown_are_left_in_the_path() {
    let seen = Observed { resolvers: None, traffic: None, slice: Slice::Stale, ..captured() };
    for mode in [TrafficMode::Proxied, TrafficMode::Waking, TrafficMode::Asleep, TrafficMode::Entering] {
        let seen = match mode {
            TrafficMode::Asleep => Observed { replicas: Some(0), ready_pods: 0, ..seen.clone() },
            TrafficMode::Waking => Observed { ready_pods: 0, ..seen.clone() },
            _ => seen.clone(),
        };
        assert_eq!(step(&mut machine(mode, at(0)), &seen, at(1000)), [], "{mode:?}");
    }
}

#[test]
fn suspend_wakes_what_reeve_put_to_sleep_and_leaves_the_zero_of_a_person() {
    let leave = Policy { intent: Intent::Leave { finish: false }, ..direct().policy };
    let seen = Observed { policy: leave, replicas: Some(0), ready_pods: 0, ..captured() };
    let mut ours = Machine::recover(Some((TrafficMode::Asleep, at(0))), Some(3), &seen, at(0));
    let leaving = vec![Effect::SetMode { mode: TrafficMode::HandingOver, restore: Some(3) }];
    assert_eq!(step(&mut ours, &seen, at(1)), leaving);
    assert_eq!(step(&mut ours, &seen, at(1)), [Effect::Scale { replicas: 3 }]);
    let awake = Observed { replicas: Some(3), ..seen.clone() };
    assert_eq!(step(&mut ours, &awake, at(2)), [Effect::LookAt(at(121))], "requests wait with us until a pod is ready");
    let ready = Observed { ready_pods: 1, ..awake };
    assert_eq!(step(&mut ours, &ready, at(3)), [Effect::Release]);
    let released = Observed { capture: Extent::None, direct_pods: 1, ..ready };
    assert_eq!(step(&mut ours, &released, at(3)), [Effect::DeleteSlice]);
    let out = Observed { slice: Slice::Absent, ..released };
    assert_eq!(step(&mut ours, &out, at(4)), turned(TrafficMode::Untouched));
    let down = Observed { replicas: Some(0), direct_pods: 0, ..out };
    assert_eq!(step(&mut ours, &down, at(1000)), [], "a zero written by a person stays");

    let mut theirs = Machine::recover(Some((TrafficMode::Asleep, at(0))), None, &seen, at(0));
    assert_eq!(step(&mut theirs, &seen, at(1)), turned(TrafficMode::HandingOver));
    assert_eq!(step(&mut theirs, &seen, at(1)), [Effect::Release]);
}

#[test]
fn a_deleted_rule_leaves_its_target_awake_whoever_put_it_to_sleep() {
    let leave = Policy { intent: Intent::Leave { finish: true }, ..direct().policy };
    let seen = Observed { policy: leave, replicas: Some(0), ready_pods: 0, ..captured() };
    let mut machine = machine(TrafficMode::Asleep, at(0));
    step(&mut machine, &seen, at(1));
    assert_eq!(step(&mut machine, &seen, at(1)), [Effect::Scale { replicas: 2 }]);
    let gone = Observed { policy: leave, replicas: None, capture: Extent::None, slice: Slice::Absent, ..captured() };
    assert_eq!(step(&mut machine, &gone, at(2)), turned(TrafficMode::Untouched));
    assert_eq!(step(&mut machine, &gone, at(2)), [Effect::LookAt(at(12))], "clients may still be led to the listeners");
    assert_eq!(step(&mut machine, &gone, at(12)), [Effect::Finish]);
}

#[test]
fn a_switch_without_a_status_goes_on_from_the_objects() {
    let recovered = |observed: &Observed| Machine::recover(None, None, observed, at(0)).mode();
    assert_eq!(recovered(&direct()), TrafficMode::Direct);
    assert_eq!(recovered(&captured()), TrafficMode::Entering);
    assert_eq!(recovered(&Observed { replicas: Some(0), ..captured() }), TrafficMode::Asleep);
    assert_eq!(recovered(&Observed { slice: Slice::Stale, ..direct() }), TrafficMode::Entering);
}

#[test]
fn a_selector_that_somebody_gave_back_is_captured_and_proven_again() {
    let seen = Observed { capture: Extent::None, ..captured() };
    for mode in [TrafficMode::Proxied, TrafficMode::Draining] {
        let mut machine = machine(mode, at(0));
        assert_eq!(step(&mut machine, &seen, at(1)), turned(TrafficMode::Entering));
        assert_eq!(step(&mut machine, &seen, at(1)), [Effect::Capture]);
    }
}

#[test]
fn a_person_wakes_a_target_that_nobody_calls() {
    let asked = Policy { asked: Some(Asked::Wake), ..captured().policy };
    let mut machine = machine(TrafficMode::Asleep, at(0));
    let seen = Observed { policy: asked, replicas: Some(0), ready_pods: 0, ..captured() };
    assert!(!machine.has_answered(&asked));
    assert_eq!(step(&mut machine, &seen, at(1)), [Effect::Scale { replicas: 2 }]);
    assert_eq!(step(&mut machine, &Observed { replicas: Some(2), ..seen }, at(1)), turned(TrafficMode::Waking));
    assert!(machine.has_answered(&asked), "asked once, it is woken once");
}

#[test]
fn a_person_who_wakes_lifts_the_barrier() {
    let asked = Policy { asked: Some(Asked::Wake), ..captured().policy };
    let mut machine = machine(TrafficMode::Draining, at(0));
    let seen = Observed { policy: asked, traffic: Some(holding()), ..captured() };
    assert_eq!(step(&mut machine, &seen, at(1)), turned(TrafficMode::Proxied));
}

#[test]
fn a_person_lets_a_target_sleep_before_its_time_but_never_under_a_request() {
    let asked = Policy { asked: Some(Asked::Sleep), ..captured().policy };
    let mut awake = machine(TrafficMode::Proxied, at(0));
    let traffic = Some(Traffic { in_flight: 1, last_request: Some(at(1)), ..captured().traffic.unwrap() });
    assert_eq!(step(&mut awake, &Observed { policy: asked, traffic, ..captured() }, at(1)), []);
    let traffic = Some(Traffic { last_request: Some(at(1)), ..captured().traffic.unwrap() });
    let seen = Observed { policy: asked, traffic, ..captured() };
    let draining = vec![Effect::SetMode { mode: TrafficMode::Draining, restore: Some(3) }];
    assert_eq!(step(&mut awake, &seen, at(2)), draining, "neither idleAfter nor minAwake is over");
    assert!(!awake.has_answered(&asked));

    let policy = Policy { asked: Some(Asked::Sleep), ..handing_over() };
    let mut out = machine(TrafficMode::Direct, at(0));
    assert_eq!(step(&mut out, &Observed { policy, ..direct() }, at(1)), turned(TrafficMode::Entering));
    assert!(machine(TrafficMode::HandingOver, at(0)).has_answered(&policy), "too busy: it is not asked again");
}

fn by_keda() -> Policy {
    Policy { sleep_by: SleepBy::Keda { within: Duration::from_mins(1) }, ..captured().policy }
}

/// Draining under KEDA, with the barrier confirmed.
fn barred() -> Observed {
    Observed { policy: by_keda(), traffic: Some(holding()), ..captured() }
}

#[test]
fn keda_is_asked_to_sleep_only_behind_the_barrier_and_writes_the_scale_itself() {
    let mut machine = machine(TrafficMode::Draining, at(0));
    let seen = Observed { traffic: captured().traffic, ..barred() };
    assert_eq!(step(&mut machine, &seen, at(1)), [Effect::LookAt(at(70))]);
    assert!(!machine.asks_keda(), "no replica holds yet");
    step(&mut machine, &barred(), at(2));
    machine.step(Event::Probed { proven: true }, at(2));
    assert_eq!(step(&mut machine, &barred(), at(2)), [Effect::LookAt(at(70))]);
    assert!(machine.asks_keda());
    let seen = Observed { replicas: Some(0), ready_pods: 0, keda_told: Some(at(30)), ..barred() };
    let seen = Observed { traffic: seen.traffic.map(|traffic| Traffic { ready_pods: 0, ..traffic }), ..seen };
    let asleep = vec![Effect::SetMode { mode: TrafficMode::Asleep, restore: None }];
    assert_eq!(step(&mut machine, &seen, at(31)), asleep);
    assert!(!machine.asks_keda());
}

#[test]
fn a_request_lifts_the_barrier_at_once_only_if_keda_was_not_told_of_the_sleep() {
    let wanted = Observed { held: 1, ..barred() };
    for (told, lifted) in [(None, 13), (Some(at(2)), 13), (Some(at(12)), 22)] {
        let mut machine = machine(TrafficMode::Draining, at(0));
        machine.keda_may_know = None;
        let seen = Observed { keda_told: told, ..wanted.clone() };
        if lifted > 13 {
            assert_eq!(step(&mut machine, &seen, at(13)), [Effect::LookAt(at(lifted))]);
            assert!(!machine.asks_keda(), "and not told again");
        }
        assert_eq!(step(&mut machine, &seen, at(lifted)), turned(TrafficMode::Proxied));
    }
}

#[test]
fn a_switch_that_takes_over_a_drain_does_not_know_what_keda_was_told() {
    let mut machine = machine(TrafficMode::Draining, at(0));
    let wanted = Observed { held: 1, ..barred() };
    assert_eq!(step(&mut machine, &wanted, at(1)), [Effect::LookAt(at(10))]);
    assert_eq!(step(&mut machine, &wanted, at(10)), turned(TrafficMode::Proxied));
}

#[test]
fn a_target_that_another_trigger_keeps_awake_is_served_again_after_a_while() {
    let mut machine = machine(TrafficMode::Draining, at(0));
    let seen = Observed { keda_told: Some(at(50)), ..barred() };
    assert_eq!(step(&mut machine, &seen, at(70)), turned(TrafficMode::Proxied));
    let seen = Observed { policy: by_keda(), ..captured() };
    assert_eq!(step(&mut machine, &seen, at(79)), [Effect::LookAt(at(100))], "not before the rule's time again");
}

#[test]
fn without_keda_that_can_be_asked_nothing_sleeps_and_a_request_wakes_all_the_same() {
    let policy = Policy { sleep_by: SleepBy::Nobody, ..captured().policy };
    let mut awake = machine(TrafficMode::Proxied, at(0));
    assert_eq!(step(&mut awake, &Observed { policy, ..captured() }, at(1000)), []);
    let mut asleep = machine(TrafficMode::Asleep, at(0));
    let seen = Observed { policy, replicas: Some(0), ready_pods: 0, held: 1, traffic: None, ..captured() };
    assert_eq!(step(&mut asleep, &seen, at(1)), [Effect::Scale { replicas: 2 }]);
}
