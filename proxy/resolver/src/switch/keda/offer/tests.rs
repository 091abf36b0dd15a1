use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::switch::machine::{Event, Extent, Intent, Policy, SleepBy, Slice, Traffic};

fn spec(keda: &Value) -> ScalingRuleSpec {
    let spec = json!({ "services": [{ "name": "web" }], "replicas": { "wake": 2, "max": 10 }, "keda": keda });
    serde_json::from_value(spec).unwrap()
}

/// Awake and in the path: three requests are in flight and two wait.
fn observed() -> Observed {
    Observed {
        policy: Policy {
            intent: Intent::Govern,
            idle_after: Duration::from_secs(10),
            min_awake: Duration::ZERO,
            wake: 2,
            hand_over: None,
            keep_awake: false,
            asked: None,
            sleep_by: SleepBy::Keda { within: Duration::from_secs(10) },
        },
        replicas: Some(2),
        shadow: true,
        ready_pods: 2,
        direct_pods: 0,
        direct_endpoints: 0,
        capture: Extent::All,
        slice: Slice::Current,
        routes_settle: None,
        resolvers: Some(1),
        traffic: Some(Traffic { in_flight: 3, per_second: 40, last_request: None, holding: false, ready_pods: 2 }),
        held: 2,
        pods_quiet: true,
        keda_told: None,
    }
}

fn idle() -> Observed {
    let traffic = Traffic { in_flight: 0, per_second: 0, last_request: None, holding: true, ready_pods: 2 };
    Observed { held: 0, traffic: Some(traffic), ..observed() }
}

fn asleep() -> Observed {
    Observed { replicas: Some(0), ready_pods: 0, ..idle() }
}

fn machine(mode: TrafficMode, observed: &Observed) -> Machine {
    Machine::recover(Some((mode, Timestamp::UNIX_EPOCH)), None, observed, Timestamp::UNIX_EPOCH)
}

fn offered(keda: &Value, mode: TrafficMode, observed: &Observed) -> Offer {
    let spec = spec(keda);
    offer(&spec, spec.keda.as_ref().unwrap(), false, &machine(mode, observed), observed)
}

#[test]
fn keda_gets_what_is_held_and_in_flight_or_the_rate() {
    let by_count = offered(&json!({ "targetPerReplica": 7 }), TrafficMode::Proxied, &observed());
    assert_eq!((by_count.metric, by_count.value, by_count.target_per_replica), (METRIC_CONCURRENCY, Some(5), 7));
    let by_rate = offered(&json!({ "metric": "RequestRate" }), TrafficMode::Proxied, &observed());
    assert_eq!((by_rate.metric, by_rate.value), (METRIC_REQUEST_RATE, Some(40)));
}

#[test]
fn what_is_not_known_is_not_answered() {
    let silent = Observed { traffic: None, ..observed() };
    assert_eq!(offered(&json!({}), TrafficMode::Proxied, &silent).value, None);
    assert_eq!(offered(&json!({}), TrafficMode::FailOpen, &observed()).value, None, "no resolver is in the path");
    assert_eq!(offered(&json!({}), TrafficMode::Direct, &idle()).value, Some(0), "the other triggers count");
}

#[test]
fn a_target_is_active_until_it_may_sleep() {
    for mode in [TrafficMode::Direct, TrafficMode::Entering, TrafficMode::Proxied, TrafficMode::HandingOver] {
        assert_eq!(offered(&json!({}), mode, &idle()).activity, Activity::Active, "{mode:?}");
    }
    let spec = spec(&json!({}));
    let mut draining = machine(TrafficMode::Draining, &idle());
    let offer_of = |machine: &Machine| offer(&spec, spec.keda.as_ref().unwrap(), false, machine, &idle()).activity;
    assert_eq!(offer_of(&draining), Activity::Active, "the barrier is not proven");
    draining.step(Event::Probed { proven: true }, Timestamp::UNIX_EPOCH);
    draining.step(Event::Observed(Box::new(idle())), Timestamp::UNIX_EPOCH);
    assert_eq!(offer_of(&draining), Activity::MaySleep);
}

#[test]
fn a_target_at_zero_is_active_again_and_pushed_with_the_first_request() {
    let quiet = offered(&json!({}), TrafficMode::Asleep, &asleep());
    assert_eq!((quiet.activity, quiet.wanted), (Activity::Asleep, false));
    let called = offered(&json!({}), TrafficMode::Asleep, &Observed { held: 1, ..asleep() });
    assert_eq!((called.activity, called.wanted), (Activity::Active, true));
    let by_person = offered(&json!({}), TrafficMode::Untouched, &asleep());
    assert_eq!(by_person.activity, Activity::Asleep, "a zero written by a person stays");
    let barred = offered(&json!({}), TrafficMode::Draining, &Observed { held: 1, ..asleep() });
    assert_eq!(barred.activity, Activity::Asleep, "its pods are not gone yet");
    let unserved = offered(&json!({}), TrafficMode::FailOpen, &asleep());
    assert_eq!(unserved.activity, Activity::Active);
}

#[test]
fn the_first_request_asks_for_as_many_jobs_as_the_rule_wakes() {
    let spec = spec(&json!({ "targetPerReplica": 4 }));
    let jobs = |observed: &Observed| {
        let machine = machine(TrafficMode::Asleep, observed);
        offer(&spec, spec.keda.as_ref().unwrap(), true, &machine, observed).value
    };
    assert_eq!(jobs(&asleep()), Some(0));
    assert_eq!(jobs(&Observed { held: 1, ..asleep() }), Some(8));
    assert_eq!(jobs(&Observed { held: 30, ..asleep() }), Some(30));
}
