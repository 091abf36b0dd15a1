use serde_json::{Value, json};

use super::*;
use crate::data_plane::settings::PathMode;

fn rule(status: &Value) -> ScalingRule {
    let rule = json!({
        "apiVersion": "reeve.dev/v1alpha1",
        "kind": "ScalingRule",
        "metadata": { "name": "shop", "namespace": "web" },
        "spec": { "services": [{ "name": "shop" }] },
        "status": status,
    });
    serde_json::from_value(rule).expect("a rule")
}

fn slice(service: &str, ports: &Value, endpoints: &Value) -> EndpointSlice {
    let slice = json!({
        "metadata": { "name": "s", "labels": { SERVICE_LABEL: service } },
        "addressType": "IPv4",
        "ports": ports,
        "endpoints": endpoints,
    });
    serde_json::from_value(slice).expect("a slice")
}

#[test]
fn each_port_leads_to_the_pods_of_its_own_service_by_its_name() {
    let rule = rule(&json!({
        "mode": "Proxied",
        "ports": [
            { "service": "shop", "name": "http", "port": 80, "resolverPort": 20001 },
            { "service": "shop", "name": "admin", "port": 81, "resolverPort": 20002 },
            { "service": "other", "name": "http", "port": 80, "resolverPort": 20003 },
        ],
    }));
    let shop = slice(
        "shop",
        &json!([{ "name": "http", "port": 8080 }, { "name": "admin", "port": 9000 }]),
        &json!([{ "addresses": ["10.0.0.1"], "conditions": {} }]),
    );
    let table = compile(&rule, &[&shop]);
    let pods = |port: u16| table.lanes[&port].pods.keys().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(pods(20001), ["10.0.0.1:8080"]);
    assert_eq!(pods(20002), ["10.0.0.1:9000"]);
    assert!(pods(20003).is_empty());
    assert_eq!(table.settings.path, PathMode::Forward);
}

#[test]
fn a_port_without_a_name_is_found_too() {
    let rule = rule(&json!({ "ports": [{ "service": "shop", "port": 80, "resolverPort": 20001 }] }));
    let shop = slice("shop", &json!([{ "port": 8080 }]), &json!([{ "addresses": ["fd00::1"] }]));
    let table = compile(&rule, &[&shop]);
    assert_eq!(table.lanes[&20001].pods.keys().next().map(ToString::to_string).as_deref(), Some("[fd00::1]:8080"));
    assert_eq!(table.settings.path, PathMode::Leave, "before the switch has said anything");
}

#[test]
fn conditions_count_as_the_api_defines_them() {
    let rule = rule(&json!({ "ports": [{ "service": "shop", "port": 80, "resolverPort": 20001 }] }));
    let shop = slice(
        "shop",
        &json!([{ "port": 80 }]),
        &json!([
            { "addresses": ["10.0.0.1"] },
            { "addresses": ["10.0.0.2"], "conditions": { "ready": false } },
            { "addresses": ["10.0.0.3"], "conditions": { "ready": false, "serving": true, "terminating": true } },
        ]),
    );
    let moved = slice(
        "shop",
        &json!([{ "port": 80 }]),
        &json!([{ "addresses": ["10.0.0.2"], "conditions": { "ready": true } }]),
    );
    let table = compile(&rule, &[&shop, &moved]);
    let states: Vec<PodState> = table.lanes[&20001].pods.values().copied().collect();
    assert_eq!(states, [PodState::Ready, PodState::Ready, PodState::Terminating]);
}
