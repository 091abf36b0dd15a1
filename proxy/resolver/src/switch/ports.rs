//! Ports of the data plane: one for each port of each captured Service, the same in every replica. Pure.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt;
use reeve_crds::scaling_rule::status::ResolverPort;

use super::objects;

/// Below the range from which the kernel takes ports of outgoing connections.
pub(super) const RANGE: RangeInclusive<i32> = 20000..=32767;

/// The ports of a rule: those that it has, and free ones for what is new. Nothing if there are none left.
pub(super) fn allocate(
    services: &[&Service],
    has: &[ResolverPort],
    taken: &BTreeSet<i32>,
) -> Option<Vec<ResolverPort>> {
    let mut taken = taken.clone();
    taken.extend(has.iter().map(|port| port.resolver_port));
    let mut ports = Vec::new();
    for service in services {
        for port in objects::ports(service) {
            let had = has.iter().find(|had| had.service == service.name_any() && had.port == port.port);
            let resolver_port = match had {
                Some(had) => had.resolver_port,
                None => RANGE.into_iter().find(|free| !taken.contains(free))?,
            };
            taken.insert(resolver_port);
            ports.push(ResolverPort {
                service: service.name_any(),
                port: port.port,
                name: port.name.clone(),
                app_protocol: port.app_protocol.clone(),
                resolver_port,
            });
        }
    }
    Some(ports)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_port_stays_and_a_new_one_is_free() {
        let service: Service = serde_json::from_value(json!({
            "metadata": { "name": "web" }, "spec": { "ports": [{ "port": 80 }, { "port": 81, "name": "more" }] },
        }))
        .unwrap();
        let has =
            ResolverPort { service: "web".into(), port: 81, name: None, app_protocol: None, resolver_port: 20001 };
        let ports = allocate(&[&service], &[has], &BTreeSet::from([20000])).unwrap();
        assert_eq!(ports.iter().map(|port| port.resolver_port).collect::<Vec<_>>(), [20002, 20001]);
        assert_eq!(ports[1].name.as_deref(), Some("more"));
        assert_eq!(allocate(&[&service], &[], &RANGE.collect()), None);
    }
}
