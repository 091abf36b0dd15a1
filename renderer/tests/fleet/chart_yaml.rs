//! What Helm refuses of a chart before it renders it, and what its notes refuse, is refused here, with its place.

use reeve_renderer::cache::NoCache;
use reeve_renderer::tree::MemoryTree;
use reeve_renderer::value::Value;

use crate::repository::{bundle, findings, load, with};

const CHART: &str = "apiVersion: v2\nname: web\nversion: 1.0.0\n";
const RUNTIME: &str = "kind: Runtime\ncapabilities: {kubernetesVersion: v1.35.0}\ncomponents: {web: {}}\n";

/// The small repository with a chart in Helm's syntax, one chart below it, and these files of it.
fn tree(files: &[(&str, &str)]) -> MemoryTree {
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata:\n  chart: {{ print .Chart.AppVersion .Chart.Description .Chart.Annotations .Chart.Keywords | quote }}\n  a: {{ .Values.a | quote }}\n  files: {{ range $name, $_ := .Files }}{{ $name }} {{ end }}\n";
    let mut tree = with(&[("charts/web/1.0.0/templates/config.yaml.j2", "")]);
    for (name, text) in [
        ("Chart.yaml", CHART),
        ("values.yaml", "a: b\n"),
        ("templates/config.yaml", config),
        ("charts/sub/Chart.yaml", "apiVersion: v2\nname: sub\nversion: 1.0.0\nkubeVersion: <1.0.0\n"),
    ] {
        tree.write(format!("charts/web/1.0.0/{name}"), text);
    }
    tree.write("runtimes/us-1.yaml", RUNTIME);
    tree.write("layers/base.yaml", "kind: Layer\nvalues: {}\n");
    for (name, text) in files {
        let name = if name.starts_with("runtimes/") { (*name).to_owned() } else { format!("charts/web/1.0.0/{name}") };
        tree.write(name, text);
    }
    tree
}

/// What is wrong, a line each.
fn said(files: &[(&str, &str)]) -> Vec<String> {
    findings(&tree(files)).iter().filter(|finding| finding.is_error()).map(ToString::to_string).collect()
}

/// The data of the one object.
fn data(files: &[(&str, &str)]) -> serde_json::Value {
    let bundle = bundle(&tree(files), "us-1", &NoCache);
    serde_json::Value::from(&Value::Dict(bundle.components[0].objects[0].value.clone()))["data"].clone()
}

#[test]
fn what_helm_refuses_of_a_chart_is_refused_where_it_is_written() {
    for (line, place, message) in [
        ("type: service", "4:1", "`type` is `service`, but may be `application` or `library`"),
        ("keywords: web", "4:11", "`keywords` must be a list of text, not text"),
        ("deprecated: soon", "4:13", "`deprecated` must be true or false, not text"),
        ("appVersion: [1]", "4:13", "`appVersion` must be text, not a list"),
        ("annotations: {a: {b: c}}", "4:18", "`annotations.a` must be text, not a map"),
        ("maintainers: [null]", "4:15", "`maintainers[0]` must be a map, not null"),
        ("dependencies: [null]", "4:16", "`dependencies[0]` must be a map, not null"),
        (
            "dependencies: [{name: sub}, {name: sub}]",
            "4:1",
            "two dependencies are called `sub`: give one of them an `alias`",
        ),
        (
            "dependencies: [{name: a, alias: sub}, {name: sub}]",
            "4:1",
            "two dependencies are called `sub`: give one of them an `alias`",
        ),
        (
            "dependencies: [{name: sub, alias: a.b}]",
            "4:1",
            "the alias `a.b` may have letters, digits, `-` and `_` only",
        ),
    ] {
        let said = said(&[("Chart.yaml", &format!("{CHART}{line}\n"))]);
        let expected = format!("charts/web/1.0.0/Chart.yaml:{place}: {message}");
        assert!(said.contains(&expected), "{line}: {said:?}");
    }
}

#[test]
fn a_chart_below_needs_a_name_and_a_version_whether_it_takes_part_or_not() {
    for (text, message) in [
        ("name: ..\nversion: 1.0.0\n", "`..` is no name of a chart"),
        ("name: a/b\nversion: 1.0.0\n", "`a/b` is no name of a chart"),
        ("version: 1.0.0\n", "`name` is missing"),
        ("name: sub\n", "`version` is missing"),
        ("name: sub\nversion: latest\n", "`latest` is not a semantic version"),
    ] {
        let dependent = format!("{CHART}dependencies: [{{name: sub, version: '*', condition: off}}]\n");
        let said =
            said(&[("Chart.yaml", &dependent), ("charts/sub/Chart.yaml", text), ("values.yaml", "off: false\n")]);
        assert!(said[0].contains("charts/sub/Chart.yaml:") && said[0].ends_with(message), "{said:?}");
    }
}

#[test]
fn a_lock_file_must_be_one_and_its_digest_is_not_compared_as_in_helm() {
    let lock = |text: &str| said(&[("Chart.lock", text)]);
    assert_eq!(lock("digest: sha256:0\ngenerated: \"2024-01-01T00:00:00.5+01:00\"\ndependencies: []\n"), [""; 0]);
    assert_eq!(lock(""), [""; 0]);
    for (text, message) in [
        ("dependencies: x\n", "Chart.lock:1:15: `dependencies` must be a list of maps, not text"),
        ("generated: yesterday\n", "Chart.lock:1:1: `generated` must be a time such as 2006-01-02T15:04:05Z"),
    ] {
        assert!(lock(text)[0].ends_with(message), "{:?}", lock(text));
    }
}

#[test]
fn fields_of_a_chart_have_the_types_that_helm_gives_them() {
    let chart = format!(
        "{CHART}AppVersion: 1.10\ndescription: \"a\\tb\\u0007\"\nannotations: {{a: 1, b: true}}\nkeywords: [2, x]\n"
    );
    assert_eq!(data(&[("Chart.yaml", &chart)])["chart"], "1.1a bmap[a:1 b:true] [2 x]");
}

#[test]
fn a_chart_may_have_a_short_version_and_its_folder_the_whole_one() {
    for version in ["v1.0.0", "1.0", "'1'", "v1.0"] {
        assert_eq!(said(&[("Chart.yaml", &CHART.replace("1.0.0", version))]), [""; 0], "{version}");
    }
    assert_eq!(said(&[("Chart.yaml", &CHART.replace("1.0.0", "1.1"))]).len(), 1);
}

#[test]
fn a_chart_for_another_kubernetes_is_refused_where_the_runtime_says_which_it_has() {
    let chart = |range: &str| format!("{CHART}kubeVersion: '{range}'\n");
    for met in ["", ">=1.20.0-0", "^1.16 || >= 2.0.0-0", "1.35.x"] {
        assert_eq!(said(&[("Chart.yaml", &chart(met))]), [""; 0], "{met}");
    }
    for unmet in ["<1.35.0", "~1.34", "new"] {
        let said = said(&[("Chart.yaml", &chart(unmet))]);
        let message = format!(
            "charts/web/1.0.0/Chart.yaml:4:14: chart web is for Kubernetes `{unmet}`, and runtime us-1 declares v1.35.0"
        );
        assert_eq!(said, [message]);
    }
    let silent = ("runtimes/us-1.yaml", "kind: Runtime\ncomponents: {web: {}}\n");
    assert_eq!(said(&[("Chart.yaml", &chart("<1.35.0")), silent]), [""; 0]);
}

#[test]
fn notes_are_run_for_what_they_refuse_and_change_and_not_for_what_they_say() {
    let notes = |text: &str| [("templates/NOTES.txt", text.to_owned())];
    for (text, message) in [
        ("{{ if }}", "a value is missing for `if`"),
        ("\n{{ fail \"set a\" }}", "set a"),
        ("{{ required \"set c\" .Values.c }}", "set c"),
    ] {
        let files = notes(text);
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, &**text)).collect();
        let said = said(&files);
        assert!(said[0].contains("templates/NOTES.txt:") && said[0].ends_with(message), "{text}: {said:?}");
    }
    let harmless = "{{ randAlphaNum 5 }} {{ lookup \"v1\" \"Pod\" \"\" \"\" }} not: [yaml";
    assert_eq!(said(&[("templates/NOTES.txt", harmless), ("charts/sub/templates/NOTES.txt", harmless)]), [""; 0]);
    let (_, warned) = load(&tree(&[("templates/NOTES.txt", harmless)]));
    assert!(warned.is_empty(), "{warned:?}");
    // Templates of one folder run backwards by name.
    let config =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: {{ .Values.a }}, b: {{ include \"b\" . }}}\n";
    let changing = "{{ $_ := set .Values \"a\" \"changed\" }}{{ define \"b\" }}from notes{{ end }}";
    let data = data(&[
        ("templates/NOTES.txt", changing),
        ("templates/A.yaml", config),
        ("templates/config.yaml", "{{/* nothing */}}"),
    ]);
    assert_eq!(data, serde_json::json!({"a": "changed", "b": "from notes"}));
}

#[test]
fn what_a_chart_of_the_first_version_needs_is_among_its_files() {
    let files = |api: &str| {
        let chart = CHART.replace("v2", api);
        let lock = "generated: \"2024-01-01T00:00:00Z\"\n";
        let all = [
            ("Chart.yaml", &*chart),
            ("Chart.lock", lock),
            ("requirements.lock", lock),
            ("requirements.yaml", "dependencies: []\n"),
            ("charts/sub-1.0.0.tgz.prov", "signature"),
        ];
        data(&all)["files"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(files("v1"), "charts/sub-1.0.0.tgz.prov requirements.lock requirements.yaml");
    assert_eq!(files("v2"), "charts/sub-1.0.0.tgz.prov");
}
