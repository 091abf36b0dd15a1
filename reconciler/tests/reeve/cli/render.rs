//! `reeve render`.

use std::io::Read as _;
use std::process::Stdio;

use crate::cli::repository::Repository;

const FIRST: &str = "\
# runtime eu-1, component web, charts/web/1.0.0/templates/settings.yaml
apiVersion: v1
kind: ConfigMap
metadata:
  labels:
    app.kubernetes.io/managed-by: reeve
    reeve.dev/component: web
    reeve.dev/runtime: eu-1
  name: first
  namespace: default
---
# runtime eu-1, component web, charts/web/1.0.0/templates/settings.yaml document 2
apiVersion: v1
data:
  a: b
";

#[test]
fn documents_say_where_they_come_from() {
    let ended = Repository::fleet().reeve(&["render"]).with(0);
    assert!(ended.out.starts_with(FIRST), "{}", ended.out);
    assert_eq!(ended.out.matches("\n---\n").count(), 5, "{}", ended.out);
    assert!(ended.out.contains("\n  replicas: 5\n"), "{}", ended.out);
    assert_eq!(ended.err, "");
}

#[test]
fn names_come_in_the_order_of_runtimes_components_and_keys() {
    let ended = Repository::fleet().reeve(&["render", ".", "-o", "name"]).with(0);
    let wanted = "\
eu-1 web ConfigMap default/first
eu-1 web ConfigMap default/second
eu-1 web Deployment.apps default/web
eu-2 web ConfigMap default/first
eu-2 web ConfigMap default/second
eu-2 web Deployment.apps default/web
";
    assert_eq!(ended.out, wanted);
}

#[test]
fn json_is_one_list_even_of_nothing() {
    let repository = Repository::fleet();
    let document = repository.reeve(&["render", "-r", "eu-2", "-o", "json"]).with(0).json();
    assert_eq!(document["kind"], "List");
    assert_eq!(document["items"].as_array().unwrap().len(), 3);
    assert_eq!(document["items"][2]["spec"]["replicas"], 5);
    let nothing = Repository::empty();
    nothing.write("fleet.yaml", "kind: Fleet\n");
    assert_eq!(nothing.reeve(&["render", "-o", "json"]).with(0).json()["items"], serde_json::json!([]));
}

#[test]
fn digests_are_those_of_runtimes_or_of_components() {
    let repository = Repository::fleet();
    let all = repository.reeve(&["render", "-o", "digest"]).with(0).out;
    let lines: Vec<&str> = all.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("sha256:") && lines[0].ends_with(" eu-1"), "{all}");
    let one = repository.reeve(&["render", "-o", "digest", "-c", "web", "-r", "eu-2"]).with(0).out;
    assert!(one.ends_with(" eu-2 web\n") && one.lines().count() == 1, "{one}");
    let again = repository.reeve(&["render", "-o", "digest"]).with(0).out;
    assert_eq!(again, all);
    repository.change("layers/base.yaml", "replicas: 2", "replicas: 3");
    let changed = repository.reeve(&["render", "-o", "digest"]).with(0).out;
    assert_ne!(changed.lines().next(), all.lines().next(), "the layer decides in eu-1");
    assert_eq!(changed.lines().last(), all.lines().last(), "eu-2 overrides it");
}

#[test]
fn a_runtime_that_fails_does_not_keep_the_others() {
    let repository = Repository::fleet();
    repository.change("runtimes/eu-2.yaml", "replicas: 5", "replicas: -5");
    let ended = repository.reeve(&["render", "-o", "name"]).with(1);
    assert_eq!(ended.out.lines().count(), 3, "{}", ended.out);
    assert!(ended.err.starts_with("error[schema]"), "{}", ended.err);
    assert!(ended.err.ends_with("\n1 error\n"), "{}", ended.err);
    repository.reeve(&["render", "-r", "eu-1"]).with(0);
}

#[test]
fn one_runtime_is_rendered_whatever_is_wrong_with_another_and_its_charts() {
    let repository = Repository::fleet();
    let broken = "kind: Runtime\nlabels: [x\n";
    let using = "kind: Runtime\ncomponents:\n  broken: {version: 1.0.0}\n";
    repository.write("runtimes/broken.yaml", broken);
    repository.write("runtimes/using.yaml", using);
    repository.write("charts/broken/1.0.0/Chart.yaml", "apiVersion: v2\nname: broken\nversion: 1.0.0\n");
    repository.write("charts/broken/1.0.0/templates/a.yaml", "{{ if }}");
    let ended = repository.reeve(&["render", "-r", "eu-1"]).with(0);
    assert!(ended.out.starts_with(FIRST), "{}", ended.out);
    assert_eq!(ended.err, "");
    let all = repository.reeve(&["render"]).with(1);
    assert!(all.err.contains("runtimes/broken.yaml:2:") && all.err.contains("templates/a.yaml:1:"), "{}", all.err);
    let using = repository.reeve(&["render", "-r", "using"]).with(1);
    assert!(using.err.contains("templates/a.yaml:1:") && !using.err.contains("runtimes/broken"), "{}", using.err);
}

#[test]
fn an_unknown_runtime_or_component_gets_a_suggestion() {
    let repository = Repository::fleet();
    let ended = repository.reeve(&["render", "-r", "eu1"]).with(2);
    assert_eq!(ended.err, "error: there is no runtime `eu1`\n  help: did you mean `eu-1`?\n");
    let ended = repository.reeve(&["render", "-c", "wbe"]).with(2);
    let wanted = "error: no runtime that was rendered has a component `wbe`\n  help: did you mean `web`?\n";
    assert_eq!(ended.err, wanted);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let repository = Repository::fleet();
    for at in 100..600 {
        repository.write(&format!("runtimes/r-{at}.yaml"), "kind: Runtime\n");
    }
    let mut child = repository.command(&["render"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(141));
}

#[test]
fn of_a_runtime_whose_file_is_broken_it_is_said_so_and_no_other_is_suggested() {
    let repository = Repository::fleet();
    repository.write("runtimes/eu-2.yaml", "kind: Runtime\nlabels: [\n");
    let ended = repository.reeve(&["render", "--runtime", "eu-2"]).with(2);
    assert!(ended.err.starts_with("error: the file of runtime `eu-2` cannot be used\n"), "{}", ended.err);
    assert!(ended.err.contains("`reeve validate` says what is wrong with it"), "{}", ended.err);
}
