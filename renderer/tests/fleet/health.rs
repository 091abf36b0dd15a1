//! What a chart says about the health of its objects, and what else an applier gets to know of a component.

use reeve_renderer::bundle::{Bundle, BundleComponent};
use reeve_renderer::cache::NoCache;
use reeve_renderer::tree::MemoryTree;

use crate::repository::{bundle, lines, with};

const FILE: &str = "charts/web/1.0.0/health.yaml";

fn only(bundle: &Bundle) -> &BundleComponent {
    assert_eq!(bundle.components.len(), 1);
    &bundle.components[0]
}

#[test]
fn the_rules_of_a_chart_reach_the_bundle_and_do_not_rename_it() {
    let rules = "kind: Health\nrules:\n  - apiVersion: example.com/v1\n    kind: Thing\n    current: status.phase == 'Ready'\n    failed: status.phase == 'Failed'\n  - apiVersion: v1\n    kind: Thing\n    current: 'true'\n    inProgress: has(status.x)\n";
    let (with_rules, without) = (with(&[(FILE, rules)]), with(&[]));
    let (with_rules, without) = (bundle(&with_rules, "eu-1", &NoCache), bundle(&without, "eu-1", &NoCache));
    let found: Vec<_> = only(&with_rules)
        .health
        .iter()
        .map(|rule| {
            let optional = [&rule.in_progress, &rule.failed].map(|text| text.as_deref());
            (&*rule.api_version, &*rule.kind, &*rule.current, optional, rule.location.to_string())
        })
        .collect();
    assert_eq!(
        found,
        [
            (
                "example.com/v1",
                "Thing",
                "status.phase == 'Ready'",
                [None, Some("status.phase == 'Failed'")],
                format!("{FILE}:3:5")
            ),
            ("v1", "Thing", "true", [Some("has(status.x)"), None], format!("{FILE}:7:5")),
        ]
    );
    assert!(only(&without).health.is_empty());
    assert_eq!(with_rules.digest, without.digest);
    assert_eq!(only(&with_rules).digest, only(&without).digest);
}

/// The bundle of the first runtime, whose component has these keys.
fn component(keys: &str) -> Bundle {
    let runtime = format!("kind: Runtime\nlabels: {{region: eu}}\ncomponents:\n  web: {{{keys}}}\n");
    let tree: MemoryTree = with(&[("runtimes/eu-1.yaml", &runtime)]);
    bundle(&tree, "eu-1", &NoCache)
}

#[test]
fn an_applier_gets_account_timeout_channel_and_origin() {
    let bundle = component("timeout: 90s, serviceAccountName: deployer");
    let found = only(&bundle);
    assert_eq!(found.timeout.as_deref(), Some("90s"));
    assert_eq!(found.service_account.as_deref(), Some("deployer"));
    assert_eq!(found.channel.as_deref(), Some("regular"));
    assert_eq!(found.origin.to_string(), "runtimes/eu-1.yaml:4:3");
    let named = component("version: 1.0.0");
    assert_eq!(only(&named).channel, None);
}

#[test]
fn the_account_renames_a_bundle_and_the_timeout_does_not() {
    let plain = component("");
    let other = component("serviceAccountName: deployer");
    assert_ne!(plain.digest, other.digest);
    assert_eq!(only(&plain).digest, only(&other).digest);
    assert_eq!(plain.digest, component("timeout: 90s").digest);
}

#[test]
fn a_template_cannot_read_the_rules() {
    let tree = with(&[
        (FILE, "kind: Health\n"),
        ("charts/web/1.0.0/templates/config.yaml.j2", "a: {{ Files.Get('health.yaml') | quote }}\n"),
        ("runtimes/us-1.yaml", ""),
    ]);
    assert!(lines(&tree)[0].contains("file-missing"), "{:?}", lines(&tree));
}

/// What `health.yaml` holds, and the one line that is said.
const CASES: &[(&str, &str)] = &[
    ("rules: []\n", "1:1 missing-key at kind: `kind` is missing (begin with `kind: Health`)"),
    ("kind: Helth\n", "1:7 unknown-word at kind: `kind` must be one of Health, not `Helth` (did you mean `Health`?)"),
    ("kind: Health\nrule: []\n", "2:1 unknown-key at rule: `rule` is not a known key (did you mean `rules`?)"),
    ("kind: Health\nrules: {}\n", "2:8 wrong-type at rules: `rules` must be a list, not a map"),
    ("kind: Health\nrules: [{apiVersion: v1, kind: Pod}]\n", "2:9 missing-key at rules[0]: `rules[0]` needs `current`"),
    (
        "kind: Health\nrules: [{apiVersion: v1, current: 'true'}]\n",
        "2:9 missing-key at rules[0]: `rules[0]` needs `kind`",
    ),
    (
        "kind: Health\nrules: [{kind: Pod, current: 'true'}]\n",
        "2:9 missing-key at rules[0]: `rules[0]` needs `apiVersion`",
    ),
    (
        "kind: Health\nrules: [{apiVersion: v1, kind: Pod, current: true}]\n",
        "2:46 wrong-type at rules[0].current: `rules[0].current` must be text, not a boolean (write \"true\")",
    ),
    (
        "kind: Health\nrules: [{apiVersion: v1, kind: Pod, current: ' '}]\n",
        "2:46 empty-text at rules[0].current: `rules[0].current` is empty (write a CEL expression, such as status.phase == 'Ready')",
    ),
    (
        "kind: Health\nrules: [{apiVersion: v1, kind: Pod, current: x, failed: ''}]\n",
        "2:57 out-of-range at rules[0].failed: `rules[0].failed` must have between 1 and 1000 characters, not 0",
    ),
    (
        "kind: Health\nrules: [{apiVersion: v1, kind: Pod, current: x, inprogress: z}]\n",
        "2:49 unknown-key at rules[0].inprogress: `inprogress` is not a known key (did you mean `inProgress`?)",
    ),
    (
        "kind: Health\nrules: [{apiVersion: a/b/c, kind: Pod, current: x}]\n",
        "2:22 bad-name at rules[0].apiVersion: `a/b/c` is not an API version (write it like apps/v1 or v1)",
    ),
    (
        "kind: Health\nrules: [{apiVersion: v1, kind: pod, current: x}]\n",
        "2:32 bad-name at rules[0].kind: `pod` is not a kind (write it like Deployment)",
    ),
    (
        "kind: Health\nrules:\n  - {apiVersion: v1, kind: Pod, current: x}\n  - {apiVersion: v1, kind: Pod, current: z}\n",
        "4:5 duplicate-entry at rules[1]: Pod of v1 has two rules; the first is here charts/web/1.0.0/health.yaml:3:5 (make one rule of the two)",
    ),
];

#[test]
fn every_mistake_in_the_rules_is_said_with_file_line_key_and_what_to_do() {
    for (text, expected) in CASES {
        let said = lines(&with(&[(FILE, text)]));
        let expected = format!("{FILE}:{expected}");
        assert_eq!(said.first(), Some(&expected), "{text}\nall that was said: {said:#?}");
    }
}
