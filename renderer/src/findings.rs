//! Findings of many runtimes, each said once.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;

/// Collects findings; what many runtimes see alike becomes one finding that names them.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    said: BTreeMap<Diagnostic, Vec<Arc<str>>>,
}

impl Findings {
    /// Nothing found yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a finding.
    pub fn add(&mut self, mut finding: Diagnostic) {
        let runtimes = std::mem::take(&mut finding.runtimes);
        self.said.entry(finding).or_default().extend(runtimes);
    }

    /// Adds what one runtime sees.
    pub fn add_for(&mut self, runtime: &Arc<str>, findings: impl IntoIterator<Item = Diagnostic>) {
        for mut finding in findings {
            finding.runtimes = vec![runtime.clone()];
            self.add(finding);
        }
    }

    /// Whether any of them stops the commit.
    pub fn has_errors(&self) -> bool {
        self.said.keys().any(Diagnostic::is_error)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    /// All of them, by file and line.
    pub fn into_sorted(self) -> Vec<Diagnostic> {
        let mut all: Vec<Diagnostic> = self
            .said
            .into_iter()
            .map(|(mut finding, mut runtimes)| {
                runtimes.sort();
                runtimes.dedup();
                finding.runtimes = runtimes;
                finding
            })
            .collect();
        all.sort();
        all
    }
}

impl Extend<Diagnostic> for Findings {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, findings: I) {
        findings.into_iter().for_each(|finding| self.add(finding));
    }
}
