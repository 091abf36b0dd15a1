//! Which runtimes are meant, by their labels: Kubernetes' label selector.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::decode::{Decoder, Field};
use crate::diagnostic::Diagnostic;

/// All of these must hold; an empty selector matches every runtime.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq)]
struct Requirement {
    key: Arc<str>,
    operator: Operator,
    values: Vec<Arc<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

impl Selector {
    /// Whether these labels are meant.
    pub fn matches(&self, labels: &BTreeMap<Arc<str>, Arc<str>>) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = labels.get(&requirement.key);
            let listed = value.is_some_and(|value| requirement.values.contains(value));
            match requirement.operator {
                Operator::In => listed,
                Operator::NotIn => !listed,
                Operator::Exists => value.is_some(),
                Operator::DoesNotExist => value.is_none(),
            }
        })
    }
}

impl Decoder {
    pub(super) fn selector(&mut self, field: &Field<'_>) -> Selector {
        let fields = self.map(field, &["matchLabels", "matchExpressions"]);
        let mut requirements = Vec::new();
        if let Some(labels) = fields.get("matchLabels") {
            requirements.extend(self.labels(labels).into_iter().map(|(key, value)| Requirement {
                key,
                operator: Operator::In,
                values: vec![value],
            }));
        }
        if let Some(expressions) = fields.get("matchExpressions") {
            for field in self.list(expressions) {
                requirements.extend(self.requirement(&field));
            }
        }
        Selector { requirements }
    }

    fn requirement(&mut self, field: &Field<'_>) -> Option<Requirement> {
        let fields = self.map(field, &["key", "operator", "values"]);
        let words = [
            ("In", Operator::In),
            ("NotIn", Operator::NotIn),
            ("Exists", Operator::Exists),
            ("DoesNotExist", Operator::DoesNotExist),
        ];
        let (Some(key), Some(operator)) = (fields.get("key"), fields.get("operator")) else {
            let message = format!("`{}` needs `key` and `operator`", field.path);
            self.report(field.span, &field.path, Diagnostic::error("missing-key", message));
            return None;
        };
        let (key, operator) = (self.text(key)?.value, self.word(operator, &words)?);
        let values: Vec<Arc<str>> = fields
            .get("values")
            .map(|values| self.texts(values))
            .unwrap_or_default()
            .into_iter()
            .map(|v| v.value)
            .collect();
        let wants_values = matches!(operator, Operator::In | Operator::NotIn);
        if wants_values == values.is_empty() {
            let message = if wants_values {
                format!("`{}` needs `values`", field.path)
            } else {
                format!("`{}` must have no `values`", field.path)
            };
            self.report(field.span, &field.path, Diagnostic::error("bad-selector", message));
            return None;
        }
        Some(Requirement { key, operator, values })
    }
}
