//! The charts of this version, which are part of the binary, and the objects they make.

use std::io::{self, Write as _};

use reeve_process::version::VERSION;
use reeve_renderer::bundle::{COMPONENT_LABEL, MANAGED_BY, RUNTIME_LABEL};
use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::fleet::Loader;
use reeve_renderer::tree::MemoryTree;
use serde_json::{Value, json};

use super::values::Given;
use crate::cli::bundles;
use crate::cli::failure::Failure;
use crate::cli::report::Reporter;
use crate::cli::style::Style;

/// The runtime that the charts are rendered for; nothing of it is left in the objects.
const RUNTIME: &str = "install";
/// Where the values are in its file.
const VALUES: &str = "components.reeve.values.";

macro_rules! files {
    ($folder:literal: $($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../../", $folder, "/", $path)))),*]
    };
}

const REEVE: &[(&str, &str)] = files!("charts/reeve":
    "Chart.yaml",
    "values.yaml",
    "values.schema.json",
    "templates/_macros.j2",
    "files/alerts.yaml",
    "files/dashboard.json",
    "templates/accounts.yaml.j2",
    "templates/aggregated.yaml.j2",
    "templates/alerts.yaml.j2",
    "templates/controlplane.yaml.j2",
    "templates/dashboard.yaml.j2",
    "templates/data.yaml.j2",
    "templates/deployment.yaml.j2",
    "templates/disruption.yaml.j2",
    "templates/impersonation.yaml.j2",
    "templates/namespace.yaml.j2",
    "templates/networkpolicy.yaml.j2",
    "templates/roles.yaml.j2",
    "templates/secrets.yaml.j2",
    "templates/servicemonitor.yaml.j2",
    "templates/services.yaml.j2",
);

const CRDS: &[(&str, &str)] = files!("charts/reeve-crds": "Chart.yaml", "values.yaml");

const KINDS: &[(&str, &str)] = files!("crds/yaml":
    "daprworkloads.yaml",
    "gitsources.yaml",
    "inventories.yaml",
    "nodehooks.yaml",
    "nodehookstatuses.yaml",
    "runtimecomponents.yaml",
    "runtimes.yaml",
    "scalingrules.yaml",
);

/// A fleet of one runtime that has both charts.
fn fleet(namespace: &str, values: &Value) -> MemoryTree {
    let mut tree = MemoryTree::new();
    tree.write("fleet.yaml", "kind: Fleet\n");
    for (path, text) in REEVE {
        tree.write(format!("charts/reeve/{VERSION}/{path}"), text);
    }
    for (path, text) in CRDS {
        tree.write(format!("charts/reeve-crds/{VERSION}/{path}"), text);
    }
    for (path, text) in KINDS {
        tree.write(format!("charts/reeve-crds/{VERSION}/crds/{path}"), text);
    }
    let runtime = json!({
        "kind": "Runtime",
        "components": {
            "reeve-crds": { "version": VERSION },
            "reeve": { "version": VERSION, "namespace": namespace, "values": values },
        },
    });
    tree.write(runtime_file(), format!("{runtime:#}\n"));
    tree
}

fn runtime_file() -> String {
    format!("runtimes/{RUNTIME}.yaml")
}

/// All objects, in the order in which they are to be applied.
pub(super) fn render(namespace: &str, given: &Given, style: Style) -> Result<Vec<Value>, Failure> {
    let tree = fleet(namespace, &given.values);
    let (fleet, mut findings) = Loader::new().load(&tree)?;
    let bundle = match bundles::one(&fleet, &bundles::cache(), RUNTIME) {
        Some(Ok(bundle)) => bundle,
        Some(Err(more)) => {
            findings.extend(more);
            return Err(refused(&tree, findings, given, style));
        }
        None => return Err(refused(&tree, findings, given, style)),
    };
    let mut objects = Vec::new();
    for object in bundle.components.iter().flat_map(|component| &component.objects) {
        let value = serde_json::to_value(&object.value).map_err(io::Error::from)?;
        objects.push(own(value));
    }
    objects.sort_by_key(|object| (rank(object), object["kind"].as_str().map(str::to_owned)));
    Ok(objects)
}

/// These objects belong to no runtime: whoever installs them keeps them.
fn own(mut object: Value) -> Value {
    if let Some(labels) = object.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove(RUNTIME_LABEL);
        labels.remove(COMPONENT_LABEL);
        labels.insert(MANAGED_BY.to_owned(), super::apply::FIELD_MANAGER.into());
    }
    object
}

/// What others need comes first.
fn rank(object: &Value) -> u8 {
    match object["kind"].as_str() {
        Some("Namespace") => 0,
        Some("CustomResourceDefinition") => 1,
        Some("ServiceAccount") => 2,
        Some("ClusterRole" | "Role") => 3,
        Some("ClusterRoleBinding" | "RoleBinding") => 4,
        Some("Deployment") => 6,
        _ => 5,
    }
}

fn refused(tree: &MemoryTree, findings: Vec<Diagnostic>, given: &Given, style: Style) -> Failure {
    let findings: Vec<_> = findings.into_iter().map(|finding| as_given(finding, given)).collect();
    let mut report = Vec::new();
    // Writing to memory does not fail, and whoever closed standard error does not want to know.
    let _ = Reporter::new(tree, style).write(&findings, &mut report);
    let _ = io::stderr().write_all(&report);
    let help = "charts/reeve/values.yaml has every value and what it means".to_owned();
    Failure::unknown("the chart cannot be rendered with these values", Some(help))
}

/// A finding in the runtime that is made up here is about what was given: nobody else has that file.
fn as_given(mut finding: Diagnostic, given: &Given) -> Diagnostic {
    finding.runtimes.clear();
    if finding.location.as_ref().is_none_or(|place| *place.file != *runtime_file()) {
        return finding;
    }
    finding.location = None;
    finding.notes.clear();
    let key = finding.key.as_deref().map_or("", |key| key.strip_prefix(VALUES).unwrap_or(key));
    let quoted = finding.help.as_deref().and_then(|help| help.strip_prefix("put it in quotes: "));
    if let Some(quoted) = quoted {
        finding.help = Some(format!("write --set '{key}={quoted}'"));
    }
    let note = given
        .argument_of(key)
        .map_or_else(|| "it is given by --set".to_owned(), |argument| format!("it is given by --set {argument}"));
    finding.note(note, None)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    fn found(folder: &str) -> BTreeSet<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
        let mut found = BTreeSet::new();
        let mut open = vec![root.clone()];
        while let Some(next) = open.pop() {
            for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
                match entry.file_type().unwrap() {
                    kind if kind.is_dir() => open.push(entry.path()),
                    kind if kind.is_file() => {
                        found.insert(entry.path().strip_prefix(&root).unwrap().display().to_string());
                    }
                    _ => {}
                }
            }
        }
        found
    }

    #[test]
    fn every_file_of_the_charts_is_in_the_binary() {
        for (folder, files) in [("charts/reeve", REEVE), ("charts/reeve-crds", CRDS), ("crds/yaml", KINDS)] {
            let listed: BTreeSet<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
            assert_eq!(found(folder), listed, "{folder}");
        }
    }

    #[test]
    fn the_charts_are_of_this_version() {
        for (_, text) in [REEVE[0], CRDS[0]] {
            assert!(text.contains(&format!("\nversion: {VERSION}\nappVersion: {VERSION}\n")), "{text}");
        }
    }

    #[test]
    fn nothing_of_the_way_it_was_rendered_is_left() {
        let objects = render("reeve-system", &Given::default(), Style::new(false)).unwrap();
        let text = serde_json::to_string(&objects).unwrap();
        assert!(!text.contains(RUNTIME_LABEL) && !text.contains(COMPONENT_LABEL));
        let kinds: Vec<_> = objects.iter().map(|object| object["kind"].as_str().unwrap()).collect();
        assert_eq!((kinds.first(), kinds.last()), (Some(&"Namespace"), Some(&"Deployment")));
    }
}
