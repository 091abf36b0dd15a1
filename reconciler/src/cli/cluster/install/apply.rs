//! Puts the objects into a cluster, and waits until they work.

use std::io::Write as _;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use serde_json::Value;

use super::super::connection::{Connection, Scope};
use super::super::error::innermost;
use super::super::kinds::Kinds;
use super::shown;
use crate::cli::args::cluster::InstallArgs;
use crate::cli::failure::Failure;
use crate::cli::{Status, Terminal};

/// Under which name an installation is written.
pub(in crate::cli::cluster) const FIELD_MANAGER: &str = "reeve-install";

pub(super) async fn run(
    args: &InstallArgs,
    namespace: &str,
    objects: &[Value],
    terminal: &mut Terminal,
) -> Result<Status, Failure> {
    let connection = Connection::open(&args.connection).await?;
    apply_all(&connection, objects, args.force_conflicts, &mut terminal.out).await?;
    if args.wait {
        match tokio::time::timeout(args.timeout, wait(&connection, namespace, objects, terminal)).await {
            Ok(waited) => waited?,
            Err(_elapsed) => {
                let message = format!("it does not work after {} s", args.timeout.as_secs());
                let help = format!("see `reeve check`, and `kubectl -n {namespace} get pods,events`");
                return Err(Failure::unknown(message, Some(help)));
            }
        }
    }
    Ok(Status::Fine)
}

/// Applies them one after the other, and tells what became of each.
pub(in crate::cli::cluster) async fn apply_all(
    connection: &Connection,
    objects: &[Value],
    force: bool,
    out: &mut impl std::io::Write,
) -> Result<(), Failure> {
    let kinds = Kinds::discover(connection).await?;
    for object in objects {
        let outcome = apply(connection, &kinds, object, force).await?;
        writeln!(out, "{} {outcome}", shown(object))?;
        out.flush()?;
    }
    Ok(())
}

async fn apply(connection: &Connection, kinds: &Kinds, object: &Value, force: bool) -> Result<&'static str, Failure> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let Some(kind) = kinds.exact(text("/apiVersion"), text("/kind")) else {
        let message = format!("the cluster has no kind {} of {}", text("/kind"), text("/apiVersion"));
        return Err(Failure::unknown(message, Some("install what brings it, or do without it".to_owned())));
    };
    let api: Api<DynamicObject> = if kind.namespaced {
        Api::namespaced_with(connection.client.clone(), text("/metadata/namespace"), &kind.resource)
    } else {
        Api::all_with(connection.client.clone(), &kind.resource)
    };
    let name = text("/metadata/name");
    let before = connection.ask(&format!("read {}", shown(object)), api.get_opt(name)).await?;
    let params = PatchParams { force, ..PatchParams::apply(FIELD_MANAGER) };
    let patch = Patch::Apply(object);
    let doing = format!("apply {}", shown(object));
    let after = connection.ask(&doing, conflict(api.patch(name, &params, &patch))).await?;
    let after = after.map_err(|message| {
        let help = "see what they set, or take it over with --force-conflicts".to_owned();
        Failure::unknown(format!("others have set {} otherwise: {message}", shown(object)), Some(help))
    })?;
    Ok(match before {
        None => "created",
        Some(before) if before.resource_version() == after.resource_version() => "unchanged",
        Some(_) => "changed",
    })
}

/// An object, or whose fields are in the way.
async fn conflict<T>(answer: impl Future<Output = Result<T, kube::Error>>) -> Result<Result<T, String>, kube::Error> {
    match answer.await {
        Ok(object) => Ok(Ok(object)),
        Err(kube::Error::Api(status)) if status.is_conflict() => Ok(Err(status.message)),
        Err(error) => Err(error),
    }
}

/// Whether all replicas are of the newest spec and available; what was reported of an older spec says nothing.
fn is_rolled_out(deployment: Option<&Deployment>) -> bool {
    let Some((deployment, status)) = deployment.and_then(|found| Some((found, found.status.as_ref()?))) else {
        return false;
    };
    let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    status.observed_generation >= deployment.metadata.generation
        && status.updated_replicas.unwrap_or(0) >= wanted
        && status.available_replicas.unwrap_or(0) >= wanted
}

async fn wait(
    connection: &Connection,
    namespace: &str,
    objects: &[Value],
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    for object in objects {
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let waited = match object["kind"].as_str() {
            Some("CustomResourceDefinition") => {
                let api: Api<CustomResourceDefinition> = Api::all(connection.client.clone());
                await_condition(api, name, conditions::is_crd_established()).await.map(drop)
            }
            Some("Deployment") => {
                writeln!(terminal.out, "waiting for {}", shown(object))?;
                terminal.out.flush()?;
                let api = connection.api::<Deployment>(&Scope::Namespace(namespace.to_owned()));
                await_condition(api, name, is_rolled_out).await.map(drop)
            }
            _ => Ok(()),
        };
        waited.map_err(|error| {
            Failure::unknown(format!("cannot watch {}: {}", shown(object), innermost(&error)), None)
        })?;
    }
    Ok(())
}
