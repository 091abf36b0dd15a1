//! Components in the order of their dependencies.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::ResolvedComponent;
use crate::diagnostic::Diagnostic;
use crate::fleet::Runtime;
use crate::suggest::did_you_mean;

/// Each component after those that it depends on, and by name where that leaves a choice.
pub(super) fn order(
    components: Vec<ResolvedComponent>,
    runtime: &Runtime,
    findings: &mut Vec<Diagnostic>,
) -> Option<Vec<ResolvedComponent>> {
    let known: BTreeSet<Arc<str>> = components.iter().map(|component| component.name.clone()).collect();
    let before = findings.len();
    for component in &components {
        for dependency in component.depends_on.iter().filter(|dependency| !known.contains(*dependency)) {
            let message =
                format!("`{}` depends on `{dependency}`, which `{}` does not have", component.name, runtime.name);
            let mut finding = Diagnostic::error("unknown-dependency", message).at(component.origin.clone());
            finding.help = did_you_mean(dependency, known.iter().map(|name| &**name))
                .or_else(|| Some(format!("add `{dependency}` to the runtime, or remove it from `dependsOn`")));
            findings.push(finding);
        }
    }
    if findings.len() > before {
        return None;
    }
    let mut waiting: BTreeMap<Arc<str>, ResolvedComponent> =
        components.into_iter().map(|component| (component.name.clone(), component)).collect();
    let mut ordered: Vec<ResolvedComponent> = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let ready = waiting
            .values()
            .find(|component| component.depends_on.iter().all(|dependency| !waiting.contains_key(dependency)))
            .map(|component| component.name.clone());
        let Some(component) = ready.and_then(|name| waiting.remove(&name)) else {
            findings.extend(cycle(&waiting));
            return None;
        };
        ordered.push(component);
    }
    Some(ordered)
}

/// The first circle among components that all wait for one another.
fn cycle(waiting: &BTreeMap<Arc<str>, ResolvedComponent>) -> Option<Diagnostic> {
    let mut trail: Vec<&ResolvedComponent> = vec![waiting.values().next()?];
    loop {
        let last = trail.last()?;
        let next = last.depends_on.iter().find_map(|dependency| waiting.get(dependency))?;
        if let Some(at) = trail.iter().position(|component| component.name == next.name) {
            let circle: Vec<&str> = trail[at..].iter().map(|component| &*component.name).chain([&*next.name]).collect();
            let message = format!("components depend on each other in a circle: {}", circle.join(" -> "));
            let mut finding = Diagnostic::error("dependency-cycle", message).at(next.origin.clone());
            for component in &trail[at + 1..] {
                finding = finding.note(format!("`{}` is here", component.name), Some(component.origin.clone()));
            }
            return Some(finding.help("remove one of these from `dependsOn`"));
        }
        trail.push(next);
    }
}
