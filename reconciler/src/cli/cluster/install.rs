//! `reeve install`: what puts this version of Reeve into a cluster, from the charts in the binary.

use std::io::Write as _;

use reeve_renderer::names;
use serde_json::{Value, json};

use crate::cli::args::cluster::{ApplierRights, InstallArgs, InstallFormat};
use crate::cli::document;
use crate::cli::failure::Failure;
use crate::cli::{Status, Terminal};

mod apply;
mod charts;
mod values;

pub(super) use apply::{FIELD_MANAGER, apply_all};

/// Where Reeve runs unless someone says otherwise.
pub(super) const NAMESPACE: &str = "reeve-system";

pub(super) async fn run(args: &InstallArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    let namespace = args.connection.namespace.as_deref().unwrap_or(NAMESPACE);
    if !names::is_label(namespace) {
        let message = format!("`{namespace}` cannot be a namespace");
        return Err(Failure::unknown(message, Some(names::LABEL_RULE.to_owned())));
    }
    let mut values: Vec<String> = args.applier.iter().map(rights).collect();
    values.extend(args.values.iter().cloned());
    let given = values::Given::parse(&values)?;
    let mut objects = charts::render(namespace, &given, terminal.error_style)?;
    objects.retain(|object| {
        let is_kind = object["kind"] == "CustomResourceDefinition";
        if is_kind { !args.skip_crds } else { !args.crds_only }
    });
    if args.apply {
        return apply::run(args, namespace, &objects, terminal).await;
    }
    print_objects(args.output, &objects, terminal)?;
    Ok(Status::Fine)
}

/// The value of the chart that gives the applier its rights.
fn rights(asked: &ApplierRights) -> String {
    match asked {
        ApplierRights::ClusterAdmin => "applier.clusterRole=cluster-admin".to_owned(),
        ApplierRights::Namespaces(names) => format!("applier.namespaces={}", json!(names)),
    }
}

/// Prints objects instead of applying them.
pub(super) fn print_objects(format: InstallFormat, objects: &[Value], terminal: &mut Terminal) -> Result<(), Failure> {
    match format {
        InstallFormat::Yaml => {
            objects.iter().try_for_each(|object| document::yaml(object, terminal))?;
        }
        InstallFormat::Json => {
            let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
            document::json(&list, terminal)?;
        }
        InstallFormat::Name => objects.iter().try_for_each(|object| writeln!(terminal.out, "{}", shown(object)))?,
    }
    Ok(())
}

/// As `Deployment.apps reeve-system/reeve`.
fn shown(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let group = text("/apiVersion").split_once('/').map_or_else(String::new, |(group, _)| format!(".{group}"));
    let namespace = text("/metadata/namespace");
    let slash = if namespace.is_empty() { "" } else { "/" };
    format!("{}{group} {namespace}{slash}{}", text("/kind"), text("/metadata/name"))
}

/// Which kinds an installation with these values has.
#[cfg(test)]
pub(super) fn kinds_with(values: &[&str]) -> std::collections::BTreeSet<(String, String)> {
    let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
    let given = values::Given::parse(&values).unwrap_or_else(|_| panic!("{values:?}"));
    let objects = charts::render(NAMESPACE, &given, crate::cli::style::Style::new(false));
    let objects = objects.unwrap_or_else(|_| panic!("{values:?}"));
    let text = |object: &Value, key: &str| object[key].as_str().unwrap_or_default().to_owned();
    objects.iter().map(|object| (text(object, "apiVersion"), text(object, "kind"))).collect()
}
