//! A label selector as Kubernetes has it, with limits.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::schema::{closed_set, rule};

/// Chooses objects by their labels. All that is given must match; an empty selector matches everything.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Selector {
    /// Labels that must have these values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "labels")]
    pub match_labels: BTreeMap<String, String>,
    /// Labels that must be, or not be, among some values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "atomic"))]
    pub match_expressions: Vec<Requirement>,
}

/// What a label must be.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [rule(
    "(self.operator in ['In', 'NotIn']) == (has(self.values) && self.values.size() > 0)",
    "write values with operator In or NotIn, and none with Exists or DoesNotExist",
)]))]
pub struct Requirement {
    /// Key of the label.
    #[schemars(length(min = 1, max = 317))]
    pub key: String,
    /// How the label is compared.
    pub operator: Operator,
    /// Values to compare with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 63)), extend("x-kubernetes-list-type" = "atomic"))]
    pub values: Vec<String>,
}

/// How a label is compared.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum Operator {
    /// it has one of the values.
    In,
    /// it has none of the values, or is absent.
    NotIn,
    /// it is there.
    Exists,
    /// it is absent.
    DoesNotExist,
}

impl Selector {
    /// Whether an object with these labels is chosen.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|requirement| requirement.is_met(labels))
    }
}

impl Requirement {
    fn is_met(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        match self.operator {
            Operator::In => value.is_some_and(|value| self.values.contains(value)),
            Operator::NotIn => value.is_none_or(|value| !self.values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        }
    }
}

fn labels(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 32,
        "additionalProperties": { "type": "string", "maxLength": 63 },
        "x-kubernetes-validations": [rule(
            "self.all(key, key.size() <= 317)",
            "write keys of labels as Kubernetes has them, such as node.kubernetes.io/instance-type",
        )]
    })
}
