//! What each runtime gets: which components, of which chart and version, with which values, in which order.
//!
//! Pure: a fleet in, decisions out, with every reference that leads nowhere. Nothing is rendered here.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Location};
use crate::fleet::helm::Enabled;
use crate::fleet::values::Decoded;
use crate::fleet::{Chart, Component, ComponentTarget, Fleet, Located, Policy, Runtime, Values};
use crate::suggest::did_you_mean;
use crate::value::Dict;

mod inputs;
mod merging;
mod order;
mod origins;
mod references;

pub use origins::Setting;
pub use references::check;

/// A runtime with everything decided.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Its file.
    pub runtime: Arc<Runtime>,
    /// The channel it follows.
    pub channel: Option<Arc<str>>,
    /// The wave it is in.
    pub wave: Option<Arc<str>>,
    /// Its layers, in the order in which they are laid on.
    pub layers: Vec<Arc<str>>,
    /// The namespace of objects of components that name none.
    pub namespace: Arc<str>,
    /// By which rules it is kept to Git: its own, and those of the fleet where it has none.
    pub policy: Policy,
    /// Its components, each after those that it depends on.
    pub components: Vec<ResolvedComponent>,
}

/// A component with everything decided.
#[derive(Clone, Debug)]
pub struct ResolvedComponent {
    /// Its name.
    pub name: Arc<str>,
    /// Its chart.
    pub chart: Arc<Chart>,
    /// The channel that gave the version, unless a file named it.
    pub channel: Option<Arc<str>>,
    /// The namespace of its objects that name none.
    pub namespace: Arc<str>,
    /// Where its objects go.
    pub target: ComponentTarget,
    /// Components that must be ready first.
    pub depends_on: Vec<Arc<str>>,
    /// The account its objects are applied as.
    pub service_account: Option<Arc<str>>,
    /// What its templates take for the name of the release.
    pub release_name: Arc<str>,
    /// How long it may take to become healthy.
    pub timeout: Option<Arc<str>>,
    /// Where it was put into the runtime.
    pub origin: Location,
    /// The files its values come from, lowest first.
    pub sources: Vec<ValuesSource>,
    /// Its values, merged.
    pub values: Dict,
    /// The charts that take part, if its chart is in Helm's shape.
    pub helm: Option<Arc<Enabled>>,
}

/// One of the files that a component's values come from.
#[derive(Clone, Debug)]
pub struct ValuesSource {
    /// Which of them.
    pub kind: SourceKind,
    /// What it says.
    pub values: Values,
}

/// From lowest to highest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The chart's `values.yaml`.
    Chart,
    /// The component in `fleet.yaml`.
    Fleet,
    /// A layer.
    Layer(Arc<str>),
    /// The runtime's own values.
    Runtime,
    /// The component in the runtime's file.
    Component,
}

/// A runtime of the fleet, decided, or all that is in the way (nothing, if what is in the way was found in another file).
/// `None` if there is no such runtime.
pub fn resolve(fleet: &Fleet, name: &str) -> Option<Result<Resolved, Vec<Diagnostic>>> {
    let runtime = fleet.runtimes.get(name)?;
    // What fleet.yaml would have said is missing everywhere: all that could be found now would follow from that.
    if fleet.broken.contains("fleet.yaml") {
        return Some(Err(Vec::new()));
    }
    let mut resolving = Resolving { fleet, runtime, findings: Vec::new(), broken: false, decoded: Decoded::default() };
    let resolved = resolving.run();
    Some(match resolved {
        Some(resolved) if resolving.findings.is_empty() && !resolving.broken => Ok(resolved),
        _ => Err(resolving.findings),
    })
}

struct Resolving<'a> {
    fleet: &'a Fleet,
    runtime: &'a Arc<Runtime>,
    findings: Vec<Diagnostic>,
    /// A chart, layer or channel is needed that cannot be used.
    broken: bool,
    decoded: Decoded,
}

impl<'a> Resolving<'a> {
    fn run(&mut self) -> Option<Resolved> {
        let channel = self.channel();
        let layers = self.layers();
        let wave = self.wave();
        let namespace = self.namespace();
        let mut components: BTreeMap<Arc<str>, (Option<&Component>, Option<&Component>)> = BTreeMap::new();
        let fleet = self.fleet;
        for component in &fleet.settings.components {
            if component.selector.as_ref().is_none_or(|selector| selector.matches(&self.runtime.labels)) {
                components.entry(component.name.value.clone()).or_default().0 = Some(component);
            }
        }
        let runtime = Arc::clone(self.runtime);
        for component in &runtime.components {
            components.entry(component.name.value.clone()).or_default().1 = Some(component);
        }
        let mut resolved = Vec::new();
        for (general, own) in components.into_values() {
            let on = own.and_then(|component| component.enabled).unwrap_or(true);
            if let (true, Some(first)) = (on, own.or(general)) {
                resolved.extend(self.component(first, general, own, channel.as_ref(), &layers));
            }
        }
        let components = order::order(resolved, &runtime, &mut self.findings)?;
        let policy = runtime.policy.or(&fleet.settings.policy);
        Some(Resolved { runtime, channel, wave, layers, namespace, policy, components })
    }

    fn namespace(&mut self) -> Arc<str> {
        let namespace = self.runtime.namespace.clone().unwrap_or_else(|| self.fleet.settings.namespace.clone());
        let allowed = &self.runtime.target.namespaces;
        if let Some(first) = allowed.first().filter(|_| !allowed.contains(&namespace)) {
            let message =
                format!("objects that name no namespace go to `{namespace}`, which `target.namespaces` does not have");
            let finding = Diagnostic::error("foreign-namespace", message)
                .at(self.runtime.span.in_file(&self.runtime.file))
                .key("namespace")
                .help(format!("write `namespace: {first}`, or add `{namespace}` to `target.namespaces`"));
            self.findings.push(finding);
        }
        namespace
    }

    fn channel(&mut self) -> Option<Arc<str>> {
        let settings = &self.fleet.settings;
        let (named, file) = match (&self.runtime.channel, &settings.channel) {
            (Some(own), _) => (own, &self.runtime.file),
            (None, Some(default)) => (default, &settings.file),
            (None, None) => return None,
        };
        if self.fleet.is_broken("channels", &named.value) {
            self.broken = true;
            return None;
        }
        if !self.fleet.channels.contains_key(&named.value) {
            let known = self.fleet.channels.keys().map(|name| &**name);
            self.findings.push(missing("channel", "channels", named, file, known));
            return None;
        }
        Some(named.value.clone())
    }

    fn layers(&mut self) -> Vec<Arc<str>> {
        let rules = self.fleet.settings.layers.iter();
        let by_label = rules
            .filter(|rule| rule.selector.as_ref().is_none_or(|selector| selector.matches(&self.runtime.labels)))
            .map(|rule| (&rule.layer, &self.fleet.settings.file));
        let by_name = self.runtime.layers.iter().map(|layer| (layer, &self.runtime.file));
        let mut chosen = Vec::new();
        let mut seen = HashSet::new();
        for (layer, file) in by_label.chain(by_name) {
            if self.fleet.is_broken("layers", &layer.value) {
                self.broken = true;
            } else if !self.fleet.layers.contains_key(&layer.value) {
                let known = self.fleet.layers.keys().map(|name| &**name);
                self.findings.push(missing("layer", "layers", layer, file, known));
            } else if seen.insert(layer.value.clone()) {
                chosen.push(layer.value.clone());
            }
        }
        chosen
    }

    fn wave(&mut self) -> Option<Arc<str>> {
        let waves = &self.fleet.settings.waves;
        match &self.runtime.wave {
            Some(named) if waves.iter().any(|wave| wave.name.value == named.value) => Some(named.value.clone()),
            Some(named) => {
                let mut finding = Diagnostic::error("unknown-wave", format!("there is no wave `{}`", named.value))
                    .at(named.span.in_file(&self.runtime.file))
                    .key("wave");
                finding.help = did_you_mean(&named.value, waves.iter().map(|wave| &*wave.name.value))
                    .or_else(|| Some("waves are listed in fleet.yaml".to_owned()));
                self.findings.push(finding);
                None
            }
            None => waves
                .iter()
                .find(|wave| wave.selector.as_ref().is_none_or(|selector| selector.matches(&self.runtime.labels)))
                .map(|wave| wave.name.value.clone()),
        }
    }

    fn component(
        &mut self,
        first: &Component,
        general: Option<&Component>,
        own: Option<&Component>,
        channel: Option<&Arc<str>>,
        layers: &[Arc<str>],
    ) -> Option<ResolvedComponent> {
        let both = [own, general];
        let name = first.name.value.clone();
        let chart_name = both.iter().flatten().find_map(|c| c.chart.as_ref()).map_or(&name, |chart| &chart.value);
        let chart_place = both.iter().flatten().find_map(|c| c.chart.as_ref().map(|chart| chart.span.in_file(&c.file)));
        let versions = self.versions(chart_name, chart_place.unwrap_or_else(|| first.location()))?;
        let named = both.iter().flatten().find_map(|c| Some((c.version.as_ref()?, &c.file)));
        let version = match named {
            Some((version, file)) => Version { number: version, file, channel: None },
            None => self.channel_version(&name, chart_name, channel, first)?,
        };
        let chart = self.chart(chart_name, versions, &version)?;
        let sources = self.sources(&name, &chart, general, own, layers);
        let (values, helm) = self.merged(&chart, &sources, first)?;
        Some(ResolvedComponent {
            namespace: both
                .iter()
                .flatten()
                .find_map(|c| c.namespace.clone())
                .or_else(|| self.runtime.namespace.clone())
                .unwrap_or_else(|| self.fleet.settings.namespace.clone()),
            target: both.iter().flatten().find_map(|c| c.target).unwrap_or_default(),
            depends_on: both
                .iter()
                .flatten()
                .find_map(|c| c.depends_on.as_ref())
                .map_or_else(Vec::new, |all| all.iter().map(|dependency| dependency.value.clone()).collect()),
            service_account: both.iter().flatten().find_map(|c| c.service_account.clone()),
            release_name: both.iter().flatten().find_map(|c| c.release_name.clone()).unwrap_or_else(|| name.clone()),
            timeout: both.iter().flatten().find_map(|c| c.timeout.clone()),
            origin: first.location(),
            name,
            chart,
            channel: version.channel,
            sources,
            values,
            helm,
        })
    }

    fn versions(&mut self, chart: &Arc<str>, location: Location) -> Option<&'a BTreeMap<Arc<str>, Arc<Chart>>> {
        let fleet = self.fleet;
        let found = fleet.charts.get(chart);
        if found.is_none() {
            let mut finding = Diagnostic::error("unknown-chart", format!("there is no chart `{chart}`")).at(location);
            finding.help = did_you_mean(chart, fleet.charts.keys().map(|name| &**name))
                .or_else(|| Some(format!("charts live in charts/{chart}/<version>/")));
            self.findings.push(finding);
        }
        found
    }

    fn channel_version(
        &mut self,
        name: &Arc<str>,
        chart: &Arc<str>,
        channel: Option<&Arc<str>>,
        first: &Component,
    ) -> Option<Version<'a>> {
        let fleet = self.fleet;
        let Some((channel_name, channel)) = channel.and_then(|name| Some((name, fleet.channels.get(name)?))) else {
            // A channel that is named but missing has been reported already.
            if self.runtime.channel.is_none() && fleet.settings.channel.is_none() {
                let message = format!("`{name}` has no version, and `{}` follows no channel", self.runtime.name);
                let help = "write `version` here, or `channel` in the runtime or in the defaults of fleet.yaml";
                self.findings.push(Diagnostic::error("no-version", message).at(first.location()).help(help));
            }
            return None;
        };
        let Some(version) = channel.versions.get(name).or_else(|| channel.versions.get(chart)) else {
            let message = format!("channel `{channel_name}` has no version of `{name}`");
            let mut finding = Diagnostic::error("no-version", message).at(first.location());
            finding.help = did_you_mean(name, channel.versions.keys().map(|name| &**name))
                .or_else(|| Some(format!("add it to {}, or write `version` here", channel.file)));
            self.findings.push(finding);
            return None;
        };
        Some(Version { number: version, file: &channel.file, channel: Some(channel_name.clone()) })
    }

    fn chart(
        &mut self,
        name: &Arc<str>,
        versions: &BTreeMap<Arc<str>, Arc<Chart>>,
        version: &Version<'_>,
    ) -> Option<Arc<Chart>> {
        let wanted = &version.number.value;
        if let Some(chart) = versions.get(wanted) {
            return Some(chart.clone());
        }
        // What is wrong with a broken chart is said where the chart is.
        if self.fleet.is_broken("charts", &format!("{name}/{wanted}")) {
            self.broken = true;
            return None;
        }
        let mut finding = Diagnostic::error("unknown-version", format!("chart `{name}` has no version {wanted}"))
            .at(version.number.span.in_file(version.file));
        let known: Vec<&str> = versions.keys().map(|version| &**version).collect();
        finding.help = Some(if known.is_empty() {
            format!("charts/{name}/ holds no version that can be used")
        } else {
            format!("there is {}", known.join(", "))
        });
        self.findings.push(finding);
        None
    }

    fn sources(
        &self,
        name: &Arc<str>,
        chart: &Chart,
        general: Option<&Component>,
        own: Option<&Component>,
        layers: &[Arc<str>],
    ) -> Vec<ValuesSource> {
        let mut sources = Vec::new();
        let mut add = |kind: SourceKind, values: Option<&Values>| {
            sources.extend(values.map(|values| ValuesSource { kind, values: values.clone() }));
        };
        add(SourceKind::Chart, chart.values.as_ref());
        add(SourceKind::Fleet, general.and_then(|component| component.values.as_ref()));
        for layer_name in layers {
            if let Some(layer) = self.fleet.layers.get(layer_name) {
                add(SourceKind::Layer(layer_name.clone()), layer.values.as_ref());
                add(SourceKind::Layer(layer_name.clone()), layer.components.get(name).map(|located| &located.value));
            }
        }
        add(SourceKind::Runtime, self.runtime.values.as_ref());
        add(SourceKind::Component, own.and_then(|component| component.values.as_ref()));
        sources
    }
}

/// A version and who said it.
struct Version<'a> {
    number: &'a Located<Arc<str>>,
    file: &'a Arc<str>,
    channel: Option<Arc<str>>,
}

fn missing<'a>(
    what: &str,
    folder: &str,
    name: &Located<Arc<str>>,
    file: &Arc<str>,
    known: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    let code = if what == "channel" { "unknown-channel" } else { "unknown-layer" };
    let mut finding =
        Diagnostic::error(code, format!("there is no {what} `{}`", name.value)).at(name.span.in_file(file));
    finding.help = did_you_mean(&name.value, known).or_else(|| Some(format!("write {folder}/{}.yaml", name.value)));
    finding
}
