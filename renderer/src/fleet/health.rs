//! `health.yaml` of a chart: when objects of a kind are healthy that say so in a way of their own.
//!
//! The expressions are CEL. They stay text here; whoever watches the objects evaluates them.

use std::sync::Arc;

pub use reeve_renderer_objects::health::HealthRule;

use super::decode::{Decoder, Field};
use crate::diagnostic::Diagnostic;
use crate::names;
use crate::yaml::Node;

/// What whoever evaluates them takes.
const LONGEST_EXPRESSION: usize = 1000;

impl Decoder {
    pub(super) fn health(&mut self, node: &Node) -> Arc<[HealthRule]> {
        let root = Field::root(node);
        let fields = self.map(&root, &["kind", "rules"]);
        self.kind(&fields, root.span, "Health");
        let mut rules: Vec<HealthRule> = Vec::new();
        let items = fields.get("rules").map(|field| {
            let items = self.list(field);
            self.count(field, items.len(), 0, 64);
            items
        });
        for item in items.unwrap_or_default() {
            let Some(rule) = self.health_rule(&item) else { continue };
            let same = |other: &&HealthRule| (&other.api_version, &other.kind) == (&rule.api_version, &rule.kind);
            if let Some(first) = rules.iter().find(same) {
                let message = format!("{} of {} has two rules", rule.kind, rule.api_version);
                let finding = Diagnostic::error("duplicate-entry", message).help("make one rule of the two");
                self.report(item.span, &item.path, finding.note("the first is here", Some(first.location.clone())));
            }
            rules.push(rule);
        }
        rules.into()
    }

    fn health_rule(&mut self, field: &Field<'_>) -> Option<HealthRule> {
        let fields = self.map(field, &["apiVersion", "kind", "current", "inProgress", "failed"]);
        let mut complete = true;
        for key in ["apiVersion", "kind", "current"].into_iter().filter(|key| !fields.contains_key(key)) {
            let message = format!("`{}` needs `{key}`", field.path);
            self.report(field.span, &field.path, Diagnostic::error("missing-key", message));
            complete = false;
        }
        let get = |key: &str| fields.get(key);
        let api_version = get("apiVersion")
            .and_then(|field| self.form(field, names::is_api_version, "an API version", "write it like apps/v1 or v1"));
        let kind = get("kind").and_then(|field| self.form(field, names::is_kind, "a kind", "write it like Deployment"));
        let current = get("current").and_then(|field| self.expression(field));
        let in_progress = get("inProgress").and_then(|field| self.expression(field));
        let failed = get("failed").and_then(|field| self.expression(field));
        let location = field.span.in_file(&self.file);
        let rule =
            HealthRule { api_version: api_version?, kind: kind?, current: current?, in_progress, failed, location };
        complete.then_some(rule)
    }

    fn form(&mut self, field: &Field<'_>, fine: fn(&str) -> bool, what: &str, help: &str) -> Option<Arc<str>> {
        let text = self.text(field)?;
        if !fine(&text.value) {
            let finding = Diagnostic::error("bad-name", format!("`{}` is not {what}", text.value));
            self.report(text.span, &field.path, finding.help(help));
            return None;
        }
        Some(text.value)
    }

    fn expression(&mut self, field: &Field<'_>) -> Option<Arc<str>> {
        let text = self.bounded(field, 1, LONGEST_EXPRESSION)?;
        if text.trim().is_empty() {
            let finding = Diagnostic::error("empty-text", format!("`{}` is empty", field.path));
            let help = "write a CEL expression, such as status.phase == 'Ready'";
            self.report(field.node.span, &field.path, finding.help(help));
            return None;
        }
        Some(text)
    }
}
