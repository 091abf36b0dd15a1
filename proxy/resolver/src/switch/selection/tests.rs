use serde_json::{Value, json};

use super::*;

fn rule(name: &str, spec: &Value) -> ScalingRule {
    let mut rule = ScalingRule::new(name, serde_json::from_value(spec.clone()).unwrap());
    rule.metadata.namespace = Some("shop".to_owned());
    rule.metadata.uid = Some(format!("uid-of-{name}"));
    rule
}

fn service(name: &str, app: &str, changes: &Value) -> Arc<Service> {
    let mut service = json!({
        "metadata": { "name": name, "namespace": "shop", "labels": { "tier": "front" } },
        "spec": { "selector": { "app": app }, "ports": [{ "port": 80 }] },
    });
    for (part, change) in changes.as_object().unwrap() {
        for (key, value) in change.as_object().unwrap() {
            service[part][key] = value.clone();
        }
    }
    Arc::new(serde_json::from_value(service).unwrap())
}

fn plain(name: &str, app: &str) -> Arc<Service> {
    service(name, app, &json!({}))
}

fn workload(name: &str, app: &str) -> Workload {
    let deployment = json!({
        "metadata": { "name": name },
        "spec": { "selector": {}, "template": { "metadata": { "labels": { "app": app } } } },
    });
    Workload::from(&serde_json::from_value::<k8s_openapi::api::apps::v1::Deployment>(deployment).unwrap())
}

struct World {
    parent: ScalingRule,
    services: Vec<Arc<Service>>,
    workloads: Vec<Workload>,
    rules: Vec<Arc<ScalingRule>>,
    reserved: Reserved,
}

fn world(services: Vec<Arc<Service>>) -> World {
    let workloads = ["web", "api", "db"].map(|name| workload(name, name)).to_vec();
    let parent = rule("all", &json!({ "selector": {}, "idleAfter": "7m" }));
    World { parent, services, workloads, rules: Vec::new(), reserved: Reserved::new() }
}

impl World {
    fn scene(&self) -> Scene<'_> {
        Scene {
            parent: &self.parent,
            services: &self.services,
            workloads: &self.workloads,
            rules: &self.rules,
            reserved: &self.reserved,
        }
    }

    fn steps(&self) -> Vec<Step> {
        let scene = self.scene();
        steps(&scene, &choose(&scene))
    }

    fn children(&self) -> Vec<(String, Vec<String>)> {
        let of = |rule: &ScalingRule| rule.spec.services.iter().map(|service| service.name.clone()).collect();
        choose(&self.scene()).children.iter().map(|(name, rule)| (name.clone(), of(rule))).collect()
    }

    fn excluded(&self) -> BTreeMap<String, String> {
        choose(&self.scene()).excluded
    }
}

#[test]
fn each_target_gets_one_rule_with_all_services_that_were_chosen_for_it() {
    let world = world(vec![plain("web", "web"), plain("web-too", "web"), plain("api", "api"), plain("lost", "nobody")]);
    let expected = [("all-api", vec!["api"]), ("all-web", vec!["web", "web-too"])];
    let expected =
        expected.map(|(name, services)| (name.to_owned(), services.into_iter().map(str::to_owned).collect()));
    assert_eq!(world.children(), expected);
    let chosen = choose(&world.scene());
    let web = &chosen.children["all-web"];
    assert_eq!((web.spec.idle_after, web.spec.selector.is_none()), (world.parent.spec.idle_after, true));
    assert_eq!(web.spec.scale_target.as_ref().unwrap().name, "web");
    assert_eq!(web.owner_references()[0].uid, "uid-of-all");
    assert!(chosen.excluded.is_empty());
}

#[test]
fn labels_choose_and_an_empty_selector_takes_all() {
    let mut world = world(vec![plain("web", "web"), service("api", "api", &json!({ "metadata": { "labels": {} } }))]);
    assert_eq!(world.children().len(), 2);
    for selector in [
        json!({ "matchLabels": { "tier": "front" } }),
        json!({ "matchExpressions": [{ "key": "tier", "operator": "In", "values": ["front", "edge"] }] }),
        json!({ "matchExpressions": [{ "key": "tier", "operator": "Exists" }] }),
    ] {
        world.parent.spec.selector = serde_json::from_value(selector).unwrap();
        assert_eq!(world.children().len(), 1);
    }
    let not = json!({ "matchExpressions": [{ "key": "tier", "operator": "NotIn", "values": ["front"] }] });
    world.parent.spec.selector = serde_json::from_value(not).unwrap();
    assert_eq!(world.children()[0].0, "all-api");
}

#[test]
fn what_must_not_be_captured_is_left_out_and_named() {
    let mut world = world(vec![
        service("headless", "web", &json!({ "spec": { "clusterIP": "None" } })),
        service("local", "web", &json!({ "spec": { "externalTrafficPolicy": "Local" } })),
        service("udp", "web", &json!({ "spec": { "ports": [{ "port": 53, "protocol": "UDP" }] } })),
        service("system", "web", &json!({ "metadata": { "namespace": "kube-system" } })),
        service("keda", "web", &json!({ "metadata": { "labels": { PART_OF: "keda-operator" } } })),
        service("shadow", "web", &json!({ "metadata": { "labels": { RULE_LABEL: "all-web" } } })),
        plain("hook", "web"),
    ]);
    world.reserved.insert(("shop".to_owned(), "hook".to_owned()));
    let excluded = world.excluded();
    assert_eq!(excluded.keys().collect::<Vec<_>>(), ["headless", "hook", "keda", "local", "system", "udp"]);
    assert!(excluded["hook"].contains("webhook") && excluded["local"].contains("Local"), "{excluded:?}");
    assert!(world.children().is_empty());
}

#[test]
fn a_rule_that_lists_a_service_or_scales_its_target_wins() {
    let mut world = world(vec![plain("web", "web"), plain("api", "api"), plain("db", "db")]);
    world.rules = vec![
        Arc::new(rule("web", &json!({ "services": [{ "name": "web" }] }))),
        Arc::new(rule("api", &json!({ "services": [{ "name": "other" }], "scaleTarget": { "name": "api" } }))),
    ];
    assert_eq!(world.children().len(), 1);
    let excluded = world.excluded();
    assert_eq!(
        (excluded["web"].as_str(), excluded["api"].as_str()),
        ("the rule web lists it", "the rule api scales api")
    );
}

#[test]
fn children_follow_their_parent_and_go_with_what_they_were_made_for() {
    let mut world = world(vec![plain("web", "web"), plain("api", "api")]);
    let created = world.steps();
    assert_eq!(created.len(), 2);
    for step in created {
        let Step::Create(mut child) = step else { panic!("{step:?}") };
        child.metadata.uid = Some(format!("uid-of-{}", child.name_any()));
        world.rules.push(Arc::from(child));
    }
    assert_eq!(world.steps(), [], "all is as it should be");
    world.parent.annotations_mut().insert(annotation::WAKE.to_owned(), "now".to_owned());
    world.parent.spec.suspend = true;
    let [Step::Update(api), Step::Update(_)] = &world.steps()[..] else { panic!("{:?}", world.steps()) };
    assert!(api.spec.suspend && api.annotations()[annotation::WAKE] == "now");
    assert_eq!(api.metadata.uid.as_deref(), Some("uid-of-all-api"), "over what was read");
    world.services.remove(0);
    assert!(world.steps().contains(&Step::Delete("all-web".to_owned())));
}

#[test]
fn a_parent_counts_its_targets_and_names_those_that_lag() {
    let mut world = world(vec![plain("web", "web"), plain("api", "api")]);
    let chosen = choose(&world.scene());
    for (name, status) in [
        ("all-web", json!({ "state": "Ready", "mode": "Asleep" })),
        (
            "all-api",
            json!({ "state": "Warning", "conditions": [{
            "type": "Ready", "status": "False", "reason": "UncoveredService", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }] }),
        ),
    ] {
        let mut child = chosen.children[name].clone();
        child.status = serde_json::from_value(status).unwrap();
        world.rules.push(Arc::new(child));
    }
    let summary = summary(&world.scene(), &choose(&world.scene()));
    assert_eq!((summary.targets, summary.ready, summary.asleep), (2, 1, 1));
    let laggards: Vec<_> = summary.laggards.iter().map(|one| (one.name.as_str(), one.reason.as_str())).collect();
    assert_eq!(laggards, [("all-api", "UncoveredService")]);
}
