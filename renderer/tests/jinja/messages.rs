//! The exact words of every class of error: what people read when a chart is wrong.

use reeve_renderer::budget::Limits;
use reeve_renderer::diagnostic::Diagnostic;

use crate::support::render_files;

const HELPERS: &str = "{% macro labels(x) %}\n{{ x }}{{ Values.labels.ap }}\n{% endmacro %}\n";

fn shown(diagnostic: &Diagnostic) -> String {
    let place = diagnostic.location.as_ref().map_or_else(String::new, |place| {
        let file = place.file.trim_start_matches("charts/web/templates/");
        format!("{file}:{}:{}+{} ", place.line, place.column, place.length)
    });
    let mut parts = vec![format!("{place}[{}] {}", diagnostic.code, diagnostic.message)];
    parts.extend(diagnostic.notes.iter().map(|note| note.message.clone()));
    parts.extend(diagnostic.help.iter().map(|help| format!("help: {help}")));
    parts.join(" / ")
}

fn message(template: &str) -> String {
    let files = [("main.j2", template), ("_helpers.j2", HELPERS)];
    match render_files(&files, "main.j2", Limits::default()) {
        Ok(output) => format!("no error: {output}"),
        Err(diagnostic) => shown(&diagnostic),
    }
}

const MESSAGES: &[(&str, &str)] = &[
    // Not set.
    (
        "{{ Values.image.tag }}",
        "main.j2:1:4+16 [undefined] `Values.image.tag` is not set: `Values.image` has no key `tag` / help: did you mean `tags`?",
    ),
    (
        "a\n  {{ Values.iamge.tag }}",
        "main.j2:2:6+12 [undefined] `Values.iamge` is not set: `Values` has no key `iamge` / help: did you mean `image`?",
    ),
    (
        "{{ Values.nope }}",
        "main.j2:1:4+11 [undefined] `Values.nope` is not set: `Values` has no key `nope` / help: did you mean `none`?",
    ),
    (
        "{{ Values.name.first }}",
        "main.j2:1:4+17 [undefined] `Values.name.first` is not set: `Values.name` is text / help: set it in charts/web/values.yaml",
    ),
    (
        "{{ Values.nothing.x.y }}",
        "main.j2:1:4+16 [undefined] `Values.nothing.x` is not set: `Values.nothing` is null / help: set it in charts/web/values.yaml",
    ),
    (
        "{{ Values.numbers[7] }}",
        "main.j2:1:4+17 [undefined] `Values.numbers[7]` is not set: `Values.numbers` is a list of 3",
    ),
    (
        "{% set k = 'ap' %}{{ Values.labels[k] }}",
        "main.j2:1:22+16 [undefined] `Values.labels[k]` is not set: `Values.labels` has no key `ap` / help: did you mean `app`?",
    ),
    (
        "{{ (Values.labels).ap }}",
        "main.j2:1:4+18 [undefined] `(Values.labels).ap` is not set: `Values.labels` has no key `ap` / help: did you mean `app`?",
    ),
    ("{{ Vlaues.x }}", "main.j2:1:4+6 [undefined] `Vlaues` is not known here / help: did you mean `Values`?"),
    ("{{ nope }}", "main.j2:1:4+4 [undefined] `nope` is not known here"),
    (
        "{% for p in Values.ports %}{{ p.nam }}{% endfor %}",
        "main.j2:1:31+5 [undefined] `p.nam` is not set: `p` has no key `nam` / help: did you mean `name`?",
    ),
    (
        "{% for n in [1] %}{{ loop.idx }}{% endfor %}",
        "main.j2:1:22+8 [undefined] `loop.idx` is not set: a loop has no `idx`",
    ),
    (
        "{% macro m(a) %}{{ a }}{% endmacro %}{{ m() }}",
        "main.j2:1:12+1 [undefined] `a` is not set: `m` was called without it / in macro `m`, called from charts/web/templates/main.j2:1:41",
    ),
    (
        "{% import '_helpers.j2' as h %}{{ h.label() }}",
        "main.j2:1:35+9 [undefined] the imported template has no macro `label`",
    ),
    (
        "x\n{{ include('labels', 1) }}",
        "_helpers.j2:2:11+16 [undefined] `Values.labels.ap` is not set: `Values.labels` has no key `ap` / in macro `labels`, called from charts/web/templates/main.j2:2:4 / help: did you mean `app`?",
    ),
    // Not text.
    (
        "{{ Values.labels }}",
        "main.j2:1:4+13 [template-type] `Values.labels` is a map, which cannot be written out as it is / help: write it with `toYaml` or `toJson`",
    ),
    (
        "{{ Values.numbers }}",
        "main.j2:1:4+14 [template-type] `Values.numbers` is a list, which cannot be written out as it is / help: write it with `toYaml` or `toJson`",
    ),
    (
        "{{ Values.nothing }}",
        "main.j2:1:4+14 [template-type] `Values.nothing` is null, which cannot be written out / help: give it a value, or use `default`, or `toJson` to write `null`",
    ),
    (
        "{{ 'a' ~ Values.labels }}",
        "main.j2:1:10+13 [template-type] `Values.labels` is a map, which `~` cannot join / help: write it with `toYaml` or `toJson`, or use `default` if it may be null",
    ),
    // Kinds that do not fit.
    (
        "{{ Values.name + 1 }}",
        "main.j2:1:4+15 [template-type] `Values.name + 1`: `+` does not work on text and a whole number",
    ),
    (
        "{{ (Values.name ~ 'x') + 1 }}",
        "main.j2:1:4+23 [template-type] `(Values.name ~ 'x') + 1`: `+` does not work on text and a whole number",
    ),
    ("{{ 1 / 0 }}", "main.j2:1:4+5 [template-type] `1 / 0`: 1 / 0 cannot be calculated"),
    (
        "{{ 9223372036854775807 + 1 }}",
        "main.j2:1:4+23 [template-type] `9223372036854775807 + 1`: 9223372036854775807 + 1 cannot be calculated",
    ),
    (
        "{{ Values.name < 3 }}",
        "main.j2:1:4+15 [template-type] `Values.name < 3`: text cannot be compared with a whole number",
    ),
    (
        "{% for x in Values.replicas %}{% endfor %}",
        "main.j2:1:13+15 [template-type] `Values.replicas` is a whole number, which has no items",
    ),
    (
        "{% for a, b in Values.numbers %}{% endfor %}",
        "main.j2:1:8+4 [template-type] a whole number cannot be taken apart into 2",
    ),
    (
        "{% set Values.x = 1 %}",
        "main.j2:1:8+8 [template-type] `Values` is a map; only a namespace has keys to set / help: begin with `{% set x = namespace(..) %}`, or make another map with `merge`",
    ),
    ("{{ {1: 2} }}", "main.j2:1:5+1 [template-type] `1` is no text, as a key must be"),
    ("{% macro m() %}{% endmacro %}{{ m }}", "main.j2:1:33+1 [template-type] `m` is a macro, not a value"),
    ("{{ loop(1) }}", "main.j2:1:4+4 [unknown-function] `loop` is no function"),
    (
        "{% for x in [1] %}{{ loop([]) }}{% endfor %}",
        "main.j2:1:22+8 [template-type] the loop cannot call itself / help: write `{% for .. in .. recursive %}`",
    ),
    ("{{ caller() }}", "main.j2:1:4+6 [unknown-function] `caller` is no function"),
    (
        "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
        "main.j2:1:19+8 [undefined] `caller` is no macro that is known here / in macro `m`, called from charts/web/templates/main.j2:1:47 / help: call the macro with `{% call %}`",
    ),
    // Functions.
    ("{{ toYml(1) }}", "main.j2:1:4+5 [unknown-function] `toYml` is no function / help: did you mean `toYaml`?"),
    ("{{ 1 | toJsn }}", "main.j2:1:8+5 [unknown-function] `toJsn` is no filter / help: did you mean `toJson`?"),
    ("{{ 1 is defnied }}", "main.j2:1:9+7 [unknown-test] `defnied` is no test / help: did you mean `defined`?"),
    ("{{ zzzzzzzz(1) }}", "main.j2:1:4+8 [unknown-function] `zzzzzzzz` is no function"),
    (
        "{{ now() }}",
        "main.j2:1:4+3 [function-refused] `now` is not available: a commit renders the same at any time; write the time into the values, and format it with `date`",
    ),
    (
        "{{ 'a' | safe }}",
        "main.j2:1:10+4 [function-refused] `safe` is not available: nothing is ever escaped here; write the value as it is, or with `quote` or `toJson`",
    ),
    ("{{ trunc(1) }}", "main.j2:1:4+8 [function-arguments] `trunc` takes 2 arguments, not 1"),
    ("{{ trunc(1, text='a') }}", "main.j2:1:4+18 [function-arguments] `trunc` takes no named arguments"),
    ("{{ 'a' | trunc('x') }}", "main.j2:1:4+16 [function-failed] `trunc`: argument 1 must be a whole number, not text"),
    ("{{ 'a'.uper() }}", "main.j2:1:4+10 [function-failed] `uper`: text has no such method; did you mean `upper`?"),
    (
        "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}{{ m(b=1) }}",
        "main.j2:1:34+7 [function-arguments] macro `m` takes 1 argument, not 2",
    ),
    ("{{ required('image.tag is required', Values.empty) }}", "main.j2:1:4+47 [chart-failed] image.tag is required"),
    ("{{ fail('no such region') }}", "main.j2:1:4+22 [chart-failed] no such region"),
    // Other templates.
    (
        "{% include '_helper.j2' %}",
        "main.j2:1:12+12 [include-missing] the chart has no template `_helper.j2` / help: did you mean `_helpers.j2`?",
    ),
    (
        "{% from '_helpers.j2' import lables %}",
        "main.j2:1:30+6 [include-missing] `_helpers.j2` has no `lables` / help: did you mean `labels`?",
    ),
    (
        "{{ include('lables') }}",
        "main.j2:1:12+8 [include-missing] no `_*.j2` file declares a macro `lables` / help: did you mean `labels`?",
    ),
    (
        "{{ include('zzz.other') }}",
        "main.j2:1:12+11 [include-missing] no `_*.j2` file declares a macro `zzz.other` / help: write `{% macro other() %}` in a `_*.j2` file",
    ),
    (
        "{{ tpl('a\\n{{ Values.nope }}') }}",
        "main.j2:1:4+27 [undefined] line 2 of the text given to `tpl`: `Values.nope` is not set: `Values` has no key `nope` / help: did you mean `none`?",
    ),
    (
        "{{ tpl('a\\n{{ Values. }}') }}",
        "main.j2:1:4+23 [template-syntax] line 2 of the text given to `tpl`: unexpected end of variable block, expected identifier or integer",
    ),
    // Syntax.
    ("a\n{{ 1 + }}", "main.j2:2:8+2 [template-syntax] unexpected end of variable block"),
    ("{% if true %}", "main.j2:1:12+2 [template-syntax] unexpected end of input, expected end of block"),
    ("{% fi %}", "main.j2:1:4+2 [template-syntax] unknown statement fi"),
    ("{{ 'é' }}é{{ 'a }}", "main.j2:1:19+1 [template-syntax] unexpected end of string"),
    (
        "{% extends 'x' %}",
        "main.j2:1:4+7 [template-syntax] `extends` is not available / help: templates do not inherit here; write a macro in a `_*.j2` file and call it, or include a template",
    ),
    (
        "{% block x %}{% endblock %}",
        "main.j2:1:4+5 [template-syntax] `block` is not available / help: templates do not inherit here; write a macro in a `_*.j2` file and call it, or include a template",
    ),
    (
        "{% autoescape true %}{% endautoescape %}",
        "main.j2:1:4+10 [template-syntax] `autoescape` is not available / help: nothing is ever escaped here; remove it",
    ),
    ("{{ 99999999999999999999 }}", "main.j2:1:4+20 [template-syntax] the number is too large"),
    // Limits.
    (
        "{% set t = '{{ tpl(t, {\"t\": t}) }}' %}{{ tpl(t, {'t': t}) }}",
        "main.j2:1:42+16 [limit] line 1 of the text given to `tpl`: `main.j2` calls itself more than 64 levels deep",
    ),
    ("{% for a in range(3000000) %}{% endfor %}", "main.j2:1:13+14 [limit] `main.j2` takes more than 2000000 steps"),
    ("{{ 'a' * 10 ** 10 }}", "main.j2:1:4+14 [limit] `main.j2` makes more than 128 MiB of values"),
];

#[test]
fn every_error_says_what_where_and_what_to_do() {
    let wrong: Vec<String> = MESSAGES
        .iter()
        .map(|(template, expected)| (template, expected, message(template)))
        .filter(|(_, expected, found)| *expected != found)
        .map(|(template, _, found)| format!("    ({template:?}, {found:?}),"))
        .collect();
    assert!(wrong.is_empty(), "other words now:\n{}", wrong.join("\n"));
}
