//! Objects that several runtimes of one commit want in one cluster: only one of them can have each.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use reeve_renderer::bundle::Bundle;
use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::fleet::ComponentTarget;

/// The objects seen so far in the cluster that Reeve runs in, and the first runtime that wants each. Only hashes of their
/// keys are held, since a fleet has many.
#[derive(Default)]
pub(super) struct Shared(HashMap<u64, Arc<str>>);

impl Shared {
    /// What a runtime wants that another wants too. `in_cluster` says that its target is the cluster that Reeve runs in.
    pub(super) fn check(&mut self, runtime: &Arc<str>, bundle: &Bundle, in_cluster: bool) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        for component in &bundle.components {
            if !in_cluster && component.target == ComponentTarget::Runtime {
                continue;
            }
            for object in &component.objects {
                let mut hasher = DefaultHasher::new();
                object.key.hash(&mut hasher);
                let first = self.0.entry(hasher.finish()).or_insert_with(|| runtime.clone());
                // Twice in one runtime is a mistake that the bundle names.
                if first != runtime {
                    let message = format!("{} is wanted by runtime `{first}` too, in the same cluster", object.key);
                    let help = "only one of them can have it: give it a name of its own in each, or leave it to one";
                    findings
                        .push(Diagnostic::warning("shared-object", message).at(object.origin.location()).help(help));
                }
            }
        }
        findings
    }
}
