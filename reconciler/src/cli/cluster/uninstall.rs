//! `reeve uninstall`: takes away what `reeve install` put into a cluster. What Reeve applied stays, and so do its kinds and
//! their objects unless they are asked for.

use std::io::Write as _;
use std::time::Duration;

use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use reeve_crds::GROUP;
use reeve_renderer::bundle::MANAGED_BY;
use serde_json::json;

use super::connection::Connection;
use super::error::innermost;
use super::install;
use super::kinds::{Kind, Kinds};
use super::suspend::FIELD_MANAGER;
use crate::cli::args::cluster::UninstallArgs;
use crate::cli::failure::Failure;
use crate::cli::{Status, Terminal};

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// What an installation is made of, in the order in which it goes: the controller first, its rights last. The namespace
/// stays, since Secrets and sources of people are in it.
const ORDER: [(&str, &str); 13] = [
    ("apps/v1", "Deployment"),
    ("policy/v1", "PodDisruptionBudget"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("v1", "Service"),
    ("v1", "ConfigMap"),
    ("v1", "PersistentVolumeClaim"),
    ("monitoring.coreos.com/v1", "ServiceMonitor"),
    ("monitoring.coreos.com/v1", "PrometheusRule"),
    (RBAC, "ClusterRoleBinding"),
    (RBAC, "RoleBinding"),
    (RBAC, "ClusterRole"),
    (RBAC, "Role"),
    ("v1", "ServiceAccount"),
];
const DEFINITION: (&str, &str) = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");

/// An object of the installation, and where to delete it.
struct Part {
    shown: String,
    object: DynamicObject,
    api: Api<DynamicObject>,
}

pub(super) async fn run(args: &UninstallArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    let connection = Connection::open(&args.connection).await?;
    let kinds = Kinds::discover(&connection).await?;
    let mut parts = Vec::new();
    for (api_version, kind) in ORDER.into_iter().chain(args.crds.then_some(DEFINITION)) {
        if let Some(kind) = kinds.exact(api_version, kind) {
            parts.extend(installed(&connection, kind).await?);
        }
    }
    if parts.is_empty() {
        writeln!(terminal.out, "nothing of Reeve is installed")?;
        return Ok(Status::Fine);
    }
    if !args.apply {
        parts.iter().try_for_each(|part| writeln!(terminal.out, "{}", part.shown))?;
        return Ok(Status::Fine);
    }
    let mut is_released = false;
    for part in &parts {
        // Without a controller nobody would take the finalizers off, and with them the kinds would never be gone.
        if part.shown.starts_with(DEFINITION.1) && !is_released {
            release(&connection, &kinds, terminal).await?;
            is_released = true;
        }
        delete(&connection, part, args.timeout).await?;
        writeln!(terminal.out, "{} deleted", part.shown)?;
        terminal.out.flush()?;
    }
    Ok(Status::Fine)
}

/// What `reeve install` made of a kind.
async fn installed(connection: &Connection, kind: &Kind) -> Result<Vec<Part>, Failure> {
    let params = ListParams::default().labels(&format!("{MANAGED_BY}={}", install::FIELD_MANAGER));
    let found = all(connection, kind, &params).await?;
    Ok(found.into_iter().map(|object| part(connection, kind, object)).collect())
}

async fn all(connection: &Connection, kind: &Kind, params: &ListParams) -> Result<Vec<DynamicObject>, Failure> {
    let api: Api<DynamicObject> = Api::all_with(connection.client.clone(), &kind.resource);
    let doing = format!("list {}", kind.resource.plural);
    Ok(connection.ask(&doing, api.list(params)).await?.items)
}

fn part(connection: &Connection, kind: &Kind, object: DynamicObject) -> Part {
    let resource = &kind.resource;
    let group = if resource.group.is_empty() { String::new() } else { format!(".{}", resource.group) };
    let place = object.namespace().map_or_else(String::new, |namespace| format!("{namespace}/"));
    let shown = format!("{}{group} {place}{}", resource.kind, object.name_any());
    let api = match object.namespace() {
        Some(namespace) => Api::namespaced_with(connection.client.clone(), &namespace, resource),
        None => Api::all_with(connection.client.clone(), resource),
    };
    Part { shown, object, api }
}

/// Deletes an object and waits until it is gone, with its pods if it has any.
async fn delete(connection: &Connection, part: &Part, limit: Duration) -> Result<(), Failure> {
    let name = part.object.name_any();
    let doing = format!("delete {}", part.shown);
    connection.ask(&doing, gone_is_fine(part.api.delete(&name, &DeleteParams::foreground()))).await?;
    let uid = part.object.uid().unwrap_or_default();
    let gone = await_condition(part.api.clone(), &name, conditions::is_deleted(&uid));
    match tokio::time::timeout(limit, gone).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(Failure::unknown(format!("cannot watch {}: {}", part.shown, innermost(&error)), None)),
        Err(_elapsed) => {
            let message = format!("{} is not gone after {} s", part.shown, limit.as_secs());
            Err(Failure::unknown(message, Some("look at its finalizers, and run this again".to_owned())))
        }
    }
}

async fn gone_is_fine<T>(answer: impl Future<Output = Result<T, kube::Error>>) -> Result<(), kube::Error> {
    match answer.await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        answer => answer.map(drop),
    }
}

/// Takes Reeve's own finalizers off its objects, so that these go without taking along what was applied.
async fn release(connection: &Connection, kinds: &Kinds, terminal: &mut Terminal) -> Result<(), Failure> {
    for kind in kinds.of_group(GROUP) {
        for object in all(connection, kind, &ListParams::default()).await? {
            let is_ours = |finalizer: &&String| finalizer.starts_with(&format!("{GROUP}/"));
            if !object.finalizers().iter().any(|finalizer| is_ours(&finalizer)) {
                continue;
            }
            let others: Vec<&String> = object.finalizers().iter().filter(|finalizer| !is_ours(finalizer)).collect();
            let metadata = json!({ "finalizers": others, "resourceVersion": object.resource_version() });
            let patch = Patch::Merge(json!({ "metadata": metadata }));
            let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
            let part = part(connection, kind, object);
            let doing = format!("release {}", part.shown);
            connection.ask(&doing, part.api.patch(&part.object.name_any(), &params, &patch)).await?;
            writeln!(terminal.out, "{} released", part.shown)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_that_an_installation_may_have_goes_but_the_namespace() {
        let everything = [
            "alerts.enabled=true",
            "dashboard.enabled=true",
            "data.accessMode=ReadWriteMany",
            "data.persistent=true",
            "networkPolicy.enabled=true",
            "serviceMonitor.enabled=true",
        ];
        let mut found = install::kinds_with(&everything);
        assert!(found.remove(&("v1".to_owned(), "Namespace".to_owned())));
        let known = ORDER.into_iter().chain([DEFINITION]).map(|(version, kind)| (version.to_owned(), kind.to_owned()));
        assert_eq!(found, known.collect());
    }
}
