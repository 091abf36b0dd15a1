//! Checks of Dapr resources before they are applied: what Dapr itself finds only in a sidecar that does not start.

mod components;
mod references;
mod table;

use std::fmt;

use crate::resource::{Resource, ResourceId};

/// How grave a finding is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Severity {
    /// It is not applied.
    Error,
    /// It is applied, and told of.
    Warning,
}

/// Something that is wrong with a resource.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Finding {
    /// The resource.
    pub resource: ResourceId,
    /// How grave it is.
    pub severity: Severity,
    /// What it is, in one word for programmes.
    pub code: &'static str,
    /// The field.
    pub field: String,
    /// What is wrong, and what to do.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {}", self.resource, self.field, self.message)
    }
}

/// Everything that is wrong with the resources of a runtime, in the order of the resources.
pub fn check(resources: &[Resource]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for resource in resources {
        components::check(resource, &mut findings);
        references::check(resource, resources, &mut findings);
    }
    references::check_actor_stores(resources, &mut findings);
    findings.sort();
    findings
}

/// Notes findings about one resource.
struct Notes<'a> {
    resource: &'a Resource,
    findings: &'a mut Vec<Finding>,
}

impl Notes<'_> {
    fn error(&mut self, code: &'static str, field: impl Into<String>, message: impl Into<String>) {
        self.note(Severity::Error, code, field.into(), message.into());
    }

    fn warning(&mut self, code: &'static str, field: impl Into<String>, message: impl Into<String>) {
        self.note(Severity::Warning, code, field.into(), message.into());
    }

    fn note(&mut self, severity: Severity, code: &'static str, field: String, message: String) {
        self.findings.push(Finding { resource: self.resource.id.clone(), severity, code, field, message });
    }
}

#[cfg(test)]
mod tests;
