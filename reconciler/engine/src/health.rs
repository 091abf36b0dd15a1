//! Whether an object is as it should be: ready, on its way, failed, or going away.
//!
//! The rules are those by which `kubectl` and other tools wait (kstatus): of Kubernetes' own kinds by their status, of
//! all others by `observedGeneration` and the conditions Reconciling, Stalled and Ready. What follows neither is judged
//! by [`Expressions`]. Pure: the object and the time are given.

use std::fmt;

use jiff::Timestamp;
use serde_json::Value;

mod expressions;
mod kinds;
mod pods;
mod workloads;

pub use expressions::{ExpressionError, Expressions};

/// How an object is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HealthState {
    /// as it should be.
    Current,
    /// on its way.
    InProgress,
    /// it will not get there by itself.
    Failed,
    /// it is being deleted.
    Terminating,
}

/// How an object is, and what is missing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Health {
    pub state: HealthState,
    /// What is missing or wrong, such as `1 of 3 replicas available`; may be empty if nothing is.
    pub message: String,
    /// When it counts as failed, if nothing changes before.
    pub fails_at: Option<Timestamp>,
}

impl Health {
    fn new(state: HealthState, message: impl Into<String>) -> Self {
        Self { state, message: message.into(), fails_at: None }
    }

    fn current(message: impl Into<String>) -> Self {
        Self::new(HealthState::Current, message)
    }

    fn in_progress(message: impl Into<String>) -> Self {
        Self::new(HealthState::InProgress, message)
    }

    fn failed(message: impl Into<String>) -> Self {
        Self::new(HealthState::Failed, message)
    }

    /// On its way, but not for ever.
    fn in_progress_until(fails_at: Timestamp, message: impl Into<String>) -> Self {
        Self { fails_at: Some(fails_at), ..Self::in_progress(message) }
    }

    /// How the object is now, if nothing changed since it was judged.
    pub fn at(&self, now: Timestamp) -> HealthState {
        if self.fails_at.is_some_and(|at| at <= now) { HealthState::Failed } else { self.state }
    }

    pub fn is_current(&self) -> bool {
        self.state == HealthState::Current
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Judges an object by the first of `rules` that is for its kind, else by what is known of its kind.
pub fn assess(object: &Value, rules: &[Expressions], now: Timestamp) -> Health {
    let api_version = text(object, "/apiVersion").unwrap_or_default();
    let kind = text(object, "/kind").unwrap_or_default();
    if object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null()) {
        return Health::new(HealthState::Terminating, terminating(object));
    }
    if let Some(rule) = rules.iter().find(|rule| rule.is_for(api_version, kind)) {
        return rule.assess(object);
    }
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    // Of these nothing but the metadata is read, so that it makes no difference whether there is more.
    if !needs_whole(group, kind) {
        return Health::current("");
    }
    before_all(object).or_else(|| of_kind(object, group, kind, now)).unwrap_or_else(|| of_ready(object))
}

/// Whether the health of a kind depends on more than the metadata of its objects.
pub fn needs_whole(group: &str, kind: &str) -> bool {
    match (group, kind) {
        (
            "",
            "ConfigMap" | "Secret" | "ServiceAccount" | "Namespace" | "LimitRange" | "ResourceQuota" | "Endpoints"
            | "PodTemplate",
        )
        | ("batch", "CronJob")
        | ("policy", "PodDisruptionBudget")
        | ("networking.k8s.io", "Ingress" | "IngressClass" | "NetworkPolicy")
        | ("storage.k8s.io", "StorageClass" | "CSIDriver")
        | ("coordination.k8s.io", "Lease")
        | ("discovery.k8s.io", "EndpointSlice")
        | ("scheduling.k8s.io", "PriorityClass")
        | ("node.k8s.io", "RuntimeClass") => false,
        (group, _) => !matches!(group, "rbac.authorization.k8s.io" | "admissionregistration.k8s.io"),
    }
}

fn terminating(object: &Value) -> String {
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    let names: Vec<&str> = finalizers.into_iter().flatten().filter_map(Value::as_str).collect();
    if names.is_empty() { "being deleted".to_owned() } else { format!("being deleted, waits for {}", names.join(", ")) }
}

/// What holds for every kind.
fn before_all(object: &Value) -> Option<Health> {
    let generation = integer(object, "/metadata/generation");
    if let (Some(wanted), Some(seen)) = (generation, integer(object, "/status/observedGeneration"))
        && wanted != seen
    {
        return Some(Health::in_progress(format!("its controller has seen generation {seen} of {wanted}")));
    }
    if let Some(condition) = Condition::find(object, "Reconciling").filter(Condition::is_true) {
        return Some(Health::in_progress(condition.sentence()));
    }
    if let Some(condition) = Condition::find(object, "Stalled").filter(Condition::is_true) {
        return Some(Health::failed(condition.sentence()));
    }
    None
}

fn of_kind(object: &Value, group: &str, kind: &str, now: Timestamp) -> Option<Health> {
    let health = match (group, kind) {
        ("apps", "Deployment") => workloads::deployment(object),
        ("apps", "StatefulSet") => workloads::stateful_set(object),
        ("apps", "DaemonSet") => workloads::daemon_set(object),
        ("apps", "ReplicaSet") => workloads::replica_set(object),
        ("", "Pod") => pods::pod(object, now),
        ("batch", "Job") => pods::job(object),
        ("", "PersistentVolumeClaim") => kinds::claim(object),
        ("", "Service") => kinds::service(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => kinds::definition(object),
        ("apiregistration.k8s.io", "APIService") => kinds::api_service(object),
        _ => return None,
    };
    Some(health)
}

/// The convention of everybody else. An object that says nothing about itself is as it should be.
fn of_ready(object: &Value) -> Health {
    match Condition::find(object, "Ready") {
        Some(ready) if !ready.is_true() => Health::in_progress(ready.sentence()),
        _ => Health::current(""),
    }
}

/// A condition of a status.
struct Condition<'a> {
    name: &'a str,
    status: &'a str,
    reason: &'a str,
    message: &'a str,
    since: Option<Timestamp>,
}

impl<'a> Condition<'a> {
    fn find(object: &'a Value, name: &'a str) -> Option<Self> {
        let conditions = object.pointer("/status/conditions")?.as_array()?;
        let found = conditions.iter().find(|condition| text(condition, "/type") == Some(name))?;
        Some(Self {
            name,
            status: text(found, "/status").unwrap_or_default(),
            reason: text(found, "/reason").unwrap_or_default(),
            message: text(found, "/message").unwrap_or_default(),
            since: text(found, "/lastTransitionTime").and_then(|time| time.parse().ok()),
        })
    }

    fn is_true(&self) -> bool {
        self.status == "True"
    }

    fn is_false(&self) -> bool {
        self.status == "False"
    }

    /// Its message, or else its reason, or else what it is.
    fn sentence(&self) -> String {
        match (self.reason, self.message) {
            ("", "") => format!("{} is {}", self.name, self.status),
            (reason, "") => reason.to_owned(),
            ("", message) => message.to_owned(),
            (reason, message) => format!("{reason}: {message}"),
        }
    }
}

fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer)?.as_str()
}

fn integer(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer)?.as_i64()
}

#[cfg(test)]
mod tests;
