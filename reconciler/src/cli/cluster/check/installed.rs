//! How an installation is doing: its kinds, its Deployment, its lease, its sources.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::jiff::Timestamp;
use kube::{Api, ResourceExt as _};
use reeve_crds::{GitSource, State, definitions};
use reeve_process::version::VERSION;
use serde_json::Value;

use super::super::age::age;
use super::super::connection::{Connection, Scope};
use super::super::error::{ClusterError, innermost};
use super::super::governed::{Shown as _, standing};
use super::Check;

/// What the Deployment and the lease are called.
const NAME: &str = "reeve";

pub(super) async fn kinds(connection: &Connection) -> Result<Check, ClusterError> {
    let what = "kinds";
    let api: Api<CustomResourceDefinition> = Api::all(connection.client.clone());
    let (mut missing, mut differing) = (Vec::new(), Vec::new());
    let all = definitions::all().map_err(|error| ClusterError::Refused {
        doing: "tell which kinds this version has".to_owned(),
        cause: innermost(&error),
    })?;
    for wanted in all {
        let name = wanted.name_any();
        let found = connection.ask(&format!("read the kind {name}"), api.get_opt(&name)).await?;
        match found {
            None => missing.push(wanted.spec.names.kind),
            Some(found) => {
                let spec = |crd: &CustomResourceDefinition| serde_json::to_value(&crd.spec).unwrap_or_default();
                if !is_established(&found) || !includes(&spec(&found), &spec(&wanted)) {
                    differing.push(wanted.spec.names.kind);
                }
            }
        }
    }
    Ok(match (missing.is_empty(), differing.is_empty()) {
        (true, true) => Check::ok(what, format!("all are installed, of version {VERSION}")),
        (false, _) => Check::fail(
            what,
            format!("not installed: {}", missing.join(", ")),
            "run `reeve install --crds-only --apply`",
        ),
        (true, false) => {
            let found = format!("of another version than {VERSION}, or not yet served: {}", differing.join(", "));
            Check::warn(what, found, "run `reeve install --crds-only --apply` of the version that you want")
        }
    })
}

fn is_established(crd: &CustomResourceDefinition) -> bool {
    let conditions = crd.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Established" && condition.status == "True")
}

/// Whether all that is wanted is there; the API server adds what nobody said.
fn includes(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| found.get(key).is_some_and(|found| includes(found, wanted)))
        }
        (Value::Array(found), Value::Array(wanted)) => {
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(found, wanted)| includes(found, wanted))
        }
        (found, wanted) => found == wanted,
    }
}

pub(super) async fn deployment(connection: &Connection, namespace: &str) -> Result<Check, ClusterError> {
    let what = "controller";
    let api = connection.api::<Deployment>(&Scope::Namespace(namespace.to_owned()));
    let found = connection.ask("read the Deployment of Reeve", api.get_opt(NAME)).await?;
    let Some(deployment) = found else {
        let help = "run `reeve install --apply`, or name its namespace with -n";
        return Ok(Check::fail(what, format!("there is no Deployment {namespace}/{NAME}"), help));
    };
    let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    let status = deployment.status.unwrap_or_default();
    let available = status.available_replicas.unwrap_or(0);
    let template = deployment.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
    let image = template.and_then(|pod| pod.containers.first()).and_then(|container| container.image.clone());
    let found = format!("{available} of {wanted} available, {}", image.as_deref().unwrap_or("no image"));
    let help = format!("see `kubectl -n {namespace} describe deployment {NAME}` and the logs of its pods");
    Ok(match available {
        0 => Check::fail(what, found, help),
        _ if available < wanted => Check::warn(what, found, help),
        _ => Check::ok(what, found),
    })
}

pub(super) async fn lease(connection: &Connection, namespace: &str, now: Timestamp) -> Result<Check, ClusterError> {
    let what = "leader";
    let leases = connection.list::<Lease>(&Scope::Namespace(namespace.to_owned())).await?;
    let ours = leases.iter().filter(|lease| lease.name_any().starts_with(NAME));
    let held = ours.filter_map(|lease| lease.spec.as_ref()).find(|spec| spec.holder_identity.is_some());
    let advice = format!("see the logs of the pods in {namespace}: nothing is reconciled without a leader");
    let Some(spec) = held else {
        return Ok(Check::fail(what, format!("nobody holds a lease in {namespace}"), advice));
    };
    let holder = spec.holder_identity.clone().unwrap_or_default();
    let Some(renewed) = spec.renew_time.as_ref().map(|time| time.0) else {
        return Ok(Check::warn(what, format!("{holder} holds the lease and never renewed it"), advice));
    };
    let found = format!("{holder}, renewed {} ago", age(renewed, now));
    let lasts = i64::from(spec.lease_duration_seconds.unwrap_or(15));
    let late = now.as_second().saturating_sub(renewed.as_second()) > lasts;
    Ok(if late { Check::fail(what, format!("{found}, which is too long"), advice) } else { Check::ok(what, found) })
}

pub(super) async fn sources(connection: &Connection) -> Result<Vec<Check>, ClusterError> {
    let what = "sources";
    let sources = match connection.list::<GitSource>(&Scope::All).await {
        Ok(sources) => sources,
        // Told of the kinds already.
        Err(ClusterError::NotInstalled { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    if sources.is_empty() {
        return Ok(vec![Check::warn(what, "there are none", "apply a GitSource: docs/examples/gitsource.yaml is one")]);
    }
    let bad: Vec<Check> = sources
        .iter()
        .filter(|source| !matches!(standing(*source), State::Ready | State::Suspended))
        .map(|source| {
            let name = format!("{}/{}", source.namespace().unwrap_or_default(), source.name_any());
            let why = source.message().unwrap_or("nothing is known of it");
            let help = format!(
                "see `reeve events source {} -n {}`",
                source.name_any(),
                source.namespace().unwrap_or_default()
            );
            Check::warn(what, format!("{name} is {:?}: {why}", standing(source)), help)
        })
        .collect();
    Ok(if bad.is_empty() { vec![Check::ok(what, format!("all {} are well", sources.len()))] } else { bad })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_api_server_adds_does_not_count_and_what_is_missing_does() {
        let wanted = json!({ "a": [{ "b": 1 }] });
        assert!(includes(&json!({ "a": [{ "b": 1, "c": 2 }], "d": 3 }), &wanted));
        for other in [json!({ "a": [{ "b": 2 }] }), json!({ "a": [{ "b": 1 }, {}] }), json!({}), json!({ "a": [] })] {
            assert!(!includes(&other, &wanted), "{other}");
        }
    }
}
