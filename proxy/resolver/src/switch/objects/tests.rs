use super::*;

fn service(spec: &Value) -> Service {
    serde_json::from_value(json!({
        "metadata": { "name": "web", "namespace": "shop", "resourceVersion": "7" }, "spec": spec,
    }))
    .unwrap()
}

fn plain() -> Service {
    service(
        &json!({ "clusterIP": "10.0.0.1", "selector": { "app": "web" }, "ports": [{ "port": 80, "name": "http" }] }),
    )
}

fn owner() -> OwnerReference {
    OwnerReference { name: "rule".to_owned(), ..OwnerReference::default() }
}

#[test]
fn a_capture_adds_one_key_and_is_taken_back_whole() {
    let mut captured = plain();
    let patch: Vec<Value> = serde_json::from_value(capture(&captured, "rule", Timestamp::UNIX_EPOCH)).unwrap();
    assert_eq!(patch[0], json!({ "op": "test", "path": "/metadata/resourceVersion", "value": "7" }));
    let added = json!({ "op": "add", "path": "/spec/selector/reeve.dev~1captured", "value": "rule" });
    assert_eq!(patch.last(), Some(&added));
    captured.spec.as_mut().unwrap().selector.as_mut().unwrap().insert(names::CAPTURE_KEY.into(), "rule".into());
    assert_eq!(captured_by(&captured), Some("rule"));
    assert_eq!(selector(&captured), selector(&plain()));
    let patch: Vec<Value> = serde_json::from_value(release(&captured)).unwrap();
    assert_eq!(patch.last(), Some(&json!({ "op": "remove", "path": "/spec/selector/reeve.dev~1captured" })));
}

#[test]
fn a_shadow_has_the_original_selector_although_the_service_is_captured() {
    let mut captured = plain();
    captured.spec.as_mut().unwrap().selector.as_mut().unwrap().insert(names::CAPTURE_KEY.into(), "rule".into());
    let wanted = shadow(&captured, "rule", &owner());
    assert_eq!(wanted.spec.as_ref().unwrap().selector, Some(BTreeMap::from([("app".to_owned(), "web".to_owned())])));
    assert_eq!(wanted.spec.as_ref().unwrap().cluster_ip.as_deref(), Some("None"));
    assert!(is_shadow(&wanted, &shadow(&plain(), "rule", &owner())));
}

#[test]
fn a_slice_has_the_resolvers_of_its_family_with_every_condition() {
    let resolvers = [Resolver {
        name: "a".to_owned(),
        addresses: vec!["10.1.0.1".parse().unwrap(), "fd00::1".parse().unwrap()],
        node: Some("n".to_owned()),
    }];
    let taken = [ResolverPort {
        service: "web".into(),
        port: 80,
        name: Some("http".into()),
        app_protocol: None,
        resolver_port: 20001,
    }];
    let made = slice(&plain(), "web", "IPv6", "rule", &owner(), &resolvers, &taken);
    assert_eq!(made.endpoints[0].addresses, ["fd00::1"]);
    let conditions = made.endpoints[0].conditions.clone().unwrap();
    assert_eq!((conditions.ready, conditions.serving, conditions.terminating), (Some(true), Some(true), Some(false)));
    let port = &made.ports.as_ref().unwrap()[0];
    assert_eq!((port.name.as_deref(), port.port), (Some("http"), Some(20001)));
    assert_eq!(made.labels().get(RULE_LABEL), None, "a resolver must not take itself for a pod");
}

#[test]
fn what_cannot_be_captured_is_named() {
    let told = |spec: Value| unsupported(&service(&spec)).unwrap_or_default();
    assert_eq!(unsupported(&plain()), None);
    assert!(told(json!({ "clusterIP": "None", "selector": { "a": "b" } })).contains("headless"));
    assert!(told(json!({ "clusterIP": "1.2.3.4" })).contains("no selector"));
    assert!(told(json!({ "selector": { "a": "b" }, "sessionAffinity": "ClientIP" })).contains("sessionAffinity"));
    assert!(told(json!({ "selector": { "a": "b" }, "internalTrafficPolicy": "Local" })).contains("Local"));
    assert!(
        told(json!({ "selector": { "a": "b" }, "ports": [{ "port": 53, "protocol": "UDP" }] })).contains("not TCP")
    );
}
