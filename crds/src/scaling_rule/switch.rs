//! By what traffic is led to the resolver, where it is not by the Services' endpoints: the routes of an Istio
//! `VirtualService`. Owns what stands in such a route for a Service that is captured, for all parts of Reeve that write it.

use std::hash::{DefaultHasher, Hash, Hasher};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::duration::{self, Duration};
use crate::schema::{LABEL, OBJECT_NAME, immutable, rule};

/// Longest name of a Service.
const SERVICE_NAME: usize = 63;
/// What the name of a door ends with.
const DOOR: &str = "-reeve-door";

/// By what traffic is led to the resolver.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Switch {
    /// Routes of Istio, which lead to the resolver or to the Services. The Services themselves stay as they are, and what
    /// reaches them by another way finds nobody while the target sleeps.
    pub virtual_service: VirtualServiceSwitch,
}

/// Routes of a VirtualService.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [rule(
    "!has(self.delegate) || !self.delegate || !has(self.routes) || self.routes.size() == 0",
    "leave routes out: a VirtualService that is made as a delegate has one route",
)]))]
pub struct VirtualServiceSwitch {
    /// Name of the VirtualService, in the namespace of this object.
    #[schemars(
        length(min = 1, max = OBJECT_NAME),
        extend("x-kubernetes-validations" = [immutable(
            "leave spec.switch.virtualService.name as it was: for another one create another ScalingRule and delete this one",
        )])
    )]
    pub name: String,
    /// Names of the HTTP routes in it that are led to the resolver. Empty means every one that leads to a Service of this
    /// rule. One that leads there and is not named keeps the target awake.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(min = 1, max = LABEL)), extend("x-kubernetes-list-type" = "set"))]
    pub routes: Vec<String>,
    /// Make the VirtualService if there is none, with one route that leads to the Service: for a route of another one that
    /// says delegate. It stays when this object goes, since that route leads to it.
    #[serde(default)]
    pub delegate: bool,
    /// How long Istio's proxies may take to follow a change of a route. So long after the change the target does not sleep.
    #[serde(default = "default_settle")]
    #[schemars(extend("x-kubernetes-validations" = duration::between("1s", "10m")))]
    pub settle: Duration,
}

fn default_settle() -> Duration {
    Duration::from_secs(10)
}

/// The Service that leads to the resolver on behalf of another: what a route names while it is captured.
pub fn door(service: &str) -> String {
    let whole = format!("{service}{DOOR}");
    if whole.len() <= SERVICE_NAME {
        return whole;
    }
    // Cut, and then told from others by a hash.
    let mut hasher = DefaultHasher::new();
    service.hash(&mut hasher);
    let hash = format!("{:08x}", hasher.finish() & 0xffff_ffff);
    let room = SERVICE_NAME - DOOR.len() - hash.len() - 1;
    let name = service.get(..room.min(service.len())).unwrap_or_default().trim_end_matches('-');
    format!("{name}-{hash}{DOOR}")
}

/// What a route names instead of this host: the door of its Service, in the same namespace and domain.
pub fn door_host(host: &str) -> String {
    match host.split_once('.') {
        Some((service, rest)) => format!("{}.{rest}", door(service)),
        None => door(host),
    }
}

/// Whether a host is the door of some Service.
pub fn is_door_host(host: &str) -> bool {
    host.split('.').next().is_some_and(|service| service.ends_with(DOOR))
}

/// The Service of the namespace that a host of a route means; nothing if it is none of that namespace.
pub fn service_of_host<'a>(host: &'a str, namespace: &str) -> Option<&'a str> {
    let mut labels = host.split('.');
    let service = labels.next().filter(|service| !service.is_empty())?;
    match (labels.next(), labels.next()) {
        // Istio reads a name without dots in the namespace of the VirtualService.
        (None, _) => Some(service),
        (Some(within), None | Some("svc")) if within == namespace => Some(service),
        _ => None,
    }
}

/// A destination of an HTTP route.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Destination<'a> {
    /// Place of its route among the routes.
    pub place: usize,
    /// Its own place in the route.
    pub number: usize,
    /// Name of the route; empty if it has none.
    pub route: &'a str,
    /// Where it leads.
    pub host: &'a str,
    /// Which part of that.
    pub subset: Option<&'a str>,
}

impl Destination<'_> {
    /// Names of the fields that lead to its host in a VirtualService.
    pub fn way_to_host(&self) -> [String; 7] {
        let (place, number) = (self.place.to_string(), self.number.to_string());
        let names = ["spec", "http", &place, "route", &number, "destination", "host"];
        names.map(str::to_owned)
    }
}

/// All destinations in `spec.http` of a VirtualService.
pub fn destinations(http: Option<&Value>) -> Vec<Destination<'_>> {
    let mut found = Vec::new();
    for (place, route) in http.and_then(Value::as_array).into_iter().flatten().enumerate() {
        let name = route.get("name").and_then(Value::as_str).unwrap_or_default();
        let weighted = route.get("route").and_then(Value::as_array).into_iter().flatten();
        for (number, destination) in weighted.map(|one| one.get("destination")).enumerate() {
            let text = |field: &str| destination.and_then(|one| one.get(field)).and_then(Value::as_str);
            if let Some(host) = text("host") {
                found.push(Destination { place, number, route: name, host, subset: text("subset") });
            }
        }
    }
    found
}

impl VirtualServiceSwitch {
    /// Whether a route of this name is led to the resolver.
    pub fn leads(&self, route: &str) -> bool {
        self.routes.is_empty() || self.routes.iter().any(|named| named == route)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_door_is_named_after_its_service_fits_and_keeps_the_domain() {
        assert_eq!(door("web"), "web-reeve-door");
        assert_eq!(door_host("web"), "web-reeve-door");
        assert_eq!(door_host("web.shop.svc.cluster.local"), "web-reeve-door.shop.svc.cluster.local");
        let (long, longer) = ("a".repeat(63), format!("{}b", "a".repeat(62)));
        assert!(door(&long).len() <= SERVICE_NAME && door(&long) != door(&longer));
        assert!(
            is_door_host(&door_host(&long)) && is_door_host("web-reeve-door.shop") && !is_door_host("web.reeve-door")
        );
    }

    #[test]
    fn a_host_means_a_service_of_this_namespace_or_none() {
        for (host, wanted) in [
            ("web", Some("web")),
            ("web.shop", Some("web")),
            ("web.shop.svc.cluster.local", Some("web")),
            ("web.other.svc.cluster.local", None),
            ("shop.example.com", None),
            ("", None),
        ] {
            assert_eq!(service_of_host(host, "shop"), wanted, "{host}");
        }
    }
}
