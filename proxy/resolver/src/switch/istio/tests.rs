use super::*;

fn service(name: &str, ports: &Value) -> Arc<Service> {
    let spec = json!({ "selector": { "app": name }, "ports": ports });
    Arc::new(
        serde_json::from_value(json!({ "metadata": { "name": name, "namespace": "shop" }, "spec": spec })).unwrap(),
    )
}

fn web() -> Arc<Service> {
    service("web", &json!([{ "port": 80 }]))
}

fn switch(spec: &Value) -> VirtualServiceSwitch {
    let mut switch = json!({ "name": "site" });
    for (key, value) in spec.as_object().unwrap() {
        switch[key] = value.clone();
    }
    serde_json::from_value(switch).unwrap()
}

fn to(host: &str) -> Value {
    json!([{ "destination": { "host": host, "port": { "number": 80 } }, "weight": 100 }])
}

fn site(routes: &Value) -> VirtualService {
    let object = json!({
        "apiVersion": "networking.istio.io/v1",
        "kind": "VirtualService",
        "metadata": { "name": "site", "namespace": "shop", "resourceVersion": "7" },
        "spec": { "hosts": ["shop.example.com"], "http": routes },
    });
    serde_json::from_value(object).unwrap()
}

fn routes<'a>(
    switch: &'a VirtualServiceSwitch,
    services: &'a [Arc<Service>],
    object: Option<&'a VirtualService>,
) -> Routes<'a> {
    Routes { switch, rule: "web", namespace: "shop", services, object }
}

/// What the API server makes of a patch.
fn patched(object: &VirtualService, patch: &Value) -> VirtualService {
    let mut value = serde_json::to_value(object).unwrap();
    for change in patch.as_array().unwrap() {
        let place = change["path"].as_str().unwrap();
        match change["op"].as_str().unwrap() {
            "test" => assert_eq!(value.pointer(place), Some(&change["value"])),
            "replace" => *value.pointer_mut(place).unwrap() = change["value"].clone(),
            "add" | "remove" => {
                let (parent, name) = place.rsplit_once('/').unwrap();
                let name = name.replace("~1", "/").replace("~0", "~");
                let parent = value.pointer_mut(parent).unwrap().as_object_mut().unwrap();
                if change["op"] == "add" {
                    parent.insert(name, change["value"].clone());
                } else {
                    parent.remove(&name).unwrap();
                }
            }
            other => panic!("{other}"),
        }
    }
    serde_json::from_value(value).unwrap()
}

fn now() -> Timestamp {
    "2026-01-02T03:04:05.678Z".parse().unwrap()
}

#[test]
fn named_routes_lead_to_the_door_and_back_and_others_are_not_touched() {
    let services = [web()];
    let switch = switch(&json!({ "routes": ["main"] }));
    let before = site(&json!([
        { "name": "api", "match": [{ "uri": { "prefix": "/api" } }], "route": to("api") },
        { "name": "main", "timeout": "3s", "route": to("web.shop.svc.cluster.local") },
    ]));
    let own = routes(&switch, &services, Some(&before));
    assert_eq!((own.unsupported(), own.uncovered(), own.extent()), (None, None, Extent::None));
    let captured = patched(&before, &own.capture(now()).unwrap());
    let http = &captured.spec.fields["http"];
    assert_eq!(http[0], before.spec.fields["http"][0]);
    assert_eq!(http[1]["route"], to("web-reeve-door.shop.svc.cluster.local"));
    let led = routes(&switch, &services, Some(&captured));
    assert_eq!((led.extent(), led.unsupported(), led.capture(now())), (Extent::All, None, None));
    assert_eq!(led.captured_at().unwrap().to_string(), "2026-01-02T03:04:05Z");
    let back = patched(&captured, &led.release().unwrap());
    assert_eq!(back.spec, before.spec);
    assert!(back.annotations().is_empty());
    assert_eq!(routes(&switch, &services, Some(&back)).release(), None);
}

#[test]
fn a_route_that_a_rule_names_no_more_is_led_back() {
    let services = [web()];
    let captured = site(&json!([
        { "name": "main", "route": to("web-reeve-door") },
        { "name": "old", "route": to("web-reeve-door") },
    ]));
    let switch = switch(&json!({ "routes": ["main"] }));
    let own = routes(&switch, &services, Some(&captured));
    assert_eq!(own.extent(), Extent::Some);
    let mended = patched(&captured, &own.capture(now()).unwrap());
    assert_eq!(mended.spec.fields["http"][1]["route"], to("web"));
    let uncovered = routes(&switch, &services, Some(&mended)).uncovered().unwrap();
    assert!(uncovered.contains("route old of VirtualService site leads to web too"), "{uncovered}");
}

#[test]
fn without_names_every_route_to_a_service_of_the_rule_counts() {
    let services = [web(), service("api", &json!([{ "port": 80 }]))];
    let switch = switch(&json!({}));
    let before = site(&json!([
        { "route": to("web") },
        { "route": to("api.shop") },
        { "route": to("web.other") },
        { "redirect": { "uri": "/" } },
    ]));
    let own = routes(&switch, &services, Some(&before));
    let captured = patched(&before, &own.capture(now()).unwrap());
    let hosts: Vec<&Value> =
        (0..3).map(|place| &captured.spec.fields["http"][place]["route"][0]["destination"]["host"]).collect();
    assert_eq!(hosts, ["web-reeve-door", "api-reeve-door.shop", "web.other"]);
}

#[test]
fn what_cannot_be_led_is_named() {
    let services = [web()];
    let refused = |spec: Value, object: Option<Value>| {
        let (switch, object) = (switch(&spec), object.as_ref().map(site));
        let own = routes(&switch, &services, object.as_ref());
        own.unsupported().or_else(|| own.no_delegate()).unwrap_or_default()
    };
    assert_eq!(refused(json!({}), None), "there is no VirtualService site");
    let routes = json!([{ "name": "main", "route": to("web") }]);
    assert_eq!(refused(json!({ "routes": ["x"] }), Some(routes)), "VirtualService site has no HTTP route x");
    let elsewhere = json!([{ "name": "main", "route": to("api") }]);
    assert!(refused(json!({}), Some(elsewhere)).contains("leads to Service web"));
    let mut subset = to("web");
    subset[0]["destination"]["subset"] = json!("v2");
    assert!(
        refused(json!({}), Some(json!([{ "route": subset }])))
            .contains("without a name of VirtualService site leads to the subset v2")
    );
    let two = [service("web", &json!([{ "name": "a", "port": 80 }, { "name": "b", "port": 81 }]))];
    let delegate = switch(&json!({ "delegate": true }));
    let own = super::Routes { switch: &delegate, rule: "web", namespace: "shop", services: &two, object: None };
    assert!(own.no_delegate().unwrap().contains("has 2 ports for HTTP"));
}

#[test]
fn a_delegate_that_is_missing_is_made_with_one_route_to_the_service() {
    let services =
        [service("web", &json!([{ "name": "http", "port": 80 }, { "name": "b", "port": 81, "appProtocol": "tcp" }]))];
    let switch = switch(&json!({ "delegate": true }));
    let own = routes(&switch, &services, None);
    assert_eq!((own.unsupported(), own.no_delegate(), own.extent()), (None, None, Extent::None));
    let mut made = own.delegate().unwrap();
    assert!(made.spec.fields.keys().eq(["http"]), "a delegate has no hosts");
    assert!(made.metadata.owner_references.is_none(), "a route of another leads to it, also when the rule is gone");
    assert_eq!(
        made.spec.fields["http"][0]["route"][0]["destination"],
        json!({ "host": "web", "port": { "number": 80 } })
    );
    (made.metadata.namespace, made.metadata.resource_version) = (Some("shop".into()), Some("7".into()));
    let own = routes(&switch, &services, Some(&made));
    assert_eq!(own.delegate(), None);
    let captured = patched(&made, &own.capture(now()).unwrap());
    assert_eq!(routes(&switch, &services, Some(&captured)).extent(), Extent::All);
}

#[test]
fn a_door_has_the_ports_of_its_service_and_no_pods() {
    let owner = OwnerReference::default();
    let web = service(
        "web",
        &json!([{ "name": "http", "port": 80, "targetPort": "web", "nodePort": 31000, "appProtocol": "http" }]),
    );
    let door = door_of(&web, "web", &owner);
    let spec = door.spec.clone().unwrap();
    assert_eq!((spec.selector, spec.cluster_ip), (None, None));
    let port = &spec.ports.unwrap()[0];
    assert_eq!((port.port, port.node_port, port.target_port.clone()), (80, None, None));
    assert!(is_door(&door, &door_of(&web, "web", &owner)));
    let more = service("web", &json!([{ "name": "http", "port": 80 }, { "name": "b", "port": 81 }]));
    assert!(!is_door(&door, &door_of(&more, "web", &owner)));
}
