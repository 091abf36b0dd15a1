//! Every class of mistake, with the exact words.

use crate::repository::{lines, small, with};

#[test]
fn a_repository_in_order_has_no_findings() {
    assert_eq!(lines(&small()), Vec::<String>::new());
}

/// The files changed, and the one line that is said.
const CASES: &[(&[(&str, &str)], &str)] = &[
    (
        &[("fleet.yaml", "")],
        "fleet.yaml:1:1 missing-file: there is no fleet.yaml: this is not a fleet repository (`reeve new fleet NAME` makes one)",
    ),
    (
        &[("runtimes/eu-1.yaml", ""), ("runtimes/us-1.yaml", ""), ("runtimes", "a file")],
        "runtimes:1:1 not-a-file: runtimes is a file, and must be a folder",
    ),
    (
        &[("runtimes/eu-1.yaml", "kind: Runtime\nchanel: regular\n")],
        "runtimes/eu-1.yaml:2:1 unknown-key at chanel: `chanel` is not a known key (did you mean `channel`?)",
    ),
    (
        &[("runtimes/eu-1.yaml", "labels: {a: b}\n")],
        "runtimes/eu-1.yaml:1:1 missing-key at kind: `kind` is missing (begin with `kind: Runtime`)",
    ),
    (
        &[("runtimes/eu-1.yaml", "kind: Layer\n")],
        "runtimes/eu-1.yaml:1:7 unknown-word at kind: `kind` must be one of Runtime, not `Layer`",
    ),
    (
        &[("runtimes/eu-1.yaml", "kind: Runtime\nlabels: [a]\n")],
        "runtimes/eu-1.yaml:2:9 wrong-type at labels: `labels` must be a map, not a list",
    ),
    (
        &[("runtimes/eu-1.yaml", "kind: Runtime\nchannel: 3\n")],
        "runtimes/eu-1.yaml:2:10 wrong-type at channel: `channel` must be text, not a whole number (write \"3\")",
    ),
    (
        &[("runtimes/eu-1.yaml", "kind: Runtime\nkind: Runtime\n")],
        "runtimes/eu-1.yaml:2:1 yaml-duplicate-key: `kind` is there twice; the first is here runtimes/eu-1.yaml:1:1 (keep one of the two)",
    ),
    (
        &[("runtimes/eu-1.yaml", "kind: Runtime\nlabels: {a: yes}\n")],
        "runtimes/eu-1.yaml:2:13 yaml-ambiguous: `yes` is a boolean to some readers of YAML and text to others (write \"yes\" for the text, or true for the boolean)",
    ),
    (
        &[("runtimes/eu-1.yaml", "kind: Runtime\nlabels: {a: \"-\"}\n")],
        "runtimes/eu-1.yaml:2:13 bad-label at labels.a: `-` is not the value of a label (use letters, digits, '-', '_' and '.', at most 63, beginning and ending with a letter or digit)",
    ),
    (
        &[("runtimes/eu-1.yaml", "kind: Runtime\nchannel: reglar\n")],
        "runtimes/eu-1.yaml:2:10 unknown-channel: there is no channel `reglar` (did you mean `regular`?)",
    ),
    (
        &[("runtimes/eu-1.yaml", "kind: Runtime\nlayers: [asia]\n")],
        "runtimes/eu-1.yaml:2:10 unknown-layer: there is no layer `asia` (write layers/asia.yaml)",
    ),
    (
        &[("runtimes/eu-1.yaml", "kind: Runtime\ncomponents: {webb: {}}\n")],
        "runtimes/eu-1.yaml:2:14 unknown-chart: there is no chart `webb` (did you mean `web`?)",
    ),
    (
        &[("runtimes/eu-1.yaml", "kind: Runtime\ncomponents: {web: {version: 9.0.0}}\n")],
        "runtimes/eu-1.yaml:2:29 unknown-version: chart `web` has no version 9.0.0 (there is 1.0.0)",
    ),
    (
        &[("runtimes/eu-1.yaml", "kind: Runtime\ncomponents: {web: {version: one}}\n")],
        "runtimes/eu-1.yaml:2:29 bad-version at components.web.version: `one` is not a version: unexpected character 'o' while parsing major version number (write the name of a folder in charts/<chart>/, such as 1.2.0)",
    ),
    (
        &[
            ("runtimes/eu-1.yaml", "kind: Runtime\ncomponents: {other: {chart: web}}\n"),
            ("channels/regular.yaml", "kind: Channel\n"),
            ("layers/eu.yaml", "kind: Layer\n"),
            ("runtimes/us-1.yaml", ""),
        ],
        "runtimes/eu-1.yaml:2:14 no-version: channel `regular` has no version of `other` (add it to channels/regular.yaml, or write `version` here)",
    ),
    (
        &[("runtimes/eu-1.yaml", "kind: Runtime\nwave: first\n")],
        "runtimes/eu-1.yaml:2:7 unknown-wave at wave: there is no wave `first` (waves are listed in fleet.yaml)",
    ),
    (
        &[("runtimes/eu-1.yaml", "kind: Runtime\ncomponents: {web: {dependsOn: [db]}}\n")],
        "runtimes/eu-1.yaml:2:14 unknown-dependency: `web` depends on `db`, which `eu-1` does not have (add `db` to the runtime, or remove it from `dependsOn`)",
    ),
    (
        &[(
            "runtimes/eu-1.yaml",
            "kind: Runtime\ncomponents:\n  a: {chart: web, dependsOn: [b]}\n  b: {chart: web, dependsOn: [a]}\n",
        )],
        "runtimes/eu-1.yaml:3:3 dependency-cycle: components depend on each other in a circle: a -> b -> a; `b` is here runtimes/eu-1.yaml:4:3 (remove one of these from `dependsOn`)",
    ),
    (
        &[("runtimes/Eu_1.yaml", "kind: Runtime\n")],
        "runtimes/Eu_1.yaml:1:1 bad-name at name: `Eu_1` is not a name that Kubernetes takes (use lower-case letters, digits and '-', at most 63, beginning and ending with a letter or digit)",
    ),
    (
        &[("runtimes/x/eu-1.yaml", "kind: Runtime\n")],
        "runtimes/x/eu-1.yaml:1:1 duplicate-name: `eu-1` is there twice; the other is here runtimes/eu-1.yaml:1:1 (rename one of the two)",
    ),
    (
        &[("runtimes/eu-1.yaml", "kind: Runtime\nname: eu-2\n")],
        "runtimes/eu-1.yaml:2:7 name-mismatch at name: the runtime is called `eu-2`, but its file `eu-1` (remove `name`, or rename the file)",
    ),
    (
        &[("runtimes/eu-1.yaml", "# nothing\n")],
        "runtimes/eu-1.yaml:1:1 empty-file: this file is empty (write it, or remove it)",
    ),
    (
        &[("runtimes/eu-1.txt", "x")],
        "runtimes/eu-1.txt:1:1 unexpected-file: runtimes/ holds YAML files (name it .yaml, or move it away)",
    ),
    (
        &[("layers/base.yaml", "team: shop\n")],
        "layers/base.yaml:1:1 missing-key at kind: `kind` is missing (begin with `kind: Layer`)",
    ),
    (
        &[("layers/base.yaml", "kind: Layer\n---\nkind: Layer\n")],
        "layers/base.yaml:3:1 many-documents: this file must hold one document (move the second into a file of its own)",
    ),
    (
        &[("layers/base.yaml", "kind: Layer\nvalues: {password: 'ENC[AES256_GCM,data:x]'}\n")],
        "layers/base.yaml:2:10 encrypted-value at values.password: `values.password` is encrypted, and encrypted values cannot be read yet (refer to a Secret that exists in the runtime)",
    ),
    (
        &[("layers/base.yaml", "kind: Layer\ncomponents: {webb: {values: {a: 1}}}\n")],
        "layers/base.yaml:2:14 unused-component: no runtime has a component `webb` (did you mean `web`?)",
    ),
    (
        &[("fleet.yaml", "kind: Fleet\ndefaults: {channel: regular}\npolicy: {releasedCharts: Never}\n")],
        "fleet.yaml:3:26 unknown-word at policy.releasedCharts: `policy.releasedCharts` must be one of Error, Warning, not `Never`",
    ),
    (
        &[("fleet.yaml", "kind: Fleet\ndefaults: {channel: regular}\nlimits: {steps: 0}\n")],
        "fleet.yaml:3:17 out-of-range at limits.steps: `limits.steps` must be between 1 and 1000000000, not 0",
    ),
    (
        &[("fleet.yaml", "kind: Fleet\ndefaults: {channel: regular}\nlimits: {removals: 0%}\n")],
        "fleet.yaml:3:20 out-of-range at limits.removals: `limits.removals` must be a number, or a percentage from 1% to 100%, not `0%` (write it like 50 or 20%)",
    ),
    (
        &[("fleet.yaml", "kind: Fleet\ndefaults: {channel: regular}\nlimits: {removals: -1}\n")],
        "fleet.yaml:3:20 out-of-range at limits.removals: `limits.removals` must be between 0 and 1000000, not -1",
    ),
    (
        &[
            ("fleet.yaml", "kind: Fleet\ndefaults: {channel: regular}\nlimits: {objects: 1}\n"),
            ("charts/web/1.0.0/crds/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"),
            ("runtimes/us-1.yaml", ""),
        ],
        "runtimes/eu-1.yaml:1:1 too-many-objects: `eu-1` has 2 objects; fleet.yaml allows 1 (raise limits.objects in fleet.yaml if this is meant)",
    ),
    (
        &[("charts/web/1.0.0/Chart.yaml", "")],
        "charts/web/1.0.0/Chart.yaml:1:1 missing-file: charts/web/1.0.0 has no Chart.yaml (write one with `apiVersion: v2`, `name: web` and `version: 1.0.0`)",
    ),
    (
        &[("charts/web/1.0.0/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.1\n")],
        "charts/web/1.0.0/Chart.yaml:3:10 name-mismatch at version: `version` is `1.0.1`, but the folder says `1.0.0`",
    ),
    (
        &[(
            "charts/web/1.0.0/Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: redis}]\n",
        )],
        "charts/web/1.0.0/Chart.yaml:4:1 subchart at dependencies: the charts that this one depends on are not in its charts/ (run `helm dependency build` and commit its charts/)",
    ),
    (
        &[("charts/web/one/Chart.yaml", "name: web\n")],
        "charts/web/one:1:1 bad-version: `one` is not a version: unexpected character 'o' while parsing major version number (name it like 1.2.0)",
    ),
    (
        &[("charts/web/1.0.0/templates/x.yaml", "a: {{ .Values.x | toYamll }}\n")],
        "charts/web/1.0.0/templates/x.yaml:1:19 template-syntax: there is no function `toYamll`; did you mean `toYaml`?",
    ),
    (
        &[("charts/web/1.0.0/templates/x.sh", "echo\n")],
        "charts/web/1.0.0/templates/x.sh:1:1 unexpected-file: this file is neither a template nor YAML (templates end in .j2, files for `Files` go next to templates/, for example into files/)",
    ),
    (
        &[
            ("charts/web/1.0.0/templates/x.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"),
            ("runtimes/us-1.yaml", ""),
        ],
        "charts/web/1.0.0/templates/config.yaml.j2:1:1 duplicate-object: ConfigMap default/web is there twice in component `web`; the first is in charts/web/1.0.0/templates/x.yaml charts/web/1.0.0/templates/x.yaml:1:1 (rename one of the two, or remove it)",
    ),
    (
        &[
            (
                "charts/web/1.0.0/templates/x.yaml",
                "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: b}\n",
            ),
            ("runtimes/us-1.yaml", ""),
        ],
        "charts/web/1.0.0/templates/x.yaml:1:1 secret-in-clear: Secret s holds its data in clear (refer to a Secret that exists in the runtime)",
    ),
    (
        &[
            (
                "charts/web/1.0.0/templates/x.yaml",
                "apiVersion: v1\nkind: Namespace\nmetadata: {name: s, namespace: t}\n",
            ),
            ("runtimes/us-1.yaml", ""),
        ],
        "charts/web/1.0.0/templates/x.yaml:1:1 needless-namespace: Namespace s has a namespace, but its kind lives in none (remove metadata.namespace; it is left out)",
    ),
    (
        &[
            (
                "runtimes/eu-1.yaml",
                "kind: Runtime\nnamespace: shop\ntarget: {namespaces: [shop]}\ncomponents: {web: {namespace: default}}\n",
            ),
            ("runtimes/us-1.yaml", ""),
        ],
        "charts/web/1.0.0/templates/config.yaml.j2:1:1 foreign-namespace: ConfigMap default/web is in a namespace that `eu-1` does not allow (`target.namespaces` of the runtime has shop)",
    ),
    (
        &[
            ("charts/web/1.0.0/templates/x.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: s}\n"),
            (
                "runtimes/eu-1.yaml",
                "kind: Runtime\nnamespace: shop\ntarget: {namespaces: [shop]}\ncomponents: {web: {}}\n",
            ),
            ("runtimes/us-1.yaml", ""),
        ],
        "charts/web/1.0.0/templates/x.yaml:1:1 cluster-scoped: Namespace s is in no namespace, which `eu-1` does not allow (`target.namespaces` of the runtime has shop)",
    ),
    (
        &[("charts/web/1.0.0/templates/config.yaml.j2", "a: [1\n"), ("runtimes/us-1.yaml", "")],
        "charts/web/1.0.0/templates/config.yaml.j2:1:1 yaml-syntax: in what the template writes: this is not YAML: unclosed bracket '['; line 1 of its output: a: [1 ",
    ),
    (
        &[("charts/web/1.0.0/values.schema.json", "{\"properties\": {\"replicas\": {\"maximum\": 2}}}")],
        "layers/eu.yaml:7:7 schema at replicas: replicas must be at most 2, not 3; the rule of chart web is here charts/web/1.0.0/values.schema.json:1:30",
    ),
];

#[test]
fn every_mistake_is_said_with_file_line_key_and_what_to_do() {
    for (files, expected) in CASES {
        let said = lines(&with(files));
        assert_eq!(said.first().map(String::as_str), Some(*expected), "{files:?}\nall that was said: {said:#?}");
    }
}

#[test]
fn all_mistakes_of_all_files_are_said_together() {
    let said = lines(&with(&[
        ("fleet.yaml", "kind: Fleet\nx: 1\n"),
        ("layers/base.yaml", "kind: Layer\nvalues: 3\n"),
        ("runtimes/eu-1.yaml", "kind: Runtime\nlabels: {a: on, b: 0755}\n"),
        ("runtimes/us-1.yaml", "kind: Runtime\nlayers: [nope]\nchannel: nope\nwave: nope\n"),
        ("charts/web/1.0.0/Chart.yaml", "name: web\n"),
    ]));
    let starts: Vec<&str> = said.iter().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(
        starts,
        [
            "charts/web/1.0.0/Chart.yaml",
            "fleet.yaml",
            "layers/base.yaml",
            "runtimes/eu-1.yaml",
            "runtimes/eu-1.yaml",
            "runtimes/us-1.yaml",
            "runtimes/us-1.yaml",
            "runtimes/us-1.yaml",
        ],
        "{said:#?}"
    );
}

#[test]
fn a_file_that_is_too_large_is_refused_by_its_size() {
    let mut tree = small();
    tree.write("layers/base.yaml", vec![b'a'; 100 << 20]);
    assert!(
        lines(&tree)[0].starts_with(
            "layers/base.yaml:1:1 file-too-large: this file has 104857600 bytes; at most 1048576 are read"
        )
    );
}

#[test]
fn a_file_that_is_no_text_is_refused() {
    let mut tree = small();
    tree.write("layers/base.yaml", b"kind: Layer\nvalues: \xff\n");
    assert_eq!(lines(&tree)[0], "layers/base.yaml:2:1 not-utf8: this file is not UTF-8 text");
}

/// What the template of the small repository becomes, and the first thing that is said of it.
const WRITTEN: &[(&str, &str)] = &[
    (
        "apiVersion: v1\nkind: ConfigMap\n{# not a line of the output #}\nmetadata:\n  name: x\n  name: y2\n",
        "6:3 yaml-duplicate-key: in what the template writes: `name` is there twice; line 5 of its output:   name: y2 ; the first is here charts/web/1.0.0/templates/config.yaml.j2:5:3 (keep one of the two)",
    ),
    (
        "{% for name in ['a', 'b'] %}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ name }}}\n{% endfor %}\n---\nkind: Pod\nmetadata: {name: z}\n",
        "8:1 missing-field at apiVersion: document 3: `apiVersion` is missing",
    ),
    (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  {{- dict('a', 'b') | toYaml | nindent(2) }}\n  {{ 'b: on' }}\n",
        "7:3 yaml-ambiguous: in what the template writes: `on` is a boolean to some readers of YAML and text to others; line 7 of its output:   b: on  (write \"on\" for the text, or true for the boolean)",
    ),
    (
        "{% macro data() %}\na: 1\nb: no\n{% endmacro %}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  {{- data() | nindent(2) }}\n",
        "9:7 yaml-ambiguous: in what the template writes: `no` is a boolean to some readers of YAML and text to others; line 6 of its output:   b: no  (write \"no\" for the text, or false for the boolean)",
    ),
    (
        "# a comment\n\n{% if true %}\nkind: Secret\napiVersion: v1\nmetadata: {name: x}\nstringData: {a: b}\n{% endif %}\n",
        "4:1 secret-in-clear: Secret x holds its data in clear (refer to a Secret that exists in the runtime)",
    ),
];

#[test]
fn what_is_wrong_with_the_output_is_shown_at_the_line_that_wrote_it() {
    for (template, expected) in WRITTEN {
        let tree = with(&[("charts/web/1.0.0/templates/config.yaml.j2", template), ("runtimes/us-1.yaml", "")]);
        let expected = format!("charts/web/1.0.0/templates/config.yaml.j2:{expected}");
        assert_eq!(lines(&tree).first(), Some(&expected), "{template}\nall that was said: {:#?}", lines(&tree));
    }
}

/// What the template of the small repository becomes, and the lines and messages of all that is said.
const UNDEFINED: &[(&str, &[&str])] = &[
    (
        "a: {{ Values.one }}\n{% if Values.two %}\nb: {{ Values.three }}\n{% endif %}\nc: {{ Values.team }}{{ Values.four.five }}\n{% for x in Values.six %}\n{% endfor %}\nd: {{ Vlaues.x }}\n",
        &[
            "1:7 `Values.one` is not set: `Values` has no key `one`",
            "2:7 `Values.two` is not set: `Values` has no key `two`",
            "5:24 `Values.four` is not set: `Values` has no key `four`",
            "6:13 `Values.six` is not set: `Values` has no key `six`",
            "8:7 `Vlaues` is not known here",
        ],
    ),
    // The same key in every turn of a loop is one finding, and what comes after the loop is seen too.
    (
        "{% for x in [1, 2, 3] %}\na: {{ Values.one }}\n{% endfor %}\nb: {{ Values.two }}\n",
        &[
            "2:7 `Values.one` is not set: `Values` has no key `one`",
            "4:7 `Values.two` is not set: `Values` has no key `two`",
        ],
    ),
    // In a macro the call is left out as a whole.
    (
        "{% macro m() %}{{ Values.one }}{{ Values.two }}{% endmacro %}\na: {{ m() }}\nb: {{ Values.three }}\n",
        &[
            "1:19 `Values.one` is not set: `Values` has no key `one`",
            "3:7 `Values.three` is not set: `Values` has no key `three`",
        ],
    ),
    // What may be a consequence is not said: names that were not set, functions that failed.
    (
        "{% set x = Values.one.two %}\na: {{ x }}\nb: {{ x.y }}\n",
        &["1:12 `Values.one` is not set: `Values` has no key `one`"],
    ),
    (
        "a: {{ Values.one }}\nb: {{ fail('no') }}\nc: {{ Values.two }}\n",
        &["1:7 `Values.one` is not set: `Values` has no key `one`"],
    ),
    ("a: {{ fail('no') }}\nb: {{ Values.one }}\n", &["1:7 no"]),
];

#[test]
fn all_that_a_template_uses_and_nobody_sets_is_said_at_once() {
    for (template, expected) in UNDEFINED {
        let tree = with(&[("charts/web/1.0.0/templates/config.yaml.j2", template), ("runtimes/us-1.yaml", "")]);
        let said: Vec<String> = crate::repository::findings(&tree)
            .iter()
            .map(|finding| {
                let location = finding.location.as_ref().expect("a location");
                format!("{}:{} {}", location.line, location.column, finding.message)
            })
            .collect();
        assert_eq!(said, *expected, "{template}");
    }
}

#[test]
fn a_template_that_uses_endless_undefined_values_stops() {
    let template = "{% for x in range(100000) %}\na: {{ Values[x ~ ''] }}{{ Values.one }}\n{% endfor %}\n";
    let many: String = (0..50).map(|at| ["a: {{ Values.x", &at.to_string(), " }}\n"].concat()).collect();
    for (template, most) in [(template, 20), (&*many, 20)] {
        let tree = with(&[("charts/web/1.0.0/templates/config.yaml.j2", template), ("runtimes/us-1.yaml", "")]);
        let said = lines(&tree);
        assert!(!said.is_empty() && said.len() <= most, "{}: {said:#?}", said.len());
    }
}
