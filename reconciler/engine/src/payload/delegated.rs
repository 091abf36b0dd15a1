//! Fields that belong to another part of Reeve.
//!
//! The resolver scales the target of a `ScalingRule` and switches its traffic; the agent writes into a pod template what
//! the workload was last restarted for. What they write is left out of what is sent, and is never drift: the parts of
//! Reeve do not fight each other.

use std::collections::BTreeMap;

use reeve_crds::annotation::DAPR_RESTART;
use reeve_crds::scaling_rule::switch::{destinations, service_of_host};
use reeve_crds::scaling_rule::{CAPTURE_KEY, RuleMode, ScalingRuleSpec};
use reeve_crds::{GROUP, ObjectRef};
use serde::Deserialize as _;
use serde_json::Value;

use super::{Pointer, group, object_ref};

/// The fields of each object that another part of Reeve decides, given all objects of a runtime.
pub fn delegated<'a>(objects: impl IntoIterator<Item = &'a Value>) -> BTreeMap<ObjectRef, Vec<Pointer>> {
    let objects: Vec<(ObjectRef, &Value)> = objects.into_iter().map(|object| (object_ref(object), object)).collect();
    let mut found = Found(BTreeMap::new());
    for (rule, object) in objects.iter().filter(|(key, _)| key.group == GROUP && key.kind == "ScalingRule") {
        // One that is not a rule is refused by the API server, with better words.
        if let Some(spec) = object.get("spec").and_then(|spec| ScalingRuleSpec::deserialize(spec).ok()) {
            found.add_rule(rule, &spec, &objects);
        }
    }
    for (workload, object) in &objects {
        let template = object.pointer("/spec/template/metadata/annotations");
        if template.is_some_and(|annotations| annotations.get(DAPR_RESTART).is_some()) {
            found.add(workload.clone(), &["spec", "template", "metadata", "annotations", DAPR_RESTART]);
        }
    }
    found.0
}

struct Found(BTreeMap<ObjectRef, Vec<Pointer>>);

impl Found {
    fn add(&mut self, object: ObjectRef, path: &[&str]) {
        let paths = self.0.entry(object).or_default();
        let path = Pointer::of(path);
        if !paths.contains(&path) {
            paths.push(path);
        }
    }

    fn add_rule(&mut self, rule: &ObjectRef, spec: &ScalingRuleSpec, objects: &[(ObjectRef, &Value)]) {
        if spec.mode == RuleMode::Observe {
            return;
        }
        let local = |group: &str, kind: &str, name: &str| ObjectRef {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace: rule.namespace.clone(),
            name: name.to_owned(),
        };
        let targets = match &spec.scale_target {
            Some(target) => vec![local(group(&target.api_version), &target.kind, &target.name)],
            None => behind_services(rule, spec, objects),
        };
        match &spec.switch {
            Some(switch) => {
                self.add_routes(&local(ISTIO, "VirtualService", &switch.virtual_service.name), spec, objects);
            }
            None => {
                for service in services_of(rule, spec, objects) {
                    // The selector itself stays Git's, also while it is captured.
                    self.add(local("", "Service", service), &["spec", "selector", CAPTURE_KEY]);
                }
            }
        }
        let adopts = spec.keda.as_ref().is_some_and(|keda| keda.adopt);
        for target in targets {
            if adopts {
                for scaler in scalers_of(&target, objects) {
                    self.add(scaler.clone(), &["spec"]);
                }
            }
            if target.group == "keda.sh" && target.kind == "ScaledJob" {
                for field in SET_OF_A_JOB {
                    self.add(target.clone(), &["spec", field]);
                }
            } else {
                self.add(target, &["spec", "replicas"]);
            }
        }
    }
}

impl Found {
    /// Of a captured route its host; all else of it stays Git's.
    fn add_routes(&mut self, routes: &ObjectRef, spec: &ScalingRuleSpec, objects: &[(ObjectRef, &Value)]) {
        let Some(switch) = spec.switch.as_ref().map(|switch| &switch.virtual_service) else { return };
        let Some((_, object)) = objects.iter().find(|(key, _)| key == routes) else { return };
        let is_covered = |host: &str| {
            let service = service_of_host(host, &routes.namespace);
            service.is_some_and(|service| spec.services.iter().any(|one| one.name == service))
        };
        for one in destinations(object.pointer("/spec/http")) {
            if switch.leads(one.route) && is_covered(one.host) {
                self.add(routes.clone(), &one.way_to_host().each_ref().map(String::as_str));
            }
        }
    }
}

const ISTIO: &str = "networking.istio.io";

/// What a rule sets of a `ScaledJob`.
const SET_OF_A_JOB: [&str; 6] =
    ["maxReplicaCount", "minReplicaCount", "pollingInterval", "rollout", "scalingStrategy", "triggers"];

/// The Services that a rule lists, or those that it may choose.
fn services_of<'a>(rule: &ObjectRef, spec: &'a ScalingRuleSpec, objects: &'a [(ObjectRef, &Value)]) -> Vec<&'a str> {
    let Some(selector) = &spec.selector else {
        return spec.services.iter().map(|service| &*service.name).collect();
    };
    let is_local = |key: &ObjectRef| key.group.is_empty() && key.kind == "Service" && key.namespace == rule.namespace;
    let is_chosen = |object: &Value| {
        let labels = object.pointer("/metadata/labels").cloned().unwrap_or_default();
        selector.matches(&serde_json::from_value(labels).unwrap_or_default())
    };
    // Of those that it leaves out for other reasons nobody captures any.
    let chosen = objects.iter().filter(|(key, object)| is_local(key) && is_chosen(object));
    chosen.map(|(key, _)| &*key.name).collect()
}

/// A rule without a target means the workloads that its Services lead to.
fn behind_services(rule: &ObjectRef, spec: &ScalingRuleSpec, objects: &[(ObjectRef, &Value)]) -> Vec<ObjectRef> {
    let services = services_of(rule, spec, objects);
    let local = || objects.iter().filter(|(key, _)| key.namespace == rule.namespace);
    let is_named = |key: &ObjectRef| key.group.is_empty() && key.kind == "Service" && services.contains(&&*key.name);
    let selectors: Vec<&Value> =
        local().filter(|(key, _)| is_named(key)).filter_map(|(_, service)| service.pointer("/spec/selector")).collect();
    local()
        .filter(|(_, object)| {
            let labels = object.pointer("/spec/template/metadata/labels");
            labels.is_some_and(|labels| selectors.iter().any(|selector| selects(selector, labels)))
        })
        .map(|(key, _)| key.clone())
        .collect()
}

fn selects(selector: &Value, labels: &Value) -> bool {
    let Some(wanted) = selector.as_object().filter(|wanted| !wanted.is_empty()) else { return false };
    wanted.iter().all(|(name, value)| labels.get(name) == Some(value))
}

/// KEDA's objects for a target; without a kind they mean a Deployment.
fn scalers_of<'a>(target: &ObjectRef, objects: &'a [(ObjectRef, &Value)]) -> Vec<&'a ObjectRef> {
    let is_for_target = |object: &Value| {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        text("/spec/scaleTargetRef/name") == Some(&target.name)
            && text("/spec/scaleTargetRef/kind").unwrap_or("Deployment") == target.kind
    };
    objects
        .iter()
        .filter(|(key, _)| key.group == "keda.sh" && key.kind == "ScaledObject" && key.namespace == target.namespace)
        .filter(|(_, object)| is_for_target(object))
        .map(|(key, _)| key)
        .collect()
}
