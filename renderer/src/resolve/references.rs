//! References that lead nowhere although no runtime follows them yet.

use std::collections::BTreeSet;

use crate::diagnostic::{Diagnostic, Location};
use crate::fleet::Fleet;
use crate::suggest::did_you_mean;

/// What is wrong between the files of a fleet, whatever runtimes there are.
pub fn check(fleet: &Fleet) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    let settings = &fleet.settings;
    let unknown_channel = |name: &str| !fleet.channels.contains_key(name) && !fleet.is_broken("channels", name);
    let unknown_layer = |name: &str| !fleet.layers.contains_key(name) && !fleet.is_broken("layers", name);
    if let Some(channel) = settings.channel.as_ref().filter(|channel| unknown_channel(&channel.value)) {
        let known = fleet.channels.keys().map(|name| &**name);
        findings.push(super::missing("channel", "channels", channel, &settings.file, known));
    }
    for rule in settings.layers.iter().filter(|rule| unknown_layer(&rule.layer.value)) {
        let known = fleet.layers.keys().map(|name| &**name);
        findings.push(super::missing("layer", "layers", &rule.layer, &settings.file, known));
    }
    for (at, wave) in settings.waves.iter().enumerate() {
        if let Some(first) = settings.waves[..at].iter().find(|first| first.name.value == wave.name.value) {
            let finding = Diagnostic::error("duplicate-name", format!("`{}` is there twice", wave.name.value));
            let finding = finding.at(wave.name.span.in_file(&settings.file));
            findings.push(finding.note("the first is here", Some(first.name.span.in_file(&settings.file))));
        }
    }
    versions(fleet, &mut findings);
    let half_known = |path: &String| path.starts_with("runtimes/") || path == "fleet.yaml";
    if !fleet.broken.iter().any(half_known) {
        components(fleet, &mut findings);
    }
    findings
}

/// Versions in channels, for components that are called like their chart.
fn versions(fleet: &Fleet, findings: &mut Vec<Diagnostic>) {
    for channel in fleet.channels.values() {
        for (component, version) in &channel.versions {
            let Some(versions) = fleet.charts.get(component) else { continue };
            let broken = fleet.is_broken("charts", &format!("{component}/{}", version.value));
            if !versions.contains_key(&version.value) && !broken {
                let known: Vec<&str> = versions.keys().map(|version| &**version).collect();
                let message = format!("chart `{component}` has no version {}", version.value);
                let finding = Diagnostic::error("unknown-version", message).at(version.span.in_file(&channel.file));
                findings.push(finding.help(format!("there is {}", known.join(", "))));
            }
        }
    }
}

/// Names of components in channels and layers that no runtime has: most likely a slip.
fn components(fleet: &Fleet, findings: &mut Vec<Diagnostic>) {
    let own = fleet.runtimes.values().flat_map(|runtime| &runtime.components);
    let all = || own.clone().chain(&fleet.settings.components);
    let mut known: BTreeSet<&str> = all().map(|component| &*component.name.value).collect();
    let mut warn = |name: &str, location: Location, known: &BTreeSet<&str>| {
        let mut finding = Diagnostic::warning("unused-component", format!("no runtime has a component `{name}`"));
        finding.help = did_you_mean(name, known.iter().copied());
        findings.push(finding.at(location));
    };
    for layer in fleet.layers.values() {
        for (name, values) in layer.components.iter().filter(|(name, _)| !known.contains(&***name)) {
            warn(name, values.span.in_file(&layer.file), &known);
        }
    }
    known.extend(all().map(|component| &**component.chart_name()));
    for channel in fleet.channels.values() {
        for (name, version) in channel.versions.iter().filter(|(name, _)| !known.contains(&***name)) {
            warn(name, version.span.in_file(&channel.file), &known);
        }
    }
}
