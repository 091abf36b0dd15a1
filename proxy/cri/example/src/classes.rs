//! What each class of pods gets. Pure.

use std::collections::BTreeMap;

use reeve_proxy_cri::protocol::{Change, ChangedField, ChangedValue, Deny, HookRequest, HookResponse, Pod, Resources};
use serde::Deserialize;

/// CPU period that a quota counts by, if the container has none: that of the kernel.
const PERIOD: i64 = 100_000;

/// All classes; the first that fits counts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Classes {
    pub(crate) classes: Vec<Class>,
    /// Refuses pods of these namespaces that are of no class.
    #[serde(default)]
    pub(crate) required_in: Vec<String>,
}

/// What pods with some labels get.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Class {
    pub(crate) name: String,
    /// A pod must have all of these. Without any, the class is for every pod.
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) cpu_shares: Option<i64>,
    /// Of one CPU; 0 takes a limit away.
    pub(crate) cpu_percent: Option<u32>,
    pub(crate) oom_score_adj: Option<i64>,
    /// Files of the container's control group, which are written after it started: what the CRI cannot carry.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
}

/// A file is no list of classes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClassesError {
    #[error("not the JSON of classes")]
    Json(#[source] serde_json::Error),
    #[error("class {0}: oomScoreAdj is between -1000 and 1000")]
    OomScoreAdj(String),
    #[error("class {class}: {file} is no file of a control group")]
    File { class: String, file: String },
}

impl Classes {
    pub(crate) fn parse(text: &[u8]) -> Result<Self, ClassesError> {
        let classes: Self = serde_json::from_slice(text).map_err(ClassesError::Json)?;
        for class in &classes.classes {
            if class.oom_score_adj.is_some_and(|score| !(-1000..=1000).contains(&score)) {
                return Err(ClassesError::OomScoreAdj(class.name.clone()));
            }
            let is_file = |file: &str| file.contains('.') && !file.contains('/') && !file.starts_with('.');
            if let Some(file) = class.files.keys().find(|file| !is_file(file)) {
                return Err(ClassesError::File { class: class.name.clone(), file: file.clone() });
            }
        }
        Ok(classes)
    }

    /// The class of a pod.
    pub(crate) fn find(&self, pod: &Pod) -> Option<&Class> {
        let has = |(key, value): (&String, &String)| pod.labels.get(key) == Some(value);
        self.classes.iter().find(|class| class.labels.iter().all(has))
    }

    /// What to answer before a call.
    pub(crate) fn answer(&self, request: &HookRequest) -> HookResponse {
        let Some(pod) = &request.pod else { return HookResponse::default() };
        let class = self.find(pod);
        match (request.hook.as_str(), class) {
            ("PreRunPodSandbox", None) if self.required_in.contains(&pod.namespace) => {
                let names: Vec<&str> = self.classes.iter().map(|class| class.name.as_str()).collect();
                let reason =
                    format!("pods of namespace {} need one of the classes {}", pod.namespace, names.join(", "));
                HookResponse { deny: Some(Deny { reason }), changes: Vec::new() }
            }
            ("PreCreateContainer" | "PreUpdateContainerResources", Some(class)) => {
                let resources = request.container.as_ref().and_then(|container| container.resources.clone());
                HookResponse { deny: None, changes: class.changes(&resources.unwrap_or_default()) }
            }
            _ => HookResponse::default(),
        }
    }
}

impl Class {
    fn changes(&self, resources: &Resources) -> Vec<Change> {
        let number = |field: ChangedField, number: i64| Change {
            field: field.into(),
            key: String::new(),
            value: Some(ChangedValue::Number(number)),
        };
        let mut changes = Vec::new();
        changes.extend(self.cpu_shares.map(|shares| number(ChangedField::CpuShares, shares)));
        changes.extend(self.oom_score_adj.map(|score| number(ChangedField::OomScoreAdj, score)));
        if let Some(percent) = self.cpu_percent {
            let period = resources.cpu_period.unwrap_or(PERIOD);
            let quota = if percent == 0 { -1 } else { period * i64::from(percent) / 100 };
            if resources.cpu_period.is_none() {
                changes.push(number(ChangedField::CpuPeriod, period));
            }
            changes.push(number(ChangedField::CpuQuota, quota));
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use reeve_proxy_cri::protocol::Container;

    use super::*;

    const CLASSES: &str = r#"{
        "classes": [
            {"name": "batch", "labels": {"class": "batch"}, "cpuShares": 64, "cpuPercent": 50, "oomScoreAdj": 900},
            {"name": "unlimited", "labels": {"class": "unlimited"}, "cpuPercent": 0}
        ],
        "requiredIn": ["jobs"]
    }"#;

    fn request(hook: &str, namespace: &str, class: &str) -> HookRequest {
        let labels = [("class".to_owned(), class.to_owned())].into();
        let pod = Pod { namespace: namespace.to_owned(), labels, ..Pod::default() };
        HookRequest { hook: hook.to_owned(), pod: Some(pod), container: Some(Container::default()) }
    }

    fn numbers(response: &HookResponse) -> Vec<(ChangedField, i64)> {
        let number = |change: &Change| match change.value {
            Some(ChangedValue::Number(number)) => (ChangedField::try_from(change.field).unwrap(), number),
            _ => panic!("{change:?}"),
        };
        response.changes.iter().map(number).collect()
    }

    #[test]
    fn a_container_gets_what_its_pods_class_says_and_no_other_field_is_touched() {
        let classes = Classes::parse(CLASSES.as_bytes()).unwrap();
        let batch = classes.answer(&request("PreCreateContainer", "shop", "batch"));
        let expected = [
            (ChangedField::CpuShares, 64),
            (ChangedField::OomScoreAdj, 900),
            (ChangedField::CpuPeriod, 100_000),
            (ChangedField::CpuQuota, 50_000),
        ];
        assert_eq!(numbers(&batch), expected);
        let unlimited = classes.answer(&request("PreCreateContainer", "shop", "unlimited"));
        assert!(numbers(&unlimited).contains(&(ChangedField::CpuQuota, -1)));
        assert_eq!(classes.answer(&request("PreCreateContainer", "shop", "none")), HookResponse::default());
        assert_eq!(classes.answer(&request("PostStopContainer", "shop", "batch")), HookResponse::default());
    }

    #[test]
    fn a_pod_without_a_class_is_refused_where_one_is_required() {
        let classes = Classes::parse(CLASSES.as_bytes()).unwrap();
        let refused = classes.answer(&request("PreRunPodSandbox", "jobs", "none"));
        assert_eq!(refused.deny.unwrap().reason, "pods of namespace jobs need one of the classes batch, unlimited");
        assert_eq!(classes.answer(&request("PreRunPodSandbox", "jobs", "batch")).deny, None);
        assert_eq!(classes.answer(&request("PreRunPodSandbox", "shop", "none")).deny, None);
    }

    #[test]
    fn a_file_that_leads_out_of_the_control_group_is_refused() {
        for file in ["../cpu.shares", "cpu", ".hidden", "/etc/a.b"] {
            let text = format!(r#"{{"classes": [{{"name": "a", "files": {{"{file}": "1"}}}}]}}"#);
            assert!(matches!(Classes::parse(text.as_bytes()), Err(ClassesError::File { .. })), "{file}");
        }
        assert!(Classes::parse(br#"{"classes": [{"name": "a", "files": {"memory.high": "1"}}]}"#).is_ok());
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange_to_read(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Classes::parse(&text);
        }
    }
}
