//! A rule and the slices of its shadow Services, compiled into what a replica acts by. Pure.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use reeve_crds::ScalingRule;
use reeve_crds::scaling_rule::status::ResolverPort;

use super::port::PortSettings;
use super::settings::Settings;
use crate::protocol::is_raw;
use crate::report::SERVICE_LABEL;

/// What a replica does for one rule.
#[derive(Clone, Debug)]
pub(crate) struct RuleTable {
    pub(crate) settings: Settings,
    /// By port of the resolver.
    pub(crate) lanes: BTreeMap<u16, LaneTable>,
}

/// What stands behind one port of the resolver.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct LaneTable {
    pub(crate) service: String,
    pub(crate) port: u16,
    /// Bytes are passed on as they are.
    pub(crate) raw: bool,
    pub(crate) speaks: PortSettings,
    pub(crate) pods: BTreeMap<SocketAddr, PodState>,
}

/// What the slices say of a pod.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum PodState {
    /// It stops; what it has it may finish.
    Terminating,
    /// It runs, and is not ready as kubelet sees it.
    NotReady,
    Ready,
}

pub(crate) fn compile(rule: &ScalingRule, slices: &[&EndpointSlice]) -> RuleTable {
    let ports = rule.status.iter().flat_map(|status| &status.ports);
    let lanes = ports.filter_map(|port| {
        let number = u16::try_from(port.resolver_port).ok()?;
        Some((number, compile_lane(rule, port, slices)?))
    });
    RuleTable { settings: Settings::of(rule), lanes: lanes.collect() }
}

fn compile_lane(rule: &ScalingRule, port: &ResolverPort, slices: &[&EndpointSlice]) -> Option<LaneTable> {
    let mut pods = BTreeMap::new();
    for slice in slices.iter().filter(|slice| service_of(slice) == Some(port.service.as_str())) {
        let Some(target) = target_port(slice, port) else { continue };
        for endpoint in &slice.endpoints {
            let state = state_of(endpoint);
            for address in endpoint.addresses.iter().filter_map(|text| text.parse::<IpAddr>().ok()) {
                // A pod that moves between slices stands in both for a moment: the better word counts.
                let known = pods.entry(SocketAddr::new(address, target)).or_insert(state);
                *known = state.max(*known);
            }
        }
    }
    let raw = port.app_protocol.as_deref().is_some_and(is_raw);
    let speaks = PortSettings::of(rule, port);
    Some(LaneTable { service: port.service.clone(), port: u16::try_from(port.port).ok()?, raw, speaks, pods })
}

fn service_of(slice: &EndpointSlice) -> Option<&str> {
    slice.metadata.labels.as_ref()?.get(SERVICE_LABEL).map(String::as_str)
}

/// The port of the pods in this slice, which has the name of the Service's port.
fn target_port(slice: &EndpointSlice, wanted: &ResolverPort) -> Option<u16> {
    let name = wanted.name.as_deref().unwrap_or_default();
    let ports = slice.ports.as_deref().unwrap_or_default();
    let found = ports.iter().find(|port| port.name.as_deref().unwrap_or_default() == name)?;
    u16::try_from(found.port?).ok()
}

/// A condition that is not set counts as the API defines it: ready and serving are true, terminating is false.
fn state_of(endpoint: &Endpoint) -> PodState {
    let conditions = endpoint.conditions.as_ref();
    let terminating = conditions.and_then(|conditions| conditions.terminating).unwrap_or(false);
    let ready = conditions.and_then(|conditions| conditions.ready).unwrap_or(true);
    match (terminating, ready) {
        (true, _) => PodState::Terminating,
        (false, true) => PodState::Ready,
        (false, false) => PodState::NotReady,
    }
}

#[cfg(test)]
mod tests;
