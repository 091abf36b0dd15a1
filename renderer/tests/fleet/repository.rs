//! A small repository to begin from, and the library run over it as its users run it.

use std::sync::Arc;

use reeve_renderer::bundle::Bundle;
use reeve_renderer::cache::{MemoryCache, RenderCache};
use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::findings::Findings;
use reeve_renderer::fleet::{Fleet, Loader};
use reeve_renderer::render::Renderer;
use reeve_renderer::resolve;
use reeve_renderer::tree::MemoryTree;

/// Two runtimes, one channel, one layer, one chart.
pub(crate) fn small() -> MemoryTree {
    [
        ("fleet.yaml", "kind: Fleet\ndefaults:\n  channel: regular\nlayers:\n  - name: base\n  - name: eu\n    selector:\n      matchLabels: {region: eu}\n"),
        ("channels/regular.yaml", "kind: Channel\ncomponents:\n  web: 1.0.0\n"),
        ("layers/base.yaml", "kind: Layer\nvalues:\n  team: shop\n"),
        ("layers/eu.yaml", "kind: Layer\nvalues:\n  region: eu\ncomponents:\n  web:\n    values:\n      replicas: 3\n"),
        ("charts/web/1.0.0/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
        ("charts/web/1.0.0/values.yaml", "replicas: 1\nregion: none\nteam: none\n"),
        (
            "charts/web/1.0.0/templates/config.yaml.j2",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ Release.name }}\ndata:\n  replicas: {{ Values.replicas | quote }}\n  region: {{ Values.region | quote }}\n",
        ),
        ("runtimes/eu-1.yaml", "kind: Runtime\nlabels: {region: eu}\ncomponents:\n  web: {}\n"),
        ("runtimes/us-1.yaml", "kind: Runtime\nlabels: {region: us}\nvalues:\n  region: us\ncomponents:\n  web:\n    values:\n      replicas: 5\n"),
    ]
    .into_iter()
    .collect()
}

/// The small repository with these files written or, when empty, removed.
pub(crate) fn with(files: &[(&str, &str)]) -> MemoryTree {
    let mut tree = small();
    for (path, text) in files {
        if text.is_empty() { tree.remove(path) } else { tree.write(*path, text) }
    }
    tree
}

pub(crate) fn load(tree: &MemoryTree) -> (Fleet, Vec<Diagnostic>) {
    Loader::new().load(tree).expect("a tree in memory can be read")
}

/// Everything that is wrong with a repository, as `reeve validate` finds it.
pub(crate) fn findings(tree: &MemoryTree) -> Vec<Diagnostic> {
    let (fleet, said) = load(tree);
    let mut findings = Findings::new();
    findings.extend(said);
    findings.extend(resolve::check(&fleet));
    let cache = MemoryCache::new(1 << 20);
    let renderer = Renderer::new(&fleet.settings, &cache);
    for name in fleet.runtimes.keys() {
        match resolve::resolve(&fleet, name).expect("it is in the fleet") {
            Ok(resolved) => match renderer.runtime(&resolved) {
                Ok(bundle) => findings.extend(bundle.warnings),
                Err(said) => findings.extend(said),
            },
            Err(said) => findings.add_for(name, said),
        }
    }
    findings.into_sorted()
}

/// The bundle of one runtime of a repository that is in order.
pub(crate) fn bundle(tree: &MemoryTree, runtime: &str, cache: &dyn RenderCache) -> Bundle {
    let (fleet, said) = load(tree);
    assert!(!said.iter().any(Diagnostic::is_error), "{said:?}");
    let resolved = resolve::resolve(&fleet, runtime).expect("it is in the fleet").expect("it resolves");
    Renderer::new(&fleet.settings, cache).runtime(&resolved).expect("it renders")
}

/// A finding on one line: location, class, key, message, notes, help.
pub(crate) fn line(finding: &Diagnostic) -> String {
    let location = finding.location.as_ref().map(ToString::to_string).unwrap_or_default();
    let key = finding.key.as_ref().map(|key| format!(" at {key}")).unwrap_or_default();
    let notes: Vec<String> = finding
        .notes
        .iter()
        .map(|note| {
            format!("; {} {}", note.message, note.location.as_ref().map(ToString::to_string).unwrap_or_default())
        })
        .collect();
    let help = finding.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
    format!("{location} {}{key}: {}{}{help}", finding.code, finding.message, notes.concat())
}

pub(crate) fn lines(tree: &MemoryTree) -> Vec<String> {
    findings(tree).iter().map(line).collect()
}

pub(crate) fn names(names: &[Arc<str>]) -> Vec<&str> {
    names.iter().map(|name| &**name).collect()
}
