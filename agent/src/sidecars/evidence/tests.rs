use std::collections::{BTreeMap, BTreeSet};

use reeve_agent_dapr::decide::decide;
use reeve_agent_dapr::version::{Sidecar, version_of_image};
use reeve_agent_dapr::world::{self, OwnerKind, Workload, WorkloadId};
use reeve_agent_dapr::{Resource, World};
use serde_json::json;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

pub(super) fn pod() -> PodFacts {
    let image = "daprd:1.18.3".to_owned();
    PodFacts {
        pod: world::Pod {
            name: "web-1".to_owned(),
            uid: "1".to_owned(),
            token: None,
            sidecar: Some(Sidecar::new(version_of_image(&image), None)),
            image: Some(image),
            ready: true,
        },
        start_values: BTreeSet::new(),
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        controller: None,
        is_injected: true,
        arguments: Vec::new(),
        is_on_node: true,
        is_native: false,
        failed: None,
    }
}

fn resource(kind: &str, name: &str, value: &str) -> Resource {
    let spec = json!({ "type": "state.redis", "version": "v1", "metadata": [{ "name": "redisHost", "value": value }] });
    let object = json!({ "apiVersion": "dapr.io/v1alpha1", "kind": kind, "metadata": { "name": name, "namespace": "shop" }, "spec": spec });
    resource_of(&object)
}

pub(super) fn resource_of(object: &serde_json::Value) -> Resource {
    Resource::read(object).unwrap().unwrap()
}

/// The record of a workload that reloads, since one resource of these changed into another.
pub(super) fn reloading(before: Option<Resource>, after: Option<Resource>) -> Record {
    let id = WorkloadId { namespace: "shop".to_owned(), kind: OwnerKind::Deployment, name: "web".to_owned() };
    let mut workload = Workload::new("web", 1);
    workload.pods = vec![pod().pod];
    workload.configuration = Some("tracing".to_owned());
    let mut world = World::default();
    world.control_plane.operator_ready = true;
    world.workloads.insert(id.clone(), workload);
    world.resources.extend(before.map(|resource| (resource.id.clone(), resource)));
    let first = decide(&world, at(0)).remove(&id).unwrap();
    world.records.insert(id.clone(), first.record);
    world.resources = after.map(|resource| (resource.id.clone(), resource)).into_iter().collect();
    decide(&world, at(100)).remove(&id).unwrap().record
}

fn evidence_in(record: &Record, log: &str) -> Evidence {
    judge(record, &[(&pod(), Some(log.to_owned()))])
}

#[test]
fn a_component_is_proven_when_it_is_loaded_and_not_before() {
    let record = reloading(Some(resource("Component", "store", "one")), Some(resource("Component", "store", "two")));
    assert_eq!(since(&record), Some(at(95)));
    assert_eq!(evidence_in(&record, ""), Evidence::Silent);
    assert_eq!(
        evidence_in(&record, r#"msg="Component updated: store (state.redis/v1)""#),
        Evidence::Silent,
        "it still has to start"
    );
    assert_eq!(
        evidence_in(&record, r#"msg="Component loaded: store-2 (state.redis/v1)""#),
        Evidence::Silent,
        "another one"
    );
    assert_eq!(evidence_in(&record, r#"{"msg":"Component loaded: store (state.redis/v1)"}"#), Evidence::Seen);
}

#[test]
fn a_component_that_could_not_be_loaded_has_failed_unless_it_was_loaded_since() {
    let record = reloading(Some(resource("Component", "store", "one")), Some(resource("Component", "store", "two")));
    let failed = "Failed to init component store (state.redis/v1): no route\n";
    let loaded = "Component loaded: store (state.redis/v1)\n";
    let message = "Failed to init component store (state.redis/v1): no route".to_owned();
    assert_eq!(evidence_in(&record, failed), Evidence::Failed(message.clone()));
    assert_eq!(evidence_in(&record, &format!("{loaded}{failed}")), Evidence::Failed(message));
    assert_eq!(evidence_in(&record, &format!("{failed}{loaded}")), Evidence::Seen);
}

#[test]
fn what_restarts_the_runtime_of_daprd_is_proven_by_the_end_of_that() {
    for kind in ["Configuration", "HTTPEndpoint", "Resiliency"] {
        let record = reloading(Some(resource(kind, "tracing", "one")), Some(resource(kind, "tracing", "two")));
        let received = format!("Received {kind} UPDATED event: tracing - triggering SIGHUP reload\n");
        assert_eq!(evidence_in(&record, &received), Evidence::Silent, "{kind}");
        let all = received + "dapr initialized. Status: Running. Init Elapsed 12ms";
        assert_eq!(evidence_in(&record, &all), Evidence::Seen, "{kind}");
    }
}

#[test]
fn what_daprd_never_tells_of_is_assumed() {
    let gone = reloading(Some(resource("Component", "store", "one")), None);
    assert_eq!(evidence_in(&gone, "anything"), Evidence::Unreadable);
}

#[test]
fn a_log_that_cannot_be_read_or_is_too_quiet_proves_nothing() {
    let record = reloading(None, Some(resource("Component", "store", "one")));
    assert_eq!(judge(&record, &[(&pod(), None)]), Evidence::Unreadable);
    assert!(is_readable(&pod()));
    let quiet = PodFacts { annotations: [(names::LOG_LEVEL.to_owned(), "warn".to_owned())].into(), ..pod() };
    assert!(!is_readable(&quiet));
    assert!(!is_readable(&PodFacts { is_on_node: false, ..pod() }));
}

#[test]
fn one_sidecar_that_is_silent_or_failed_counts_for_all() {
    let record = reloading(None, Some(resource("Component", "store", "one")));
    let loaded = || Some("Component loaded: store (state.redis/v1)".to_owned());
    let (one, other) = (pod(), pod());
    assert_eq!(judge(&record, &[(&one, loaded()), (&other, loaded())]), Evidence::Seen);
    assert_eq!(judge(&record, &[(&one, loaded()), (&other, Some(String::new()))]), Evidence::Silent);
    let ended = PodFacts { failed: Some((at(101), 1)), ..pod() };
    let message = "daprd of pod web-1 ended with exit code 1".to_owned();
    assert_eq!(judge(&record, &[(&one, loaded()), (&ended, loaded())]), Evidence::Failed(message));
    let before = PodFacts { failed: Some((at(50), 1)), ..pod() };
    assert_eq!(judge(&record, &[(&before, loaded())]), Evidence::Seen, "before the change");
}
