//! Random templates: the engines agree, and nothing makes ours panic.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use reeve_renderer::budget::Limits;

use crate::support::{on_a_small_stack, render, render_files, render_theirs};

fn literal() -> impl Strategy<Value = String> {
    prop_oneof![
        (-20i64..20).prop_map(|number| if number < 0 { format!("({number})") } else { number.to_string() }),
        prop_oneof![Just("1.5"), Just("0.25"), Just("2.0")].prop_map(ToOwned::to_owned),
        "[a-c]{0,3}".prop_map(|text| format!("'{text}'")),
        prop_oneof![Just("true"), Just("false"), Just("none"), Just("[]"), Just("[1, 2]"), Just("{'a': 1}")]
            .prop_map(ToOwned::to_owned),
        prop_oneof![
            Just("Values.name"),
            Just("Values.replicas"),
            Just("Values.half"),
            Just("Values.numbers"),
            Just("Values.words"),
            Just("Values.labels"),
            Just("Values.image.tags"),
            Just("Values.ports[0].port"),
            Just("Values.missing"),
            Just("missing"),
            Just("x"),
            Just("loop.index"),
        ]
        .prop_map(ToOwned::to_owned),
    ]
}

fn expression() -> impl Strategy<Value = String> {
    literal().prop_recursive(4, 24, 3, |inner| {
        let operator = prop_oneof![
            Just("+"),
            Just("-"),
            Just("*"),
            Just("/"),
            Just("//"),
            Just("%"),
            Just("=="),
            Just("!="),
            Just("and"),
            Just("or"),
        ];
        prop_oneof![
            (inner.clone(), operator, inner.clone()).prop_map(|(a, operator, b)| format!("({a} {operator} {b})")),
            (inner.clone(), prop_oneof![Just("<"), Just("<="), Just(">"), Just(">=")], inner.clone())
                .prop_map(|(a, operator, b)| format!("(({a}) | length {operator} ({b}) | length)")),
            // In a text, theirs looks for whatever it would write.
            (inner.clone(), prop_oneof![Just("in"), Just("not in")], inner.clone(), inner.clone())
                .prop_map(|(a, operator, b, c)| format!("({a} {operator} [{b}, {c}])")),
            inner.clone().prop_map(|a| format!("(not {a})")),
            (inner.clone(), prop_oneof![Just("length"), Just("sum"), Just("abs"), Just("bool")])
                .prop_map(|(a, filter)| format!("({a} | {filter})")),
            (
                inner.clone(),
                prop_oneof![
                    Just("defined"),
                    Just("none"),
                    Just("string"),
                    Just("mapping"),
                    Just("iterable"),
                    Just("odd"),
                    Just("integer"),
                    Just("float"),
                    Just("boolean"),
                ]
            )
                .prop_map(|(a, test)| format!("({a} is {test})")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a} if {b} else {c})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a}, {b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[{b}]")),
            (inner.clone(), -3i64..4).prop_map(|(a, from)| format!("({a})[{from}:]")),
        ]
    })
}

/// What is written out is made a number or a boolean first: the engines write lists and `none` differently.
fn emitted(expression: &str) -> String {
    format!("{{{{ ({expression}) == 1 }}}}")
}

fn template() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "[ a-z\n]{0,6}",
        expression().prop_map(|expression| emitted(&expression)),
        expression().prop_map(|expression| format!("{{% set x = {expression} %}}")),
        Just("{{ x == 1 }}".to_owned()),
        Just("{# comment #}".to_owned()),
        Just("  {%- set y = 1 -%}  ".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let body = prop::collection::vec(inner, 0..4).prop_map(|parts| parts.concat());
        prop_oneof![
            (expression(), body.clone(), body.clone())
                .prop_map(|(test, a, b)| format!("{{% if {test} %}}{a}{{% else %}}{b}{{% endif %}}")),
            // Without `else`: theirs runs it when the first turn breaks. And no `break` inside `with` or a set block:
            // it makes theirs panic, or lose what comes after.
            (expression(), body.clone(), prop_oneof![Just("break"), Just("continue")], expression(), body.clone())
                .prop_map(|(items, a, jump, test, b)| {
                    format!("{{% for x in {items} %}}{a}{{% if {test} %}}{{% {jump} %}}{{% endif %}}{b}{{% endfor %}}")
                }),
            (expression(), body.clone()).prop_map(|(value, a)| format!("{{% with x = {value} %}}{a}{{% endwith %}}")),
            body.clone().prop_map(|a| format!("{{% set x %}}{a}{{% endset %}}")),
            body.clone().prop_map(|a| format!("\n  {{% filter capitalize %}}\n{a}\n{{% endfilter %}}\n")),
            (body.clone(), expression())
                .prop_map(|(a, value)| format!("{{% macro m(x) %}}{a}{{% endmacro %}}[{{{{ m({value}) }}}}]")),
            body,
        ]
    })
}

/// Pieces that make hostile nonsense likely.
fn nonsense() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<String>(),
        "[{}%#|.()\\[\\]'\"~\\-+a-z0-9 \n\\\\]{0,12}",
        Just("{{".to_owned()),
        Just("}}".to_owned()),
        Just("{%".to_owned()),
        Just("%}".to_owned()),
        Just("{% raw %}".to_owned()),
        Just("{% endraw %}".to_owned()),
        Just("{% for x in ".to_owned()),
        Just("{% endfor %}".to_owned()),
        Just("{% macro m(".to_owned()),
        Just("{% set x = ".to_owned()),
        Just("'\\u{d800}\\x'".to_owned()),
        Just("é🐍".to_owned()),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, rng_seed: RngSeed::Fixed(20), ..ProptestConfig::default() })]

    #[test]
    fn both_engines_agree_or_both_fail(template in template()) {
        let files = [("main.j2", &*template)];
        let ours = render_files(&files, "main.j2", Limits::default());
        let theirs = render_theirs(&files, "main.j2");
        match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours, theirs),
            (Err(_), Err(_)) => {}
            // Theirs keeps what is not set in lists and names until someone looks; ours does not let it in.
            (Err(diagnostic), Ok(_)) if diagnostic.code == "undefined" => {}
            _ => prop_assert!(false, "ours {:?}\ntheirs {:?}", ours, theirs),
        }
    }

    #[test]
    fn no_text_makes_the_engine_panic(template in nonsense()) {
        let rendered = on_a_small_stack(move || render(&template));
        if let Err(diagnostic) = rendered {
            prop_assert!(diagnostic.location.is_some_and(|place| place.line > 0 && place.column > 0 && place.length > 0));
        }
    }

    #[test]
    fn no_expression_makes_the_engine_panic(inside in "[a-c0-9'\"\\[\\](){}:,.|~+*/%<>=! \\-]{0,40}") {
        let _ = on_a_small_stack(move || render(&format!("{{{{ {inside} }}}}")));
    }
}
