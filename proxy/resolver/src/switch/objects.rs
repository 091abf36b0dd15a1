//! The objects that the switch writes, and what it reads in those of others. Pure.

use std::collections::BTreeMap;
use std::net::IpAddr;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::ResourceExt;
use reeve_crds::scaling_rule::status::ResolverPort;
use serde_json::{Value, json};

use super::names;
use crate::report::{RULE_LABEL, SERVICE_LABEL};

/// A replica of the data plane whose address may stand in a slice.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Resolver {
    pub name: String,
    pub addresses: Vec<IpAddr>,
    pub node: Option<String>,
}

/// The selector as its owner wrote it: without our key.
pub(super) fn selector(service: &Service) -> BTreeMap<String, String> {
    let mut selector = service.spec.as_ref().and_then(|spec| spec.selector.clone()).unwrap_or_default();
    selector.remove(names::CAPTURE_KEY);
    selector
}

/// The rule that has captured a Service.
pub(super) fn captured_by(service: &Service) -> Option<&str> {
    service.spec.as_ref()?.selector.as_ref()?.get(names::CAPTURE_KEY).map(String::as_str)
}

pub(super) fn captured_at(service: &Service) -> Option<Timestamp> {
    service.annotations().get(names::CAPTURED_AT)?.parse().ok()
}

/// JSON pointer syntax for a key of a map.
fn token(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Adds our key, and nothing if the Service changed since it was read.
pub(super) fn capture(service: &Service, rule: &str, now: Timestamp) -> Value {
    let mut patch = vec![json!({
        "op": "test", "path": "/metadata/resourceVersion", "value": service.resource_version(),
    })];
    if service.metadata.annotations.is_none() {
        patch.push(json!({ "op": "add", "path": "/metadata/annotations", "value": {} }));
    }
    let annotation = format!("/metadata/annotations/{}", token(names::CAPTURED_AT));
    let second = Timestamp::from_second(now.as_second()).unwrap_or(now);
    patch.push(json!({ "op": "add", "path": annotation, "value": second.to_string() }));
    let key = format!("/spec/selector/{}", token(names::CAPTURE_KEY));
    patch.push(json!({ "op": "add", "path": key, "value": rule }));
    Value::Array(patch)
}

/// Takes our key out again; a selector is never emptied, since ours was not its only key.
pub(super) fn release(service: &Service) -> Value {
    let mut patch = vec![json!({
        "op": "test", "path": "/metadata/resourceVersion", "value": service.resource_version(),
    })];
    if service.annotations().contains_key(names::CAPTURED_AT) {
        patch.push(json!({ "op": "remove", "path": format!("/metadata/annotations/{}", token(names::CAPTURED_AT)) }));
    }
    patch.push(json!({ "op": "remove", "path": format!("/spec/selector/{}", token(names::CAPTURE_KEY)) }));
    Value::Array(patch)
}

/// TCP ports of a Service; nothing else is taken.
pub(super) fn ports(service: &Service) -> Vec<&ServicePort> {
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_ref());
    ports.into_iter().flatten().filter(|port| port.protocol.as_deref().unwrap_or("TCP") == "TCP").collect()
}

/// The headless Service with the original selector: its slices show the pods while the Service's own are empty.
pub(super) fn shadow(service: &Service, rule: &str, owner: &OwnerReference) -> Service {
    let labels =
        BTreeMap::from([(RULE_LABEL.to_owned(), rule.to_owned()), (SERVICE_LABEL.to_owned(), service.name_any())]);
    let ports = ports(service).into_iter().map(|port| ServicePort { node_port: None, ..port.clone() }).collect();
    Service {
        metadata: ObjectMeta {
            name: Some(names::shadow(&service.name_any())),
            namespace: service.namespace(),
            labels: Some(labels),
            owner_references: Some(vec![owner.clone()]),
            ..ObjectMeta::default()
        },
        spec: Some(ServiceSpec {
            cluster_ip: Some("None".to_owned()),
            selector: Some(selector(service)),
            ports: Some(ports),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

/// Whether a shadow Service says what it should.
pub(super) fn is_shadow(found: &Service, wanted: &Service) -> bool {
    let ports = |service: &Service| -> Vec<(i32, Option<String>)> {
        ports(service).iter().map(|port| (port.port, port.name.clone())).collect()
    };
    let labelled = wanted.labels().iter().all(|(key, value)| found.labels().get(key) == Some(value));
    labelled && selector(found) == selector(wanted) && ports(found) == ports(wanted)
}

/// Our slice of a Service for one family of addresses: every resolver that may take its traffic. It belongs to `front`: the
/// Service, or its door.
pub(super) fn slice(
    service: &Service,
    front: &str,
    family: &str,
    rule: &str,
    owner: &OwnerReference,
    resolvers: &[Resolver],
    taken: &[ResolverPort],
) -> EndpointSlice {
    let name = service.name_any();
    let port_of = |port: &ServicePort| {
        taken.iter().find(|taken| taken.service == name && taken.port == port.port).map(|taken| EndpointPort {
            name: Some(port.name.clone().unwrap_or_default()),
            port: Some(taken.resolver_port),
            protocol: Some("TCP".to_owned()),
            app_protocol: port.app_protocol.clone(),
        })
    };
    let labels = [(names::SERVICE_NAME, front), (names::MANAGED_BY, names::SLICE_MANAGER), (names::SLICE_LABEL, rule)];
    EndpointSlice {
        metadata: ObjectMeta {
            name: Some(names::slice(front, family)),
            namespace: service.namespace(),
            labels: Some(labels.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()),
            owner_references: Some(vec![owner.clone()]),
            ..ObjectMeta::default()
        },
        address_type: family.to_owned(),
        endpoints: resolvers.iter().filter_map(|resolver| endpoint(resolver, family)).collect(),
        ports: Some(ports(service).into_iter().filter_map(port_of).collect()),
    }
}

/// All conditions are set: some readers take an absent one for false.
fn endpoint(resolver: &Resolver, family: &str) -> Option<Endpoint> {
    let of_family = |address: &&IpAddr| if family == "IPv6" { address.is_ipv6() } else { address.is_ipv4() };
    let address = resolver.addresses.iter().find(of_family)?;
    Some(Endpoint {
        addresses: vec![address.to_string()],
        conditions: Some(EndpointConditions { ready: Some(true), serving: Some(true), terminating: Some(false) }),
        node_name: resolver.node.clone(),
        ..Endpoint::default()
    })
}

/// Families of a Service: one slice each.
pub(super) fn families(service: &Service) -> Vec<String> {
    let families = service.spec.as_ref().and_then(|spec| spec.ip_families.clone()).unwrap_or_default();
    if families.is_empty() { vec!["IPv4".to_owned()] } else { families }
}

/// Whether a slice has the endpoints and ports that it should.
pub(super) fn is_slice(found: &EndpointSlice, wanted: &EndpointSlice) -> bool {
    found.address_type == wanted.address_type
        && found.endpoints == wanted.endpoints
        && found.ports == wanted.ports
        && found.labels() == wanted.labels()
}

/// Why no pods of a Service can be found, if so.
pub(super) fn without_pods(service: &Service) -> Option<String> {
    let name = service.name_any();
    if service.spec.as_ref()?.type_.as_deref() == Some("ExternalName") {
        return Some(format!("Service {name} is an ExternalName"));
    }
    selector(service).is_empty().then(|| format!("Service {name} has no selector"))
}

/// Why a Service cannot be captured, if so.
pub(super) fn unsupported(service: &Service) -> Option<String> {
    let name = service.name_any();
    let spec = service.spec.as_ref()?;
    if spec.cluster_ip.as_deref() == Some("None") {
        return Some(format!("Service {name} is headless: its clients connect to pods by themselves"));
    }
    if let Some(problem) = without_pods(service) {
        return Some(problem);
    }
    if spec.session_affinity.as_deref() == Some("ClientIP") {
        return Some(format!(
            "Service {name} has sessionAffinity ClientIP: clients would stay with pods that are gone"
        ));
    }
    let local = |policy: &Option<String>| policy.as_deref() == Some("Local");
    if local(&spec.external_traffic_policy) || local(&spec.internal_traffic_policy) {
        return Some(format!("Service {name} has a traffic policy Local: a resolver is not on every node"));
    }
    let others = spec.ports.iter().flatten().filter(|port| port.protocol.as_deref().unwrap_or("TCP") != "TCP");
    if let Some(port) = others.into_iter().next() {
        return Some(format!("port {} of Service {name} is not TCP", port.port));
    }
    None
}

#[cfg(test)]
mod tests;
