//! What templates see besides values: the facts of the runtime, the component and the chart.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use crate::cache::Touched;
use crate::resolve::{Resolved, ResolvedComponent};
use crate::template::{self, Facts, Scope};
use crate::value::{Dict, KeyPath, Value};

/// The facts of one component in one runtime; what is read of them is recorded.
#[derive(Debug)]
pub struct RenderFacts {
    roots: [(&'static str, Value, Facts); 4],
}

fn dict<const N: usize>(entries: [(&str, Value); N]) -> Dict {
    Dict::new(entries.into_iter().map(|(key, value)| (Arc::from(key), value)).collect()).unwrap_or_default()
}

impl RenderFacts {
    /// The facts of a component.
    pub fn new(resolved: &Resolved, component: &ResolvedComponent) -> Self {
        let runtime = resolved.facts();
        let only = |keys: &[&str]| {
            let entries = runtime.entries().iter().filter(|(key, _)| keys.contains(&&***key));
            Dict::new(entries.map(|(key, value)| (key.clone(), value.clone())).collect()).unwrap_or_default()
        };
        let text = |text: &Arc<str>| Value::Text(text.clone());
        let about_component = dict([
            ("name", text(&component.name)),
            ("namespace", text(&component.namespace)),
            ("chart", text(&component.chart.name)),
            ("version", text(&component.chart.version)),
            ("target", Value::from(component.target.as_str())),
        ]);
        let release = dict([
            ("name", text(&component.release_name)),
            ("namespace", text(&component.namespace)),
            ("service", Value::from("Reeve")),
        ]);
        let root = |name, dict: Dict| (name, Value::Dict(dict.clone()), Facts::new(dict));
        Self {
            roots: [
                root("Runtime", only(&["name", "labels", "channel"])),
                root("Component", about_component),
                root("Release", release),
                root("Capabilities", capabilities(resolved)),
            ],
        }
    }

    /// All that was read so far.
    pub fn touched(&self) -> Touched {
        let reads = |(name, _, facts): &(&'static str, Value, Facts)| {
            let name = *name;
            facts.touched().into_iter().map(move |(path, value)| ((name, path), value))
        };
        self.roots.iter().flat_map(reads).collect()
    }

    /// Another value for one fact; whether there is such a fact.
    pub(crate) fn change(&mut self, root: &str, path: &KeyPath, new: Value) -> bool {
        let Some((_, value, facts)) = self.roots.iter_mut().find(|(name, _, _)| *name == root) else { return false };
        let Some(Value::Dict(changed)) = path.with(value, new) else { return false };
        *facts = Facts::new(changed.clone());
        *value = Value::Dict(changed);
        true
    }

    pub(super) fn find(&self, root: &str, path: &KeyPath) -> Option<&Value> {
        self.roots.iter().find(|(name, _, _)| *name == root).and_then(|(_, value, _)| path.find(value))
    }

    /// What one template sees, but for the values.
    pub fn scope<'s>(&'s self, component: &'s ResolvedComponent, template: &str) -> Scope<'s> {
        let chart = &component.chart;
        let base = format!("{}/templates", chart.folder);
        let about = dict([("name", Value::from(format!("{base}/{template}"))), ("basePath", Value::from(base))]);
        let mut scope = Scope::new()
            .data("Chart", Value::Dict(chart.metadata.clone()))
            .data("Template", Value::Dict(about))
            .files(&chart.files)
            .advice("Values", format!("set it in {}/values.yaml, in a layer or in the runtime", chart.folder))
            .advice("Chart", format!("set it in {}/Chart.yaml", chart.folder))
            .advice(
                "Runtime",
                "labels are set in the runtime's file; `Runtime` has name, labels and channel".to_owned(),
            )
            .advice("Capabilities", "declare it under `capabilities` in the runtime's file".to_owned());
        for (name, _, facts) in &self.roots {
            scope = scope.facts(name, facts);
        }
        scope
    }
}

/// Whether every supported Kubernetes serves this group, version or kind.
pub(super) fn is_always_served(wanted: &str) -> bool {
    BUILT_IN.get(wanted).is_some()
}

/// Groups, versions and kinds that every supported Kubernetes serves.
const SERVED: &[(&str, &[&str])] = &[
    (
        "v1",
        &[
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "Namespace",
            "Node",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
    ),
    (
        "admissionregistration.k8s.io/v1",
        &[
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
    ),
    ("apiextensions.k8s.io/v1", &["CustomResourceDefinition"]),
    ("apiregistration.k8s.io/v1", &["APIService"]),
    ("apps/v1", &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("authentication.k8s.io/v1", &["TokenReview"]),
    ("authorization.k8s.io/v1", &["SubjectAccessReview"]),
    ("autoscaling/v1", &["HorizontalPodAutoscaler"]),
    ("autoscaling/v2", &["HorizontalPodAutoscaler"]),
    ("batch/v1", &["CronJob", "Job"]),
    ("certificates.k8s.io/v1", &["CertificateSigningRequest"]),
    ("coordination.k8s.io/v1", &["Lease"]),
    ("discovery.k8s.io/v1", &["EndpointSlice"]),
    ("events.k8s.io/v1", &["Event"]),
    ("flowcontrol.apiserver.k8s.io/v1", &["FlowSchema", "PriorityLevelConfiguration"]),
    ("networking.k8s.io/v1", &["IPAddress", "Ingress", "IngressClass", "NetworkPolicy", "ServiceCIDR"]),
    ("node.k8s.io/v1", &["RuntimeClass"]),
    ("policy/v1", &["PodDisruptionBudget"]),
    ("rbac.authorization.k8s.io/v1", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]),
    ("scheduling.k8s.io/v1", &["PriorityClass"]),
    ("storage.k8s.io/v1", &["CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment"]),
];

/// As a map, so that a template which asks for one of them depends on that one only.
static BUILT_IN: LazyLock<Dict> = LazyLock::new(|| {
    let mut all = BTreeMap::new();
    for (version, kinds) in SERVED {
        all.insert(Arc::from(*version), Value::Bool(true));
        all.extend(kinds.iter().map(|kind| (Arc::from(format!("{version}/{kind}")), Value::Bool(true))));
    }
    Dict::new(all.into()).unwrap_or_default()
});

fn capabilities(resolved: &Resolved) -> Dict {
    let declared = &resolved.runtime.capabilities;
    let api_versions = if declared.api_versions.is_empty() {
        BUILT_IN.clone()
    } else {
        let mut all = BUILT_IN.entries().to_map();
        all.extend(declared.api_versions.iter().map(|version| (version.clone(), Value::Bool(true))));
        Dict::new(all.into()).unwrap_or_default()
    };
    let in_helm = template::api_versions(&declared.api_versions);
    let mut entries: BTreeMap<Arc<str>, Value> = BTreeMap::from([
        ("apiVersions".into(), Value::Dict(api_versions)),
        // What the same question finds in a chart in Helm's syntax.
        ("helmApiVersions".into(), Value::Dict(in_helm)),
    ]);
    if let Some(version) = &declared.kubernetes_version {
        let plain = version.strip_prefix('v').unwrap_or(version);
        let mut numbers = plain.split(['.', '-', '+']);
        let mut number = || Value::from(numbers.next().unwrap_or_default());
        let full = if plain.split(['-', '+']).next().unwrap_or_default().split('.').count() == 2 {
            format!("v{plain}.0")
        } else {
            format!("v{plain}")
        };
        let version = dict([
            ("version", Value::from(full.clone())),
            ("major", number()),
            ("minor", number()),
            ("gitVersion", Value::from(full)),
        ]);
        entries.insert("kubeVersion".into(), Value::Dict(version));
    }
    Dict::new(entries.into()).unwrap_or_default()
}
