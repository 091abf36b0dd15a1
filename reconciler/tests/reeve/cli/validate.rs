//! `reeve validate`.

use crate::cli::repository::Repository;

/// The small fleet, whose runtimes are in two clusters.
fn apart() -> Repository {
    let repository = Repository::fleet();
    repository.change("runtimes/eu-1.yaml", "kind: Runtime\n", "kind: Runtime\ntarget: { type: Agent }\n");
    repository
}

/// Three findings in three files, two of which runtimes see.
fn broken() -> Repository {
    let repository = apart();
    repository.change("runtimes/eu-2.yaml", "replicas: 5", "replicas: -5");
    repository.write("layers/more.yaml", "kind: Layer\nvalues:\n  a: 1\n  a: 2\n");
    repository.write("runtimes/eu-3.yaml", "kind: Runtime\nlayers: [bsae]\n");
    repository
}

#[test]
fn a_fine_repository_has_no_findings() {
    let ended = apart().reeve(&["validate"]).with(0);
    assert_eq!(ended.out, "checked 2 runtimes, 2 components, 6 objects: no findings\n");
    assert_eq!(ended.err, "");
}

#[test]
fn every_finding_is_shown_with_its_line() {
    let ended = broken().reeve(&["validate"]).with(1);
    let wanted = "\
error[yaml-duplicate-key]: `a` is there twice
 --> layers/more.yaml:4:3
  |
4 |   a: 2
  |   ^
  |
  = note: the first is here
  |
 ::: layers/more.yaml:3:3
  |
3 |   a: 1
  |   -
  |
  = help: keep one of the two

error[schema]: replicas must be at least 0, not -5
 --> runtimes/eu-2.yaml:5:7
  |
5 |       replicas: -5
  |       ^^^^^^^^
  |
  = note: the rule of chart web is here
  |
 ::: charts/web/1.0.0/values.schema.json:1:70
  |
1 | { \"type\": \"object\", \"properties\": { \"replicas\": { \"type\": \"integer\", \"minimum\": 0 } } }
  |                                                                      ---------
  |
  = in runtime eu-2

error[unknown-layer]: there is no layer `bsae`
 --> runtimes/eu-3.yaml:2:10
  |
2 | layers: [bsae]
  |          ^^^^
  |
  = help: did you mean `base`?
  = in runtime eu-3

checked 3 runtimes, 1 component, 3 objects: 3 errors
";
    assert_eq!(ended.out, wanted);
}

#[test]
fn what_the_controller_would_refuse_is_found_with_its_line() {
    let repository = apart();
    let rules = "kind: Health\nrules:\n  - apiVersion: example.com/v1\n    kind: Thing\n    current: status.phase ==\n";
    repository.write("charts/web/1.0.0/health.yaml", rules);
    let object =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a, annotations: { reeve.dev/apply: Sometimes } }\n";
    repository.write("charts/web/1.0.0/templates/asking.yaml.j2", object);
    let ended = repository.reeve(&["validate"]).with(1);
    for wanted in [
        "error[health-expression]: the expression current for Thing is not CEL",
        "--> charts/web/1.0.0/health.yaml:3:5",
        "error[annotation]: ",
        "--> charts/web/1.0.0/templates/asking.yaml.j2:",
        "write Always, IfMissing or Never",
        "= in 2 runtimes: eu-1, eu-2",
        ": 2 errors",
    ] {
        assert!(ended.out.contains(wanted), "{wanted} is not in {}", ended.out);
    }
}

/// A component of Dapr with a secret in clear and a type that is nearly right, and one that every app would load.
const DAPR: &str = "\
apiVersion: dapr.io/v1alpha1
kind: Component
metadata: { name: statestore }
scopes: [web]
spec:
  type: state.rediss
  version: v1
  metadata:
    - { name: redisHost, value: 'redis:6379' }
---
apiVersion: dapr.io/v1alpha1
kind: Component
metadata: { name: orders }
spec:
  type: bindings.redis
  version: v1
  metadata:
    - { name: redisPassword, value: open }
";

#[test]
fn what_would_keep_a_dapr_sidecar_from_starting_is_found_before_it_is_applied() {
    let repository = apart();
    repository.commit();
    repository.write("charts/web/1.0.0/templates/dapr.yaml", DAPR);
    let ended = repository.reeve(&["validate"]).with(1);
    for wanted in [
        "error[unknown-component-type]: Component default/statestore: spec.type is `state.rediss`, which Dapr does not have; did you mean `state.redis`?",
        "--> charts/web/1.0.0/templates/dapr.yaml:1:1",
        "error[literal-secret]: Component default/orders: spec.metadata[0].value has the secret `redisPassword` in clear",
        "warning[unscoped-component]: Component default/orders: scopes is empty",
        "--> charts/web/1.0.0/templates/dapr.yaml:11:1",
        "= in 2 runtimes: eu-1, eu-2",
    ] {
        assert!(ended.out.contains(wanted), "{wanted} is not in {}", ended.out);
    }
    repository.commit();
    let plan = repository.reeve(&["plan", "--rev", "HEAD~1..HEAD"]);
    assert_eq!(plan.status, Some(2), "{}", plan.out);
    assert!(plan.err.contains("error[literal-secret]"), "{}", plan.err);
}

#[test]
fn a_plan_of_what_would_be_refused_is_none() {
    let repository = apart();
    repository.commit();
    let rules = "kind: Health\nrules:\n  - { apiVersion: example.com/v1, kind: Thing, current: status.phase == }\n";
    repository.write("charts/web/1.0.0/health.yaml", rules);
    repository.commit();
    let ended = repository.reeve(&["plan", "--rev", "HEAD~1..HEAD"]).with(2);
    assert!(ended.err.contains("--> charts/web/1.0.0/health.yaml:3:5"), "{}", ended.err);
}

#[test]
fn what_many_runtimes_see_is_said_once() {
    let repository = apart();
    for at in 3..=12 {
        repository.write(&format!("runtimes/eu-{at}.yaml"), "kind: Runtime\n");
    }
    repository.change("charts/web/1.0.0/templates/deployment.yaml.j2", "Values.image.tag", "Values.image.tga");
    let ended = repository.reeve(&["validate"]).with(1);
    assert_eq!(ended.out.matches("error[").count(), 1, "{}", ended.out);
    assert!(ended.out.contains("= in 12 runtimes: eu-1, eu-10, eu-11 and 9 more\n"), "{}", ended.out);
}

#[test]
fn json_lists_findings_and_counts() {
    let document = broken().reeve(&["validate", "-o", "json"]).with(1).json();
    let wanted = serde_json::json!({ "runtimes": 3, "components": 1, "objects": 3, "errors": 3, "warnings": 0 });
    assert_eq!(document["summary"], wanted);
    let last = &document["findings"][2];
    assert_eq!((&last["file"], &last["line"], &last["column"]), (&"runtimes/eu-3.yaml".into(), &2.into(), &10.into()));
    assert_eq!((&last["code"], &last["severity"]), (&"unknown-layer".into(), &"error".into()));
    assert_eq!(last["runtimes"], serde_json::json!(["eu-3"]));
}

#[test]
fn github_and_sarif_count_paths_from_the_root_of_the_git_repository() {
    let outer = Repository::empty();
    outer.write("fleets/a/fleet.yaml", "kind: Fleet\nlayers:\n  - name: gone\n");
    outer.commit();
    let ended = outer.reeve(&["validate", "fleets/a", "-o", "github"]).with(1);
    let wanted = "::error file=fleets/a/fleet.yaml,line=3,col=11,endColumn=14,title=unknown-layer::\
                  there is no layer `gone`%0Ahelp: write layers/gone.yaml\n";
    assert_eq!(ended.out, wanted);
    let sarif = outer.reeve(&["validate", "fleets/a", "-o", "sarif"]).with(1).json();
    let location = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], "fleets/a/fleet.yaml");
}

#[test]
fn warnings_are_allowed_unless_told_otherwise() {
    let repository = apart();
    repository.write("channels/other.yaml", "kind: Channel\ncomponents:\n  nobody: 1.0.0\n");
    let ended = repository.reeve(&["validate"]).with(0);
    assert!(ended.out.starts_with("warning[unused-component]"), "{}", ended.out);
    assert!(ended.out.ends_with(": 1 warning\n"), "{}", ended.out);
    let ended = repository.reeve(&["validate", "--warnings-as-errors"]).with(1);
    assert!(ended.out.starts_with("error[unused-component]"), "{}", ended.out);
}

#[test]
fn a_released_chart_must_not_change_against_a_revision_or_a_folder() {
    let repository = apart();
    repository.commit();
    repository.reeve(&["validate", "--against", "HEAD"]).with(0);
    repository.write("charts/web/1.1.0/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.1.0\n");
    repository.reeve(&["validate", "--against", "main"]).with(0);
    repository.change("charts/web/1.0.0/values.yaml", "nginx", "httpd");
    let ended = repository.reeve(&["validate", "--against", "HEAD"]).with(1);
    assert!(ended.out.starts_with("error[released-chart]: charts/web/1.0.0 is released"), "{}", ended.out);
    let other = apart();
    let ended = repository.reeve(&["validate", "--against", other.path().to_str().unwrap()]).with(1);
    assert!(ended.out.contains("released-chart"), "{}", ended.out);
    repository.reeve(&["validate"]).with(0);
}

#[test]
fn a_fleet_in_a_folder_of_a_repository_is_compared_with_the_same_folder() {
    let outer = apart();
    let inner = Repository::empty();
    inner.write("README.md", "x");
    std::process::Command::new("cp").arg("-r").arg(outer.path()).arg(inner.file("fleet")).status().unwrap();
    inner.commit();
    inner.reeve(&["validate", "fleet", "--against", "HEAD"]).with(0);
    inner.change("fleet/charts/web/1.0.0/values.yaml", "nginx", "httpd");
    let ended = inner.reeve(&["validate", "fleet", "--against", "HEAD"]).with(1);
    assert!(ended.out.contains("--> charts/web/1.0.0/values.yaml"), "{}", ended.out);
}

#[test]
fn an_annotation_that_nobody_knows_and_an_object_that_a_tenant_may_not_have_are_findings() {
    let repository = apart();
    let odd = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: odd\n  annotations:\n    reeve.dev/prunne: Never\n";
    repository.write("charts/web/1.0.0/templates/odd.yaml", odd);
    let ended = repository.reeve(&["validate"]).with(1);
    let wanted = "error[annotation]: ConfigMap default/odd: annotation reeve.dev/prunne is not known: did you mean \
                  `reeve.dev/prune`?\n--> charts/web/1.0.0/templates/odd.yaml:1:1\n";
    assert!(ended.out.starts_with(wanted), "{}", ended.out);

    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: all\n";
    repository.write("charts/web/1.0.0/templates/odd.yaml", role);
    repository.reeve(&["validate"]).with(0);
    repository.write("runtimes/eu-1.yaml", "kind: Runtime\ntarget:\n  namespaces: [default]\n");
    let ended = repository.reeve(&["validate"]).with(1);
    let wanted = "error[cluster-scoped]: ClusterRole.rbac.authorization.k8s.io all is in no namespace, which `eu-1` does \
                  not allow\n--> charts/web/1.0.0/templates/odd.yaml:1:1\n";
    assert!(ended.out.starts_with(wanted), "{}", ended.out);
}

#[test]
fn an_object_that_two_runtimes_want_in_one_cluster_is_named() {
    let ended = Repository::fleet().reeve(&["validate"]).with(0);
    let wanted = [
        "warning[shared-object]: ConfigMap default/first is wanted by runtime `eu-1` too, in the same cluster",
        "--> charts/web/1.0.0/templates/settings.yaml:1:1",
        "only one of them can have it: give it a name of its own in each, or leave it to one",
        "= in runtime eu-2",
    ];
    for line in wanted {
        assert!(ended.out.contains(line), "{}", ended.out);
    }
    assert_eq!(ended.out.matches("shared-object").count(), 3, "{}", ended.out);
}
