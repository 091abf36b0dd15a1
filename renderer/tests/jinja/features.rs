//! What charts are written with: macros of helper files, Helm's `include` and `tpl`, files, methods.

use std::collections::BTreeMap;
use std::sync::Arc;

use reeve_renderer::budget::{Budget, Limits};
use reeve_renderer::template::{ChartFiles, Scope, Templates};

use crate::support::{render, render_files, sources, values};

const HELPERS: &str = "{% macro labels() %}app: {{ Values.name }}{% endmacro %}\n\
    {% macro web_name(suffix='x') %}{{ Values.name }}-{{ suffix }}{% endmacro %}\n";

fn with_helpers(template: &str) -> Result<String, String> {
    let files = [("main.j2", template), ("_helpers.j2", HELPERS)];
    render_files(&files, "main.j2", Limits::default()).map_err(|diagnostic| diagnostic.to_string())
}

#[test]
fn macros_of_helper_files_are_used_in_three_ways() {
    for template in [
        "{% from '_helpers.j2' import labels %}{{ labels() }}",
        "{% import '_helpers.j2' as helpers %}{{ helpers.labels() }}",
        "{{ include('labels') }}",
        "{{ include('labels', Values) }}",
        "{{ include('chart.labels', Values) }}",
        "{{ 'web.labels' | include }}",
    ] {
        assert_eq!(with_helpers(template).unwrap(), "app: web", "{template}");
    }
    assert_eq!(with_helpers("{{ include('web.name', 'y') }}").unwrap(), "web-y");
    assert_eq!(with_helpers("{{ include('web.name', suffix='z') }}").unwrap(), "web-z");
}

#[test]
fn a_helper_file_has_no_output_of_its_own() {
    assert_eq!(render_files(&[("sub/_x.j2", "text")], "sub/_x.j2", Limits::default()).unwrap(), "");
}

#[test]
fn a_macro_declared_in_two_helper_files_cannot_be_included() {
    let files = [("main.j2", "{{ include('labels') }}"), ("_a.j2", HELPERS), ("_b.j2", HELPERS)];
    let diagnostic = render_files(&files, "main.j2", Limits::default()).unwrap_err();
    assert_eq!(diagnostic.message, "the macro `labels` is declared in both `_a.j2` and `_b.j2`");
}

#[test]
fn macros_of_helper_files_can_use_each_other() {
    let files = [
        ("main.j2", "{{ include('outer') }}"),
        ("_a.j2", "{% macro outer() %}<{{ include('inner') }}>{% endmacro %}"),
        ("_b.j2", "{% macro inner() %}{{ Values.name }}{% endmacro %}"),
    ];
    assert_eq!(render_files(&files, "main.j2", Limits::default()).unwrap(), "<web>");
}

#[test]
fn tpl_renders_a_text_as_a_template() {
    assert_eq!(render("{{ tpl('{{ Values.name }}!') }}").unwrap(), "web!");
    assert_eq!(render("{{ '{{ Values.name }}' | tpl }}").unwrap(), "web");
    assert_eq!(render("{{ tpl('{{ x }}{{ Values.name }}', {'x': 1}) }}").unwrap(), "1web");
    assert_eq!(render("{{ tpl('plain') }}").unwrap(), "plain");
    assert_eq!(with_helpers("{{ tpl('{{ include(\"labels\") }}') }}").unwrap(), "app: web");
}

#[test]
fn a_set_of_the_included_template_stays_there() {
    let files = [("main.j2", "{% set x = 1 %}{% include 'a.j2' %}{{ x }}"), ("a.j2", "{{ x }}{% set x = 2 %}{{ x }}")];
    assert_eq!(render_files(&files, "main.j2", Limits::default()).unwrap(), "121");
}

#[test]
fn roots_of_helm_can_be_spelled_as_in_helm() {
    assert_eq!(render("{{ Chart.Name }} {{ Chart.AppVersion }} {{ Chart.appVersion }}").unwrap(), "web 1.2 1.2");
    assert_eq!(render("{{ Values.Name is defined }}").unwrap(), "false");
}

#[test]
fn methods_known_from_python_work() {
    for (template, expected) in [
        ("{% for k, v in Values.labels.items() %}{{ k }}={{ v }};{% endfor %}", "app=web;tier=front;"),
        ("{% for k in Values.labels.keys() %}{{ k }};{% endfor %}", "app;tier;"),
        ("{% for v in Values.labels.values() %}{{ v }};{% endfor %}", "web;front;"),
        ("{{ Values.labels.get('app') }}{{ Values.labels.get('x', 'y') }}", "weby"),
        ("{{ Values.labels.get('x') is none }}", "true"),
        ("{{ ' a '.strip() }}{{ 'Ab'.upper() }}{{ 'Ab'.lower() }}{{ 'ab cd'.title() }}", "aABabAb Cd"),
        ("{{ 'a,b'.split(',') | length }}{{ 'a b  c'.split() | length }}", "23"),
        ("{{ 'abc'.startswith('a') }}{{ 'abc'.endswith('a') }}", "truefalse"),
        ("{{ 'abc'.replace('b', 'x') }}{{ ','.join(['a', 1, true]) }}", "axca,1,true"),
        ("{{ Values.numbers.has(3) }}{{ Values.numbers.Has(9) }}{{ Values.labels.has('app') }}", "truefalsetrue"),
        ("{{ 'xabx'.strip('x') }}{{ 'v1'.removeprefix('v') }}", "ab1"),
    ] {
        assert_eq!(render(template).unwrap(), expected, "{template}");
    }
}

#[test]
fn neighbours_of_an_item_are_seen() {
    let template = "{% for n in Values.numbers %}{% if not loop.first %}{{ loop.previtem }}<{% endif %}{{ n }}\
        {% if loop.nextitem is defined %}>{{ loop.nextitem }}{% endif %} {% endfor %}";
    assert_eq!(render(template).unwrap(), "3>1 3<1>2 1<2 ");
}

#[test]
fn a_name_may_be_that_of_a_function() {
    assert_eq!(render("{% set range = range(3) %}{{ range | length }}{{ range(2) | length }}").unwrap(), "32");
    assert_eq!(render("{% macro length(x) %}mine{% endmacro %}{{ length(1) }}").unwrap(), "mine");
}

#[test]
fn a_recursive_loop_keeps_the_names_of_each_level() {
    let template = "{% for i in Values.tree recursive %}{% set x = i.name %}{{ loop(i.sub) }}{{ x }}{% endfor %}";
    assert_eq!(render(template).unwrap(), "bac");
}

#[test]
fn namespaces_are_shared_with_macros() {
    let template = "{% set ns = namespace(n=0) %}{% macro add(ns) %}{% set ns.n = ns.n + 1 %}{% endmacro %}\
        {{ add(ns) }}{{ add(ns) }}{{ ns.n }}";
    assert_eq!(render(template).unwrap(), "2");
}

#[test]
fn functions_that_allow_it_take_what_is_not_set() {
    for (template, expected) in [
        ("{{ Values.missing | default('a') }}{{ Values.missing | d('b') }}{{ default('c', Values.missing) }}", "abc"),
        ("{{ empty(Values.missing) }}{{ coalesce(Values.missing, Values.empty, 'x') }}", "truex"),
        ("{% macro m(x) %}{{ x | default('none') }}{% endmacro %}{{ m(Values.missing) }}", "none"),
        ("{% set x = Values.missing %}{{ x | default('later') }}", "later"),
    ] {
        assert_eq!(render(template).unwrap(), expected, "{template}");
    }
    for template in [
        "{{ Values.missing | upper }}",
        "{{ Values.missing.deeper | default('a') }}",
        "{{ [Values.missing] | toJson }}",
    ] {
        assert_eq!(render(template).unwrap_err().code, "undefined", "{template}");
    }
}

#[test]
fn functions_of_helm_win_over_those_of_jinja() {
    assert_eq!(render("{{ ['a', 'b'] | join('-') }}{{ list(1, 2) | toJson }}").unwrap(), "a-b[1,2]");
    assert_eq!(render("{{ 'a-b' | replace('-', '+') }}{{ dict('a', 1) | toJson }}").unwrap(), "a+b{\"a\":1}");
    assert_eq!(render("{{ 'x' | indent(2) }}").unwrap(), "  x");
}

struct Bundle(BTreeMap<&'static str, &'static [u8]>);

impl ChartFiles for Bundle {
    fn get(&self, path: &str) -> Option<Arc<[u8]>> {
        self.0.get(path).map(|bytes| (*bytes).into())
    }

    fn paths(&self) -> Vec<Arc<str>> {
        self.0.keys().map(|path| (*path).into()).collect()
    }
}

fn with_files(template: &str) -> Result<String, String> {
    let bundle = Bundle(BTreeMap::from([
        ("config/a.txt", &b"one\ntwo\n"[..]),
        ("config/b.txt", &b"three"[..]),
        ("logo.png", &[0xff, 0xfe][..]),
    ]));
    let templates =
        Templates::compile(&sources(&[("main.j2", template)])).map_err(|problems| problems[0].to_string())?;
    let scope = Scope::new().data("Values", values()).files(&bundle);
    templates.render("main.j2", &scope, &Budget::new(Limits::default())).map_err(|diagnostic| diagnostic.message)
}

#[test]
fn files_of_the_chart_are_read() {
    for (template, expected) in [
        ("{{ Files.Get('config/b.txt') }}", "three"),
        ("{{ Files.get('config/b.txt') }}", "three"),
        ("{{ Files.GetBytes('config/b.txt') }}", "three"),
        ("{% for line in Files.Lines('config/a.txt') %}[{{ line }}]{% endfor %}", "[one][two]"),
        (
            "{% for path, text in Files.Glob('config/*').items() %}{{ path }}={{ text | length }};{% endfor %}",
            "config/a.txt=8;config/b.txt=5;",
        ),
        ("{% for path in Files.Glob('config/*') %}{{ path }};{% endfor %}", "config/a.txt;config/b.txt;"),
        ("{{ Files.Glob('none/*').AsConfig() }}", ""),
        ("{{ Files.Glob('config/b*').AsConfig() }}", "b.txt: three"),
        ("{{ Files.Glob('{config/b.txt,logo.png}').AsSecrets() }}", "b.txt: dGhyZWU=\nlogo.png: //4="),
    ] {
        assert_eq!(with_files(template).unwrap(), expected, "{template}");
    }
}

#[test]
fn a_file_the_chart_does_not_have_is_an_error() {
    assert_eq!(with_files("{{ Files.Get('config/c.txt') }}").unwrap_err(), "the chart has no file `config/c.txt`");
    assert_eq!(with_files("{{ Files.Get('../x') }}").unwrap_err(), "the chart has no file `../x`");
    assert_eq!(with_files("{{ Files.Get('logo.png') }}").unwrap_err(), "the file `logo.png` is no text");
}

#[test]
fn templates_are_named_in_order_and_shared_between_threads() {
    fn shared<T: Send + Sync + Clone>(value: &T) -> T {
        value.clone()
    }
    let templates = Templates::compile(&sources(&[("b.j2", ""), ("a.j2", "")])).unwrap();
    assert_eq!(shared(&templates).names().collect::<Vec<_>>(), ["a.j2", "b.j2"]);
}

#[test]
fn all_mistakes_of_all_files_are_told_at_once() {
    let files = [("a.j2", "{{ nofunction() }}{{ 1 | nofilter }}{{ 1 is notest }}"), ("b.j2", "{% if %}")];
    let problems = Templates::compile(&sources(&files)).unwrap_err();
    let codes: Vec<&str> = problems.iter().map(|problem| problem.code).collect();
    assert_eq!(codes, ["unknown-function", "unknown-function", "unknown-test", "template-syntax"]);
}
