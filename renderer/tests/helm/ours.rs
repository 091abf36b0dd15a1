//! Our side: the chart in a fleet repository of its own.

use std::path::Path;

use reeve_renderer::cache::NoCache;
use reeve_renderer::fleet::Loader;
use reeve_renderer::render::Renderer;
use reeve_renderer::resolve;
use reeve_renderer::tree::MemoryTree;
use reeve_renderer::value::Value;

use crate::charts::Chart;
use crate::objects::{self, Objects};

pub(crate) const RELEASE: &str = "release";
pub(crate) const NAMESPACE: &str = "somewhere";
pub(crate) const KUBERNETES: &str = "v1.35.0";

/// What we make of a chart, or all that is wrong.
pub(crate) fn render(chart: &Chart, folder: &Path, values: &str) -> Result<Objects, String> {
    render_where(chart, folder, values, &[])
}

/// The same in a runtime that declares these groups, versions and kinds.
pub(crate) fn render_where(chart: &Chart, folder: &Path, values: &str, declared: &[&str]) -> Result<Objects, String> {
    let mut tree = MemoryTree::new();
    let files = chart.files(folder);
    let metadata = files.iter().find(|(name, _)| name == "Chart.yaml").map(|(_, text)| String::from_utf8_lossy(text));
    let metadata: serde_yaml::Value =
        serde_yaml::from_str(&metadata.unwrap_or_default()).map_err(|error| error.to_string())?;
    let version = metadata["version"].as_str().unwrap_or_default().trim_start_matches('v').to_owned();
    for (name, content) in &files {
        tree.write(format!("charts/{}/{version}/{name}", chart.name), content);
    }
    tree.write("fleet.yaml", "kind: Fleet\nlimits: {objects: 2000}\n");
    let indented = values.lines().map(|line| format!("      {line}")).collect::<Vec<_>>().join("\n") + "\n";
    let given = if values.trim().is_empty() { String::new() } else { format!("    values:\n{indented}") };
    tree.write(
        "runtimes/here.yaml",
        format!(
            "kind: Runtime\nnamespace: {NAMESPACE}\ncapabilities:\n  kubernetesVersion: {KUBERNETES}\n  apiVersions: [{}]\ncomponents:\n  {RELEASE}:\n    chart: {}\n    version: {version}\n{given}",
            declared.join(", "),
            chart.name
        ),
    );
    let said = |findings: Vec<reeve_renderer::diagnostic::Diagnostic>| {
        let lines: Vec<String> = findings
            .iter()
            .take(5)
            .map(|finding| format!("{finding} ({})", finding.help.clone().unwrap_or_default()))
            .collect();
        lines.join("; ")
    };
    let (fleet, findings) = Loader::new().load(&tree).map_err(|error| error.to_string())?;
    let errors: Vec<_> = findings.into_iter().filter(reeve_renderer::diagnostic::Diagnostic::is_error).collect();
    if !errors.is_empty() {
        return Err(said(errors));
    }
    let resolved = resolve::resolve(&fleet, "here").ok_or("no runtime")?.map_err(said)?;
    let renderer = Renderer::new(&fleet.settings, &NoCache);
    let outcome = renderer.drafts(&resolved, &resolved.components[0]).map_err(said)?;
    let mut objects = Objects::new();
    for draft in outcome.iter().flatten() {
        objects::add(serde_json::Value::from(&Value::Dict(draft.value.clone())), &mut objects);
    }
    Ok(objects)
}
