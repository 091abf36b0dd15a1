//! Where KEDA finds the scaler of the leader: at its own address, or by a Service whose one endpoint is the leader.

use std::future;
use std::net::SocketAddr;
use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::{Api, Client, ResourceExt};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::execute::{SwitchError, failed, params};
use super::names;
use crate::scaler::{Offers, Scaler};

/// The switch that led before may have the port for a moment.
const BIND_AGAIN: Duration = Duration::from_millis(500);
const ANNOUNCE_AGAIN: Duration = Duration::from_secs(5);

/// Answers KEDA until `ends`. All else of a term goes on meanwhile, also if the address cannot be had.
pub(super) async fn answer(address: SocketAddr, offers: Offers, ends: CancellationToken) {
    let scaler = tokio::select! {
        () = ends.cancelled() => return,
        scaler = bind(address, offers) => scaler,
    };
    scaler.serve(ends).await;
}

async fn bind(address: SocketAddr, offers: Offers) -> Scaler {
    loop {
        match Scaler::bind(address, offers.clone()).await {
            Ok(scaler) => return scaler,
            Err(error) => warn!(error = %reeve_process::error_chain(&error), "cannot listen for KEDA"),
        }
        sleep(BIND_AGAIN).await;
    }
}

/// What stands in the triggers of `ScaledObject`s.
pub(super) fn name(service: Option<&str>, namespace: &str, bound: SocketAddr) -> String {
    match service {
        Some(service) => format!("{service}.{namespace}.svc:{}", bound.port()),
        None => bound.to_string(),
    }
}

/// Leads the Service to this process, then waits for ever.
pub(super) async fn announce(client: Client, namespace: &str, service: Option<&str>, bound: SocketAddr) {
    let Some(service) = service else { return future::pending().await };
    loop {
        match write_slice(&client, namespace, service, bound).await {
            Ok(true) => break,
            Ok(false) => warn!(namespace, service, "there is no such Service: KEDA does not find the scaler"),
            Err(error) => warn!(error = %reeve_process::error_chain(&error), "cannot lead KEDA to this process"),
        }
        sleep(ANNOUNCE_AGAIN).await;
    }
    info!(namespace, service, address = %bound, "KEDA is led to this process");
    future::pending::<()>().await;
}

/// False if there is no such Service.
async fn write_slice(client: &Client, namespace: &str, service: &str, bound: SocketAddr) -> Result<bool, SwitchError> {
    let services: Api<Service> = Api::namespaced(client.clone(), namespace);
    let found = services.get_opt(service).await.map_err(failed("read the Service", service))?;
    let Some(found) = found else { return Ok(false) };
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), namespace);
    let mut slice = slice(&found, bound);
    let name = slice.name_any();
    let written = match slices.get_opt(&name).await.map_err(failed("read the slice", &name))? {
        // The family of addresses cannot be changed.
        Some(live) if live.address_type != slice.address_type => {
            slices
                .delete(&name, &kube::api::DeleteParams::default())
                .await
                .map_err(failed("delete the slice", &name))?;
            slices.create(&params(), &slice).await
        }
        Some(live) => {
            slice.metadata.resource_version = live.resource_version();
            slices.replace(&name, &params(), &slice).await
        }
        None => slices.create(&params(), &slice).await,
    };
    written.map_err(failed("write the slice", &name))?;
    Ok(true)
}

/// The Service's one slice. It goes with the Service.
fn slice(service: &Service, bound: SocketAddr) -> EndpointSlice {
    let name = service.name_any();
    let labels = [(names::SERVICE_NAME, name.as_str()), (names::MANAGED_BY, names::SLICE_MANAGER)];
    let owner = OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Service".to_owned(),
        name: name.clone(),
        uid: service.uid().unwrap_or_default(),
        ..OwnerReference::default()
    };
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_ref()).into_iter().flatten();
    let port = |port: &k8s_openapi::api::core::v1::ServicePort| EndpointPort {
        name: Some(port.name.clone().unwrap_or_default()),
        port: Some(bound.port().into()),
        protocol: Some("TCP".to_owned()),
        app_protocol: port.app_protocol.clone(),
    };
    EndpointSlice {
        metadata: ObjectMeta {
            name: Some(format!("{name}-leader")),
            namespace: service.namespace(),
            labels: Some(labels.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        address_type: if bound.is_ipv4() { "IPv4" } else { "IPv6" }.to_owned(),
        endpoints: vec![Endpoint {
            addresses: vec![bound.ip().to_string()],
            conditions: Some(EndpointConditions { ready: Some(true), serving: Some(true), terminating: Some(false) }),
            ..Endpoint::default()
        }],
        ports: Some(ports.map(port).collect()),
    }
}
