use super::*;
use crate::yaml::{Interner, Options, values};

fn read(text: &str) -> Result<Vec<Draft>, Vec<Diagnostic>> {
    drafts(
        &"charts/web/1.0.0/templates/x.yaml.j2".into(),
        &values(text, &Options::default(), &mut Interner::default()).expect("YAML"),
        Manners::Strict,
        |line| line,
    )
}

fn said(text: &str) -> String {
    let findings = read(text).expect_err(text);
    let help = findings[0].help.clone().unwrap_or_default();
    format!("{}: {} ({help})", findings[0].code, findings[0].message)
}

#[test]
fn documents_become_objects_and_lists_are_taken_apart() {
    let text = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n\
                - {apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: c}}\n";
    let found = read(text).expect("objects");
    assert_eq!(found.iter().map(|draft| &*draft.name).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(found[1].namespace.as_deref(), Some("c"));
}

#[test]
fn what_no_api_server_would_take_is_refused() {
    let object = |metadata: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\n");
    let cases = [
        ("[1]".to_owned(), "not-an-object: document 1: this is a list, not an object ()"),
        ("kind: A\nmetadata: {name: a}".to_owned(), "missing-field: document 1: `apiVersion` is missing ()"),
        (
            "apiVersion: v1\nkind: A\n".to_owned(),
            "missing-field: document 1: `metadata` is missing (every object needs a metadata.name)",
        ),
        (object("{}"), "missing-field: document 1: `metadata.name` is missing ()"),
        (object("{name: 3}"), "wrong-type: document 1: `metadata.name` must be text, not a whole number (quote it)"),
        (
            object("{generateName: a}"),
            "generate-name: document 1: `generateName` cannot be used (write metadata.name: an object that is called otherwise every time cannot be kept to Git)",
        ),
        (
            object("{name: A_b}"),
            "bad-name: ConfigMap A_b: `A_b` is not a name that Kubernetes takes (use lower-case letters, digits, '-' and '.', at most 253)",
        ),
        (
            object("{name: a, labels: {x: 1}}"),
            "wrong-type: ConfigMap a: `x` in labels must be text, not a whole number (quote it, in a template with `| quote`)",
        ),
        (
            object("{name: a, labels: {x: a b}}"),
            "bad-label: ConfigMap a: `a b` cannot be the value of the label `x` (use letters, digits, '-', '_' and '.', at most 63, beginning and ending with a letter or digit)",
        ),
        (
            object("{name: a, annotations: {helm.sh/hook: pre-install}}"),
            "helm-hook: ConfigMap a: a ConfigMap cannot be a hook, only a Job (apply it as an ordinary object, or make it a Job)",
        ),
        (
            object("{name: a, annotations: {helm.sh/hook: test}}"),
            "helm-hook: ConfigMap a: the hook `test` is not supported (hooks run before and after install and upgrade; leave tests, deletion and rollback hooks out of the chart)",
        ),
        (
            object("{name: a, annotations: {helm.sh/resource-policy: drop}}"),
            "helm-policy: ConfigMap a: `drop` is not a resource policy (the only one is `keep`)",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(said(&text), message);
    }
    let large =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{x: {}}}", "y".repeat(LARGEST_OBJECT));
    assert!(said(&large).starts_with("object-too-large: ConfigMap a: it has "), "{}", said(&large));
}

#[test]
fn hooks_and_keep_are_understood() {
    let text = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: a\n  annotations:\n    helm.sh/hook: pre-install, pre-upgrade\n    \
                helm.sh/hook-weight: \"-5\"\n    helm.sh/resource-policy: keep\n";
    let found = read(text).expect("objects").remove(0);
    let hook = found.hook.expect("a hook");
    assert_eq!(hook.phases, [Phase::PreInstall, Phase::PreUpgrade]);
    assert_eq!((hook.weight, hook.deletion, found.keep), (-5, vec![HookDeletion::BeforeCreation], true));
}
