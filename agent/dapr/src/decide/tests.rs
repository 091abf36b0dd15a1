//! What keeps a restart, what joins it, and what follows a reload or a restart.

use reeve_crds::dapr_workload::{BlockedReason, Proof};
use reeve_crds::runtime::policy::DaprReload;
use serde_json::json;

use super::*;
use crate::kit::{Shop, at, id, id_of, object, pod, store, word};
use crate::world::{DisruptionBudget, Pod, Strategy};

mod simulation;

/// A shop whose sidecars do not reload and run a state store.
fn shop() -> Shop {
    hot_or_not("1.17.0")
}

fn hot_or_not(version: &str) -> Shop {
    let mut shop = Shop::new(version);
    shop.apply(&store("one", &json!({})));
    shop.decide();
    shop
}

fn token(decision: &Decision) -> String {
    let Verdict::Restart(Means::Template(token)) = &decision.verdict else { panic!("no restart: {decision:?}") };
    token.clone()
}

#[test]
fn a_lost_record_restarts_nothing() {
    let mut shop = shop();
    shop.apply(&store("two", &json!({})));
    shop.world.records.clear();
    assert_eq!(shop.outcome(), "a:nothing b:nothing c:nothing");
}

#[test]
fn a_lost_key_for_the_hashes_of_secrets_restarts_nothing_and_hides_no_other_change() {
    let with_secret = |host: &str| {
        let mut component = store(host, &json!({}));
        let reference = json!({ "name": "redisPassword", "secretKeyRef": { "name": "redis", "key": "p" } });
        component["spec"]["metadata"].as_array_mut().unwrap().push(reference);
        component
    };
    let mut shop = shop();
    shop.secret("redis", "p", "one");
    shop.apply(&with_secret("one"));
    shop.settle();
    shop.roll();
    shop.decide();
    shop.world.hash_key = Hash::of(b"another key");
    // The same value under another key.
    shop.secret("redis", "p", "as if it were another");
    assert_eq!(shop.outcome(), "a:nothing b:nothing c:nothing");
    shop.secret("redis", "p", "two");
    assert_eq!(shop.of("a"), "restart/R11");
    shop.roll();
    shop.world.hash_key = Hash::of(b"a third key");
    shop.apply(&with_secret("two"));
    assert_eq!(shop.of("a"), "restart/R1");
}

#[test]
fn many_changes_within_the_settle_time_are_one_restart() {
    let mut shop = shop();
    for (seconds, host) in [(1, "two"), (2, "three"), (2, "four")] {
        shop.now += seconds;
        shop.apply(&store(host, &json!({})));
        shop.apply(&object("Resiliency", host, &json!({ "policies": {} })));
        assert_eq!(word(&shop.decide()[&id("a")]), "Settling/R1");
    }
    let again = shop.decide()[&id("a")].again;
    assert_eq!(again, Some(at(6)), "the settle time is that of the first change, so that it ends");
    shop.now = 6;
    shop.roll();
    let record = shop.decide()[&id("a")].record.clone();
    assert_eq!((record.restarts.len(), record.running == record.applied), (1, true));
}

#[test]
fn the_plan_of_an_executed_plan_is_empty() {
    let mut shop = shop();
    shop.apply(&store("two", &json!({})));
    shop.settle();
    shop.roll();
    assert_eq!(shop.outcome(), "a:nothing b:nothing c:nothing");
}

#[test]
fn a_change_that_is_taken_back_before_its_restart_restarts_nothing() {
    let mut shop = shop();
    shop.apply(&store("two", &json!({})));
    shop.decide();
    shop.apply(&store("one", &json!({})));
    assert_eq!(shop.outcome(), "a:nothing b:nothing c:nothing");
    assert!(shop.world.records[&id("a")].restarts.is_empty());
}

#[test]
fn a_change_that_is_taken_back_during_its_restart_restarts_again() {
    let mut shop = shop();
    shop.apply(&store("two", &json!({})));
    let first = token(&shop.settle()[&id("a")]);
    shop.workload("a").token = Some(first.clone());
    shop.apply(&store("one", &json!({})));
    let second = token(&shop.decide()[&id("a")]);
    assert_ne!(first, second, "some pods run the second store already");
    shop.roll();
    assert_eq!(shop.of("a"), "nothing");
}

#[test]
fn a_target_that_the_template_had_before_gets_a_new_token() {
    let mut shop = shop();
    let mut tokens = Vec::new();
    for host in ["two", "one", "two"] {
        shop.apply(&store(host, &json!({})));
        tokens.push(token(&shop.settle()[&id("a")]));
        shop.roll();
        shop.decide();
    }
    assert_eq!(tokens[0], tokens[2], "a return to what was is the same template, and so the same ReplicaSet");
    // The template still has the token of `two` when a reload has brought `three`, and `two` comes back.
    let record = shop.world.records.get_mut(&id("a")).unwrap();
    record.running.clear();
    record.applied.clear();
    assert_eq!(token(&shop.settle()[&id("a")]), format!("{}-2", tokens[2]));
}

#[test]
fn no_more_workloads_restart_at_once_than_the_policy_allows() {
    let mut shop = shop();
    shop.world.policy.max_concurrent_restarts = 2;
    shop.apply(&store("two", &json!({})));
    assert_eq!(shop.outcome(), "a:restart/R1 b:restart/R1 c:Queued/R1");
    shop.roll();
    assert_eq!(shop.outcome(), "a:nothing b:nothing c:restart/R1");
}

#[test]
fn no_workload_restarts_more_often_within_an_hour_than_the_policy_allows() {
    let mut shop = shop();
    shop.world.policy.max_restarts_per_hour = 2;
    for host in ["two", "three"] {
        shop.apply(&store(host, &json!({})));
        shop.settle();
        shop.roll();
        shop.decide();
    }
    shop.apply(&store("four", &json!({})));
    let decision = shop.settle()[&id("a")].clone();
    assert_eq!(word(&decision), "RestartBudget/R1");
    assert_eq!(decision.again, Some(at(10 + 3600)), "an hour after the first of the two");
    shop.now = 10 + 3600;
    assert_eq!(shop.of("a"), "restart/R1");
}

#[test]
fn a_disruption_budget_keeps_only_what_could_breach_it() {
    let mut shop = shop();
    let budget = |allowed| Some(DisruptionBudget { name: "a".to_owned(), allowed });
    shop.workload("a").budget = budget(0);
    shop.workload("b").budget = budget(0);
    shop.workload("b").strategy = Strategy::Rolling { max_unavailable: 1 };
    shop.workload("c").budget = budget(0);
    shop.workload("c").strategy = Strategy::Recreate;
    shop.apply(&store("two", &json!({})));
    assert_eq!(shop.outcome(), "a:restart/R1 b:DisruptionBudget/R1 c:DisruptionBudget/R1");
    shop.workload("b").budget = budget(1);
    assert_eq!(shop.of("b"), "restart/R1");
}

#[test]
fn what_cannot_be_rolled_is_told_with_what_to_do() {
    let mut shop = shop();
    shop.workload("a").paused = true;
    shop.workload("b").strategy = Strategy::OnDelete;
    shop.workload("c").strategy = Strategy::Partitioned;
    shop.apply(&store("two", &json!({})));
    assert_eq!(shop.outcome(), "a:Paused/R1 b:OnDelete/R1 c:Partitioned/R1");
    let Verdict::Blocked(block) = shop.decide()[&id("a")].verdict.clone() else { panic!("not blocked") };
    assert_eq!(block.message, "Deployment shop/a is paused; resume it to let the change in");
}

#[test]
fn nothing_restarts_while_a_secret_is_missing_or_dapr_is_down() {
    let mut shop = shop();
    let mut component = store("two", &json!({ "scopes": ["a"] }));
    component["spec"]["metadata"][0] =
        json!({ "name": "redisPassword", "secretKeyRef": { "name": "redis", "key": "p" } });
    shop.apply(&component);
    let decision = shop.settle()[&id("a")].clone();
    let Verdict::Blocked(block) = decision.verdict else { panic!("not blocked") };
    assert_eq!(block.reason, BlockedReason::MissingSecret);
    assert_eq!(
        block.message,
        "Secret shop/redis, or a key of it that Component shop/statestore names, is missing: sidecars would not start; create it"
    );
    shop.secret("redis", "p", "one");
    shop.world.control_plane.injector_ready = false;
    assert_eq!(shop.of("a"), "InjectorDown/R1");
    shop.world.control_plane.injector_ready = true;
    shop.world.control_plane.operator_ready = false;
    assert_eq!(shop.of("a"), "OperatorDown/R1");
    shop.world.control_plane.operator_ready = true;
    assert_eq!(shop.of("a"), "restart/R1");
}

#[test]
fn restarts_stop_at_the_first_workload_that_does_not_come_back() {
    let mut shop = shop();
    shop.world.policy.max_concurrent_restarts = 1;
    shop.apply(&store("two", &json!({})));
    assert_eq!(shop.outcome(), "a:restart/R1 b:Queued/R1 c:Queued/R1");
    shop.now += 600;
    assert_eq!(shop.outcome(), "a:Unhealthy/R1 b:Unhealthy/R1 c:Unhealthy/R1");
    assert_eq!(shop.world.records[&id("a")].change.as_ref().unwrap().proof, Proof::Failed);
    shop.apply(&store("mended", &json!({})));
    assert_eq!(
        shop.outcome(),
        "a:restart/R1 b:Queued/R1 c:Queued/R1",
        "the one that failed gets the mended spec first"
    );
    shop.roll();
    assert_eq!(shop.outcome(), "a:nothing b:restart/R1 c:Queued/R1");
}

#[test]
fn a_reload_is_proven_or_followed_by_one_restart() {
    let reloading = |evidence: Evidence| {
        let mut shop = hot_or_not("1.18.3");
        shop.apply(&store("two", &json!({})));
        assert_eq!(shop.of("a"), "hot/R1");
        shop.workload("a").evidence = evidence;
        shop
    };
    let mut seen = reloading(Evidence::Seen);
    assert_eq!(seen.of("a"), "nothing");
    assert_eq!(seen.world.records[&id("a")].change.as_ref().unwrap().proof, Proof::Observed);

    let mut unreadable = reloading(Evidence::Unreadable);
    assert_eq!(unreadable.of("a"), "hot/R1");
    unreadable.now += 75;
    assert_eq!(unreadable.of("a"), "nothing", "never a restart because logs cannot be read");
    assert_eq!(unreadable.world.records[&id("a")].change.as_ref().unwrap().proof, Proof::Assumed);

    for evidence in [Evidence::Silent, Evidence::Failed("init timeout".to_owned())] {
        let mut silent = reloading(evidence);
        silent.now += 75;
        assert_eq!(silent.of("a"), "restart/R1");
        silent.workload("a").evidence = Evidence::Silent;
        silent.roll();
        silent.now += 1000;
        assert_eq!(silent.of("a"), "nothing", "one restart, no more");
        assert_eq!(silent.world.records[&id("a")].restarts.len(), 1);
    }
}

#[test]
fn a_change_that_is_taken_back_while_its_restart_runs_is_restarted_for_although_that_has_to_wait() {
    let mut shop = shop();
    shop.apply(&store("two", &json!({})));
    assert_eq!(shop.of("a"), "restart/R1");
    shop.world.control_plane.injector_ready = false;
    shop.apply(&store("one", &json!({})));
    assert_eq!(shop.of("a"), "InjectorDown/R1");
    assert_eq!(shop.of("a"), "InjectorDown/R1", "some pods may run what was applied in between");
    shop.world.control_plane.injector_ready = true;
    assert_eq!(shop.of("a"), "restart/R1");
    shop.roll();
    assert_eq!(shop.of("a"), "nothing");
}

#[test]
fn a_policy_can_ask_for_restarts_or_refuse_them() {
    let mut shop = hot_or_not("1.18.3");
    shop.world.policy.reload = DaprReload::Restart;
    shop.workload("b").reload = Some(DaprReload::HotOnly);
    shop.workload("c").reload = Some(DaprReload::HotOnly);
    shop.workload("c").pods = vec![pod("c", "1.17.0", None)];
    shop.apply(&store("two", &json!({})));
    assert_eq!(shop.outcome(), "a:restart/R1 b:hot/R1 c:report/R1");
    let mut shop = self::shop();
    shop.world.policy.reload = DaprReload::Manual;
    shop.apply(&store("two", &json!({})));
    assert_eq!(shop.outcome(), "a:report/R1 b:report/R1 c:report/R1");
}

#[test]
fn a_workload_of_no_pods_has_nothing_to_take_over() {
    let mut shop = shop();
    shop.workload("a").replicas = 0;
    shop.workload("a").pods.clear();
    shop.apply(&store("two", &json!({})));
    assert_eq!(shop.of("a"), "nothing");
    shop.workload("a").replicas = 1;
    shop.workload("a").pods = vec![pod("a", "1.17.0", None)];
    assert_eq!(shop.of("a"), "nothing", "pods that come later start with it");
}

#[test]
fn a_bare_replica_set_loses_one_pod_at_a_time_and_a_rollout_restarts_itself() {
    let mut shop = shop();
    let (bare, rollout) = (id_of(OwnerKind::ReplicaSet, "x"), id_of(OwnerKind::Rollout, "y"));
    for id in [&bare, &rollout] {
        let mut workload = crate::world::Workload::new("x", 2);
        workload.pods = vec![pod("x1", "1.17.0", None), pod("x2", "1.17.0", None)];
        shop.world.workloads.insert(id.clone(), workload);
    }
    shop.decide();
    shop.apply(&store("two", &json!({})));
    let decisions = shop.settle();
    assert_eq!(decisions[&rollout].verdict, Verdict::Restart(Means::RestartAt(at(10))));
    let Verdict::Restart(Means::Evict(Some(token), pods)) = &decisions[&bare].verdict else { panic!("no eviction") };
    assert_eq!(pods, &[("x1".to_owned(), "uid-x1".to_owned())]);
    let workload = shop.world.workloads.get_mut(&bare).unwrap();
    workload.pods[0] = Pod { token: Some(token.clone()), ready: false, ..pod("x3", "1.17.0", None) };
    let Verdict::Restart(Means::Evict(_, pods)) = shop.decide()[&bare].verdict.clone() else { panic!("no eviction") };
    assert!(pods.is_empty(), "the one before is not back");
    shop.world.workloads.get_mut(&bare).unwrap().pods[0].ready = true;
    let Verdict::Restart(Means::Evict(_, pods)) = shop.decide()[&bare].verdict.clone() else { panic!("no eviction") };
    assert_eq!(pods, [("x2".to_owned(), "uid-x2".to_owned())]);
    shop.world.workloads.get_mut(&rollout).unwrap().restarted_at = Some(at(10));
    assert_eq!(word(&shop.decide()[&rollout]), "nothing");
}
