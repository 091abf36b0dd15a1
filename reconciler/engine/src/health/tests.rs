use serde_json::json;

use super::HealthState::{Current, Failed, InProgress, Terminating};
use super::*;

fn judged(object: &Value) -> (HealthState, String) {
    let health = assess(object, &[], "2026-01-01T00:01:00Z".parse().unwrap());
    (health.state, health.message)
}

fn deployment(spec: &Value, status: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "generation": 2 },
        "spec": spec, "status": status,
    })
}

fn conditions(all: &[(&str, &str, &str)]) -> Value {
    let one = |(name, status, reason): &(&str, &str, &str)| json!({ "type": name, "status": status, "reason": reason, "message": "so it is" });
    all.iter().map(one).collect()
}

#[test]
fn a_deployment_is_current_when_its_new_pods_are_available() {
    let done = conditions(&[("Progressing", "True", "NewReplicaSetAvailable"), ("Available", "True", "x")]);
    let waiting = conditions(&[("Progressing", "True", "ReplicaSetUpdated"), ("Available", "True", "x")]);
    let late = conditions(&[("Progressing", "False", "ProgressDeadlineExceeded")]);
    let status = |have: i64, updated: i64, available: i64, ready: i64, conditions: &Value| {
        json!({
            "observedGeneration": 2, "replicas": have, "updatedReplicas": updated, "availableReplicas": available,
            "readyReplicas": ready, "conditions": conditions,
        })
    };
    let three = json!({ "replicas": 3, "progressDeadlineSeconds": 600 });
    let none = json!({ "replicas": 0, "progressDeadlineSeconds": 600 });
    let patient = json!({ "replicas": 1, "progressDeadlineSeconds": i32::MAX });
    let table = [
        (&three, json!({}), InProgress, "0 of 3 replicas created"),
        (&three, status(3, 3, 3, 3, &done), Current, "3 replicas available"),
        (&three, status(1, 1, 0, 0, &done), InProgress, "1 of 3 replicas created"),
        (&three, status(4, 1, 3, 3, &done), InProgress, "1 of 3 replicas updated"),
        (&three, status(5, 3, 3, 3, &done), InProgress, "2 old replicas to end"),
        (&three, status(3, 3, 1, 3, &done), InProgress, "1 of 3 replicas available"),
        (&three, status(3, 3, 3, 2, &done), InProgress, "2 of 3 replicas ready"),
        (&three, status(3, 3, 3, 3, &waiting), InProgress, "ReplicaSetUpdated: so it is"),
        (&three, status(3, 1, 3, 3, &late), Failed, "ProgressDeadlineExceeded: so it is"),
        (&none, status(0, 0, 0, 0, &done), Current, "0 replicas available"),
        (&none, json!({ "observedGeneration": 2 }), InProgress, "its replica set is not there yet"),
        (&patient, status(1, 1, 1, 1, &conditions(&[("Available", "True", "x")])), Current, "1 replica available"),
        (&patient, status(1, 1, 1, 1, &conditions(&[("Available", "False", "x")])), InProgress, "x: so it is"),
    ];
    for (spec, status, state, message) in table {
        assert_eq!(judged(&deployment(spec, &status)), (state, message.to_owned()), "{status}");
    }
}

#[test]
fn nothing_is_current_before_its_controller_has_seen_it() {
    let object = json!({
        "apiVersion": "example.com/v1", "kind": "Thing", "metadata": { "generation": 3 },
        "status": { "observedGeneration": 2, "conditions": conditions(&[("Ready", "True", "Done")]) },
    });

    assert_eq!(judged(&object), (InProgress, "its controller has seen generation 2 of 3".to_owned()));
}

#[test]
fn a_custom_resource_is_judged_by_its_conditions() {
    let table = [
        (conditions(&[("Ready", "True", "Done")]), Current, ""),
        (conditions(&[("Ready", "False", "Waiting")]), InProgress, "Waiting: so it is"),
        (conditions(&[("Ready", "Unknown", "")]), InProgress, "so it is"),
        (conditions(&[("Ready", "True", "Done"), ("Reconciling", "True", "Again")]), InProgress, "Again: so it is"),
        (conditions(&[("Ready", "False", "x"), ("Stalled", "True", "Broken")]), Failed, "Broken: so it is"),
        (conditions(&[("Stalled", "False", "x"), ("Reconciling", "False", "x")]), Current, ""),
        (conditions(&[("Other", "False", "x")]), Current, ""),
        (json!(null), Current, ""),
    ];
    for (conditions, state, message) in table {
        let object = json!({ "apiVersion": "example.com/v1", "kind": "Thing", "status": { "conditions": conditions } });
        assert_eq!(judged(&object), (state, message.to_owned()), "{conditions}");
    }
}

#[test]
fn an_object_that_is_being_deleted_says_what_it_waits_for() {
    let object = |finalizers: Value| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": finalizers },
        })
    };

    assert_eq!(judged(&object(json!([]))), (Terminating, "being deleted".to_owned()));
    let waits = (Terminating, "being deleted, waits for a/b, c/d".to_owned());
    assert_eq!(judged(&object(json!(["a/b", "c/d"]))), waits);
}

#[test]
fn a_stateful_set_is_current_when_its_revision_is_complete() {
    let status = |have: i64, ready: i64, current: i64, updated: i64, revision: &str| {
        json!({
            "replicas": have, "readyReplicas": ready, "currentReplicas": current, "updatedReplicas": updated,
            "currentRevision": revision, "updateRevision": "b",
        })
    };
    let rolling = json!({ "replicas": 2 });
    let parted = json!({ "replicas": 3, "updateStrategy": { "rollingUpdate": { "partition": 1 } } });
    let by_hand = json!({ "replicas": 2, "updateStrategy": { "type": "OnDelete" } });
    let table = [
        (&rolling, status(2, 2, 2, 2, "b"), Current, "2 replicas ready"),
        (&rolling, status(1, 1, 1, 1, "b"), InProgress, "1 of 2 replicas created"),
        (&rolling, status(2, 1, 2, 2, "b"), InProgress, "1 of 2 replicas ready"),
        (&rolling, status(3, 2, 2, 2, "b"), InProgress, "1 old replica to end"),
        (&rolling, status(2, 2, 1, 1, "a"), InProgress, "1 of 2 replicas updated"),
        (&rolling, status(2, 2, 2, 0, "a"), InProgress, "the new revision is not complete"),
        (&parted, status(3, 3, 1, 1, "a"), InProgress, "1 of 2 replicas of the partition updated"),
        (&parted, status(3, 3, 1, 2, "a"), Current, "2 replicas of the partition updated"),
        (&by_hand, json!({}), Current, "pods are updated when they are deleted"),
    ];
    for (spec, status, state, message) in table {
        let object = json!({ "apiVersion": "apps/v1", "kind": "StatefulSet", "spec": spec, "status": status });
        assert_eq!(judged(&object), (state, message.to_owned()), "{status}");
    }
}

#[test]
fn a_daemon_set_is_current_when_every_node_has_its_pod() {
    let status = |current: i64, updated: i64, available: i64, ready: i64| {
        json!({
            "observedGeneration": 1, "desiredNumberScheduled": 2, "currentNumberScheduled": current,
            "updatedNumberScheduled": updated, "numberAvailable": available, "numberReady": ready,
        })
    };
    let table = [
        (json!({}), "RollingUpdate", InProgress, "its controller has not seen it"),
        (status(1, 1, 1, 1), "RollingUpdate", InProgress, "1 of 2 replicas scheduled"),
        (status(2, 1, 2, 2), "RollingUpdate", InProgress, "1 of 2 replicas updated"),
        (status(2, 1, 2, 2), "OnDelete", Current, "2 replicas available"),
        (status(2, 2, 1, 2), "RollingUpdate", InProgress, "1 of 2 replicas available"),
        (status(2, 2, 2, 1), "RollingUpdate", InProgress, "1 of 2 replicas ready"),
        (status(2, 2, 2, 2), "RollingUpdate", Current, "2 replicas available"),
    ];
    for (status, strategy, state, message) in table {
        let object = json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": { "generation": 1 },
            "spec": { "updateStrategy": { "type": strategy } }, "status": status,
        });
        assert_eq!(judged(&object), (state, message.to_owned()), "{status}");
    }
}

#[test]
fn a_replica_set_is_current_when_its_pods_are_ready() {
    let status = |labelled: i64, available: i64, ready: i64, have: i64| {
        json!({
            "fullyLabeledReplicas": labelled, "availableReplicas": available, "readyReplicas": ready, "replicas": have,
        })
    };
    let table = [
        (status(1, 1, 1, 1), Current, "1 replica available"),
        (status(0, 0, 0, 0), InProgress, "0 of 1 replica labelled"),
        (status(1, 0, 0, 1), InProgress, "0 of 1 replica available"),
        (status(1, 1, 0, 1), InProgress, "0 of 1 replica ready"),
        (status(1, 1, 1, 2), InProgress, "1 old replica to end"),
        (json!({ "conditions": conditions(&[("ReplicaFailure", "True", "Quota")]) }), InProgress, "Quota: so it is"),
    ];
    for (status, state, message) in table {
        let object =
            json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet", "spec": { "replicas": 1 }, "status": status });
        assert_eq!(judged(&object), (state, message.to_owned()), "{status}");
    }
}

#[test]
fn a_pod_is_current_when_it_is_ready_or_done() {
    let crashing = json!([{ "name": "web", "state": { "waiting": { "reason": "CrashLoopBackOff" } } }]);
    let pulling = json!([{ "name": "web", "state": { "waiting": { "reason": "ImagePullBackOff" } } }]);
    let unschedulable = |since: &str| {
        json!({ "phase": "Pending", "conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node",
            "lastTransitionTime": since,
        }] })
    };
    let table = [
        (json!({}), InProgress, "nobody has seen it yet"),
        (json!({ "phase": "Succeeded" }), Current, "it ran to its end"),
        (json!({ "phase": "Failed", "message": "evicted" }), Failed, "evicted"),
        (json!({ "phase": "Running", "conditions": conditions(&[("Ready", "True", "")]) }), Current, ""),
        (
            json!({ "phase": "Running", "conditions": conditions(&[("Ready", "False", "ContainersNotReady")]) }),
            InProgress,
            "ContainersNotReady: so it is",
        ),
        (json!({ "phase": "Running", "containerStatuses": crashing }), Failed, "containers crash: web"),
        (json!({ "phase": "Pending", "initContainerStatuses": crashing }), Failed, "containers crash: web"),
        (
            json!({ "phase": "Pending", "containerStatuses": pulling }),
            InProgress,
            "container web waits: ImagePullBackOff",
        ),
        (json!({ "phase": "Pending" }), InProgress, "its containers have not started"),
        (unschedulable("2026-01-01T00:00:50Z"), InProgress, "Unschedulable: no node"),
        (unschedulable("2026-01-01T00:00:40Z"), Failed, "Unschedulable: no node"),
    ];
    for (status, state, message) in table {
        let object = json!({ "apiVersion": "v1", "kind": "Pod", "status": status });
        assert_eq!(judged(&object), (state, message.to_owned()), "{status}");
    }
}

#[test]
fn a_pod_without_a_node_says_when_it_counts_as_failed() {
    let object = json!({ "apiVersion": "v1", "kind": "Pod", "status": { "phase": "Pending", "conditions": [{
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": "2026-01-01T00:00:50Z",
    }] } });
    let at = |time: &str| -> Timestamp { time.parse().unwrap() };
    let health = assess(&object, &[], at("2026-01-01T00:00:51Z"));
    assert_eq!(health.fails_at, Some(at("2026-01-01T00:01:05Z")));
    assert_eq!(health.at(at("2026-01-01T00:01:04Z")), InProgress);
    assert_eq!(health.at(at("2026-01-01T00:01:05Z")), Failed);
}

#[test]
fn a_job_is_current_only_when_it_is_complete_or_suspended() {
    let table = [
        (json!({}), json!({ "active": 1 }), InProgress, "0 of 1 pods succeeded, 1 active"),
        (
            json!({ "completions": 3 }),
            json!({ "succeeded": 1, "failed": 2 }),
            InProgress,
            "1 of 3 pods succeeded, 0 active, 2 failed",
        ),
        (json!({}), json!({ "conditions": conditions(&[("Complete", "True", "x")]) }), Current, "it ran to its end"),
        (json!({}), json!({ "conditions": conditions(&[("Failed", "True", "Limit")]) }), Failed, "Limit: so it is"),
        (json!({ "suspend": true }), json!({}), Current, "suspended"),
    ];
    for (spec, status, state, message) in table {
        let object = json!({ "apiVersion": "batch/v1", "kind": "Job", "spec": spec, "status": status });
        assert_eq!(judged(&object), (state, message.to_owned()), "{status}");
    }
}

#[test]
fn kinds_with_a_rule_of_their_own_follow_it() {
    let claim = |status| json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": status });
    let service = |spec| json!({ "apiVersion": "v1", "kind": "Service", "spec": spec });
    let definition = |all: &[(&str, &str, &str)]| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "status": { "conditions": conditions(all) },
        })
    };
    let api = |status: &str| {
        json!({
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "status": { "conditions": conditions(&[("Available", status, "Checked")]) },
        })
    };
    let table = [
        (claim(json!({ "phase": "Bound" })), Current),
        (claim(json!({ "phase": "Pending" })), InProgress),
        (claim(json!({ "phase": "Lost" })), Failed),
        (claim(json!({})), InProgress),
        (service(json!({ "type": "LoadBalancer" })), InProgress),
        (service(json!({ "type": "LoadBalancer", "clusterIP": "10.0.0.1" })), Current),
        (service(json!({ "type": "ExternalName" })), Current),
        (definition(&[]), InProgress),
        (definition(&[("NamesAccepted", "True", ""), ("Established", "True", "")]), Current),
        (definition(&[("NamesAccepted", "False", "Taken")]), Failed),
        (definition(&[("Established", "False", "Installing")]), InProgress),
        (definition(&[("Established", "False", "NotAccepted")]), Failed),
        (api("True"), Current),
        (api("False"), InProgress),
    ];
    for (object, state) in table {
        assert_eq!(judged(&object).0, state, "{object}");
    }
}

#[test]
fn kinds_that_are_judged_by_metadata_need_no_more() {
    let by_metadata = [
        ("v1", "ConfigMap"),
        ("v1", "Secret"),
        ("v1", "ServiceAccount"),
        ("v1", "Namespace"),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
        ("networking.k8s.io/v1", "Ingress"),
        ("networking.k8s.io/v1", "NetworkPolicy"),
        ("policy/v1", "PodDisruptionBudget"),
        ("batch/v1", "CronJob"),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ];
    for (api_version, kind) in by_metadata {
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        assert!(!needs_whole(group, kind), "{kind}");
        let object = json!({ "apiVersion": api_version, "kind": kind, "metadata": { "generation": 2 } });
        assert_eq!(judged(&object).0, Current, "{kind}");
    }
    let whole =
        [("apps", "Deployment"), ("", "Pod"), ("", "Service"), ("example.com", "Thing"), ("example.com", "Ingress")];
    for (group, kind) in whole {
        assert!(needs_whole(group, kind), "{kind}");
    }
}
