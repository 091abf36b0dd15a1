//! Renders the components of a runtime, through the cache.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::budget::{Budget, Limits};
use crate::bundle::{self, Bundle};
use crate::cache::{CacheKey, Outcome, RenderCache, Touched};
use crate::diagnostic::{Diagnostic, Location};
use crate::fleet::Settings;
use crate::fleet::helm::Enabled;
use crate::fleet::values::Decoded;
use crate::object::{self, Draft, Manners};
use crate::resolve::{Resolved, ResolvedComponent};
use crate::schema::Schema;
use crate::template::{Facts, Written, render_charts};
use crate::tree;
use crate::value::{self, KeyPath, Value};
use crate::yaml::{self, Interner, Problem};
use reeve_renderer_objects::version::{Range, Version};

mod manifests;
mod scope;
mod undeclared;

pub use scope::RenderFacts;

/// Renders runtimes of one fleet.
#[derive(Clone, Copy)]
pub struct Renderer<'a> {
    settings: &'a Settings,
    cache: &'a dyn RenderCache,
}

impl std::fmt::Debug for Renderer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Renderer").field("settings", &self.settings.file).finish_non_exhaustive()
    }
}

impl<'a> Renderer<'a> {
    /// A renderer with these limits and this cache.
    pub fn new(settings: &'a Settings, cache: &'a dyn RenderCache) -> Self {
        Self { settings, cache }
    }

    /// The bundle of a runtime, or all that is wrong with it.
    pub fn runtime(&self, resolved: &Resolved) -> Result<Bundle, Vec<Diagnostic>> {
        let mut drafts = Vec::with_capacity(resolved.components.len());
        let mut findings = Vec::new();
        for component in &resolved.components {
            match self.drafts(resolved, component) {
                Ok(found) => drafts.push((component, found)),
                Err(mut said) => findings.append(&mut said),
            }
        }
        if findings.is_empty() {
            match bundle::assemble(resolved, &drafts, self.settings.objects) {
                Ok(mut bundle) => {
                    let charts = resolved.components.iter().filter_map(|component| component.helm.as_ref());
                    bundle.warnings.extend(charts.flat_map(|helm| undeclared::kinds(&resolved.runtime, helm)));
                    return Ok(bundle);
                }
                Err(said) => findings = said,
            }
        }
        for finding in &mut findings {
            finding.runtimes.push(resolved.runtime.name.clone());
        }
        Err(findings)
    }

    /// The objects of one component as its chart writes them, from the cache if they can be.
    pub fn drafts(&self, resolved: &Resolved, component: &ResolvedComponent) -> Result<Arc<Outcome>, Vec<Diagnostic>> {
        check_kubernetes(resolved, component)?;
        let facts = RenderFacts::new(resolved, component);
        let values = Value::Dict(component.values.clone());
        let key = CacheKey {
            chart: component.chart.id,
            values: value::digest(&keyed(component, &values)),
            limits: fingerprint(self.settings.limits),
        };
        let outcome = if let Some(outcome) = self.cache.find(&key, &|touched| facts.hold(touched)) {
            outcome
        } else {
            check_values(component, &values)?;
            let outcome = Arc::new(render(component, &facts, self.settings.limits));
            self.cache.store(key, facts.touched(), outcome.clone());
            outcome
        };
        match &*outcome {
            Ok(_) => Ok(outcome),
            Err(findings) => Err(findings.clone()),
        }
    }
}

/// The values, with the names of the charts below that take part: both decide what is rendered.
fn keyed(component: &ResolvedComponent, values: &Value) -> Value {
    let Some(helm) = component.helm.as_ref().filter(|helm| !helm.children.is_empty()) else { return values.clone() };
    let names = helm.names().into_iter().map(Value::from);
    Value::list([values.clone()].into_iter().chain(names).collect()).unwrap_or_else(|_| values.clone())
}

fn fingerprint(limits: Limits) -> u64 {
    limits.steps ^ limits.memory.rotate_left(20) ^ limits.output.rotate_left(40) ^ u64::from(limits.depth)
}

/// Whether the chart is for the version of Kubernetes that the runtime declares, if it declares one. Helm does not ask the
/// charts below it.
fn check_kubernetes(resolved: &Resolved, component: &ResolvedComponent) -> Result<(), Vec<Diagnostic>> {
    let Some(declared) = &resolved.runtime.capabilities.kubernetes_version else { return Ok(()) };
    let Some((range, location)) = component.helm.as_ref().and_then(|helm| helm.chart.kube_version.as_ref()) else {
        return Ok(());
    };
    let is_met = Range::parse(range).zip(Version::parse(declared)).is_some_and(|(range, is)| range.admits(&is));
    if is_met {
        return Ok(());
    }
    let (name, runtime) = (&component.chart.name, &resolved.runtime.name);
    let message = format!("chart {name} is for Kubernetes `{range}`, and runtime {runtime} declares {declared}");
    let help = "take a version of the chart for it, or correct `capabilities.kubernetesVersion` in the runtime's file";
    Err(vec![Diagnostic::error("kube-version", message).at(location.clone()).key("kubeVersion").help(help)])
}

/// The schemas of the chart and of those below it against the final values; each violation is shown where the value was
/// set.
pub(crate) fn check_values(component: &ResolvedComponent, values: &Value) -> Result<(), Vec<Diagnostic>> {
    let mut decoded = Decoded::default();
    let mut findings = Vec::new();
    let mut check = |schema: &Schema, chart: &str, above: &KeyPath, values: &Value| {
        for violation in schema.check(values) {
            let path = KeyPath(above.0.iter().chain(&violation.path.0).cloned().collect());
            let location = nearest_origin(component, &path, &mut decoded);
            let mut finding = Diagnostic::error("schema", violation.message).at(location).key(&path);
            finding.help = violation.help;
            findings.push(finding.note(format!("the rule of chart {chart} is here"), Some(violation.rule)));
        }
    };
    if let Some(schema) = &component.chart.schema {
        check(schema, &component.chart.name, &KeyPath::root(), values);
    }
    for (path, enabled) in component.helm.iter().flat_map(|helm| helm.all()) {
        if let (Some(schema), Some(values)) = (&enabled.chart.schema, path.find(values)) {
            check(schema, &enabled.chart.name, &path, values);
        }
    }
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

/// Where a value was set; for one that is missing, where the nearest thing above it was.
fn nearest_origin(component: &ResolvedComponent, path: &KeyPath, decoded: &mut Decoded) -> Location {
    let mut steps = path.0.clone();
    while !steps.is_empty() {
        if let Some(location) = component.origin_in(&KeyPath(steps.clone()), decoded) {
            return location;
        }
        steps.pop();
    }
    component.origin.clone()
}

fn render(component: &ResolvedComponent, facts: &RenderFacts, limits: Limits) -> Outcome {
    let chart = &component.chart;
    let budget = Budget::new(limits);
    let mut drafts: Vec<Draft> = Vec::new();
    let mut findings = Vec::new();
    let mut interner = Interner::default();
    for plain in &chart.plain {
        let found = object::drafts(&plain.file, &plain.documents, Manners::Strict, |line| line);
        collect(found, &mut drafts, &mut findings);
    }
    if let Some(helm) = &component.helm {
        helm_charts(component, helm, facts, &budget, &mut interner, (&mut drafts, &mut findings));
    }
    let values = Value::Dict(component.values.clone());
    for name in chart.templates.names().filter(|name| !is_partial(name)) {
        let scope = facts.scope(component, name).data("Values", values.clone());
        match chart.templates.write(name, &scope, &budget) {
            Ok(written) => collect(read(component, name, &written, &mut interner), &mut drafts, &mut findings),
            Err(mut said) => findings.append(&mut said),
        }
    }
    if findings.is_empty() { Ok(drafts) } else { Err(findings) }
}

/// The objects of a chart in Helm's syntax and of those below it: what is in `crds/` first.
fn helm_charts(
    component: &ResolvedComponent,
    helm: &Enabled,
    facts: &RenderFacts,
    budget: &Budget,
    interner: &mut Interner,
    (drafts, findings): (&mut Vec<Draft>, &mut Vec<Diagnostic>),
) {
    let mut read = BTreeSet::new();
    for (_, enabled) in helm.all().into_iter().filter(|(_, enabled)| read.insert(enabled.chart.folder.clone())) {
        findings.extend(enabled.chart.mistakes.iter().cloned());
    }
    if !findings.is_empty() {
        return;
    }
    // A definition that several charts bring counts once: Helm creates the first, and leaves it as it is from then on.
    let mut seen = BTreeSet::new();
    for (_, enabled) in helm.all() {
        for plain in &enabled.chart.crds {
            let found = object::drafts(&plain.file, &plain.documents, Manners::Helm, |line| line);
            let first = |draft: &Draft| seen.insert((draft.group().to_owned(), draft.kind.clone(), draft.name.clone()));
            collect(found.map(|all| all.into_iter().filter(first).collect()), drafts, findings);
        }
    }
    let scope = facts.scope(component, "").data("Values", Value::Dict(component.values.with_floats()));
    for rendered in render_charts(&helm.node(), &scope, budget, None) {
        collect(manifests::read(rendered, interner), drafts, findings);
    }
}

/// Renders one template with its reads of `Values` recorded.
pub(crate) fn render_watched(
    component: &ResolvedComponent,
    facts: &RenderFacts,
    name: &str,
    values: &Facts,
    limits: Limits,
) -> Result<Vec<Draft>, Vec<Diagnostic>> {
    let budget = Budget::new(limits);
    if let Some(helm) = component.helm.as_ref().filter(|_| tree::extension(name) != Some("j2")) {
        let scope = facts.scope(component, "").facts("Values", values);
        let rendered = render_charts(&helm.node(), &scope, &budget, Some(name));
        let mut interner = Interner::default();
        return rendered
            .into_iter()
            .map(|rendered| manifests::read(rendered, &mut interner))
            .collect::<Result<Vec<_>, _>>()
            .map(|all| all.into_iter().flatten().collect());
    }
    let scope = facts.scope(component, name).facts("Values", values);
    match component.chart.templates.write(name, &scope, &budget) {
        Ok(written) => read(component, name, &written, &mut Interner::default()),
        Err(said) => Err(said),
    }
}

fn collect(found: Outcome, drafts: &mut Vec<Draft>, findings: &mut Vec<Diagnostic>) {
    match found {
        Ok(mut found) => drafts.append(&mut found),
        Err(mut said) => findings.append(&mut said),
    }
}

/// Files of macros write nothing of their own.
pub(crate) fn is_partial(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|leaf| leaf.starts_with('_') || leaf.starts_with("NOTES.txt"))
}

/// The objects in what a template wrote.
fn read(component: &ResolvedComponent, name: &str, written: &Written, interner: &mut Interner) -> Outcome {
    let file: Arc<str> = format!("{}/templates/{name}", component.chart.folder).into();
    match yaml::values(&written.text, &yaml::Options::default(), interner) {
        Ok(documents) => object::drafts(&file, &documents, Manners::Strict, |line| written.line(line)),
        Err(problems) => Err(problems.into_iter().map(|problem| in_template(problem, written)).collect()),
    }
}

/// A problem of what a template wrote, where the template wrote it.
fn in_template(problem: Problem, written: &Written) -> Diagnostic {
    let line = written.text.lines().nth(problem.span.line.saturating_sub(1) as usize).unwrap_or_default();
    let message = format!("in what the template writes: {}", problem.message);
    let mut finding = Diagnostic::error(problem.code, message).at(written.location(problem.span.line));
    finding.help = problem.help;
    let finding = finding.note(format!("line {} of its output: {}", problem.span.line, excerpt(line)), None);
    match problem.other {
        Some((message, span)) => finding.note(message, Some(written.location(span.line))),
        None => finding,
    }
}

/// A line short enough to show.
fn excerpt(line: &str) -> String {
    let short: String = line.chars().take(100).collect();
    if short.len() < line.len() { format!("{short}...") } else { short }
}

impl RenderFacts {
    fn hold(&self, touched: &Touched) -> bool {
        touched.iter().all(|((root, path), before)| self.find(root, path) == before.as_ref())
    }
}
