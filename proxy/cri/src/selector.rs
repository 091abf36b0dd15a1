//! Chooses pods and nodes by their labels, as Kubernetes does.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

/// All that is given must match; an empty selector matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Selector {
    pub labels: BTreeMap<String, String>,
    pub requirements: Vec<Requirement>,
}

/// What one label must be.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Requirement {
    pub key: String,
    pub operator: Operator,
    #[serde(default)]
    pub values: Vec<String>,
}

/// How a label is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Operator {
    In,
    /// Also if the label is absent.
    NotIn,
    Exists,
    DoesNotExist,
}

/// Labels, in whatever map they are.
pub trait Labels {
    fn value(&self, key: &str) -> Option<&str>;
}

impl Labels for BTreeMap<String, String> {
    fn value(&self, key: &str) -> Option<&str> {
        self.get(key).map(String::as_str)
    }
}

impl<S: std::hash::BuildHasher> Labels for HashMap<String, String, S> {
    fn value(&self, key: &str) -> Option<&str> {
        self.get(key).map(String::as_str)
    }
}

impl Selector {
    pub fn matches(&self, labels: &impl Labels) -> bool {
        self.labels.iter().all(|(key, value)| labels.value(key) == Some(value))
            && self.requirements.iter().all(|requirement| requirement.holds(labels.value(&requirement.key)))
    }
}

impl Requirement {
    fn holds(&self, value: Option<&str>) -> bool {
        let is_listed = value.is_some_and(|value| self.values.iter().any(|listed| listed == value));
        match self.operator {
            Operator::In => is_listed,
            Operator::NotIn => !is_listed,
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(key: &str, operator: Operator, values: &[&str]) -> bool {
        let labels = BTreeMap::from([("pool".to_owned(), "batch".to_owned())]);
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        let requirements = vec![Requirement { key: key.to_owned(), operator, values }];
        Selector { requirements, ..Selector::default() }.matches(&labels)
    }

    #[test]
    fn operators_mean_what_they_mean_to_kubernetes() {
        assert!(matches("pool", Operator::In, &["web", "batch"]) && !matches("pool", Operator::In, &["web"]));
        assert!(!matches("absent", Operator::In, &["web"]) && matches("absent", Operator::NotIn, &["web"]));
        assert!(!matches("pool", Operator::NotIn, &["batch"]) && matches("pool", Operator::NotIn, &["web"]));
        assert!(matches("pool", Operator::Exists, &[]) && !matches("absent", Operator::Exists, &[]));
        assert!(!matches("pool", Operator::DoesNotExist, &[]) && matches("absent", Operator::DoesNotExist, &[]));
        assert!(Selector::default().matches(&BTreeMap::new()), "an empty one matches everything");
    }
}
