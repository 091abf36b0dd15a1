//! What is recorded of the facts that a template reads.

use reeve_renderer::budget::{Budget, Limits};
use reeve_renderer::template::{Facts, Scope, Templates};
use reeve_renderer::value::Value;

use crate::support::{dict, list, sources};

fn runtime() -> Facts {
    let value = dict(&[
        ("name", "eu-1".into()),
        ("labels", dict(&[("region", "eu"), ("tier", "prod")].map(|(key, value)| (key, value.into())))),
        ("zones", list(&["a".into(), "b".into()])),
        ("apiVersions", dict(&[("batch/v1", true.into())])),
        ("kubeVersion", dict(&[("major", "1".into()), ("minor", "35".into())])),
    ]);
    Facts::new(value.as_dict().unwrap().clone())
}

/// The paths that a template touches; those where nothing was end in `?`.
fn touched_as(root: &'static str, template: &str) -> Vec<String> {
    let facts = runtime();
    let templates = Templates::compile(&sources(&[("main.j2", template)])).unwrap();
    let scope = Scope::new().facts(root, &facts);
    templates.render("main.j2", &scope, &Budget::new(Limits::default())).unwrap();
    let value = |value: &Option<Value>| if value.is_some() { "" } else { "?" };
    facts.touched().iter().map(|(path, found)| format!("{path}{}", value(found))).collect()
}

fn touched(template: &str) -> Vec<String> {
    touched_as("Runtime", template)
}

#[test]
fn only_the_leaf_that_is_used_is_recorded() {
    assert_eq!(touched("{{ Runtime.labels.region }}"), ["labels.region"]);
    assert_eq!(touched("{{ Runtime['labels']['region'] }}"), ["labels.region"]);
    assert_eq!(touched("{% set key = 'region' %}{{ Runtime.labels[key] }}"), ["labels.region"]);
    assert_eq!(touched("{{ Runtime.labels.get('region') }}"), ["labels.region"]);
    assert_eq!(touched("{% with l = Runtime.labels %}{{ l.region }}{% endwith %}"), ["labels.region"]);
    assert_eq!(touched("{{ Runtime.zones[0] }}"), ["zones"]);
    assert_eq!(touched("plain"), [""; 0]);
}

#[test]
fn what_was_not_there_is_recorded_too() {
    assert_eq!(touched("{{ Runtime.labels.zone is defined }}"), ["labels.zone?"]);
    assert_eq!(touched("{{ Runtime.labels.get('zone', 'x') }}"), ["labels.zone?"]);
    assert_eq!(
        touched("{{ 'zone' in Runtime.labels }}{{ 'region' in Runtime.labels }}"),
        ["labels.region", "labels.zone?"]
    );
}

#[test]
fn whatever_else_is_done_with_a_map_records_it_as_a_whole() {
    for template in [
        "{% for key in Runtime.labels %}{% endfor %}",
        "{% for key, value in Runtime.labels | items %}{% endfor %}",
        "{% for key, value in Runtime.labels.items() %}{% endfor %}",
        "{% set labels = Runtime.labels %}",
        "{{ Runtime.labels == {} }}",
        "{{ Runtime.labels | length }}",
        "{% if Runtime.labels %}{% endif %}",
        "{{ Runtime.labels is defined }}",
        "{{ Runtime.labels is mapping }}",
        "{% macro m(x) %}{% endmacro %}{{ m(Runtime.labels) }}",
        "{% set x = [Runtime.labels] %}",
        "{% set ns = namespace() %}{% set ns.x = Runtime.labels %}",
        "{{ Runtime.labels.region }}{% set labels = Runtime.labels %}",
    ] {
        assert_eq!(touched(template), ["labels"], "{template}");
    }
    assert_eq!(touched("{% set x = Runtime %}"), [""]);
}

#[test]
fn asking_for_one_version_records_that_question_only() {
    assert_eq!(touched_as("Capabilities", "{{ Capabilities.apiVersions.has('batch/v1') }}"), ["apiVersions.batch/v1"]);
    assert_eq!(
        touched_as("Capabilities", "{{ Capabilities.APIVersions.Has('x/v1') }}"),
        ["APIVersions?", "apiVersions.x/v1?"]
    );
}

#[test]
fn helms_spelling_is_known_and_both_are_recorded() {
    assert_eq!(touched("{{ Runtime.Name }}"), ["Name?", "name"]);
    assert_eq!(
        touched_as("Capabilities", "{{ Capabilities.KubeVersion.Minor }}"),
        ["KubeVersion?", "kubeVersion.Minor?", "kubeVersion.minor"]
    );
}

#[test]
fn the_value_that_was_read_is_kept() {
    let facts = runtime();
    let templates = Templates::compile(&sources(&[("main.j2", "{{ Runtime.labels.region }}")])).unwrap();
    let budget = Budget::new(Limits::default());
    templates.render("main.j2", &Scope::new().facts("Runtime", &facts), &budget).unwrap();
    let path = "labels.region".parse().unwrap();
    assert_eq!(facts.touched().get(&path), Some(&Some(Value::from("eu"))));
}
