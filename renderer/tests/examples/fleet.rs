//! What `examples-repo` promises in its comments and its README.

use reeve_renderer::bundle::{Bundle, BundleComponent};
use reeve_renderer::diff::diff;
use reeve_renderer::fleet::ComponentTarget;
use reeve_renderer::tree::{MemoryTree, Tree as _};
use reeve_renderer::value::Value;

use crate::repository;

const EU: &str = "runtimes/eu/shop-eu.yaml";
const US: &str = "runtimes/us/shop-us.yaml";
const DEV: &str = "runtimes/dev/shop-dev.yaml";

fn examples() -> MemoryTree {
    repository::read(&repository::path("examples-repo"))
}

/// The repository with one text of one file replaced.
fn edited(file: &str, from: &str, to: &str) -> MemoryTree {
    let mut tree = examples();
    let text = String::from_utf8(tree.read(file).unwrap().unwrap().to_vec()).unwrap();
    assert!(text.contains(from), "{file} has no {from}");
    tree.write(file, text.replace(from, to));
    tree
}

fn bundles(tree: &MemoryTree) -> Vec<Bundle> {
    let (bundles, findings) = repository::render(tree);
    assert!(findings.is_empty(), "{}", repository::text(&findings));
    bundles
}

fn bundle(tree: &MemoryTree, runtime: &str) -> Bundle {
    bundles(tree).into_iter().find(|bundle| &*bundle.runtime == runtime).unwrap()
}

fn component<'b>(bundle: &'b Bundle, name: &str) -> Option<&'b BundleComponent> {
    bundle.components.iter().find(|component| &*component.name == name)
}

/// What a Dapr component says about one of its settings.
fn setting(bundle: &Bundle, name: &str, setting: &str) -> Value {
    let object = component(bundle, name).unwrap().objects.iter().find(|object| &*object.key.kind == "Component");
    let spec = object.unwrap().value.get("spec").unwrap();
    let Some(Value::List(settings)) = spec.get("metadata") else { panic!("{name} has no settings") };
    settings.items().iter().find(|entry| entry.get("name") == Some(&setting.into())).unwrap().clone()
}

fn changed_components(before: &Bundle, after: &Bundle) -> Vec<String> {
    let mut names: Vec<String> =
        diff(Some(before), Some(after)).iter().map(|change| change.component.to_string()).collect();
    names.dedup();
    names
}

#[test]
fn every_runtime_has_a_redis_of_its_own_and_a_password_by_reference() {
    for (runtime, host) in [
        ("shop-eu", "redis-eu.example.com:6379"),
        ("shop-us", "redis-us.example.com:6379"),
        ("shop-dev", "redis-master.redis.svc.cluster.local:6379"),
    ] {
        let bundle = bundle(&examples(), runtime);
        for component in ["dapr-state", "dapr-pubsub"] {
            assert_eq!(setting(&bundle, component, "redisHost").get("value"), Some(&host.into()));
            let password = setting(&bundle, component, "redisPassword");
            assert!(password.get("value").is_none() && password.get("secretKeyRef").is_some(), "{password:?}");
        }
    }
}

#[test]
fn pointing_one_runtime_at_another_redis_touches_nothing_else_and_a_revert_restores_it() {
    let before = bundles(&examples());
    let after = bundles(&edited(US, "redis-us.example.com", "redis-eu.example.com"));
    for (before, after) in before.iter().zip(&after) {
        let expected: &[&str] = if &*before.runtime == "shop-us" { &["dapr-pubsub", "dapr-state"] } else { &[] };
        assert_eq!(changed_components(before, after), expected, "{}", before.runtime);
    }
    let reverted = bundles(&examples());
    assert!(before.iter().zip(&reverted).all(|(before, reverted)| before.digest == reverted.digest));
}

#[test]
fn a_runtime_without_a_redis_is_refused_with_advice() {
    let (_, findings) = repository::render(&edited(EU, "host: redis-eu.example.com:6379", "tls: true"));
    let said = "set global.redis.host in the runtime: each runtime has a Redis of its own";
    assert!(findings.len() == 2 && findings.iter().all(|finding| finding.message == said), "{findings:?}");
}

#[test]
fn versions_come_from_the_channel_unless_a_file_names_one() {
    let version =
        |runtime: &str, name: &str| component(&bundle(&examples(), runtime), name).unwrap().version.to_string();
    assert_eq!(version("shop-eu", "eventing"), "1.2.0");
    assert_eq!(version("shop-us", "eventing"), "1.3.0");
    assert_eq!(version("shop-dev", "eventing"), "1.3.0");
    assert_eq!(version("shop-dev", "orders-preview"), "2.5.0");
}

#[test]
fn node_hooks_are_only_where_the_label_is() {
    let with: Vec<String> = bundles(&examples())
        .iter()
        .filter(|bundle| component(bundle, "node-hooks").is_some())
        .map(|bundle| bundle.runtime.to_string())
        .collect();
    assert_eq!(with, ["shop-eu"]);
    assert!(
        component(&bundle(&edited(US, "pilot: \"true\"", "node-hooks: koordlet"), "shop-us"), "node-hooks").is_some()
    );
}

#[test]
fn the_watch_from_outside_goes_to_the_control_plane() {
    let bundle = bundle(&examples(), "shop-eu");
    let elsewhere: Vec<&str> = bundle
        .components
        .iter()
        .filter(|component| component.target == ComponentTarget::ControlPlane)
        .map(|component| &*component.name)
        .collect();
    assert_eq!(elsewhere, ["uptime"]);
}

#[test]
fn sleeping_and_autoscaling_at_once_is_refused() {
    let both = edited(DEV, "        limits: null\n", "        limits: null\n      autoscaling: { enabled: true }\n");
    let (_, findings) = repository::render(&both);
    assert_eq!(findings.len(), 1, "{}", repository::text(&findings));
    assert!(findings[0].message.starts_with("sleep.mode Enforce and autoscaling.enabled exclude each other"));
}

#[test]
fn a_slip_in_a_value_is_found_where_it_is_written() {
    let (_, findings) = repository::render(&edited(DEV, "idleAfter: 1m", "idelAfter: 1m"));
    let location = findings[0].location.as_ref().unwrap();
    assert_eq!((&*location.file, findings[0].code), (DEV, "schema"), "{}", repository::text(&findings));
}

#[test]
fn every_chart_version_is_used_by_some_runtime() {
    let bundles = bundles(&examples());
    let used = |chart: &str, version: &str| {
        let components = bundles.iter().flat_map(|bundle| &bundle.components);
        components.clone().any(|component| (&*component.chart, &*component.version) == (chart, version))
    };
    let tree = examples();
    for chart in tree.list("charts").unwrap() {
        for version in tree.list(&format!("charts/{}", chart.name)).unwrap() {
            assert!(used(&chart.name, &version.name), "no runtime has {} {}", chart.name, version.name);
        }
    }
}
