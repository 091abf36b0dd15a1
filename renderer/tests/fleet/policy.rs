//! By which rules a runtime is kept to Git: what may be written, and what comes of it.

use reeve_renderer::affected::{Affected, affected};
use reeve_renderer::cache::NoCache;
use reeve_renderer::fleet::Loader;
use reeve_renderer::resolve::resolve;
use reeve_renderer::tree::MemoryTree;

use crate::repository::{bundle, lines, load, with};

const EVERY_KEY: &str = "
  interval: 30s
  timeout: 1h30m
  maxBackoff: 1.5m
  concurrency: 64
  prune: false
  drift:
    mode: Report
    fullCheckInterval: 168h
    ignore:
      - paths: [/spec/replicas]
        group: apps
        kind: Deployment
        namespace: shop
        name: web
      - paths: [/metadata/annotations/a, /data]
  adoption: Never
  recreate: OnImmutable
  deletionPolicy: Delete
  dapr:
    reload: Manual
    settleTime: 0s
    proofTimeout: 10s
    maxConcurrentRestarts: 1000
    maxRestartsPerHour: 60
";

/// The small repository with a policy in its first runtime.
fn with_policy(policy: &str) -> MemoryTree {
    let runtime = format!("kind: Runtime\nlabels: {{region: eu}}\ncomponents:\n  web: {{}}\npolicy:{policy}\n");
    with(&[("runtimes/eu-1.yaml", &runtime)])
}

fn policy(tree: &MemoryTree, runtime: &str) -> serde_json::Value {
    let (fleet, said) = load(tree);
    assert!(said.is_empty(), "{said:?}");
    let resolved = resolve(&fleet, runtime).expect("it is in the fleet").expect("it resolves");
    serde_json::Value::from(&resolved.policy.to_value())
}

#[test]
fn every_key_can_be_written_in_the_runtime_and_in_the_defaults() {
    let expected = serde_json::json!({
        "interval": "30s",
        "timeout": "1h30m",
        "maxBackoff": "1.5m",
        "concurrency": 64,
        "prune": false,
        "drift": {
            "mode": "Report",
            "fullCheckInterval": "168h",
            "ignore": [
                {"paths": ["/spec/replicas"], "group": "apps", "kind": "Deployment", "namespace": "shop", "name": "web"},
                {"paths": ["/metadata/annotations/a", "/data"]},
            ],
        },
        "adoption": "Never",
        "recreate": "OnImmutable",
        "deletionPolicy": "Delete",
        "dapr": {
            "reload": "Manual",
            "settleTime": "0s",
            "proofTimeout": "10s",
            "maxConcurrentRestarts": 1000,
            "maxRestartsPerHour": 60,
        },
    });
    assert_eq!(policy(&with_policy(EVERY_KEY), "eu-1"), expected);
    let defaults =
        format!("kind: Fleet\ndefaults:\n  channel: regular\n  policy:{}", EVERY_KEY.replace("\n  ", "\n    "));
    assert_eq!(policy(&with(&[("fleet.yaml", &defaults)]), "us-1"), expected);
}

#[test]
fn a_runtime_wins_over_the_defaults_key_by_key() {
    let defaults = "kind: Fleet\ndefaults:\n  channel: regular\n  policy:\n    prune: false\n    drift: {mode: Report, ignore: [{paths: [/a]}]}\n";
    let runtime = "kind: Runtime\npolicy: {timeout: 1m, drift: {ignore: [{paths: [/b]}]}}\ncomponents: {web: {}}\n";
    let tree = with(&[("fleet.yaml", defaults), ("runtimes/eu-1.yaml", runtime)]);
    assert_eq!(
        policy(&tree, "eu-1"),
        serde_json::json!({"timeout": "1m", "prune": false, "drift": {"mode": "Report", "ignore": [{"paths": ["/b"]}]}})
    );
}

#[test]
fn a_change_of_policy_or_target_concerns_the_runtime_but_does_not_rename_its_bundle() {
    let before = with_policy(" {prune: true}");
    let loader = Loader::new();
    let (old, _) = loader.load(&before).expect("readable");
    for after in [
        with_policy(" {prune: false}"),
        with_policy(" {prune: true}\ntarget: {type: Agent}"),
        with_policy(" {prune: true}\ntarget: {serviceAccount: {name: other}}"),
    ] {
        let (new, _) = loader.load(&after).expect("readable");
        assert_eq!(affected(&old, &new), [("eu-1".into(), Affected::Changed)]);
        assert_eq!(bundle(&before, "eu-1", &NoCache).digest, bundle(&after, "eu-1", &NoCache).digest);
    }
    let (same, _) = loader.load(&with_policy("\n  # why\n  prune: true")).expect("readable");
    assert_eq!(affected(&old, &same), []);
}

/// What is written below `policy`, and the one line that is said.
const CASES: &[(&str, &str)] = &[
    (" {prun: true}", "5:10 unknown-key at policy.prun: `prun` is not a known key (did you mean `prune`?)"),
    (
        " {drift: {modes: Report}}",
        "5:18 unknown-key at policy.drift.modes: `modes` is not a known key (did you mean `mode`?)",
    ),
    (" {prune: maybe}", "5:17 wrong-type at policy.prune: `policy.prune` must be true or false, not text"),
    (
        " {interval: 30}",
        "5:20 wrong-type at policy.interval: `policy.interval` must be text, not a whole number (write it with its unit, like 30s)",
    ),
    (
        " {interval: 5 minutes}",
        "5:20 bad-duration at policy.interval: `5 minutes` is not a duration (write it like 30s, 5m or 1h30m)",
    ),
    (
        " {interval: 999ms}",
        "5:20 out-of-range at policy.interval: `policy.interval` must be between 1s and 24h, not 999ms",
    ),
    (" {timeout: 25h}", "5:19 out-of-range at policy.timeout: `policy.timeout` must be between 1s and 24h, not 25h"),
    (
        " {maxBackoff: 61m}",
        "5:22 out-of-range at policy.maxBackoff: `policy.maxBackoff` must be between 1s and 1h, not 61m",
    ),
    (
        " {concurrency: 65}",
        "5:23 out-of-range at policy.concurrency: `policy.concurrency` must be between 1 and 64, not 65",
    ),
    (
        " {concurrency: 0}",
        "5:23 out-of-range at policy.concurrency: `policy.concurrency` must be between 1 and 64, not 0",
    ),
    (
        " {drift: {mode: repair}}",
        "5:24 unknown-word at policy.drift.mode: `policy.drift.mode` must be one of Repair, Report, Ignore, not `repair` (did you mean `Repair`?)",
    ),
    (
        " {drift: {fullCheckInterval: 30s}}",
        "5:37 out-of-range at policy.drift.fullCheckInterval: `policy.drift.fullCheckInterval` must be between 1m and 168h, not 30s",
    ),
    (
        " {drift: {ignore: [{kind: Pod}]}}",
        "5:27 missing-key at policy.drift.ignore[0]: `policy.drift.ignore[0]` needs `paths` (list the fields that others may change, such as /spec/replicas)",
    ),
    (
        " {drift: {ignore: [{paths: []}]}}",
        "5:35 out-of-range at policy.drift.ignore[0].paths: `policy.drift.ignore[0].paths` must have between 1 and 32 entries, not 0",
    ),
    (
        " {drift: {ignore: [{paths: [spec.replicas]}]}}",
        "5:36 bad-pointer at policy.drift.ignore[0].paths[0]: `spec.replicas` is not a JSON pointer (begin with /, as in /spec/replicas: write /spec/replicas)",
    ),
    (
        " {drift: {ignore: [{paths: [/a~1b, /a~2]}]}}",
        "5:43 bad-pointer at policy.drift.ignore[0].paths[1]: `/a~2` is not a JSON pointer (write ~0 for a ~ in a name, and ~1 for a / in one)",
    ),
    (
        " {drift: {ignore: [{paths: [/a, /a]}]}}",
        "5:40 duplicate-entry at policy.drift.ignore[0].paths[1]: `/a` is there twice; the first is here runtimes/eu-1.yaml:5:36 (keep one of the two)",
    ),
    (
        " {adoption: Sometimes}",
        "5:20 unknown-word at policy.adoption: `policy.adoption` must be one of Unowned, Always, Never, not `Sometimes`",
    ),
    (
        " {recreate: Always}",
        "5:20 unknown-word at policy.recreate: `policy.recreate` must be one of Never, OnImmutable, not `Always`",
    ),
    (
        " {deletionPolicy: Keep}",
        "5:26 unknown-word at policy.deletionPolicy: `policy.deletionPolicy` must be one of Orphan, Delete, not `Keep`",
    ),
    (
        " {dapr: {reload: Hot}}",
        "5:25 unknown-word at policy.dapr.reload: `policy.dapr.reload` must be one of Auto, Restart, HotOnly, Manual, not `Hot`",
    ),
    (
        " {dapr: {settleTime: 2h}}",
        "5:29 out-of-range at policy.dapr.settleTime: `policy.dapr.settleTime` must be between 0s and 1h, not 2h",
    ),
    (
        " {dapr: {proofTimeout: 9s}}",
        "5:31 out-of-range at policy.dapr.proofTimeout: `policy.dapr.proofTimeout` must be between 10s and 1h, not 9s",
    ),
    (
        " {dapr: {maxConcurrentRestarts: 1001}}",
        "5:40 out-of-range at policy.dapr.maxConcurrentRestarts: `policy.dapr.maxConcurrentRestarts` must be between 1 and 1000, not 1001",
    ),
    (
        " {dapr: {maxRestartsPerHour: 61}}",
        "5:37 out-of-range at policy.dapr.maxRestartsPerHour: `policy.dapr.maxRestartsPerHour` must be between 1 and 60, not 61",
    ),
    (
        " {}\ntarget: {kubeConfigSecretRef: {name: a}}",
        "6:10 needless-key at target.kubeConfigSecretRef: `target.kubeConfigSecretRef` does not go with type InCluster, the cluster that Reeve runs in (write `type: KubeConfig`, or remove it)",
    ),
    (
        " {}\ntarget: {type: KubeConfig}",
        "6:1 missing-key at target: `target.kubeConfigSecretRef` is missing (name the Secret with the kubeconfig of the cluster)",
    ),
    (
        " {}\ntarget: {serviceAccount: {name: A_b}}",
        "6:33 bad-name at target.serviceAccount.name: `A_b` is not a name that Kubernetes takes (use lower-case letters, digits, '-' and '.', at most 253, beginning and ending with a letter or digit)",
    ),
    (
        " {}\ntarget: {type: Agent, kubeConfigSecretRef: {name: a, key: \"\"}}",
        "6:59 out-of-range at target.kubeConfigSecretRef.key: `target.kubeConfigSecretRef.key` must have between 1 and 253 characters, not 0",
    ),
    (
        " {}\ntarget: {namespaces: [default, default]}",
        "6:32 duplicate-entry at target.namespaces[1]: `default` is there twice; the first is here runtimes/eu-1.yaml:6:23 (keep one of the two)",
    ),
];

#[test]
fn what_the_kind_would_refuse_is_refused_with_file_line_key_and_what_to_do() {
    for (written, expected) in CASES {
        let said = lines(&with_policy(written));
        let expected = format!("runtimes/eu-1.yaml:{expected}");
        assert_eq!(said.first(), Some(&expected), "{written}\nall that was said: {said:#?}");
    }
}

#[test]
fn the_bounds_of_lists_and_texts_hold() {
    let paths = |count: usize| (0..count).map(|at| format!("/{at}")).collect::<Vec<_>>().join(", ");
    let rules = |count: usize| "{paths: [/a]}, ".repeat(count);
    let said = |policy: String| lines(&with_policy(&policy));
    assert_eq!(said(format!(" {{drift: {{ignore: [{}]}}}}", rules(64))), Vec::<String>::new());
    assert_eq!(said(format!(" {{drift: {{ignore: [{{paths: [{}]}}]}}}}", paths(32))), Vec::<String>::new());
    assert_eq!(
        said(format!(" {{drift: {{ignore: [{}]}}}}", rules(65))),
        [
            "runtimes/eu-1.yaml:5:26 out-of-range at policy.drift.ignore: `policy.drift.ignore` must have between 0 and 64 entries, not 65"
        ]
    );
    assert_eq!(
        said(format!(" {{drift: {{ignore: [{{paths: [{}]}}]}}}}", paths(33))),
        [
            "runtimes/eu-1.yaml:5:35 out-of-range at policy.drift.ignore[0].paths: `policy.drift.ignore[0].paths` must have between 1 and 32 entries, not 33"
        ]
    );
    for (key, most) in [("group", 253), ("kind", 63), ("namespace", 63), ("name", 253)] {
        let rule = |length: usize| format!(" {{drift: {{ignore: [{{paths: [/a], {key}: {}}}]}}}}", "a".repeat(length));
        assert_eq!(said(rule(most)), Vec::<String>::new());
        let expected = format!("`policy.drift.ignore[0].{key}` must have between 0 and {most} characters");
        assert!(said(rule(most + 1))[0].contains(&expected), "{:?}", said(rule(most + 1)));
    }
    let many = (0..257).map(|at| format!("n{at}")).collect::<Vec<_>>().join(", ");
    assert!(
        said(format!(" {{}}\nnamespace: n0\ntarget: {{namespaces: [{many}]}}"))[0]
            .ends_with("`target.namespaces` must have between 0 and 256 entries, not 257")
    );
}

#[test]
fn a_tenant_needs_one_of_its_namespaces_for_objects_that_name_none() {
    assert_eq!(
        lines(&with_policy(" {}\ntarget: {namespaces: [shop, web]}")),
        [
            "runtimes/eu-1.yaml:1:1 foreign-namespace at namespace: objects that name no namespace go to `default`, which `target.namespaces` does not have (write `namespace: shop`, or add `default` to `target.namespaces`)"
        ]
    );
    assert_eq!(lines(&with_policy(" {}\nnamespace: web\ntarget: {namespaces: [shop, web]}")), Vec::<String>::new());
}
