//! What plugins see of a call and may change, field by field: the unit of ownership, of masks and of the splice.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::message::cri::{HugepageLimit, LinuxContainerResources};

/// One field of a pod or a container; an entry of a map is a field of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub(crate) enum Field {
    PodLabel(String),
    PodAnnotation(String),
    CgroupParent,
    ContainerAnnotation(String),
    Env(String),
    CpuPeriod,
    CpuQuota,
    CpuShares,
    MemoryLimit,
    OomScoreAdj,
    CpusetCpus,
    CpusetMems,
    MemorySwapLimit,
    HugepageLimit(String),
    Unified(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum Value {
    Text(String),
    Number(i64),
    Size(u64),
}

/// What is set. A number that is zero and a text that is empty are not: the CRI cannot tell these apart.
pub(crate) type Fields = BTreeMap<Field, Value>;

/// What is to be set, or taken away.
pub(crate) type Changes = BTreeMap<Field, Option<Value>>;

/// Makes `changes` to `fields`.
pub(crate) fn apply(fields: &mut Fields, changes: &Changes) {
    for (field, value) in changes {
        match value {
            Some(value) => drop(fields.insert(field.clone(), value.clone())),
            None => drop(fields.remove(field)),
        }
    }
}

impl Field {
    /// Whether it is a resource of a cgroup or process, as opposed to what describes a container.
    pub(crate) fn is_resource(&self) -> bool {
        match self {
            Self::PodLabel(_)
            | Self::PodAnnotation(_)
            | Self::CgroupParent
            | Self::ContainerAnnotation(_)
            | Self::Env(_) => false,
            Self::CpuPeriod
            | Self::CpuQuota
            | Self::CpuShares
            | Self::MemoryLimit
            | Self::OomScoreAdj
            | Self::CpusetCpus
            | Self::CpusetMems
            | Self::MemorySwapLimit
            | Self::HugepageLimit(_)
            | Self::Unified(_) => true,
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PodLabel(key) => write!(f, "label {key}"),
            Self::PodAnnotation(key) | Self::ContainerAnnotation(key) => write!(f, "annotation {key}"),
            Self::CgroupParent => f.write_str("cgroup_parent"),
            Self::Env(name) => write!(f, "variable {name}"),
            Self::CpuPeriod => f.write_str("cpu_period"),
            Self::CpuQuota => f.write_str("cpu_quota"),
            Self::CpuShares => f.write_str("cpu_shares"),
            Self::MemoryLimit => f.write_str("memory_limit_in_bytes"),
            Self::OomScoreAdj => f.write_str("oom_score_adj"),
            Self::CpusetCpus => f.write_str("cpuset_cpus"),
            Self::CpusetMems => f.write_str("cpuset_mems"),
            Self::MemorySwapLimit => f.write_str("memory_swap_limit_in_bytes"),
            Self::HugepageLimit(size) => write!(f, "hugepage_limits {size}"),
            Self::Unified(key) => write!(f, "unified {key}"),
        }
    }
}

/// The fields of a map, one for each entry.
pub(crate) fn of_map(map: &HashMap<String, String>, field: impl Fn(String) -> Field) -> Fields {
    map.iter().map(|(key, value)| (field(key.clone()), Value::Text(value.clone()))).collect()
}

/// The map that `fields` hold for those whose key `key` finds.
pub(crate) fn to_map(fields: &Fields, key: impl Fn(&Field) -> Option<&String>) -> HashMap<String, String> {
    let entry = |(field, value): (&Field, &Value)| match value {
        Value::Text(text) => key(field).map(|key| (key.clone(), text.clone())),
        Value::Number(_) | Value::Size(_) => None,
    };
    fields.iter().filter_map(entry).collect()
}

/// What is set of some resources.
pub(crate) fn of_resources(resources: &LinuxContainerResources) -> Fields {
    let numbers = [
        (Field::CpuPeriod, resources.cpu_period),
        (Field::CpuQuota, resources.cpu_quota),
        (Field::CpuShares, resources.cpu_shares),
        (Field::MemoryLimit, resources.memory_limit_in_bytes),
        (Field::OomScoreAdj, resources.oom_score_adj),
        (Field::MemorySwapLimit, resources.memory_swap_limit_in_bytes),
    ];
    let texts = [(Field::CpusetCpus, &resources.cpuset_cpus), (Field::CpusetMems, &resources.cpuset_mems)];
    let mut fields = of_map(&resources.unified, Field::Unified);
    fields.extend(numbers.into_iter().filter(|(_, n)| *n != 0).map(|(field, n)| (field, Value::Number(n))));
    fields.extend(texts.into_iter().filter(|(_, t)| !t.is_empty()).map(|(field, t)| (field, Value::Text(t.clone()))));
    let pages = resources.hugepage_limits.iter();
    fields.extend(pages.map(|page| (Field::HugepageLimit(page.page_size.clone()), Value::Size(page.limit))));
    fields
}

/// The resources among `fields`; `None` if there are none.
pub(crate) fn to_resources(fields: &Fields) -> Option<LinuxContainerResources> {
    let number = |field| match fields.get(&field) {
        Some(Value::Number(number)) => *number,
        _ => 0,
    };
    let text = |field| match fields.get(&field) {
        Some(Value::Text(text)) => text.clone(),
        _ => String::new(),
    };
    let page = |(field, value): (&Field, &Value)| match (field, value) {
        (Field::HugepageLimit(page_size), Value::Size(limit)) => {
            Some(HugepageLimit { page_size: page_size.clone(), limit: *limit })
        }
        _ => None,
    };
    fields.keys().any(Field::is_resource).then(|| LinuxContainerResources {
        cpu_period: number(Field::CpuPeriod),
        cpu_quota: number(Field::CpuQuota),
        cpu_shares: number(Field::CpuShares),
        memory_limit_in_bytes: number(Field::MemoryLimit),
        oom_score_adj: number(Field::OomScoreAdj),
        cpuset_cpus: text(Field::CpusetCpus),
        cpuset_mems: text(Field::CpusetMems),
        hugepage_limits: fields.iter().filter_map(page).collect(),
        unified: to_map(fields, |field| if let Field::Unified(key) = field { Some(key) } else { None }),
        memory_swap_limit_in_bytes: number(Field::MemorySwapLimit),
    })
}
