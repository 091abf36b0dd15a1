use reeve_agent_dapr::Rule;
use reeve_agent_dapr::record::Record;
use reeve_agent_dapr::world::Pod;
use reeve_crds::dapr_workload::Change;

use super::*;
use crate::sidecars::snapshot::Owner;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn id(kind: OwnerKind) -> WorkloadId {
    WorkloadId { namespace: "shop".to_owned(), kind, name: "web".to_owned() }
}

fn workload() -> Workload {
    let pod = |name: &str, token: Option<&str>| Pod {
        name: name.to_owned(),
        uid: name.to_owned(),
        token: token.map(str::to_owned),
        sidecar: Some(reeve_agent_dapr::version::Sidecar::UNKNOWN),
        image: None,
        ready: true,
    };
    let mut workload = Workload::new("web", 2);
    workload.pods = vec![pod("a", Some("new")), pod("b", None)];
    workload
}

fn subject(record: Option<DaprWorkloadStatus>) -> Subject {
    let owner = Owner {
        api_version: "apps/v1".to_owned(),
        kind: "Deployment".to_owned(),
        name: "web".to_owned(),
        uid: "u".to_owned(),
        version: "1".to_owned(),
        restart_at: None,
    };
    let record = record.map(|status| {
        let mut record = reeve_crds::DaprWorkload::new("deployment-web", spec_of());
        record.status = Some(status);
        std::sync::Arc::new(record)
    });
    Subject { owner, pods: Vec::new(), record }
}

fn spec_of() -> DaprWorkloadSpec {
    spec(&Subject { record: None, ..subject(None) }, &workload())
}

fn decision(verdict: Verdict) -> Decision {
    let (workload, nothing) = (workload(), std::collections::BTreeMap::new());
    let record = Record::adopt(workload.template(), workload.sidecar(), &nothing, reeve_agent_dapr::Hash::NONE);
    Decision { verdict, rule: Some(Rule::R1), why: "it changed".to_owned(), record, again: None }
}

fn summary_of(kind: OwnerKind, verdict: Verdict) -> (State, String, String, String) {
    let status = status(&id(kind), &subject(None), &workload(), &decision(verdict), DaprReload::Auto, Some(1), at(5));
    let ready = status.conditions.iter().find(|condition| condition.type_ == types::READY).unwrap();
    let blocked = status.blocked.map(|blocked| format!("{:?}", blocked.reason.known().unwrap())).unwrap_or_default();
    (status.state.unwrap(), ready.reason.clone(), status.pods.unwrap().summary, blocked)
}

fn block(reason: BlockedReason) -> Verdict {
    Verdict::Blocked(Block { reason, message: "wait".to_owned(), until: None })
}

#[test]
fn each_decision_is_told_in_state_reason_pods_and_what_keeps_it() {
    let row = |state, reason: &str, pods: &str, blocked: &str| {
        (state, reason.to_owned(), pods.to_owned(), blocked.to_owned())
    };
    let (deployment, bare) = (OwnerKind::Deployment, OwnerKind::Pod);
    let restart = Verdict::Restart(Means::Template("new".to_owned()));
    assert_eq!(summary_of(deployment, Verdict::Nothing), row(State::Ready, "Succeeded", "2/2", ""));
    assert_eq!(summary_of(deployment, Verdict::HotReload), row(State::Processing, "Progressing", "0/2", ""));
    assert_eq!(summary_of(deployment, restart), row(State::Processing, "Progressing", "1/2", ""));
    let settling = summary_of(deployment, block(BlockedReason::Settling));
    assert_eq!(settling, row(State::Processing, "Progressing", "0/2", "Settling"));
    let paused = summary_of(deployment, block(BlockedReason::Paused));
    assert_eq!(paused, row(State::Warning, "Blocked", "0/2", "Paused"));
    let unhealthy = summary_of(deployment, block(BlockedReason::Unhealthy));
    assert_eq!(unhealthy, row(State::Warning, "Unhealthy", "0/2", "Unhealthy"));
    assert_eq!(summary_of(deployment, Verdict::Report), row(State::Warning, "Blocked", "0/2", "Policy"));
    assert_eq!(summary_of(bare, Verdict::Report), row(State::Warning, "Blocked", "0/2", "NoOwner"));
}

#[test]
fn what_stays_as_it_was_keeps_its_time() {
    let decide = |old: Option<DaprWorkloadStatus>, verdict, now| {
        let subject = subject(old);
        status(&id(OwnerKind::Deployment), &subject, &workload(), &decision(verdict), DaprReload::Auto, Some(1), now)
    };
    let first = decide(None, block(BlockedReason::Paused), at(5));
    let second = decide(Some(first.clone()), block(BlockedReason::Paused), at(50));
    assert!(is_same(&first, &second), "nothing is written again: {second:#?}");
    let third = decide(Some(second), block(BlockedReason::OnDelete), at(60));
    assert_eq!(third.blocked.unwrap().since, Some(Time(at(60))));
    let ready = third.conditions.iter().find(|condition| condition.type_ == types::READY).unwrap();
    assert_eq!(ready.last_transition_time, Time(at(5)), "it was not ready before either");
}

#[test]
fn an_event_is_told_once_for_what_began_ended_or_is_blocked() {
    let mut change = Change {
        method: Lenient::from(Method::Restart),
        rule: None,
        message: Some("it changed".to_owned()),
        proof: None,
        applied_at: None,
        started_at: Some(Time(at(1))),
        token: None,
        finished_at: None,
    };
    let with = |change: &Change, blocked: Option<BlockedReason>| DaprWorkloadStatus {
        change: Some(change.clone()),
        blocked: blocked.map(|reason| Blocked {
            reason: Lenient::from(reason),
            message: "wait".to_owned(),
            since: None,
        }),
        ..DaprWorkloadStatus::default()
    };
    let reasons = |old: Option<&DaprWorkloadStatus>, new: &DaprWorkloadStatus| {
        notices(old, new).into_iter().map(|notice| notice.reason).collect::<Vec<_>>()
    };
    let began = with(&change, None);
    assert_eq!(reasons(None, &began), [Reason::Restarting]);
    assert_eq!(reasons(Some(&began), &began), []);
    let blocked = with(&change, Some(BlockedReason::Unhealthy));
    assert_eq!(reasons(Some(&began), &blocked), [Reason::Blocked]);
    assert_eq!(reasons(Some(&blocked), &blocked), []);
    assert_eq!(reasons(Some(&began), &with(&change, Some(BlockedReason::Queued))), []);
    change.finished_at = Some(Time(at(9)));
    assert_eq!(reasons(Some(&began), &with(&change, None)), [Reason::Restarted]);
}
