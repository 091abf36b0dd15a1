//! The check of values against a chart's `values.schema.json`.
//!
//! JSON Schema 2020-12 and draft 7, and what they share with the others since draft 4. References stay within the file:
//! nothing is ever fetched. A schema is compiled once, with all that is wrong with it; a check is bounded in steps and
//! depth whatever the schema says. `format` and the other annotations are never checked, as the specification has it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Location};
use crate::value::{KeyPath, Value};

mod check;
mod compile;
mod cycle;
mod draft;
mod json;
mod locate;
mod number;
mod pattern;
mod refer;
mod rule;
#[cfg(test)]
mod tests;
mod uri;
mod wording;

use check::{Checker, Found};
use locate::Catalog;
use rule::{Body, Compiled, Demand};

/// Bytes of a schema file.
const MAX_BYTES: usize = 1 << 20;

/// Values in a schema file.
const MAX_NODES: u32 = 200_000;

/// Findings about one schema, and violations of one value.
const MAX_FINDINGS: usize = 100;

/// A schema, ready to check values.
#[derive(Debug)]
pub struct Schema {
    file: Arc<str>,
    schemas: Vec<Compiled>,
    /// The dynamic anchors of each schema with an address.
    dynamic: Vec<BTreeMap<Arc<str>, usize>>,
    /// Whether any rule asks what other rules have looked at.
    tracks: bool,
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where in the values.
    pub path: KeyPath,
    /// What is wrong, in one line.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// Where the rule is written.
    pub rule: Location,
}

impl Schema {
    /// Reads a schema; `file` is its path in the repository. Gives it with the warnings about it, or all findings if some
    /// are errors.
    pub fn read(file: &Arc<str>, text: &str) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let root = json::read(file, text)?;
        let mut catalog = Catalog::of(file, &root);
        let schemas = compile::compile(&mut catalog);
        cycle::find(&mut catalog, &schemas);
        let dynamic = catalog.resources.iter().map(|resource| resource.dynamic.clone()).collect();
        let (failed, findings) = catalog.into_findings();
        if failed {
            return Err(findings);
        }
        let tracks = schemas.iter().any(|schema| match &schema.body {
            Body::Rules(rules) => rules
                .iter()
                .any(|rule| matches!(rule.demand, Demand::UnevaluatedItems(_) | Demand::UnevaluatedProperties(_))),
            Body::Anything | Body::Nothing => false,
        });
        Ok((Self { file: file.clone(), schemas, dynamic, tracks }, findings))
    }

    /// What is wrong with a value, in the order of its keys, at most 100 violations. A check that cannot be ended says so
    /// in the last one.
    pub fn check(&self, value: &Value) -> Vec<Violation> {
        let mut found = Found::up_to(MAX_FINDINGS);
        let stopped = Checker::new(self).run(value, &mut found).err();
        let mut violations = found.into_violations();
        violations.sort_by(|left, right| (&left.path, &left.rule).cmp(&(&right.path, &right.rule)));
        let mut said: BTreeSet<(KeyPath, String)> = BTreeSet::new();
        violations.retain(|violation| said.insert((violation.path.clone(), violation.message.clone())));
        if let Some(stop) = stopped {
            violations.truncate(MAX_FINDINGS - 1);
            let rule = stop.span.in_file(&self.file);
            violations.push(Violation { path: KeyPath::root(), message: stop.message, help: None, rule });
        }
        violations
    }
}
