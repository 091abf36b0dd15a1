//! Which version, which layers, which values, in which order.

use reeve_renderer::fleet::Fleet;
use reeve_renderer::resolve::{Resolved, resolve};
use reeve_renderer::value::Value;

use crate::repository::{lines, load, names, small, with};

fn resolved(fleet: &Fleet, name: &str) -> Resolved {
    resolve(fleet, name).expect("it is in the fleet").unwrap_or_else(|findings| panic!("{findings:#?}"))
}

fn values(fleet: &Fleet, runtime: &str) -> serde_json::Value {
    serde_json::Value::from(&Value::Dict(resolved(fleet, runtime).components[0].values.clone()))
}

#[test]
fn values_are_merged_chart_then_layers_then_runtime_then_component() {
    let (fleet, _) = load(&small());
    assert_eq!(values(&fleet, "eu-1"), serde_json::json!({"region": "eu", "replicas": 3, "team": "shop"}));
    assert_eq!(values(&fleet, "us-1"), serde_json::json!({"region": "us", "replicas": 5, "team": "shop"}));
}

#[test]
fn layers_come_by_label_in_the_order_of_the_fleet_and_then_by_name() {
    let (fleet, _) = load(&with(&[
        ("layers/x.yaml", "kind: Layer\nvalues: {team: x}\n"),
        ("runtimes/eu-1.yaml", "kind: Runtime\nlabels: {region: eu}\nlayers: [x, base]\ncomponents: {web: {}}\n"),
    ]));
    assert_eq!(names(&resolved(&fleet, "eu-1").layers), ["base", "eu", "x"]);
    assert_eq!(values(&fleet, "eu-1")["team"], "x");
}

#[test]
fn a_version_comes_from_the_component_or_else_from_the_channel_by_component_or_by_chart() {
    let (fleet, _) = load(&with(&[
        ("channels/regular.yaml", "kind: Channel\ncomponents: {web: 1.0.0, second: 1.1.0}\n"),
        ("charts/web/1.1.0/Chart.yaml", "name: web\nversion: 1.1.0\n"),
        ("charts/web/1.2.0/Chart.yaml", "name: web\nversion: 1.2.0\n"),
        (
            "runtimes/eu-1.yaml",
            "kind: Runtime\ncomponents: {first: {chart: web}, second: {chart: web}, third: {chart: web, version: 1.2.0}}\n",
        ),
    ]));
    let versions: Vec<String> =
        resolved(&fleet, "eu-1").components.iter().map(|c| format!("{} {}", c.name, c.chart.version)).collect();
    assert_eq!(versions, ["first 1.0.0", "second 1.1.0", "third 1.2.0"]);
}

#[test]
fn components_are_switched_on_by_label_and_off_by_the_runtime() {
    let fleet_file = "kind: Fleet\ndefaults: {channel: regular}\ncomponents:\n  web:\n    selector: {matchExpressions: [{key: region, operator: In, values: [eu, asia]}]}\n    values: {team: fleet}\n  all: {chart: web}\n";
    let (fleet, said) = load(&with(&[
        ("fleet.yaml", fleet_file),
        ("runtimes/eu-1.yaml", "kind: Runtime\nlabels: {region: eu}\n"),
        ("runtimes/eu-2.yaml", "kind: Runtime\nlabels: {region: eu}\ncomponents: {web: {enabled: false}}\n"),
        ("runtimes/us-1.yaml", "kind: Runtime\nlabels: {region: us}\n"),
    ]));
    assert!(said.is_empty(), "{said:?}");
    let of =
        |runtime: &str| resolved(&fleet, runtime).components.iter().map(|c| c.name.to_string()).collect::<Vec<_>>();
    assert_eq!(of("eu-1"), ["all", "web"]);
    assert_eq!(of("eu-2"), ["all"]);
    assert_eq!(of("us-1"), ["all"]);
}

#[test]
fn a_component_comes_after_what_it_depends_on() {
    let (fleet, _) = load(&with(&[(
        "runtimes/eu-1.yaml",
        "kind: Runtime\ncomponents:\n  a: {chart: web, dependsOn: [c]}\n  b: {chart: web}\n  c: {chart: web, dependsOn: [d]}\n  d: {chart: web}\n",
    )]));
    let order: Vec<String> = resolved(&fleet, "eu-1").components.iter().map(|c| c.name.to_string()).collect();
    assert_eq!(order, ["b", "d", "c", "a"]);
}

#[test]
fn for_every_value_the_files_and_lines_that_set_it_are_known() {
    let (fleet, _) = load(&small());
    let resolved = resolved(&fleet, "us-1");
    let component = &resolved.components[0];
    let chain = |path: &str| -> Vec<String> {
        let path = path.parse().expect("a path");
        component.history_of(&path).iter().map(|setting| setting.location.to_string()).collect()
    };
    assert_eq!(chain("replicas"), ["charts/web/1.0.0/values.yaml:1:1", "runtimes/us-1.yaml:8:7"]);
    assert_eq!(chain("region"), ["charts/web/1.0.0/values.yaml:2:1", "runtimes/us-1.yaml:4:3"]);
    assert_eq!(chain("team"), ["charts/web/1.0.0/values.yaml:3:1", "layers/base.yaml:3:3"]);
    assert!(chain("nobody").is_empty());
}

#[test]
fn a_runtime_is_in_the_wave_it_names_or_the_first_that_matches() {
    let (fleet, _) = load(&with(&[
        (
            "fleet.yaml",
            "kind: Fleet\ndefaults: {channel: regular}\nwaves:\n  - name: canary\n    selector: {matchLabels: {region: us}}\n  - name: rest\n",
        ),
        ("runtimes/eu-2.yaml", "kind: Runtime\nwave: canary\n"),
    ]));
    let wave = |runtime: &str| resolved(&fleet, runtime).wave.expect("a wave").to_string();
    assert_eq!((wave("us-1"), wave("eu-1"), wave("eu-2")), ("canary".into(), "rest".into(), "canary".into()));
}

#[test]
fn a_file_may_hold_several_runtimes() {
    let (fleet, said) =
        load(&with(&[("runtimes/many.yaml", "kind: Runtime\nname: m1\n---\nkind: Runtime\nname: m2\n")]));
    assert!(said.is_empty(), "{said:?}");
    assert!(fleet.runtimes.contains_key("m1") && fleet.runtimes.contains_key("m2"));
}

#[test]
fn values_of_every_document_of_a_file_are_its_own_and_have_their_lines() {
    let runtime = |name: &str, replicas: u8| {
        format!(
            "kind: Runtime\nname: {name}\nvalues: {{team: {name}}}\ncomponents:\n  web:\n    values:\n      replicas: {replicas}\n"
        )
    };
    let documents = [runtime("m1", 1), runtime("m2", 2), runtime("m3", 3)];
    let text = format!("# first\n---\n{}---\n\n# second\n{}--- # third\n{}", documents[0], documents[1], documents[2]);
    for text in [text.clone(), text.replace('\n', "\r\n")] {
        let (fleet, said) = load(&with(&[("runtimes/many.yaml", &text)]));
        assert!(said.is_empty(), "{said:?}");
        let found = |name: &str| {
            let resolved = resolved(&fleet, name);
            let location = |path: &str| resolved.components[0].origin_of(&path.parse().expect("a path"));
            let lines = ["team", "replicas"].map(|path| location(path).expect("it is set").line);
            (values(&fleet, name)["team"].clone(), values(&fleet, name)["replicas"].clone(), lines)
        };
        assert_eq!(found("m1"), ("m1".into(), 1.into(), [5, 9]));
        assert_eq!(found("m2"), ("m2".into(), 2.into(), [15, 19]));
        assert_eq!(found("m3"), ("m3".into(), 3.into(), [23, 27]));
    }
}

#[test]
fn values_that_use_anchors_of_their_document_are_read_in_it() {
    let text = "kind: Runtime\nlabels: &shared {team: red}\nvalues: *shared\ncomponents:\n  web:\n    values: {<<: *shared, region: here}\n";
    let (fleet, said) = load(&with(&[("runtimes/eu-1.yaml", text)]));
    assert!(said.is_empty(), "{said:?}");
    assert_eq!(values(&fleet, "eu-1"), serde_json::json!({"region": "here", "replicas": 1, "team": "red"}));
}

#[test]
fn while_fleet_yaml_cannot_be_read_no_runtime_is_decided_and_nothing_is_said_that_follows_from_it() {
    let broken = "fleet.yaml:2:1 yaml-duplicate-key: `kind` is there twice; the first is here fleet.yaml:1:1 (keep one of the two)";
    let missing = "fleet.yaml:1:1 missing-file: there is no fleet.yaml: this is not a fleet repository (`reeve new fleet NAME` makes one)";
    for (text, said) in [("kind: Fleet\nkind: Fleet\n", broken), ("", missing)] {
        let tree = with(&[("fleet.yaml", text)]);
        assert_eq!(lines(&tree), [said]);
        assert_eq!(resolve(&load(&tree).0, "us-1").expect("it is in the fleet").unwrap_err(), []);
    }
}
