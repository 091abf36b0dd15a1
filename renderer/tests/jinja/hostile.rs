//! Templates that want to exhaust the machine: each stops at a limit, on a small stack, and names the template.

use reeve_renderer::budget::Limits;
use reeve_renderer::diagnostic::Diagnostic;

use crate::support::{on_a_small_stack, render_files};

fn stopped(files: &[(&str, &str)]) -> Diagnostic {
    let files: Vec<(String, String)> = files.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
    on_a_small_stack(move || {
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
        render_files(&files, "main.j2", Limits::default()).expect_err("must stop")
    })
}

fn stops_at_a_limit(template: &str) -> Diagnostic {
    let diagnostic = stopped(&[("main.j2", template)]);
    assert_eq!(diagnostic.code, "limit", "{template}: {diagnostic}");
    let place = diagnostic.location.clone().unwrap();
    assert_eq!(&*place.file, "charts/web/templates/main.j2", "{template}");
    diagnostic
}

fn is_refused(template: &str) -> Diagnostic {
    let diagnostic = stopped(&[("main.j2", template)]);
    assert_eq!(diagnostic.code, "template-syntax", "{diagnostic}");
    assert!(diagnostic.location.is_some());
    diagnostic
}

#[test]
fn text_cannot_be_doubled_without_end() {
    for double in [
        "{% set ns.x = ns.x ~ ns.x %}",
        "{% set ns.x = ns.x + ns.x %}",
        "{% set ns.x = ns.x * 2 %}",
        "{% set y %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = y %}",
        "{% set ns.x = twice(ns.x) %}",
        "{% set ns.x = ns.x.replace('a', 'aa') %}",
        "{% set ns.x = ns.x.join(['a', 'a', 'a']) %}",
        "{% set ns.x = [ns.x, ns.x] | map('string') | sum(start='') %}",
        "{% set ns.x = tpl('{{ x }}{{ x }}', {'x': ns.x}) %}",
    ] {
        stops_at_a_limit(&format!(
            "{{% macro twice(x) %}}{{{{ x }}}}{{{{ x }}}}{{% endmacro %}}\
             {{% set ns = namespace(x='aaaaaaaaaaaaaaaa') %}}{{% for i in range(60) %}}{double}{{% endfor %}}"
        ));
    }
}

#[test]
fn lists_and_maps_cannot_be_doubled_without_end() {
    for double in [
        "{% set ns.x = ns.x + ns.x %}",
        "{% set ns.x = ns.x * 2 %}",
        "{% set ns.x = ns.x | chain(ns.x) %}",
        "{% set ns.x = [ns.x, ns.x] %}{% if ns.x == [1] %}{% endif %}{% if ns.x == ns.x %}{% endif %}",
        "{% set ns.x = {'a': ns.x, 'b': ns.x} %}{% if ns.x == ns.x %}{% endif %}",
        "{% set ns.x = [ns.x, ns.x] %}{% if ns.x in [ns.x] %}{% endif %}",
        "{% set ns.x = [ns.x, ns.x] %}{% set y = [ns.x, ns.x] | sort %}",
        "{% set ns.x = [ns.x, ns.x] %}{% set y = [ns.x, ns.x] | unique %}",
        "{% set ns.x = [ns.x, ns.x] %}{{ loop.changed(ns.x) }}",
        "{% set ns.x = [ns.x] %}",
    ] {
        stops_at_a_limit(&format!(
            "{{% set ns = namespace(x=[1, 2]) %}}{{% for i in range(110) %}}{double}{{% endfor %}}"
        ));
    }
}

#[test]
fn a_value_that_is_astronomically_large_can_still_be_dropped() {
    let output = on_a_small_stack(|| {
        let template =
            "{% set ns = namespace(x=[1]) %}{% for i in range(98) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}ok";
        render_files(&[("main.j2", template)], "main.j2", Limits::default())
    });
    assert_eq!(output.unwrap(), "ok");
}

#[test]
fn calls_cannot_nest_without_end() {
    for template in [
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}",
        "{% macro m() %}{% call m() %}{% endcall %}{% endmacro %}{{ m() }}",
        "{% macro m(x) %}{{ m([[[[[[[[[[[[[[[[x]]]]]]]]]]]]]]]]) }}{% endmacro %}{{ m(1) }}",
        "{% macro m() %}{{ caller() }}{% endmacro %}{% macro n() %}{% call m() %}{{ n() }}{% endcall %}{% endmacro %}{{ n() }}",
        "{% set t = '{{ tpl(t, {\"t\": t}) }}' %}{{ tpl(t, {'t': t}) }}",
        "{% include 'main.j2' %}",
        "{% for x in [[1]] recursive %}{{ loop([x]) }}{% endfor %}",
    ] {
        stops_at_a_limit(template);
    }
}

#[test]
fn time_cannot_be_spent_without_end() {
    for template in [
        "{{ range(10 ** 9) | length }}",
        "{% for a in range(1000) %}{% for b in range(1000) %}{% for c in range(1000) %}{% endfor %}{% endfor %}{% endfor %}",
        "{% for a in range(1000000) %}{% endfor %}{% for a in range(1000000) %}{% endfor %}{% for a in range(1000000) %}{% endfor %}",
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
        "{% set x = 'a' * 1000000 %}{% for i in range(100000) %}{% if 'b' in x %}{% endif %}{% endfor %}",
        "{% set x = range(100000) %}{% for i in range(100000) %}{% if -1 in x %}{% endif %}{% endfor %}",
        "{% set x = 'a' * 1000000 %}{% for i in range(100000) %}{% set y = x | length %}{% endfor %}",
        "{% set x = 'a' * 1000000 %}{% for i in range(100000) %}{% set y = x[1] %}{% endfor %}",
    ] {
        stops_at_a_limit(template);
    }
}

#[test]
fn output_cannot_grow_without_end() {
    let diagnostic = stops_at_a_limit("{% set x = 'a' * 1000000 %}{% for i in range(100) %}{{ x }}{% endfor %}");
    assert_eq!(diagnostic.message, "`main.j2` writes more than 8 MiB");
    for large in [
        "{{ 'a' * 10 ** 18 }}",
        "{{ [1] * 10 ** 18 }}",
        "{{ [1, 2] | batch(10 ** 15, 0) | length }}",
        "{{ '' * 9223372036854775807 ~ 'a' * 9223372036854775807 }}",
    ] {
        stops_at_a_limit(large);
    }
}

#[test]
fn sources_that_the_parser_would_not_survive_are_refused() {
    let many = |text: &str| text.repeat(100_000);
    for template in [
        many("{% if x %}"),
        format!("{{% if x %}}{}{{% endif %}}", many("{% elif x %}")),
        format!("{{{{ {}1 }}}}", many("(")),
        format!("{{{{ {}1 }}}}", many("[")),
        format!("{{{{ {}1 }}}}", many("{1:")),
        format!("{{{{ {}1 }}}}", many("-\n")),
        format!("{{{{ {}1 }}}}", many("not\n")),
        format!("{{{{ a{} }}}}", many(".a\n")),
        format!("{{{{ a{} }}}}", many("[1]\n")),
        format!("{{{{ a{} }}}}", many("()\n")),
        format!("{{{{ a{} }}}}", many("|f\n")),
        format!("{{{{ a{} }}}}", many("~a\n")),
        format!("{{{{ a{} }}}}", many("+a\n")),
        format!("{{{{ a{} }}}}", many("**a\n")),
        format!("{{{{ a{} }}}}", many(" is b\n")),
        format!("{{{{ a{} }}}}", many(" and a\n")),
        format!("{{{{ a{} }}}}", many(" if a\n")),
        format!("{{{{ a{} }}}}", many(" if a else a\n")),
        format!("{{{{ a{} }}}}", many(" < a\n")),
        format!("{{% set {}a = 1 %}}", many("(\n")),
        format!("{{% for {}a in b %}}", many("(\n")),
        format!("{{% set a{} = 1 %}}", many(".a\n")),
        format!("{{% filter a{} %}}{{% endfilter %}}", many("|f\n")),
        format!("{{% filter a{} %}}{{% endfilter %}}", many(".f\n")),
        many("{% macro m() %}"),
        many("{% for x in y %}"),
        many("{% set x %}"),
        many("{% with %}"),
        many("{% call m() %}"),
        "x".repeat(2 << 20),
        "x\n".repeat(70_000),
        format!("{{{{ {} }}}}", "é".repeat(40_000)),
        format!("{{{{ '{}", "x".repeat(70_000)),
    ] {
        is_refused(&template);
    }
}

#[test]
fn what_the_guard_lets_through_is_read_run_and_dropped_on_a_small_stack() {
    let chain = |link: &str, count: usize| link.repeat(count);
    for template in [
        format!("{{{{ 1{} }}}}", chain("+1", 250)),
        format!("{{{{ 1{} }}}}", chain(" ~ 1", 250)),
        format!("{{{{ {}1 }}}}", chain("- ", 250)),
        format!("{{{{ {}true }}}}", chain("not ", 250)),
        format!("{{{{ true{} }}}}", chain(" and true", 250)),
        format!("{{{{ 'a'{} }}}}", chain(" | string", 250)),
        format!("{{{{ 1{} }}}}", chain(" if true else 1", 120)),
        format!("{{{{ {}1{} | length }}}}", chain("[", 30), chain("]", 30)),
        format!("{{{{ {}1{} }}}}", chain("(", 30), chain(")", 30)),
        format!("{{% if false %}}{}{{% endif %}}x", chain("{% elif false %}", 95)),
        format!("{}x{}", chain("{% if true %}", 60), chain("{% endif %}", 60)),
        format!("{}x{}", chain("{% for i in [1] %}", 60), chain("{% endfor %}", 60)),
        format!("{}x{}", chain("{% with a = 1 %}", 60), chain("{% endwith %}", 60)),
        format!("{}x{}", chain("{% filter string %}", 60), chain("{% endfilter %}", 60)),
    ] {
        let text = template.clone();
        let rendered = on_a_small_stack(move || render_files(&[("main.j2", &text)], "main.j2", Limits::default()));
        assert!(rendered.is_ok(), "{template}: {rendered:?}");
    }
}

#[test]
fn the_deepest_nesting_in_the_deepest_call_fits_a_small_stack() {
    let deep = |open: &str, close: &str, count: usize| format!("{}m(n + 1){}", open.repeat(count), close.repeat(count));
    for body in [
        deep("(1 ~ ", ")", 30),
        deep("[", "]", 30),
        deep("{'a': ", "}", 30),
        deep("(true and ", ")", 30),
        deep("(1 == ", ")", 30),
        deep("(1 if 1 else ", ")", 0),
        deep("- ", "", 200),
        deep("not ", "", 200),
        deep("(1, ", ")[1:]", 12),
        deep("dict(a=", ")", 30),
        deep("namespace(a=", ")", 30),
    ] {
        stops_at_a_limit(&format!("{{% macro m(n) %}}{{{{ {body} }}}}{{% endmacro %}}{{{{ m(0) }}}}"));
    }
    for (open, close) in [
        ("{% if true %}", "{% endif %}"),
        ("{% for i in [1] %}", "{% endfor %}"),
        ("{% with a = 1 %}", "{% endwith %}"),
        ("{% filter string %}", "{% endfilter %}"),
        ("{% set x %}", "{% endset %}{{ x }}"),
        ("{% call n() %}", "{% endcall %}"),
    ] {
        stops_at_a_limit(&format!(
            "{{% macro n() %}}{{{{ caller() }}}}{{% endmacro %}}{{% macro m() %}}{}{{{{ m() }}}}{}{{% endmacro %}}{{{{ m() }}}}",
            open.repeat(55),
            close.repeat(55)
        ));
    }
}

#[test]
fn a_text_read_in_the_deepest_call_fits_a_small_stack() {
    for text in [
        format!("{}1{} | length", "[".repeat(29), "]".repeat(29)),
        format!("{}1", "- ".repeat(250)),
        format!("1{}", " if true else 1".repeat(120)),
    ] {
        let blocks = "{% for i in [1] %}".repeat(55) + "{{ " + &text + " }}" + &"{% endfor %}".repeat(55);
        for nested in 1..8 {
            // Each level of the recursion reads another text.
            let body = format!("{}m(n ~ ' '){}", "(1 ~ ".repeat(nested), ")".repeat(nested));
            stops_at_a_limit(&format!(
                "{{% macro m(n) %}}{{{{ tpl({blocks:?} ~ n) }}}}{{{{ {body} }}}}{{% endmacro %}}{{{{ m('') }}}}"
            ));
        }
    }
}

#[test]
fn templates_that_import_each_other_are_an_error() {
    let files = [
        ("main.j2", "{% import '_a.j2' as a %}"),
        ("_a.j2", "{% import '_b.j2' as b %}"),
        ("_b.j2", "{% import '_a.j2' as a %}"),
    ];
    let diagnostic = stopped(&files);
    assert_eq!((diagnostic.code, &*diagnostic.message), ("include-cycle", "`_a.j2` imports itself"));
}

#[test]
fn numbers_at_the_edge_do_not_panic() {
    for template in [
        "{{ -9223372036854775807 - 1 }}",
        "{{ (-9223372036854775807 - 1) // -1 }}",
        "{{ (-9223372036854775807 - 1) % -1 }}",
        "{{ -(-9223372036854775807 - 1) }}",
        "{{ (-9223372036854775807 - 1) | abs }}",
        "{{ 9223372036854775807 ** 2 }}",
        "{{ 2 ** 9223372036854775807 }}",
        "{{ (-9223372036854775807 - 1) is divisibleby -1 }}",
        "{{ (-9223372036854775807 - 1) is divisibleby 0 }}",
        "{{ range(9223372036854775807, -9223372036854775807, -9223372036854775807) | length }}",
        "{{ range(-9223372036854775807, 9223372036854775807, 9223372036854775807) | length }}",
        "{{ 'abc'[-9223372036854775807 - 1:9223372036854775807:9223372036854775807] }}",
        "{{ 'abc'[9223372036854775807::-9223372036854775807 - 1] }}",
        "{{ 'abc'[9223372036854775807] is defined }}",
        "{{ 'abc'[-9223372036854775807 - 1] is defined }}",
        "{{ 1e308 * 10 }}",
        "{{ -1e308 * 10 }}",
        "{{ (1e308 * 10) - (1e308 * 10) }}",
        "{{ [1e308 * 10 - 1e308 * 10, 1, 2.5] | sort | length }}",
        "{{ 1e308 ** 99 // 3 }}",
    ] {
        // Whether it is a value or an error does not matter here.
        let template = template.to_owned();
        let _ = on_a_small_stack(move || render_files(&[("main.j2", &template)], "main.j2", Limits::default()));
    }
}
