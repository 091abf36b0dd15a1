//! A rule that chooses Services: which rules of its own it makes, one for each target, and how those do. Pure; `edge` reads
//! and writes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use reeve_crds::scaling_rule::ServiceRef;
use reeve_crds::scaling_rule::status::{Named, Selection, TrafficMode};
use reeve_crds::{ScalingRule, State, WorkloadRef, annotation};

use super::target::{Workload, selects};
use super::{names, objects};
use crate::report::RULE_LABEL;

mod edge;

pub(super) use edge::ReservedCache;

/// One rule leads no more Services than this.
const MAX_SERVICES: usize = 8;
/// No more of them are named in a status.
const MAX_NAMED: usize = 32;
const PART_OF: &str = "app.kubernetes.io/part-of";
/// What belongs to the cluster itself, or to those that would have to wake it.
const NEVER_PART_OF: [&str; 2] = ["reeve", "keda-operator"];
const NEVER_IN: [&str; 3] = ["kube-system", "kube-public", "kube-node-lease"];

/// Services that webhooks and API services need, by namespace and name.
pub(super) type Reserved = BTreeSet<(String, String)>;

/// What there is in the namespace of a selecting rule.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    pub(super) parent: &'a ScalingRule,
    pub(super) services: &'a [Arc<Service>],
    pub(super) workloads: &'a [Workload],
    pub(super) rules: &'a [Arc<ScalingRule>],
    pub(super) reserved: &'a Reserved,
}

/// What a rule chooses.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// The rules that there should be, by name.
    pub(super) children: BTreeMap<String, ScalingRule>,
    /// Services that were left out, and why.
    pub(super) excluded: BTreeMap<String, String>,
}

/// What is done to one child.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Create(Box<ScalingRule>),
    Update(Box<ScalingRule>),
    Delete(String),
}

/// Which rules there should be.
pub(super) fn choose(scene: &Scene<'_>) -> Chosen {
    let mut chosen = Chosen::default();
    let mut targets: BTreeMap<String, (WorkloadRef, Vec<String>)> = BTreeMap::new();
    let Some(selector) = &scene.parent.spec.selector else { return chosen };
    let is_chosen =
        |service: &&Arc<Service>| !service.labels().contains_key(RULE_LABEL) && selector.matches(service.labels());
    for service in scene.services.iter().filter(is_chosen) {
        match find_target(scene, service) {
            Ok(Some(target)) => {
                let child = names::child(&scene.parent.name_any(), &target);
                targets.entry(child).or_insert_with(|| (target, Vec::new())).1.push(service.name_any());
            }
            // It leads to nothing that could sleep.
            Ok(None) => {}
            Err(why) => {
                chosen.excluded.insert(service.name_any(), why);
            }
        }
    }
    for (name, (target, mut services)) in targets {
        services.sort();
        for service in services.split_off(services.len().min(MAX_SERVICES)) {
            chosen.excluded.insert(service, format!("more than {MAX_SERVICES} Services lead to {}", target.name));
        }
        chosen.children.insert(name.clone(), child(scene.parent, &name, target, services));
    }
    chosen
}

/// The target of a Service that may be captured, or why it is left out.
fn find_target(scene: &Scene<'_>, service: &Service) -> Result<Option<WorkloadRef>, String> {
    let name = service.name_any();
    let namespace = service.namespace().unwrap_or_default();
    if let Some(rule) = named(scene).find(|rule| rule.spec.services.iter().any(|one| one.name == name)) {
        return Err(format!("the rule {} lists it", rule.name_any()));
    }
    if scene.reserved.contains(&(namespace.clone(), name)) {
        return Err("a webhook or an API service of the cluster needs it".to_owned());
    }
    let part_of = service.labels().get(PART_OF).map_or("", String::as_str);
    if NEVER_IN.contains(&namespace.as_str()) || NEVER_PART_OF.contains(&part_of) {
        return Err("it belongs to the cluster itself, to Reeve or to KEDA".to_owned());
    }
    let selector = objects::selector(service);
    let leads: Vec<&Workload> = scene.workloads.iter().filter(|one| selects(&selector, &one.labels)).collect();
    let target = match &leads[..] {
        [] => return Ok(None),
        [one] => one.reference.clone(),
        _ => return Err("it leads to several workloads".to_owned()),
    };
    if let Some(why) = objects::unsupported(service) {
        return Err(why);
    }
    let scales = |rule: &&&Arc<ScalingRule>| {
        let found = rule.status.as_ref().and_then(|status| status.target.as_ref());
        rule.spec.scale_target.as_ref().or(found) == Some(&target)
    };
    let others = scene.rules.iter().filter(|rule| rule.spec.selector.is_none() && !is_child(rule, scene.parent));
    match others.into_iter().find(|rule| scales(&rule)) {
        Some(rule) => Err(format!("the rule {} scales {}", rule.name_any(), target.name)),
        None => Ok(Some(target)),
    }
}

/// Rules that no rule has made.
fn named<'a>(scene: &'a Scene<'_>) -> impl Iterator<Item = &'a Arc<ScalingRule>> {
    scene.rules.iter().filter(|rule| rule.spec.selector.is_none() && parent_of(rule).is_none())
}

/// Name and uid of the rule that has made this one.
fn parent_of(rule: &ScalingRule) -> Option<&OwnerReference> {
    let is_rule = |owner: &&OwnerReference| owner.kind == "ScalingRule" && owner.controller == Some(true);
    rule.metadata.owner_references.iter().flatten().find(is_rule)
}

fn is_child(rule: &ScalingRule, parent: &ScalingRule) -> bool {
    parent_of(rule).is_some_and(|owner| Some(&owner.uid) == parent.metadata.uid.as_ref())
}

fn child(parent: &ScalingRule, name: &str, target: WorkloadRef, services: Vec<String>) -> ScalingRule {
    let mut spec = parent.spec.clone();
    spec.selector = None;
    spec.scale_target = Some(target);
    spec.services = services.into_iter().map(|name| ServiceRef { name }).collect();
    let mut child = ScalingRule::new(name, spec);
    child.metadata.namespace = parent.namespace();
    child.metadata.annotations = Some(asked(parent)).filter(|asked| !asked.is_empty());
    child.metadata.owner_references = Some(vec![OwnerReference {
        api_version: "reeve.dev/v1alpha1".to_owned(),
        kind: "ScalingRule".to_owned(),
        name: parent.name_any(),
        uid: parent.uid().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: None,
    }]);
    child
}

/// What a person asks of all targets at once.
fn asked(parent: &ScalingRule) -> BTreeMap<String, String> {
    let annotations = parent.annotations().iter();
    let asked = annotations.filter(|(key, _)| [annotation::WAKE, annotation::SLEEP].contains(&key.as_str()));
    asked.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// What makes the children that there are those that there should be.
pub(super) fn steps(scene: &Scene<'_>, chosen: &Chosen) -> Vec<Step> {
    let ours: Vec<&Arc<ScalingRule>> = scene.rules.iter().filter(|rule| is_child(rule, scene.parent)).collect();
    let mut steps = Vec::new();
    for rule in &ours {
        let stays = chosen.children.contains_key(&rule.name_any());
        if !stays && rule.metadata.deletion_timestamp.is_none() {
            steps.push(Step::Delete(rule.name_any()));
        }
    }
    for (name, wanted) in &chosen.children {
        let Some(found) = ours.iter().find(|rule| rule.name_any() == *name) else {
            steps.push(Step::Create(Box::new(wanted.clone())));
            continue;
        };
        let is_asked = wanted.annotations().iter().all(|(key, value)| found.annotations().get(key) == Some(value));
        if found.metadata.deletion_timestamp.is_none() && (found.spec != wanted.spec || !is_asked) {
            let mut changed = ScalingRule::clone(found);
            changed.spec = wanted.spec.clone();
            changed.annotations_mut().extend(wanted.annotations().clone());
            steps.push(Step::Update(Box::new(changed)));
        }
    }
    steps
}

/// How the children do.
pub(super) fn summary(scene: &Scene<'_>, chosen: &Chosen) -> Selection {
    let find = |name: &String| scene.rules.iter().find(|rule| rule.name_any() == *name);
    let (mut ready, mut asleep, mut laggards) = (0, 0, Vec::new());
    for name in chosen.children.keys() {
        let status = find(name).and_then(|rule| rule.status.as_ref());
        let mode = status.and_then(|status| status.mode.as_ref()?.known().copied());
        asleep += i32::from(mode == Some(TrafficMode::Asleep));
        if status.and_then(|status| status.state) == Some(State::Ready) {
            ready += 1;
        } else {
            let conditions = status.map(|status| &*status.conditions).unwrap_or_default();
            let why = conditions.iter().find(|one| one.type_ == "Ready").map(|one| one.reason.clone());
            laggards.push(Named { name: name.clone(), reason: why.unwrap_or_else(|| "Progressing".to_owned()) });
        }
    }
    laggards.truncate(MAX_NAMED);
    let excluded = chosen.excluded.iter().take(MAX_NAMED);
    let excluded = excluded.map(|(name, why)| Named { name: name.clone(), reason: why.chars().take(1024).collect() });
    let targets = i32::try_from(chosen.children.len()).unwrap_or(i32::MAX);
    Selection { targets, ready, asleep, laggards, excluded: excluded.collect() }
}

#[cfg(test)]
mod tests;
