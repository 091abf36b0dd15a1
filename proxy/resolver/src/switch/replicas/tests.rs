use super::*;
use crate::report::ListenerReport;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(1_000_000_000 + millis).unwrap()
}

fn rule() -> RuleKey {
    RuleKey::new("shop", "web")
}

fn report(replica: &str, sequence: u64, change: impl FnOnce(&mut RuleReport)) -> ReplicaReport {
    let mut rule_report = RuleReport {
        rule: rule(),
        mode: Some(TrafficMode::Draining),
        mode_changes: 4,
        holding: true,
        in_flight: 0,
        held: 0,
        ready_pods: 0,
        requests_total: 0,
        last_request: None,
        wake: None,
    };
    change(&mut rule_report);
    ReplicaReport {
        replica: replica.to_owned(),
        instance: "i".to_owned(),
        sequence,
        addresses: vec!["10.0.0.1".parse().unwrap()],
        node: None,
        at: at(0),
        draining: false,
        listeners: vec![ListenerReport { rule: rule(), port: 20001, bound: true, problem: None }],
        rules: vec![rule_report],
    }
}

fn ports() -> BTreeSet<i32> {
    BTreeSet::from([20001])
}

/// Of a leader that has led for long.
fn replicas() -> Replicas {
    Replicas::new(at(-1_000_000))
}

const DRAINING: (TrafficMode, i64) = (TrafficMode::Draining, 4);

#[test]
fn a_replica_is_usable_only_while_it_reports_every_port_bound_and_does_not_end() {
    let mut replicas = replicas();
    assert_eq!(replicas.usable(&rule(), &ports(), at(0)), Some(vec![]));
    replicas.report(report("a", 1, |_| ()), at(0));
    assert_eq!(replicas.usable(&rule(), &ports(), at(0)).unwrap().len(), 1);
    assert_eq!(replicas.usable(&rule(), &BTreeSet::from([20001, 20002]), at(0)), Some(vec![]));
    assert_eq!(replicas.usable(&rule(), &BTreeSet::new(), at(0)), Some(vec![]), "no ports yet");
    let ending = ReplicaReport { draining: true, ..report("a", 2, |_| ()) };
    assert!(replicas.report(ending, at(100)).replicas);
    assert_eq!(replicas.usable(&rule(), &ports(), at(100)), Some(vec![]));
}

#[test]
fn silence_is_unknown_and_neither_dead_nor_idle() {
    let mut replicas = replicas();
    replicas.report(report("a", 1, |_| ()), at(0));
    assert!(replicas.traffic(&rule(), DRAINING, at(2_900)).is_some());
    assert!(replicas.traffic(&rule(), DRAINING, at(3_000)).is_none());
    assert_eq!(replicas.usable(&rule(), &ports(), at(3_000)), None);
    assert_eq!(replicas.silent(at(3_000)), [("a".to_owned(), Some("10.0.0.1:20001".parse().unwrap()))]);
    replicas.report(report("b", 1, |_| ()), at(3_000));
    assert_eq!(replicas.usable(&rule(), &ports(), at(3_000)).unwrap().len(), 1, "the other takes over");
    assert!(replicas.traffic(&rule(), DRAINING, at(3_000)).is_none(), "but what the first has is not known");
    replicas.remove("a");
    assert!(replicas.traffic(&rule(), DRAINING, at(3_000)).is_some());
}

#[test]
fn a_new_leader_listens_before_it_believes_that_nobody_is_there() {
    let replicas = Replicas::new(at(0));
    assert_eq!(replicas.usable(&rule(), &ports(), at(4_900)), None);
    assert_eq!(replicas.usable(&rule(), &ports(), at(5_000)), Some(vec![]));
    assert!(replicas.traffic(&rule(), DRAINING, at(2_900)).is_none());
}

#[test]
fn a_barrier_counts_only_when_every_replica_acts_by_this_very_mode() {
    let mut replicas = replicas();
    replicas.report(report("a", 1, |_| ()), at(0));
    let holding = |replicas: &Replicas| replicas.traffic(&rule(), DRAINING, at(100)).unwrap().holding;
    assert!(holding(&replicas));
    replicas.report(report("b", 1, |rule| rule.mode_changes = 2), at(0));
    assert!(!holding(&replicas), "it speaks of an earlier drain");
    replicas.report(report("b", 2, |rule| rule.holding = false), at(0));
    assert!(!holding(&replicas));
    replicas.report(ReplicaReport { rules: Vec::new(), ..report("b", 3, |_| ()) }, at(0));
    assert!(!holding(&replicas), "it has not heard of the rule");
    replicas.report(report("b", 4, |_| ()), at(0));
    assert!(holding(&replicas));
}

#[test]
fn reports_are_summed_and_late_ones_dropped() {
    let mut replicas = replicas();
    replicas.report(report("a", 2, |rule| rule.in_flight = 1), at(0));
    let changed = replicas.report(report("a", 1, |rule| rule.in_flight = 7), at(10));
    assert!(changed.rules.is_empty());
    replicas.report(report("b", 1, |rule| (rule.in_flight, rule.held) = (2, 3)), at(0));
    assert_eq!(replicas.traffic(&rule(), DRAINING, at(100)).unwrap().in_flight, 3);
    assert_eq!(replicas.held(&rule()), 3);
    replicas.report(report("b", 2, |rule| rule.ready_pods = 2), at(0));
    assert_eq!(replicas.traffic(&rule(), DRAINING, at(100)).unwrap().ready_pods, 2, "the most that one knows");
}

#[test]
fn the_age_of_a_request_counts_and_not_the_clock_of_the_replica() {
    let mut replicas = replicas();
    let mut skewed = report("a", 1, |rule| rule.last_request = Some(at(3_600_000)));
    skewed.at = at(3_602_000);
    replicas.report(skewed, at(10_000));
    assert_eq!(replicas.traffic(&rule(), DRAINING, at(10_000)).unwrap().last_request, Some(at(8_000)));
}

#[test]
fn a_rate_is_taken_over_a_second() {
    let mut replicas = replicas();
    replicas.report(report("a", 1, |rule| rule.requests_total = 100), at(0));
    replicas.report(report("a", 2, |rule| rule.requests_total = 150), at(100));
    let rate = |replicas: &Replicas, now| replicas.traffic(&rule(), DRAINING, now).unwrap().per_second;
    assert_eq!(rate(&replicas, at(100)), 0);
    replicas.report(report("a", 3, |rule| rule.requests_total = 300), at(1_000));
    assert_eq!(rate(&replicas, at(1_000)), 200);
}

#[test]
fn a_report_that_says_the_same_again_is_no_news() {
    let mut replicas = replicas();
    assert!(replicas.report(report("a", 1, |_| ()), at(0)).replicas);
    let again = replicas.report(report("a", 2, |_| ()), at(1_000));
    assert!(again.rules.is_empty() && !again.replicas);
    assert!(replicas.report(report("a", 3, |rule| rule.held = 1), at(2_000)).rules.contains(&rule()));
}

#[test]
fn who_is_silent_for_very_long_is_given_up() {
    let mut replicas = replicas();
    replicas.report(report("a", 1, |_| ()), at(0));
    assert!(!replicas.forget(at(59_000)));
    assert!(replicas.forget(at(60_000)));
}
