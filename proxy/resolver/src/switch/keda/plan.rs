//! Which object of KEDA a rule asks for, given those that there are. Pure.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use reeve_crds::scaling_rule::keda::{Keda, Metric, Trigger};
use reeve_crds::scaling_rule::{RuleMode, ScalingRuleSpec};
use reeve_crds::{Reason, ScalingRule, WorkloadRef};
use serde_json::{Map, Value, json};

use super::objects::{
    BEFORE, OfKeda, PAUSED, ScaledJob, ScaledObject, ScaledObjectSpec, is_adopted_by, is_made_by, is_spec, target_of,
};
use crate::report::RULE_LABEL;
use crate::scaler::{RULE_KEY, is_scaled_job};

/// A target is asleep for KEDA as soon as we say so: idle times are the rule's.
const COOLDOWN_SECONDS: u64 = 1;

/// All that a plan is made from.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) struct Surroundings<'a> {
    pub(in crate::switch) rule: &'a ScalingRule,
    pub(in crate::switch) owner: &'a OwnerReference,
    pub(in crate::switch) target: Option<&'a WorkloadRef>,
    /// Those of the rule's namespace; nothing if KEDA's kinds are not served.
    pub(in crate::switch) objects: Option<&'a [Arc<ScaledObject>]>,
    /// The one that the rule scales, if it is one.
    pub(in crate::switch) jobs: &'a [Arc<ScaledJob>],
    /// Where KEDA finds the scaler.
    pub(in crate::switch) scaler: &'a str,
    /// Whether the rule cannot be followed now: then all stays as it is.
    pub(in crate::switch) is_unsupported: bool,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::switch) enum Plan {
    /// All is as it should be.
    Keep(KedaState),
    Create(Box<ScaledObject>),
    Replace(Box<ScaledObject>),
    ReplaceJob(Box<ScaledJob>),
    /// The object is ours and the rule wants none.
    Delete(String),
}

/// How it stands with KEDA.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::switch) enum KedaState {
    /// The rule does not use it.
    #[default]
    Unused,
    /// KEDA has accepted the object of this name.
    Ready(String),
    /// KEDA cannot be relied upon.
    NotReady { object: Option<String>, reason: Reason, message: String },
}

/// What the rule asks for next, one thing at a time.
pub(in crate::switch) fn plan(around: &Surroundings<'_>) -> Plan {
    let spec = &around.rule.spec;
    let is_deleted = around.rule.metadata.deletion_timestamp.is_some();
    let (Some(keda), RuleMode::Enforce, false) = (&spec.keda, spec.mode, is_deleted) else {
        return give_back(around, None).unwrap_or(Plan::Keep(KedaState::Unused));
    };
    let not_ready =
        |reason, message: &str| Plan::Keep(KedaState::NotReady { object: None, reason, message: message.to_owned() });
    let (Some(objects), Some(target)) = (around.objects, around.target) else {
        return match around.objects {
            None => not_ready(Reason::MissingKind, "the API server does not serve KEDA's kinds: KEDA is not installed"),
            Some(_) => not_ready(Reason::NotFound, "there is no target to scale"),
        };
    };
    if around.is_unsupported {
        return not_ready(Reason::Unsupported, "the rule cannot be followed, and its object of KEDA stays as it is");
    }
    if let Some(plan) = give_back(around, Some(target)) {
        return plan;
    }
    if is_scaled_job(target) { plan_job(around, keda, target) } else { plan_object(around, keda, objects, target) }
}

/// Undoes what the rule did to objects that it no longer means.
fn give_back(around: &Surroundings<'_>, target: Option<&WorkloadRef>) -> Option<Plan> {
    let rule = around.rule;
    for job in around.jobs {
        let is_meant = target.is_some_and(|target| is_scaled_job(target) && target.name == job.name_any());
        if !is_meant && is_adopted_by(&**job, rule) {
            let mut job = ScaledJob::clone(job);
            job.spec.fields = restore(&mut job.metadata.annotations, &mut job.metadata.labels);
            return Some(Plan::ReplaceJob(Box::new(job)));
        }
    }
    for object in around.objects.unwrap_or_default() {
        if target.is_some() && target_of(object).as_ref() == target {
            continue;
        }
        if is_made_by(&**object, rule) {
            return Some(Plan::Delete(object.name_any()));
        }
        if is_adopted_by(&**object, rule) {
            let mut object = ScaledObject::clone(object);
            object.spec.fields = restore(&mut object.metadata.annotations, &mut object.metadata.labels);
            return Some(Plan::Replace(Box::new(object)));
        }
    }
    None
}

type Texts = Option<std::collections::BTreeMap<String, String>>;

/// What stood there before; ours is taken off.
fn restore(annotations: &mut Texts, labels: &mut Texts) -> Map<String, Value> {
    let annotations = annotations.get_or_insert_default();
    annotations.remove(PAUSED);
    labels.get_or_insert_default().remove(RULE_LABEL);
    annotations.remove(BEFORE).and_then(|before| serde_json::from_str(&before).ok()).unwrap_or_default()
}

fn plan_object(around: &Surroundings<'_>, keda: &Keda, objects: &[Arc<ScaledObject>], target: &WorkloadRef) -> Plan {
    let rule = around.rule;
    let fields = object_fields(&rule.spec, keda, target, &triggers(around, keda, "external-push"));
    let is_ours = |object: &ScaledObject| is_made_by(object, rule) || is_adopted_by(object, rule);
    let scales_it = |object: &&Arc<ScaledObject>| target_of(object).as_ref() == Some(target);
    let ours = objects.iter().find(|object| is_ours(object) && scales_it(object));
    let foreign = objects.iter().find(|object| !is_ours(object) && scales_it(object));
    match (ours, foreign) {
        (Some(ours), None) => {
            let mut wanted = ScaledObject::clone(ours);
            set_paused(&mut wanted.metadata.annotations, rule.spec.suspend);
            let is_right = wanted.annotations() == ours.annotations() && is_spec(&ours.spec.fields, &fields);
            wanted.spec.fields = fields;
            if is_right { Plan::Keep(judge(&**ours)) } else { Plan::Replace(Box::new(wanted)) }
        }
        (None, Some(foreign)) if keda.adopt && !foreign.annotations().contains_key(BEFORE) => {
            let mut wanted = ScaledObject::clone(foreign);
            adopt(&mut wanted.metadata.annotations, &mut wanted.metadata.labels, &foreign.spec.fields, rule);
            set_paused(&mut wanted.metadata.annotations, rule.spec.suspend);
            wanted.spec.fields = fields;
            Plan::Replace(Box::new(wanted))
        }
        (_, Some(foreign)) => conflict(&foreign.name_any(), "scales the target too"),
        (None, None) if objects.iter().any(|object| object.name_any() == rule.name_any()) => {
            conflict(&rule.name_any(), "scales something else and has the name of the rule")
        }
        (None, None) => {
            let mut object = ScaledObject::new(&rule.name_any(), ScaledObjectSpec { fields });
            object.metadata.namespace = rule.namespace();
            object.metadata.owner_references = Some(vec![around.owner.clone()]);
            object.metadata.labels = Some([(RULE_LABEL.to_owned(), rule.name_any())].into());
            set_paused(&mut object.metadata.annotations, rule.spec.suspend);
            Plan::Create(Box::new(object))
        }
    }
}

/// A `ScaledJob` is named by the rule, which is leave enough to configure it.
fn plan_job(around: &Surroundings<'_>, keda: &Keda, target: &WorkloadRef) -> Plan {
    let rule = around.rule;
    let Some(job) = around.jobs.iter().find(|job| job.name_any() == target.name) else {
        let message = format!("there is no ScaledJob {}", target.name);
        return Plan::Keep(KedaState::NotReady { object: None, reason: Reason::NotFound, message });
    };
    let of_other = job.labels().get(RULE_LABEL).filter(|other| **other != rule.name_any());
    if let Some(other) = of_other {
        return conflict(&job.name_any(), &format!("belongs to the rule {other}"));
    }
    let mut wanted = ScaledJob::clone(job);
    if !is_adopted_by(&**job, rule) {
        adopt(&mut wanted.metadata.annotations, &mut wanted.metadata.labels, &job.spec.fields, rule);
    }
    set_paused(&mut wanted.metadata.annotations, rule.spec.suspend);
    // What the Jobs are stays their owner's.
    for field in ["minReplicaCount", "rollout", "scalingStrategy"] {
        wanted.spec.fields.remove(field);
    }
    for (field, value) in [
        ("pollingInterval", json!(1)),
        ("maxReplicaCount", json!(rule.spec.replicas.limit())),
        ("triggers", json!(triggers(around, keda, "external"))),
    ] {
        wanted.spec.fields.insert(field.to_owned(), value);
    }
    let is_right = wanted.metadata == job.metadata && is_spec(&job.spec.fields, &wanted.spec.fields);
    if is_right { Plan::Keep(judge(&**job)) } else { Plan::ReplaceJob(Box::new(wanted)) }
}

fn adopt(annotations: &mut Texts, labels: &mut Texts, before: &Map<String, Value>, rule: &ScalingRule) {
    let before = Value::Object(before.clone()).to_string();
    annotations.get_or_insert_default().insert(BEFORE.to_owned(), before);
    labels.get_or_insert_default().insert(RULE_LABEL.to_owned(), rule.name_any());
}

fn set_paused(annotations: &mut Texts, paused: bool) {
    if paused {
        annotations.get_or_insert_default().insert(PAUSED.to_owned(), "true".to_owned());
    } else if let Some(annotations) = annotations {
        annotations.remove(PAUSED);
    }
}

fn conflict(object: &str, why: &str) -> Plan {
    let message = format!(
        "the KEDA object {object} {why}: delete it, or write spec.keda.adopt: true if the rule shall take it over"
    );
    Plan::Keep(KedaState::NotReady { object: None, reason: Reason::Conflict, message })
}

/// What KEDA says of an object that is as it should be.
fn judge(object: &impl OfKeda) -> KedaState {
    let name = object.name_any();
    let ready = object.status().and_then(|status| status.conditions.iter().find(|one| one.kind == "Ready"));
    match ready {
        Some(ready) if ready.status == "True" => KedaState::Ready(name),
        Some(ready) if ready.status == "False" => {
            let message = format!("KEDA says of {name}: {}", ready.message);
            KedaState::NotReady { object: Some(name), reason: Reason::Unhealthy, message }
        }
        _ => {
            let message = format!("KEDA has not taken {name} up");
            KedaState::NotReady { object: Some(name), reason: Reason::Progressing, message }
        }
    }
}

fn object_fields(spec: &ScalingRuleSpec, keda: &Keda, target: &WorkloadRef, triggers: &[Value]) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut set = |key: &str, value: Value| fields.insert(key.to_owned(), value);
    set("scaleTargetRef", json!({ "apiVersion": target.api_version, "kind": target.kind, "name": target.name }));
    set("pollingInterval", json!(Duration::from(keda.polling_interval).as_secs().max(1)));
    set("cooldownPeriod", json!(COOLDOWN_SECONDS));
    // Asleep there are none; awake there are never fewer than a wake starts.
    set("idleReplicaCount", json!(0));
    set("minReplicaCount", json!(spec.replicas.wake));
    set("maxReplicaCount", json!(spec.replicas.limit()));
    if let Some(fallback) = &keda.fallback {
        let fallback = json!({ "failureThreshold": fallback.failure_threshold, "replicas": fallback.replicas });
        set("fallback", fallback);
    }
    if let Some(window) = keda.scale_down_stabilization {
        let seconds = Duration::from(window).as_secs();
        let behavior = json!({ "scaleDown": { "stabilizationWindowSeconds": seconds } });
        set("advanced", json!({ "horizontalPodAutoscalerConfig": { "behavior": behavior } }));
    }
    set("triggers", json!(triggers));
    fields
}

/// Those of the service, and ours.
fn triggers(around: &Surroundings<'_>, keda: &Keda, kind: &str) -> Vec<Value> {
    // All that our answers depend on stands in the metadata: a change of it makes KEDA ask for the specs again.
    let metric = match keda.metric {
        Metric::Concurrency => "Concurrency",
        Metric::RequestRate => "RequestRate",
    };
    let ours = json!({
        "type": kind,
        "name": "reeve",
        "metadata": {
            "scalerAddress": around.scaler,
            RULE_KEY: around.rule.name_any(),
            "metric": metric,
            "targetPerReplica": keda.target_per_replica.to_string(),
        },
    });
    keda.triggers.iter().map(trigger).chain([ours]).collect()
}

fn trigger(trigger: &Trigger) -> Value {
    let mut value = json!({ "type": trigger.kind, "name": trigger.name, "metadata": trigger.metadata });
    if let Some(reference) = &trigger.authentication_ref {
        value["authenticationRef"] = json!({ "name": reference.name, "kind": reference.kind });
    }
    if let Some(metric_type) = trigger.metric_type {
        value["metricType"] = json!(metric_type);
    }
    value
}

#[cfg(test)]
mod tests;
