use serde_json::json;

use super::*;

const SCALER: &str = "reeve-resolver-scaler.reeve-system.svc:9471";

fn rule(spec: &Value) -> ScalingRule {
    let mut whole = json!({ "services": [{ "name": "web" }], "replicas": { "wake": 2, "max": 10 } });
    for (key, value) in spec.as_object().unwrap() {
        whole[key] = value.clone();
    }
    let mut rule = ScalingRule::new("web", serde_json::from_value(whole).unwrap());
    rule.metadata.namespace = Some("shop".to_owned());
    rule.metadata.uid = Some("rule-uid".to_owned());
    rule
}

fn target(kind: &str) -> WorkloadRef {
    let api_version = if kind == "ScaledJob" { "keda.sh/v1alpha1" } else { "apps/v1" };
    WorkloadRef { api_version: api_version.to_owned(), kind: kind.to_owned(), name: "web".to_owned() }
}

fn asked(rule: &ScalingRule, kind: &str, objects: Option<&[Arc<ScaledObject>]>, jobs: &[Arc<ScaledJob>]) -> Plan {
    let owner = OwnerReference {
        uid: rule.metadata.uid.clone().unwrap(),
        name: rule.name_any(),
        controller: Some(true),
        ..OwnerReference::default()
    };
    let target = target(kind);
    let target = Some(&target);
    plan(&Surroundings { rule, owner: &owner, target, objects, jobs, scaler: SCALER, is_unsupported: false })
}

fn planned(rule: &ScalingRule, objects: &[Arc<ScaledObject>]) -> Plan {
    asked(rule, "Deployment", Some(objects), &[])
}

fn created(rule: &ScalingRule) -> ScaledObject {
    match planned(rule, &[]) {
        Plan::Create(object) => *object,
        other => panic!("{other:?}"),
    }
}

fn foreign(name: &str, target: &str) -> Arc<ScaledObject> {
    let spec = json!({ "scaleTargetRef": { "name": target }, "minReplicaCount": 1, "triggers": [{ "type": "cpu" }] });
    Arc::new(ScaledObject::new(name, serde_json::from_value(spec).unwrap()))
}

fn state(plan: Plan) -> (Option<String>, Reason, String) {
    match plan {
        Plan::Keep(KedaState::NotReady { object, reason, message }) => (object, reason, message),
        other => panic!("{other:?}"),
    }
}

fn with_status(object: &ScaledObject, ready: &str) -> Arc<ScaledObject> {
    let mut object = object.clone();
    object.status = serde_json::from_value(
        json!({ "conditions": [{ "type": "Ready", "status": ready, "message": "no metrics" }] }),
    )
    .unwrap();
    Arc::new(object)
}

#[test]
fn a_rule_with_keda_owns_an_object_with_its_own_trigger_after_those_of_the_service() {
    let rule = rule(&json!({ "keda": {
        "pollingInterval": "10s", "targetPerReplica": 20, "scaleDownStabilization": "2m",
        "fallback": { "failureThreshold": 3, "replicas": 4 },
        "triggers": [{
            "name": "orders", "type": "prometheus", "metadata": { "query": "up" }, "metricType": "Value",
            "authenticationRef": { "name": "prom", "kind": "ClusterTriggerAuthentication" },
        }],
    } }));
    let object = created(&rule);
    let wanted = json!({
        "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" },
        "pollingInterval": 10, "cooldownPeriod": 1,
        "idleReplicaCount": 0, "minReplicaCount": 2, "maxReplicaCount": 10,
        "fallback": { "failureThreshold": 3, "replicas": 4 },
        "advanced": { "horizontalPodAutoscalerConfig": { "behavior": {
            "scaleDown": { "stabilizationWindowSeconds": 120 },
        } } },
        "triggers": [
            {
                "type": "prometheus", "name": "orders", "metadata": { "query": "up" }, "metricType": "Value",
                "authenticationRef": { "name": "prom", "kind": "ClusterTriggerAuthentication" },
            },
            { "type": "external-push", "name": "reeve", "metadata": {
                "scalerAddress": SCALER, "rule": "web", "metric": "Concurrency", "targetPerReplica": "20",
            } },
        ],
    });
    assert_eq!(Value::Object(object.spec.fields.clone()), wanted);
    assert_eq!((object.name_any().as_str(), object.namespace().as_deref()), ("web", Some("shop")));
    assert_eq!(object.owner_references()[0].uid, "rule-uid");
}

#[test]
fn an_object_is_left_alone_once_it_is_right_and_what_keda_says_of_it_is_repeated() {
    let rule = rule(&json!({ "keda": {} }));
    let ours = created(&rule);
    assert_eq!(state(planned(&rule, &[Arc::new(ours.clone())])).1, Reason::Progressing);
    let (_, reason, message) = state(planned(&rule, &[with_status(&ours, "False")]));
    assert_eq!((reason, message.as_str()), (Reason::Unhealthy, "KEDA says of web: no metrics"));
    assert_eq!(planned(&rule, &[with_status(&ours, "True")]), Plan::Keep(KedaState::Ready("web".to_owned())));
    let mut defaulted = ours.clone();
    defaulted.spec.fields["triggers"][0]["useCachedMetrics"] = json!(false);
    assert!(matches!(planned(&rule, &[Arc::new(defaulted)]), Plan::Keep(_)), "a default is no difference");
}

#[test]
fn an_object_that_somebody_changed_is_written_again() {
    let rule = rule(&json!({ "keda": {} }));
    let ours = created(&rule);
    for (field, value) in [("minReplicaCount", json!(1)), ("initialCooldownPeriod", json!(9)), ("triggers", json!([]))]
    {
        let mut changed = ours.clone();
        changed.spec.fields.insert(field.to_owned(), value);
        let Plan::Replace(written) = planned(&rule, &[Arc::new(changed)]) else { panic!("{field} stays") };
        assert_eq!(written.spec.fields, ours.spec.fields);
    }
}

#[test]
fn the_object_of_somebody_else_is_a_conflict_unless_it_may_be_adopted_and_is_given_back() {
    let others = [foreign("theirs", "web"), foreign("apart", "api")];
    let (object, reason, message) = state(planned(&rule(&json!({ "keda": {} })), &others));
    assert_eq!((object, reason), (None, Reason::Conflict));
    assert!(message.contains("theirs") && message.contains("spec.keda.adopt: true"), "{message}");

    let adopting = rule(&json!({ "keda": { "adopt": true } }));
    let Plan::Replace(adopted) = planned(&adopting, &others) else { panic!("not adopted") };
    assert_eq!((adopted.name_any().as_str(), adopted.owner_references().len()), ("theirs", 0));
    assert_eq!(adopted.spec.fields["minReplicaCount"], json!(2));
    let adopted: Arc<ScaledObject> = Arc::from(adopted);
    assert!(matches!(planned(&adopting, &[Arc::clone(&adopted)]), Plan::Keep(_)));

    for mut leaving in [rule(&json!({})), rule(&json!({ "keda": {}, "mode": "Observe" })), adopting] {
        leaving.metadata.deletion_timestamp = leaving
            .spec
            .keda
            .as_ref()
            .filter(|keda| keda.adopt)
            .map(|_| k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(jiff::Timestamp::UNIX_EPOCH));
        let Plan::Replace(back) = planned(&leaving, &[Arc::clone(&adopted)]) else { panic!("not given back") };
        assert_eq!(back.spec, others[0].spec);
        assert!(back.annotations().is_empty() && back.labels().is_empty());
    }
}

#[test]
fn an_object_of_ours_goes_with_the_use_of_keda_and_with_another_target() {
    let mut rule = rule(&json!({ "keda": {} }));
    let ours = Arc::new(created(&rule));
    let elsewhere = asked(&rule, "StatefulSet", Some(&[Arc::clone(&ours)]), &[]);
    assert_eq!(elsewhere, Plan::Delete("web".to_owned()));
    rule.spec.keda = None;
    assert_eq!(planned(&rule, &[ours]), Plan::Delete("web".to_owned()));
    assert_eq!(planned(&rule, &[foreign("theirs", "web")]), Plan::Keep(KedaState::Unused));
}

#[test]
fn a_suspended_rule_pauses_keda_so_that_a_persons_zero_stays() {
    let mut rule = rule(&json!({ "keda": {}, "suspend": true }));
    let paused = created(&rule);
    assert_eq!(paused.annotations()[PAUSED], "true");
    rule.spec.suspend = false;
    let Plan::Replace(resumed) = planned(&rule, &[Arc::new(paused)]) else { panic!("still paused") };
    assert!(resumed.annotations().is_empty());
}

#[test]
fn without_keda_in_the_cluster_the_condition_says_so() {
    assert_eq!(state(asked(&rule(&json!({ "keda": {} })), "Deployment", None, &[])).1, Reason::MissingKind);
    assert_eq!(asked(&rule(&json!({})), "Deployment", None, &[]), Plan::Keep(KedaState::Unused));
}

#[test]
fn a_scaled_job_that_the_rule_names_is_configured_and_given_back() {
    let mut rule = rule(&json!({ "keda": {}, "replicas": { "wake": 1, "max": 5 } }));
    let spec = json!({
        "jobTargetRef": { "template": { "metadata": { "labels": { "app": "web" } } } },
        "minReplicaCount": 1, "pollingInterval": 60, "triggers": [{ "type": "kafka" }],
    });
    let job = Arc::new(ScaledJob::new("web", serde_json::from_value(spec).unwrap()));
    let Plan::ReplaceJob(ours) = asked(&rule, "ScaledJob", Some(&[]), &[Arc::clone(&job)]) else { panic!("left") };
    let fields = &ours.spec.fields;
    assert_eq!((&fields["pollingInterval"], &fields["maxReplicaCount"]), (&json!(1), &json!(5)));
    assert_eq!((&fields["triggers"][0]["type"], fields.get("minReplicaCount")), (&json!("external"), None));
    assert_eq!(fields["jobTargetRef"], job.spec.fields["jobTargetRef"]);
    let ours: Arc<ScaledJob> = Arc::from(ours);
    assert!(matches!(asked(&rule, "ScaledJob", Some(&[]), &[Arc::clone(&ours)]), Plan::Keep(_)));
    rule.spec.keda = None;
    let Plan::ReplaceJob(back) = asked(&rule, "ScaledJob", Some(&[]), &[ours]) else { panic!("not given back") };
    assert_eq!(back.spec, job.spec);
}
