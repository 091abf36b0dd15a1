//! `reeve bootstrap`: prepares another cluster for a runtime that the control plane keeps there, with the least rights that
//! this takes, and prints the Secret that leads there.

use std::collections::BTreeMap;
use std::io::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::runtime::wait::await_condition;
use reeve_crds::definitions;
use reeve_renderer::names;
use serde_json::{Value, json};

use super::connection::Connection;
use super::error::innermost;
use super::install::{FIELD_MANAGER, NAMESPACE, apply_all, print_objects};
use crate::cli::args::cluster::{ApplierRights, BootstrapArgs};
use crate::cli::document;
use crate::cli::failure::Failure;
use crate::cli::{Status, Terminal};

/// As whom the control plane comes.
const ACCOUNT: &str = "reeve-control-plane-of";
/// As whom objects are applied, unless the runtime says otherwise.
const APPLIER: &str = "reeve-applier";
const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) async fn run(args: &BootstrapArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    let Some(namespace) = args.connection.namespace.as_deref() else {
        let help = "name it with -n: the cluster gets a namespace of the same name".to_owned();
        return Err(Failure::unknown("the namespace of the Runtime is not known", Some(help)));
    };
    for name in [namespace, &args.runtime] {
        if !names::is_label(name) {
            let message = format!("`{name}` cannot be the name of a namespace or of a runtime");
            return Err(Failure::unknown(message, Some(names::LABEL_RULE.to_owned())));
        }
    }
    let objects = objects(namespace, args.applier.as_ref())?;
    if !args.apply {
        print_objects(args.output, &objects, terminal)?;
        return Ok(Status::Fine);
    }
    let connection = Connection::open(&args.connection).await?;
    let server = args.server.clone().unwrap_or_else(|| connection.server.clone());
    if !server.starts_with("https://") {
        let help = "name the one that the control plane reaches with --server https://...".to_owned();
        return Err(Failure::unknown(format!("`{server}` is no address that a kubeconfig may have"), Some(help)));
    }
    // Standard output is for the Secret alone.
    apply_all(&connection, &objects, args.force_conflicts, &mut std::io::stderr()).await?;
    let data = token(&connection, &account(namespace), args).await?;
    let secret = secret(namespace, &args.runtime, &server, &data)?;
    document::yaml(&secret, terminal)?;
    terminal.out.flush()?;
    writeln!(std::io::stderr(), "the Secret on standard output goes into the control plane: `kubectl apply -f -`")?;
    Ok(Status::Fine)
}

/// The account of the control plane that has the Runtimes in this namespace.
fn account(namespace: &str) -> String {
    format!("{ACCOUNT}-{namespace}")
}

/// What a cluster needs for the runtimes of a namespace.
fn objects(namespace: &str, rights: Option<&ApplierRights>) -> Result<Vec<Value>, Failure> {
    let own = account(namespace);
    let control_plane = json!({ "kind": "ServiceAccount", "name": own, "namespace": NAMESPACE });
    let mut all = vec![
        object("v1", "Namespace", None, NAMESPACE, json!({})),
        object("v1", "Namespace", None, namespace, json!({})),
        inventories()?,
        object("v1", "ServiceAccount", Some(NAMESPACE), APPLIER, json!({ "automountServiceAccountToken": false })),
        object("v1", "ServiceAccount", Some(NAMESPACE), &own, json!({ "automountServiceAccountToken": false })),
        object(
            "v1",
            "Secret",
            Some(NAMESPACE),
            &own,
            json!({
                "metadata": { "annotations": { "kubernetes.io/service-account.name": own } },
                "type": "kubernetes.io/service-account-token",
            }),
        ),
    ];
    // Which cluster it is; what was applied; and to act as the applier, whose rights decide what Git may do.
    let system =
        json!([{ "apiGroups": [""], "resources": ["namespaces"], "resourceNames": ["kube-system"], "verbs": ["get"] }]);
    let verbs = json!(["get", "list", "watch", "create", "update", "patch", "delete"]);
    let books = json!([{ "apiGroups": ["reeve.dev"], "resources": ["inventories"], "verbs": verbs }]);
    let act = json!([{
        "apiGroups": [""], "resources": ["serviceaccounts"], "resourceNames": [APPLIER], "verbs": ["impersonate"],
    }]);
    all.extend(granted("ClusterRole", None, &own, &system, &control_plane));
    all.extend(granted("Role", Some(namespace), &own, &books, &control_plane));
    all.extend(granted("Role", Some(NAMESPACE), &own, &act, &control_plane));
    let applier = json!([{ "kind": "ServiceAccount", "name": APPLIER, "namespace": NAMESPACE }]);
    let bound = |kind: &str, namespace: Option<&str>, role: &str| {
        let role = json!({ "apiGroup": RBAC, "kind": "ClusterRole", "name": role });
        let rest = json!({ "roleRef": role, "subjects": applier });
        object(&format!("{RBAC}/v1"), kind, namespace, APPLIER, rest)
    };
    match rights {
        None => {}
        Some(ApplierRights::ClusterAdmin) => all.push(bound("ClusterRoleBinding", None, "cluster-admin")),
        Some(ApplierRights::Namespaces(names)) => {
            for name in names {
                all.push(object("v1", "Namespace", None, name, json!({})));
                all.push(bound("RoleBinding", Some(name), "admin"));
            }
        }
    }
    Ok(all)
}

/// The one kind of ours that the cluster has to have.
fn inventories() -> Result<Value, Failure> {
    let made =
        |cause: &dyn std::fmt::Display| Failure::unknown(format!("cannot make the kind Inventory: {cause}"), None);
    let all = definitions::all().map_err(|error| made(&error))?;
    let found = all.iter().find(|definition| definition.spec.names.kind == "Inventory");
    serde_json::to_value(found).map_err(|error| made(&error))
}

/// A role, and that this subject has it.
fn granted(kind: &str, namespace: Option<&str>, name: &str, rules: &Value, subject: &Value) -> [Value; 2] {
    let version = format!("{RBAC}/v1");
    let role = json!({ "apiGroup": RBAC, "kind": kind, "name": name });
    [
        object(&version, kind, namespace, name, json!({ "rules": rules })),
        object(&version, &format!("{kind}Binding"), namespace, name, json!({ "roleRef": role, "subjects": [subject] })),
    ]
}

fn object(version: &str, kind: &str, namespace: Option<&str>, name: &str, mut rest: Value) -> Value {
    rest["apiVersion"] = version.into();
    rest["kind"] = kind.into();
    rest["metadata"]["name"] = name.into();
    if let Some(namespace) = namespace {
        rest["metadata"]["namespace"] = namespace.into();
    }
    rest["metadata"]["labels"] = json!({ "app.kubernetes.io/managed-by": FIELD_MANAGER });
    rest
}

/// The token that the cluster makes for an account, and the authority of its API server.
async fn token(
    connection: &Connection,
    account: &str,
    args: &BootstrapArgs,
) -> Result<BTreeMap<String, ByteString>, Failure> {
    let secrets: Api<Secret> = Api::namespaced(connection.client.clone(), NAMESPACE);
    let has_token = |secret: Option<&Secret>| {
        let data = secret.and_then(|secret| secret.data.as_ref());
        data.is_some_and(|data| data.contains_key("token") && data.contains_key("ca.crt"))
    };
    let made = tokio::time::timeout(args.timeout, await_condition(secrets, account, has_token)).await;
    let found = made.map_err(|_elapsed| {
        let message =
            format!("the cluster made no token for {NAMESPACE}/{account} within {} s", args.timeout.as_secs());
        let help = "its kube-controller-manager does that: see whether it runs, and try again".to_owned();
        Failure::unknown(message, Some(help))
    })?;
    let found = found.map_err(|error| {
        Failure::unknown(format!("cannot watch Secret {NAMESPACE}/{account}: {}", innermost(&error)), None)
    })?;
    Ok(found.and_then(|secret| secret.data).unwrap_or_default())
}

/// The Secret by which a Runtime finds its cluster.
fn secret(namespace: &str, runtime: &str, server: &str, data: &BTreeMap<String, ByteString>) -> Result<Value, Failure> {
    let of = |key: &str| data.get(key).map(|value| value.0.as_slice()).unwrap_or_default();
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": runtime,
        "contexts": [{ "name": runtime, "context": { "cluster": runtime, "user": "reeve" } }],
        "clusters": [{ "name": runtime, "cluster": {
            "server": server,
            "certificate-authority-data": BASE64_STANDARD.encode(of("ca.crt")),
        } }],
        "users": [{ "name": "reeve", "user": { "token": String::from_utf8_lossy(of("token")) } }],
    });
    let text = serde_json::to_string_pretty(&kubeconfig).map_err(std::io::Error::from)?;
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": format!("{runtime}-kubeconfig"), "namespace": namespace },
        "stringData": { "value": text },
    }))
}
