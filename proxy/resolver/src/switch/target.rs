//! What a rule scales, and which Services lead to it. Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt;
use reeve_crds::{ScalingRule, WorkloadRef};

use super::objects;
use crate::report::RULE_LABEL;

/// A workload that can be scaled.
#[derive(Clone, Debug)]
pub(super) struct Workload {
    pub reference: WorkloadRef,
    pub replicas: i32,
    /// Labels of its pods.
    pub labels: BTreeMap<String, String>,
}

/// The target of a rule.
#[derive(Clone, Debug, Default)]
pub(super) struct Target {
    pub reference: Option<WorkloadRef>,
    /// Nothing if it is not there or cannot be read.
    pub replicas: Option<i32>,
    pub labels: BTreeMap<String, String>,
    /// Why there is none.
    pub problem: Option<String>,
}

impl From<&Deployment> for Workload {
    fn from(deployment: &Deployment) -> Self {
        let spec = deployment.spec.clone().unwrap_or_default();
        let labels = spec.template.metadata.and_then(|metadata| metadata.labels).unwrap_or_default();
        workload("Deployment", deployment.name_any(), spec.replicas, labels)
    }
}

impl From<&StatefulSet> for Workload {
    fn from(set: &StatefulSet) -> Self {
        let spec = set.spec.clone().unwrap_or_default();
        let labels = spec.template.metadata.and_then(|metadata| metadata.labels).unwrap_or_default();
        workload("StatefulSet", set.name_any(), spec.replicas, labels)
    }
}

fn workload(kind: &str, name: String, replicas: Option<i32>, labels: BTreeMap<String, String>) -> Workload {
    let reference = WorkloadRef { api_version: "apps/v1".to_owned(), kind: kind.to_owned(), name };
    Workload { reference, replicas: replicas.unwrap_or(1), labels }
}

/// Whether a watched workload can be what a rule names.
pub(super) fn is_watched(reference: &WorkloadRef) -> bool {
    reference.api_version == "apps/v1" && matches!(reference.kind.as_str(), "Deployment" | "StatefulSet")
}

/// What the rule names, or what its Services lead to.
pub(super) fn find(rule: &ScalingRule, services: &[impl AsRef<Service>], workloads: &[Workload]) -> Target {
    if let Some(named) = &rule.spec.scale_target {
        let found = workloads.iter().find(|workload| workload.reference == *named);
        let problem =
            (found.is_none() && is_watched(named)).then(|| format!("there is no {} {}", named.kind, named.name));
        return Target {
            reference: Some(named.clone()),
            replicas: found.map(|workload| workload.replicas),
            labels: found.map(|workload| workload.labels.clone()).unwrap_or_default(),
            problem,
        };
    }
    let leads = |workload: &&Workload| {
        services.iter().any(|service| selects(&objects::selector(service.as_ref()), &workload.labels))
    };
    let found: Vec<&Workload> = workloads.iter().filter(leads).collect();
    match &found[..] {
        [one] => Target {
            reference: Some(one.reference.clone()),
            replicas: Some(one.replicas),
            labels: one.labels.clone(),
            problem: None,
        },
        [] => Target {
            problem: Some("the Services lead to no Deployment or StatefulSet".to_owned()),
            ..Target::default()
        },
        [first, second, ..] => Target {
            problem: Some(format!(
                "the Services lead to several workloads, such as {} {} and {} {}: name one in spec.scaleTarget",
                first.reference.kind, first.reference.name, second.reference.kind, second.reference.name,
            )),
            ..Target::default()
        },
    }
}

/// Services of a namespace that lead to pods with these labels and that no rule has.
pub(super) fn uncovered<'a>(
    labels: &BTreeMap<String, String>,
    services: impl IntoIterator<Item = &'a Service>,
    is_covered: impl Fn(&str) -> bool,
) -> Vec<String> {
    let leads =
        |service: &&Service| !service.labels().contains_key(RULE_LABEL) && selects(&objects::selector(service), labels);
    let leading = services.into_iter().filter(leads).map(ResourceExt::name_any);
    let mut uncovered: Vec<String> = leading.filter(|name| !is_covered(name)).collect();
    uncovered.sort();
    uncovered
}

pub(super) fn selects(selector: &BTreeMap<String, String>, labels: &BTreeMap<String, String>) -> bool {
    !selector.is_empty() && selector.iter().all(|(key, value)| labels.get(key) == Some(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn service(name: &str, app: &str) -> Box<Service> {
        let service = json!({ "metadata": { "name": name }, "spec": { "selector": { "app": app } } });
        Box::new(serde_json::from_value(service).unwrap())
    }

    fn named(name: &str, app: &str) -> Workload {
        workload("Deployment", name.to_owned(), Some(2), BTreeMap::from([("app".to_owned(), app.to_owned())]))
    }

    fn rule(spec: serde_json::Value) -> ScalingRule {
        ScalingRule::new("rule", serde_json::from_value(spec).unwrap())
    }

    #[test]
    fn a_target_is_named_or_is_the_one_workload_behind_the_services() {
        let workloads = [named("web", "web"), named("api", "api"), named("twin", "twins"), named("twin2", "twins")];
        let found = rule(json!({ "services": [{ "name": "web" }] }));
        let target = find(&found, &[service("web", "web")], &workloads);
        assert_eq!((target.replicas, target.reference.unwrap().name.as_str()), (Some(2), "web"));
        let target = find(&found, &[service("web", "nobody")], &workloads);
        assert!(target.problem.unwrap().contains("no Deployment"));
        let target = find(&found, &[service("web", "twins")], &workloads);
        assert!(target.problem.unwrap().contains("several"));
        let names = rule(json!({ "services": [{ "name": "web" }], "scaleTarget": { "name": "api" } }));
        assert_eq!(find(&names, &[service("web", "web")], &workloads).reference.unwrap().name, "api");
        let other = json!({ "services": [{ "name": "web" }], "scaleTarget": { "name": "gone" } });
        assert_eq!(
            find(&rule(other), &[service("web", "web")], &workloads).problem.unwrap(),
            "there is no Deployment gone"
        );
    }

    #[test]
    fn every_service_that_leads_to_a_target_counts_but_shadows() {
        let mut shadow = service("web-reeve-shadow", "web");
        shadow.labels_mut().insert(RULE_LABEL.to_owned(), "rule".to_owned());
        let services = [service("web", "web"), service("admin", "web"), service("api", "api"), shadow];
        let labels = named("web", "web").labels;
        let found = uncovered(&labels, services.iter().map(AsRef::as_ref), |name| name == "web");
        assert_eq!(found, ["admin"]);
    }
}
