//! `reeve version`: which Reeve this is, and which one runs in the cluster.

use std::io::Write as _;

use k8s_openapi::api::apps::v1::Deployment;
use kube::ResourceExt as _;
use reeve_process::version::{COMMIT, LONG, VERSION};
use serde::Serialize;

use super::connection::{Connection, Scope};
use super::install::NAMESPACE;
use crate::cli::args::cluster::{Format, VersionArgs};
use crate::cli::document;
use crate::cli::failure::Failure;
use crate::cli::{Status, Terminal};

/// What the chart calls the version that it installs.
const VERSION_LABEL: &str = "app.kubernetes.io/version";
/// What the Deployment is called.
const NAME: &str = "reeve";

#[derive(Debug, Serialize)]
struct Versions {
    client: Client,
    /// Absent if it was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    controller: Option<Installed>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Installed {
    Yes(Controller),
    /// `null`
    No,
}

#[derive(Debug, Serialize)]
struct Client {
    version: &'static str,
    commit: &'static str,
}

/// What the Deployment says: the version that was installed, and the image that runs.
#[derive(Debug, Serialize)]
struct Controller {
    namespace: String,
    version: String,
    image: String,
}

pub(super) async fn run(args: &VersionArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    let mut versions = Versions { client: Client { version: VERSION, commit: COMMIT }, controller: None };
    if !args.client {
        versions.controller = Some(controller(args).await?);
    }
    match args.output {
        Format::Text => text(&versions, terminal)?,
        Format::Json => document::json(&versions, terminal)?,
        Format::Yaml => document::yaml(&versions, terminal)?,
    }
    Ok(Status::Fine)
}

async fn controller(args: &VersionArgs) -> Result<Installed, Failure> {
    let connection = Connection::open(&args.connection).await?;
    let namespace = args.connection.namespace.as_deref().unwrap_or(NAMESPACE);
    let api = connection.api::<Deployment>(&Scope::Namespace(namespace.to_owned()));
    let found = connection.ask("read the Deployment of Reeve", api.get_opt(NAME)).await?;
    let Some(deployment) = found else { return Ok(Installed::No) };
    let pod = deployment.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
    let container = pod.and_then(|pod| pod.containers.first());
    Ok(Installed::Yes(Controller {
        namespace: namespace.to_owned(),
        version: deployment.labels().get(VERSION_LABEL).cloned().unwrap_or_else(|| "unknown".to_owned()),
        image: container.and_then(|container| container.image.clone()).unwrap_or_default(),
    }))
}

fn text(versions: &Versions, terminal: &mut Terminal) -> std::io::Result<()> {
    writeln!(terminal.out, "client: {LONG}")?;
    match &versions.controller {
        Some(Installed::Yes(Controller { namespace, version, image })) => {
            writeln!(terminal.out, "controller: {version} in {namespace}, image {image}")
        }
        Some(Installed::No) => writeln!(terminal.out, "controller: not installed"),
        None => Ok(()),
    }
}
