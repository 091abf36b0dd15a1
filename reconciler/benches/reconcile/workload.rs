//! What everyone is asked to apply: the same four objects a thousand times, from the same text.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Service, ServiceAccount};
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::{ApiResource, DynamicObject};
use serde::Deserialize as _;

const APP: &str = include_str!("app.yaml");
/// Where all objects are.
pub(crate) const NAMESPACE: &str = "apps";
pub(crate) const OBJECTS_PER_COMPONENT: usize = 4;
pub(crate) const RUNTIMES: usize = 10;
/// The label that drift changes, and to what.
pub(crate) const LABEL: &str = "app.kubernetes.io/part-of";
pub(crate) const DRIFTED: &str = "drifted";
/// The CPU request before and after the upgrade, in thousandths of a core.
pub(crate) const BEFORE: u32 = 1;
pub(crate) const AFTER: u32 = 2;

/// How much there is to do, and how much of it at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) components: usize,
    pub(crate) concurrency: usize,
}

impl Size {
    pub(crate) fn objects(self) -> usize {
        self.components * OBJECTS_PER_COMPONENT
    }
}

/// The kinds in the order of the text.
pub(crate) fn kinds() -> [ApiResource; OBJECTS_PER_COMPONENT] {
    [
        ApiResource::erase::<ServiceAccount>(&()),
        ApiResource::erase::<Service>(&()),
        ApiResource::erase::<Deployment>(&()),
        ApiResource::erase::<Ingress>(&()),
    ]
}

/// The objects of one component.
pub(crate) fn objects(index: usize, mcpu: u32) -> Result<Vec<DynamicObject>> {
    let text = APP.replace("INDEX", &index.to_string()).replace("MCPU", &mcpu.to_string());
    let documents = serde_yaml::Deserializer::from_str(&text);
    documents.map(|document| DynamicObject::deserialize(document).context("app.yaml is no object")).collect()
}

/// Whether a Deployment has this request and its rollout is over.
pub(crate) fn is_ready(deployment: &Deployment, mcpu: u32) -> bool {
    let request = || {
        let pod = deployment.spec.as_ref()?.template.spec.as_ref()?;
        pod.containers.first()?.resources.as_ref()?.requests.as_ref()?.get("cpu").map(|cpu| cpu.0.clone())
    };
    let status = deployment.status.as_ref();
    let has = |kind: &str, reason: Option<&str>| {
        status.and_then(|status| status.conditions.as_ref()).into_iter().flatten().any(|condition| {
            condition.type_ == kind
                && condition.status == "True"
                && reason.is_none_or(|reason| condition.reason.as_deref() == Some(reason))
        })
    };
    request() == Some(format!("{mcpu}m"))
        && status.and_then(|status| status.observed_generation) == deployment.metadata.generation
        && has("Available", None)
        && has("Progressing", Some("NewReplicaSetAvailable"))
}

/// The files of a fleet repository: one chart, ten runtimes, and the CPU request in a layer.
pub(crate) fn fleet(size: Size) -> Vec<(String, String)> {
    let template = APP.replace("INDEX", "{{ Values.index }}").replace("MCPU", "{{ Values.mcpu }}");
    let settings = format!(
        "kind: Fleet\ndefaults:\n  channel: stable\n  namespace: {NAMESPACE}\n  policy:\n    concurrency: {}\nlayers:\n  \
         - name: base\n",
        size.concurrency
    );
    let mut files = vec![
        ("fleet.yaml".to_owned(), settings),
        ("channels/stable.yaml".to_owned(), "kind: Channel\ncomponents:\n  app: 1.0.0\n".to_owned()),
        ("charts/app/1.0.0/Chart.yaml".to_owned(), "apiVersion: v2\nname: app\nversion: 1.0.0\n".to_owned()),
        ("charts/app/1.0.0/values.yaml".to_owned(), "index: 0\nmcpu: 0\n".to_owned()),
        ("charts/app/1.0.0/templates/app.yaml.j2".to_owned(), template),
        layer(BEFORE),
    ];
    let of_each = size.components.div_ceil(RUNTIMES);
    files.extend((0..RUNTIMES).map(|number| {
        let mut text = "kind: Runtime\ncomponents:\n".to_owned();
        for index in (number * of_each..(number + 1) * of_each).take_while(|index| *index < size.components) {
            let _ = write!(text, "  app-{index}:\n    chart: app\n    values:\n      index: {index}\n");
        }
        (format!("runtimes/runtime-{number}.yaml"), text)
    }));
    files
}

/// The one file that an upgrade of everything changes.
pub(crate) fn layer(mcpu: u32) -> (String, String) {
    ("layers/base.yaml".to_owned(), format!("kind: Layer\nvalues:\n  mcpu: {mcpu}\n"))
}

/// The text as Flux substitutes in it.
pub(crate) fn substituted(mcpu: u32) -> String {
    APP.replace("INDEX", "${INDEX}").replace("MCPU", &mcpu.to_string())
}
