//! The routes of an Istio `VirtualService` that lead to a rule's Services, and whether they lead to the resolver. Pure.
//!
//! A captured route differs from what its owner wrote in nothing but the name of a host: the *door* of a Service stands
//! where the Service stood. So whoever changes the rest of it changes the rest of it, and what was there before is read
//! from what is there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::{CustomResource, ResourceExt};
use reeve_crds::scaling_rule::switch::{
    Destination, VirtualServiceSwitch, destinations, door, door_host, service_of_host,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::machine::Extent;
use super::objects;
use crate::protocol::is_raw;
use crate::report::RULE_LABEL;

mod mesh;

pub(super) use mesh::{PeerAuthentication, plain_refused_by};

/// Rules of routing. Fields are Istio's own.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, PartialEq, Serialize)]
#[kube(
    group = "networking.istio.io",
    version = "v1",
    kind = "VirtualService",
    plural = "virtualservices",
    namespaced,
    schema = "disabled",
    derive = "PartialEq"
)]
pub(super) struct VirtualServiceSpec {
    #[serde(flatten)]
    pub(super) fields: Map<String, Value>,
}

/// On a VirtualService, with the name of a rule behind it: since when that rule's routes lead to the resolver.
const CAPTURED_AT: &str = "captured.reeve.dev/";

/// The routes of one rule, as they are and as they should be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Routes<'a> {
    pub(super) switch: &'a VirtualServiceSwitch,
    pub(super) rule: &'a str,
    pub(super) namespace: &'a str,
    pub(super) services: &'a [Arc<Service>],
    /// If it is there.
    pub(super) object: Option<&'a VirtualService>,
}

/// A destination that is a Service of the rule, or its door.
struct Led<'a> {
    at: Destination<'a>,
    /// Its host as its owner wrote it.
    own_host: String,
    is_named: bool,
}

impl Led<'_> {
    fn is_captured(&self) -> bool {
        self.at.host != self.own_host
    }
}

impl<'a> Routes<'a> {
    fn http(&self) -> Option<&'a Value> {
        self.object.and_then(|object| object.spec.fields.get("http"))
    }

    fn destinations(&self) -> Vec<Led<'a>> {
        let led = |at: Destination<'a>| {
            let own_host = self.own_host(at.host)?;
            Some(Led { at, own_host, is_named: self.switch.leads(at.route) })
        };
        destinations(self.http()).into_iter().filter_map(led).collect()
    }

    /// The host of a Service of the rule, whether it or its door is named.
    fn own_host(&self, host: &str) -> Option<String> {
        let means = service_of_host(host, self.namespace)?;
        self.services.iter().map(|service| service.name_any()).find_map(|service| {
            let rest = host.strip_prefix(means).unwrap_or_default();
            (means == service || means == door(&service)).then(|| format!("{service}{rest}"))
        })
    }

    /// What of the rule cannot be had here, if anything.
    pub(super) fn unsupported(&self) -> Option<String> {
        let name = &self.switch.name;
        if self.object.is_none() {
            return (!self.switch.delegate).then(|| format!("there is no VirtualService {name}"));
        }
        let routes = self.http().and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let has =
            |wanted: &String| routes.iter().any(|route| route.get("name").and_then(Value::as_str) == Some(wanted));
        if let Some(route) = self.switch.routes.iter().find(|wanted| !has(wanted)) {
            return Some(format!("VirtualService {name} has no HTTP route {route}"));
        }
        let destinations = self.destinations();
        if let Some(one) = destinations.iter().find(|one| one.is_named && one.at.subset.is_some()) {
            let subset = one.at.subset.unwrap_or_default();
            return Some(format!(
                "route {} of VirtualService {name} leads to the subset {subset}: give those pods a Service of their own",
                called(one.at.route)
            ));
        }
        let leads = |service: &Arc<Service>| {
            let service = service.name_any();
            destinations
                .iter()
                .any(|one| one.is_named && service_of_host(&one.own_host, self.namespace) == Some(&service))
        };
        let lost = self.services.iter().find(|service| !leads(service))?;
        Some(format!("no route of VirtualService {name} that the rule names leads to Service {}", lost.name_any()))
    }

    /// A route that the rule does not name and that leads to a Service of it: nobody would answer there.
    pub(super) fn uncovered(&self) -> Option<String> {
        let destinations = self.destinations();
        let found = destinations.iter().find(|one| !one.is_named)?;
        Some(format!(
            "route {} of VirtualService {} leads to {} too and is not named in the rule: it does not sleep",
            called(found.at.route),
            self.switch.name,
            found.own_host,
        ))
    }

    /// How much of it leads to the resolver.
    pub(super) fn extent(&self) -> Extent {
        let destinations = self.destinations();
        let captured = destinations.iter().filter(|one| one.is_captured()).count();
        let wanted = destinations.iter().all(|one| one.is_captured() == one.is_named);
        match captured {
            0 => Extent::None,
            _ if wanted => Extent::All,
            _ => Extent::Some,
        }
    }

    pub(super) fn captured_at(&self) -> Option<Timestamp> {
        self.object?.annotations().get(&self.annotation())?.parse().ok()
    }

    fn annotation(&self) -> String {
        format!("{CAPTURED_AT}{}", self.rule)
    }

    /// Leads the named routes to the doors, and no others.
    pub(super) fn capture(&self, now: Timestamp) -> Option<Value> {
        let changes = self.changes(|one| if one.is_named { door_host(&one.own_host) } else { one.own_host.clone() });
        let second = Timestamp::from_second(now.as_second()).unwrap_or(now);
        self.patch(changes, Some(second))
    }

    /// Leads all of them back.
    pub(super) fn release(&self) -> Option<Value> {
        self.patch(self.changes(|one| one.own_host.clone()), None)
    }

    fn changes(&self, host: impl Fn(&Led<'_>) -> String) -> Vec<Value> {
        let destinations = self.destinations();
        let differing = destinations.iter().map(|one| (one, host(one))).filter(|(one, host)| one.at.host != host);
        let pointer = |one: &Led<'_>| format!("/{}", one.at.way_to_host().join("/"));
        differing.map(|(one, host)| json!({ "op": "replace", "path": pointer(one), "value": host })).collect()
    }

    /// A JSON patch that is refused if the object is not what was read.
    fn patch(&self, mut changes: Vec<Value>, captured: Option<Timestamp>) -> Option<Value> {
        let object = self.object.filter(|_| !changes.is_empty())?;
        let pointer = format!("/metadata/annotations/{}", self.annotation().replace('~', "~0").replace('/', "~1"));
        match captured {
            Some(time) => {
                if object.metadata.annotations.is_none() {
                    changes.push(json!({ "op": "add", "path": "/metadata/annotations", "value": {} }));
                }
                changes.push(json!({ "op": "add", "path": pointer, "value": time.to_string() }));
            }
            None if object.annotations().contains_key(&self.annotation()) => {
                changes.push(json!({ "op": "remove", "path": pointer }));
            }
            None => {}
        }
        let read = json!({ "op": "test", "path": "/metadata/resourceVersion", "value": object.resource_version() });
        changes.insert(0, read);
        Some(Value::Array(changes))
    }

    /// The VirtualService of a delegate that is not there yet; nothing if it is none or cannot be made.
    pub(super) fn delegate(&self) -> Option<VirtualService> {
        let [service] = self.services else { return None };
        if !self.switch.delegate || self.object.is_some() {
            return None;
        }
        let mut destination = json!({ "host": service.name_any() });
        if let [port] = *web_ports(service) {
            destination["port"] = json!({ "number": port });
        }
        let route = json!({ "name": "reeve", "route": [{ "destination": destination }] });
        let fields = Map::from_iter([("http".to_owned(), json!([route]))]);
        let mut made = VirtualService::new(&self.switch.name, VirtualServiceSpec { fields });
        made.labels_mut().insert(RULE_LABEL.to_owned(), self.rule.to_owned());
        Some(made)
    }

    /// Why a delegate cannot be made, if so.
    pub(super) fn no_delegate(&self) -> Option<String> {
        let [service] = self.services else { return None };
        let ports = web_ports(service);
        (self.switch.delegate && self.object.is_none() && ports.len() != 1).then(|| {
            let (count, service) = (ports.len(), service.name_any());
            format!(
                "Service {service} has {count} ports for HTTP: write the VirtualService {} yourself",
                self.switch.name
            )
        })
    }
}

fn called(route: &str) -> &str {
    if route.is_empty() { "without a name" } else { route }
}

/// Ports that may speak HTTP.
fn web_ports(service: &Service) -> Vec<i32> {
    let ports = objects::ports(service).into_iter();
    ports.filter(|port| !port.app_protocol.as_deref().is_some_and(is_raw)).map(|port| port.port).collect()
}

/// How long after a change of its routes a rule trusts them.
pub(super) fn settle(switch: &VirtualServiceSwitch) -> Duration {
    switch.settle.into()
}

/// The Service that stands for another in captured routes: it has no selector, and our slices for endpoints.
pub(super) fn door_of(service: &Service, rule: &str, owner: &OwnerReference) -> Service {
    let port = |port: &&ServicePort| ServicePort { node_port: None, target_port: None, ..(*port).clone() };
    let ports = objects::ports(service);
    Service {
        metadata: ObjectMeta {
            name: Some(door(&service.name_any())),
            namespace: service.namespace(),
            labels: Some([(RULE_LABEL.to_owned(), rule.to_owned())].into()),
            owner_references: Some(vec![owner.clone()]),
            ..ObjectMeta::default()
        },
        spec: Some(ServiceSpec {
            ports: Some(ports.iter().map(port).collect()),
            ip_families: service.spec.as_ref().and_then(|spec| spec.ip_families.clone()),
            ip_family_policy: service.spec.as_ref().and_then(|spec| spec.ip_family_policy.clone()),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

/// Whether a door has the ports that it should.
pub(super) fn is_door(found: &Service, wanted: &Service) -> bool {
    let ports = |service: &Service| -> BTreeSet<(i32, Option<String>, Option<String>)> {
        let ports = objects::ports(service).into_iter();
        ports.map(|port| (port.port, port.name.clone(), port.app_protocol.clone())).collect()
    };
    ports(found) == ports(wanted) && wanted.labels().iter().all(|(key, value)| found.labels().get(key) == Some(value))
}

#[cfg(test)]
mod tests;
