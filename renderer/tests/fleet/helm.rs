//! Charts in Helm's shape inside a repository: charts below charts, values, the cache, and why a field is what it is.

use reeve_renderer::budget::Limits;
use reeve_renderer::cache::{MemoryCache, NoCache};
use reeve_renderer::explain;
use reeve_renderer::render::Renderer;
use reeve_renderer::resolve::resolve;
use reeve_renderer::tree::MemoryTree;
use reeve_renderer::value::Value;

use crate::repository::{bundle, load, with};

const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-{{ .Chart.Name }}\ndata:\n  values: {{ toJson .Values | quote }}\n";

/// The small repository with a chart in Helm's syntax that has one below it under two names.
fn tree(more: &[(&str, &str)]) -> MemoryTree {
    let chart = "apiVersion: v2\nname: web\nversion: 1.0.0\nsource: anything\ndependencies:\n- {name: sub, version: 1.x, condition: sub.enabled, tags: [back]}\n- {name: sub, version: 1.x, alias: other, condition: other.enabled, import-values: [up]}\n";
    let sub = "charts/web/1.0.0/charts/sub";
    let mut tree = with(&[
        ("charts/web/1.0.0/templates/config.yaml.j2", ""),
        ("charts/web/1.0.0/Chart.yaml", chart),
        ("charts/web/1.0.0/values.yaml", "gone: 1\nglobal: {g: 1}\nsub: {a: 2}\nother: {enabled: false}\n"),
        ("charts/web/1.0.0/templates/config.yaml", CONFIG),
    ]);
    tree.write(format!("{sub}/Chart.yaml"), "apiVersion: v1\nname: sub\nversion: 1.2.0\n");
    tree.write(format!("{sub}/values.yaml"), "a: 1\nb: 1\nexports: {up: {handed: true}}\n");
    tree.write(format!("{sub}/templates/config.yaml"), CONFIG);
    tree.write(
        format!("{sub}/templates/tests/test.yaml"),
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ uuidv4 }}\n  annotations: {helm.sh/hook: test}\n",
    );
    for (path, text) in more {
        tree.write(*path, text);
    }
    tree
}

/// The values that each object says it saw.
fn seen(tree: &MemoryTree) -> Vec<(String, serde_json::Value)> {
    let bundle = bundle(tree, "us-1", &NoCache);
    let object = |object: &reeve_renderer::bundle::Object| {
        let json = serde_json::Value::from(&Value::Dict(object.value.clone()));
        let values = serde_json::from_str(json["data"]["values"].as_str().expect("text")).expect("JSON");
        (object.key.name.to_string(), values)
    };
    bundle.components[0].objects.iter().map(object).collect()
}

#[test]
fn a_chart_below_sees_its_own_values_and_the_globals() {
    let runtime =
        "kind: Runtime\ncomponents:\n  web:\n    values:\n      gone: null\n      kept: null\n      sub: {b: 5}\n";
    let seen = seen(&tree(&[("runtimes/us-1.yaml", runtime), ("layers/base.yaml", "kind: Layer\nvalues: {}\n")]));
    let names: Vec<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["web-sub", "web-web"]);
    let exports = serde_json::json!({"up": {"handed": true}});
    assert_eq!(seen[0].1, serde_json::json!({"a": 2, "b": 5, "exports": exports, "global": {"g": 1}}));
    assert_eq!(seen[1].1["kept"], serde_json::Value::Null);
    assert!(seen[1].1.get("gone").is_none(), "{}", seen[1].1);
}

#[test]
fn conditions_tags_and_aliases_decide_which_charts_take_part() {
    for (values, expected) in [
        ("sub: {enabled: false}", vec!["web-web"]),
        ("tags: {back: false}", vec!["web-web"]),
        ("other: {enabled: true}", vec!["web-other", "web-sub", "web-web"]),
    ] {
        let runtime = format!("kind: Runtime\ncomponents:\n  web:\n    values:\n      {values}\n");
        let seen = seen(&tree(&[("runtimes/us-1.yaml", &runtime)]));
        let names: Vec<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, expected, "{values}");
        let handed = seen.last().expect("the chart itself").1.get("handed").is_some();
        assert_eq!(handed, expected.len() == 3, "{values}");
    }
}

#[test]
fn charts_and_their_aliases_take_part_only_so_often() {
    let many = (0..600).map(|at| format!("- {{name: sub, version: 1.x, alias: x{at}}}\n"));
    let files = [
        ("runtimes/us-1.yaml".to_owned(), "kind: Runtime\ncomponents: {web: {}}\n".to_owned()),
        (
            "charts/web/1.0.0/Chart.yaml".to_owned(),
            format!("apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n{}", many.collect::<String>()),
        ),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let (fleet, _) = load(&tree(&files));
    let findings = match resolve(&fleet, "us-1").expect("it is there") {
        Ok(resolved) => Renderer::new(&fleet.settings, &NoCache).runtime(&resolved).expect_err("it renders"),
        Err(findings) => findings,
    };
    assert!(findings[0].message.contains("more than 500 charts take part"), "{findings:?}");
}

#[test]
fn one_render_serves_all_runtimes_that_give_it_the_same() {
    let runtime = "kind: Runtime\nlabels: {region: us}\ncomponents: {web: {}}\n";
    let tree = tree(&[("runtimes/us-1.yaml", runtime), ("runtimes/us-2.yaml", runtime)]);
    let cache = MemoryCache::new(1 << 20);
    bundle(&tree, "us-1", &cache);
    bundle(&tree, "us-2", &cache);
    assert_eq!(cache.counts(), (1, 1));
}

#[test]
fn a_field_of_a_helm_template_is_explained_by_the_value_behind_it() {
    let tree = tree(&[
        ("runtimes/us-1.yaml", "kind: Runtime\ncomponents: {web: {}}\n"),
        (
            "charts/web/1.0.0/templates/config.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  a: {{ .Values.sub.a | quote }}\n",
        ),
    ]);
    let (fleet, _) = load(&tree);
    let resolved = resolve(&fleet, "us-1").expect("it is there").expect("it resolves");
    let component = &resolved.components[0];
    let renderer = Renderer::new(&fleet.settings, &NoCache);
    let drafts = renderer.drafts(&resolved, component).expect("it renders");
    let draft = drafts.iter().flatten().find(|draft| &*draft.name == "web").expect("the object");
    let reason = explain::field(&resolved, component, draft, &"data.a".parse().expect("a path"), Limits::default());
    let values: Vec<String> = reason.values.iter().map(ToString::to_string).collect();
    assert_eq!(values, ["sub.a"]);
    assert_eq!(&*reason.origin.file, "charts/web/1.0.0/templates/config.yaml");
}

/// What is wrong with the chart when a template of it writes this.
fn said(template: &str) -> String {
    let tree = tree(&[("charts/web/1.0.0/templates/other.yaml", template)]);
    let found = crate::repository::findings(&tree);
    let errors: Vec<String> = found.iter().filter(|finding| finding.is_error()).map(ToString::to_string).collect();
    errors.join("\n")
}

const OTHER: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata:\n  a: ";

#[test]
fn a_poisoned_value_may_be_there_and_never_be_used() {
    for harmless in [
        "{{ default (randAlphaNum 10) \"set\" }}",
        "{{ if randAlphaNum 10 }}b{{ end }}",
        "{{ $p := randAlphaNum 10 | b64enc | quote }}{{ if $p }}b{{ end }}",
        "{{ $ca := genCA \"x\" 1 }}{{ if $ca.Cert }}b{{ end }}",
        "{{ $d := dict \"p\" (randAlphaNum 5) }}{{ if $d }}b{{ end }}",
        "{{ coalesce \"\" \"b\" (uuidv4) }}",
        "{{ if empty (randAlphaNum 5) }}{{ now }}{{ else }}b{{ end }}",
    ] {
        assert_eq!(said(&format!("{OTHER}{harmless}\n")), "", "{harmless}");
    }
    for (used, how) in [
        ("{{ randAlphaNum 10 }}", "an object"),
        ("{{ include \"x\" . }}{{ define \"x\" }}{{ uuidv4 | quote }}{{ end }}", "an object"),
        ("{{ if eq (randAlphaNum 10) \"a\" }}b{{ end }}", "a comparison"),
        ("{{ if env \"HOME\" }}b{{ end }}", "a condition"),
        ("{{ if contains \"a\" (randAlphaNum 10) }}b{{ end }}", "a condition"),
        ("{{ get (dict) (randAlphaNum 3) }}", "a name"),
        ("{{ range (randAlphaNum 3) }}b{{ end }}", "a loop"),
    ] {
        let said = said(&format!("{OTHER}{used}\n"));
        assert!(said.contains(how) && said.contains("other.yaml:5:"), "{used}: {said}");
    }
}

#[test]
fn a_poisoned_value_of_several_lines_is_what_is_wrong_and_not_the_yaml() {
    let said = said(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: other}\ndata:\n{{ include \"certs\" . | indent 2 }}\n{{ define \"certs\" }}key: {{ genPrivateKey \"rsa\" }}{{ end }}",
    );
    assert!(said.contains("`genPrivateKey`"), "{said}");
    assert!(!said.contains("not YAML"), "{said}");
}

#[test]
fn the_version_of_the_cluster_prints_as_the_struct_that_it_is_in_helm() {
    let print = "{{ .Capabilities.KubeVersion }} {{ toString .Capabilities.KubeVersion }} {{ toJson .Capabilities.KubeVersion }} {{ .Capabilities.KubeVersion.GitVersion }}";
    let template = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: other}}\ndata:\n  a: {{{{ include \"a\" . | quote }}}}\n{{{{ define \"a\" }}}}{print}{{{{ end }}}}"
    );
    let runtime = "kind: Runtime\ncapabilities: {kubernetesVersion: v1.35.0}\ncomponents: {web: {}}\n";
    let tree = tree(&[("charts/web/1.0.0/templates/other.yaml", &template), ("runtimes/us-1.yaml", runtime)]);
    let bundle = bundle(&tree, "us-1", &NoCache);
    let other = bundle.components[0].objects.iter().find(|object| &*object.key.name == "other").expect("it is there");
    let json = serde_json::Value::from(&Value::Dict(other.value.clone()));
    let expected = r#"v1.35.0 {v1.35.0 1 35} {"Major":"1","Minor":"35","Version":"v1.35.0"} v1.35.0"#;
    assert_eq!(json["data"]["a"], expected);
}

#[test]
fn a_hook_that_helm_does_not_know_is_left_out() {
    let hook = |hook: &str| {
        let text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\n  annotations: {{helm.sh/hook: {hook}}}\n"
        );
        let tree = tree(&[("charts/web/1.0.0/templates/other.yaml", &text)]);
        let bundle = bundle(&tree, "us-1", &NoCache);
        bundle.components[0].objects.iter().any(|object| &*object.key.name == "other")
    };
    assert!(hook("pre-install"));
    for left_out in ["test", "pre-delete", "crd-install", "\"pre-install,another\""] {
        assert!(!hook(left_out), "{left_out}");
    }
}

#[test]
fn what_is_hidden_below_templates_is_no_template_even_without_a_helmignore() {
    let tree = tree(&[("charts/web/1.0.0/templates/.helmignore", "a: b\n*.tmp\n")]);
    assert!(!crate::repository::findings(&tree).iter().any(reeve_renderer::diagnostic::Diagnostic::is_error));
}

#[test]
fn functions_that_cannot_be_honoured_are_named_once_for_a_chart() {
    let tree = tree(&[
        ("charts/web/1.0.0/charts/sub/templates/tests/test.yaml", "a: {{ define \"unused\" }}{{ uuidv4 }}{{ end }}"),
        ("charts/web/1.0.0/templates/_a.tpl", "{{ define \"a\" }}{{ randAlphaNum 5 }}{{ end }}"),
        (
            "charts/web/1.0.0/templates/other.yaml",
            "{{ if lookup \"v1\" \"Secret\" \"\" \"x\" }}{{ randAlphaNum 5 }}{{ now }}{{ end }}",
        ),
    ]);
    let (fleet, found) = load(&tree);
    assert!(fleet.charts.contains_key("web"));
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    let expected = [
        "charts/web/1.0.0/charts/sub/templates/tests/test.yaml:1:28: the chart calls `now`, `randAlphaNum`, `uuidv4`, whose result is another on every render",
        "charts/web/1.0.0/templates/other.yaml:1:7: `lookup` finds nothing here: a commit renders the same in front of any cluster",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_component_may_have_another_name_for_its_release() {
    let runtime = "kind: Runtime\ncomponents:\n  web: {releaseName: shop}\n";
    let tree = tree(&[("runtimes/us-1.yaml", runtime), ("layers/base.yaml", "kind: Layer\nvalues: {}\n")]);
    let names: Vec<String> = seen(&tree).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["shop-sub", "shop-web"]);
    let bundle = bundle(&tree, "us-1", &NoCache);
    assert_eq!(&*bundle.components[0].name, "web");
}

#[test]
fn a_definition_that_several_charts_bring_counts_once_and_the_outer_one_wins() {
    let definition = |by: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things.example.com\n  annotations: {{by: {by}}}\nspec: {{group: example.com, scope: Namespaced, names: {{kind: Thing, plural: things}}, versions: []}}\n"
        )
    };
    let tree = tree(&[
        ("charts/web/1.0.0/crds/things.yaml", &definition("outer")),
        ("charts/web/1.0.0/charts/sub/crds/things.yaml", &definition("inner")),
    ]);
    let bundle = bundle(&tree, "us-1", &NoCache);
    let by = |object: &reeve_renderer::bundle::Object| {
        let json = serde_json::Value::from(&Value::Dict(object.value.clone()));
        json["metadata"]["annotations"]["by"].as_str().map(str::to_owned)
    };
    let definitions: Vec<String> = bundle.components[0].objects.iter().filter_map(by).collect();
    assert_eq!(definitions, ["outer"]);
}

#[test]
fn the_same_object_twice_in_a_chart_is_one_object_and_a_warning() {
    let account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: web}\n";
    let first = ("charts/web/1.0.0/templates/one.yaml", account);
    let twice = tree(&[first, ("charts/web/1.0.0/templates/two.yaml", account)]);
    let bundle = bundle(&twice, "us-1", &NoCache);
    let accounts = bundle.components[0].objects.iter().filter(|object| &*object.key.kind == "ServiceAccount");
    assert_eq!(accounts.count(), 1);
    let warnings: Vec<&str> = bundle.warnings.iter().map(|warning| warning.code).collect();
    assert_eq!(warnings, ["duplicate-object"]);
    let other = format!("{account}automountServiceAccountToken: false\n");
    let differing = tree(&[first, ("charts/web/1.0.0/templates/two.yaml", &other)]);
    let found = crate::repository::findings(&differing);
    assert!(found.iter().any(|finding| finding.code == "duplicate-object" && finding.is_error()), "{found:?}");
}

#[test]
fn a_text_at_the_end_of_a_template_ends_with_one_line_break_as_in_helm() {
    for text in ["|\n    a", "|\n    a\n\n", "|+\n    a\n\n", "|\n    a\n---\n"] {
        let template = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: text}}\ndata:\n  text: {text}");
        let bundle = bundle(&tree(&[("charts/web/1.0.0/templates/text.yaml", &template)]), "us-1", &NoCache);
        let object =
            bundle.components[0].objects.iter().find(|object| &*object.key.name == "text").expect("it is there");
        let json = serde_json::Value::from(&Value::Dict(object.value.clone()));
        assert_eq!(json["data"]["text"], "a\n", "{text:?}");
    }
}

#[test]
fn a_mistake_in_a_chart_below_counts_only_if_the_chart_takes_part() {
    let broken = ("charts/web/1.0.0/charts/sub/templates/broken.yaml", "{{ end }");
    let runtime =
        |enabled: bool| format!("kind: Runtime\ncomponents:\n  web:\n    values:\n      sub: {{enabled: {enabled}}}\n");
    let base = ("layers/base.yaml", "kind: Layer\nvalues: {}\n");
    let without = tree(&[broken, base, ("runtimes/us-1.yaml", &runtime(false))]);
    assert_eq!(bundle(&without, "us-1", &NoCache).components[0].objects.len(), 1);
    let with = tree(&[broken, base, ("runtimes/us-1.yaml", &runtime(true))]);
    let found = crate::repository::findings(&with);
    assert!(found.iter().any(|finding| finding.is_error() && finding.to_string().starts_with(broken.0)), "{found:?}");
}

#[test]
fn a_million_is_a_whole_number_in_an_object_although_a_template_writes_it_with_an_exponent() {
    let template = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: thing}\nspec:\n  million: {{ .Values.million }}\n  one: 1.0\n  half: 0.5\n  list: [{a: 2e+06}]\n";
    let values = ("charts/web/1.0.0/values.yaml", "million: 1000000\n");
    let bundle = bundle(&tree(&[values, ("charts/web/1.0.0/templates/thing.yaml", template)]), "us-1", &NoCache);
    let thing = bundle.components[0].objects.iter().find(|object| &*object.key.kind == "Thing").expect("it is there");
    let json = serde_json::Value::from(&Value::Dict(thing.value.clone()));
    assert_eq!(json["spec"].to_string(), r#"{"half":0.5,"list":[{"a":2000000}],"million":1000000,"one":1}"#);
}

#[test]
fn a_chart_of_the_first_version_names_its_dependencies_in_requirements_and_a_library_writes_nothing() {
    let below = "charts/web/1.0.0/charts";
    let helper = "{{ define \"lib.name\" }}from-{{ .Chart.Name }}{{ end }}";
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ include \"lib.name\" . }}\ndata: {deps: \"{{ range .Chart.Dependencies }}{{ .Name }} {{ .Enabled }} {{ .Tags }}{{ end }}\"}\n";
    let requirements =
        "dependencies:\n- {name: sub, version: ^1, condition: sub.enabled}\n- {name: lib, version: 1.0.0}\n";
    let all = with(&[
        ("charts/web/1.0.0/templates/config.yaml.j2", ""),
        ("charts/web/1.0.0/Chart.yaml", "apiVersion: v1\nname: web\nversion: 1.0.0\ndisplayName: Web\nsource: here\n"),
        ("charts/web/1.0.0/requirements.yaml", requirements),
        ("charts/web/1.0.0/values.yaml", "sub: {enabled: false}\n"),
        ("charts/web/1.0.0/templates/config.yaml", config),
        (&format!("{below}/sub/Chart.yaml"), "apiVersion: v1\nname: sub\nversion: 1.2.0\n"),
        (&format!("{below}/sub/templates/config.yaml"), CONFIG),
        (&format!("{below}/lib/Chart.yaml"), "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n"),
        (&format!("{below}/lib/templates/config.yaml"), CONFIG),
        (&format!("{below}/lib/templates/_name.tpl"), helper),
    ]);
    let bundle = bundle(&all, "us-1", &NoCache);
    let objects = &bundle.components[0].objects;
    let names: Vec<&str> = objects.iter().map(|object| &*object.key.name).collect();
    assert_eq!(names, ["from-web"]);
    let json = serde_json::Value::from(&Value::Dict(objects[0].value.clone()));
    assert_eq!(json["data"]["deps"], "lib true []", "only what takes part is left");
}

#[test]
fn a_chart_under_two_names_is_what_helm_makes_of_it() {
    let name = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Template.Name | replace \"/\" \".\" }}\ndata: {deps: \"{{ range .Chart.Dependencies }}{{ .Name }} {{ .Enabled }} {{ end }}\"}\n";
    let below = "charts/web/1.0.0/charts/sub";
    let render = |sub: &str, web: &str| {
        let chart = format!("apiVersion: v2\nname: web\nversion: 1.0.0\n{web}");
        let mut tree = tree(&[
            ("runtimes/us-1.yaml", "kind: Runtime\ncomponents: {web: {}}\n"),
            ("charts/web/1.0.0/Chart.yaml", &chart),
            ("charts/web/1.0.0/templates/config.yaml", "{{/* nothing */}}"),
        ]);
        tree.write(format!("{below}/Chart.yaml"), format!("apiVersion: v2\nname: sub\nversion: 1.0.0\n{sub}"));
        tree.write(format!("{below}/templates/config.yaml"), name);
        tree.write(format!("{below}/charts/leaf/Chart.yaml"), "apiVersion: v2\nname: leaf\nversion: 1.0.0\n");
        tree.write(format!("{below}/charts/leaf/templates/config.yaml"), name);
        let bundle = bundle(&tree, "us-1", &NoCache);
        let object = |object: &reeve_renderer::bundle::Object| {
            let json = serde_json::Value::from(&Value::Dict(object.value.clone()));
            let path = object.key.name.replace(".templates.config.yaml", "").replace("charts.", "");
            format!("{path} {}", json["data"]["deps"].as_str().unwrap_or_default().trim_end())
        };
        let mut all: Vec<String> = bundle.components[0].objects.iter().map(object).collect();
        all.sort();
        all
    };
    let twice = "dependencies: [{name: sub, version: 1.0.0}, {name: sub, version: 1.0.0, alias: other}]\n";
    // A leaf that nobody declares is there once, and one with an alias keeps its own name the second time.
    assert_eq!(render("", twice), ["web.other ", "web.sub ", "web.sub.leaf "]);
    let aliased = "dependencies: [{name: leaf, version: 1.0.0, alias: twig}]\n";
    let expected = ["web.other twig true", "web.other.leaf ", "web.sub twig true", "web.sub.twig "];
    assert_eq!(render(aliased, twice), expected);
    // Where the chart above declares nothing, nothing is switched, and no alias counts.
    assert_eq!(render(aliased, ""), ["web.sub leaf false", "web.sub.leaf "]);
}

#[test]
fn a_chart_under_two_names_is_handed_values_the_first_time_only_as_in_helm() {
    let leaf = "apiVersion: v2\nname: leaf\nversion: 1.0.0\n";
    let sub =
        "apiVersion: v2\nname: sub\nversion: 1.2.0\ndependencies: [{name: leaf, version: 1.x, import-values: [up]}]\n";
    let tree = tree(&[
        ("runtimes/us-1.yaml", "kind: Runtime\ncomponents:\n  web: {values: {other: {enabled: true}}}\n"),
        ("layers/base.yaml", "kind: Layer\nvalues: {}\n"),
        ("charts/web/1.0.0/charts/sub/Chart.yaml", sub),
        ("charts/web/1.0.0/charts/sub/charts/leaf/Chart.yaml", leaf),
        ("charts/web/1.0.0/charts/sub/charts/leaf/values.yaml", "exports: {up: {from: leaf}}\n"),
    ]);
    let handed: Vec<(String, bool)> =
        seen(&tree).into_iter().map(|(name, values)| (name, values.get("from").is_some())).collect();
    let expected = [("web-other", false), ("web-sub", true), ("web-web", false)];
    assert_eq!(handed, expected.map(|(name, is_handed)| (name.to_owned(), is_handed)));
}

#[test]
fn a_kind_that_helm_without_a_cluster_does_not_know_is_warned_of_until_it_is_declared() {
    let asking = (
        "charts/web/1.0.0/templates/config.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  budget: {{ .Capabilities.APIVersions.Has \"policy/v1/PodDisruptionBudget\" | quote }}\n  other: {{ .Capabilities.APIVersions.Has \"example.com/v1\" | quote }}\n",
    );
    let seen = |capabilities: &str| {
        let runtime = format!("kind: Runtime\n{capabilities}components: {{web: {{}}}}\n");
        let bundle = bundle(&tree(&[("runtimes/us-1.yaml", &runtime), asking]), "us-1", &NoCache);
        let about: Vec<_> = bundle.warnings.iter().filter(|finding| finding.code == "undeclared-kind").collect();
        let places: Vec<String> =
            about.iter().map(|finding| finding.location.as_ref().expect("a place").to_string()).collect();
        let objects = bundle.components.iter().flat_map(|component| &component.objects);
        let object = objects.into_iter().find(|object| &*object.key.name == "a").expect("the object");
        let json = serde_json::Value::from(&Value::Dict(object.value.clone()));
        (json["data"]["budget"].as_str().expect("text").to_owned(), places)
    };
    let place = "charts/web/1.0.0/templates/config.yaml:6:14".to_owned();
    assert_eq!(seen(""), ("false".to_owned(), vec![place]));
    let declared = "capabilities: {apiVersions: [policy/v1/PodDisruptionBudget]}\n";
    assert_eq!(seen(declared), ("true".to_owned(), Vec::new()));
}
