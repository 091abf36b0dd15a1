//! A template that both syntaxes can express gives the same bytes: random templates, each written in both.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use reeve_renderer::value::Value;

use crate::{cases, engine};

/// The same piece of a template in Helm's syntax and in Jinja.
#[derive(Clone, Debug)]
struct Pair {
    go: String,
    jinja: String,
}

fn pair(go: impl Into<String>, jinja: impl Into<String>) -> Pair {
    Pair { go: go.into(), jinja: jinja.into() }
}

/// An expression that is text.
fn text() -> impl Strategy<Value = Pair> {
    let leaf = prop_oneof![
        "[a-z \\-.é]{0,6}".prop_map(|text| pair(format!("\"{text}\""), format!("\"{text}\""))),
        prop_oneof![Just("name"), Just("empty"), Just("port"), Just("unicode"), Just("image.tag"), Just("labels.app")]
            .prop_map(|path| pair(format!(".Values.data.{path}"), format!("Values.data.{path}"))),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let plain = prop_oneof![
            Just("upper"),
            Just("lower"),
            Just("trim"),
            Just("quote"),
            Just("squote"),
            Just("b64enc"),
            Just("sha256sum"),
            Just("title"),
            Just("nospace"),
            Just("snakecase"),
            Just("kebabcase"),
            Just("camelcase"),
        ];
        prop_oneof![
            (inner.clone(), plain).prop_map(|(text, function)| pair(
                format!("({} | {function})", text.go),
                format!("({} | {function})", text.jinja)
            )),
            (inner.clone(), 0..9i64, prop_oneof![Just("trunc"), Just("indent"), Just("nindent")]).prop_map(
                |(text, number, function)| pair(
                    format!("({} | {function} {number})", text.go),
                    format!("({} | {function}({number}))", text.jinja)
                )
            ),
            (inner.clone(), inner.clone(), prop_oneof![Just("trimSuffix"), Just("trimPrefix"), Just("default")])
                .prop_map(|(one, other, function)| pair(
                    format!("({function} {} {})", one.go, other.go),
                    format!("{function}({}, {})", one.jinja, other.jinja)
                )),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(one, other, third)| pair(
                format!("(replace {} {} {})", one.go, other.go, third.go),
                format!("replace({}, {}, {})", one.jinja, other.jinja, third.jinja)
            )),
            (inner.clone(), inner).prop_map(|(one, other)| pair(
                format!("(printf \"%s-%q\" {} {})", one.go, other.go),
                format!("printf(\"%s-%q\", {}, {})", one.jinja, other.jinja)
            )),
        ]
    })
}

/// An expression that is true or false.
fn condition() -> impl Strategy<Value = Pair> {
    prop_oneof![
        Just(pair(".Values.data.enabled", "Values.data.enabled")),
        Just(pair(".Values.data.disabled", "Values.data.disabled")),
        (text(), text()).prop_map(|(one, other)| pair(
            format!("(eq {} {})", one.go, other.go),
            format!("({} == {})", one.jinja, other.jinja)
        )),
        (text(), text(), prop_oneof![Just("contains"), Just("hasPrefix"), Just("hasSuffix")]).prop_map(
            |(one, other, function)| pair(
                format!("({function} {} {})", one.go, other.go),
                format!("{function}({}, {})", one.jinja, other.jinja)
            )
        ),
        (text(), text()).prop_map(|(one, other)| pair(
            format!("(and (not (empty {})) {})", one.go, other.go),
            format!("(not empty({}) and {})", one.jinja, other.jinja)
        )),
    ]
}

/// A piece of a template. The signs at Jinja's tags keep the white space around them, as Helm does.
fn piece() -> impl Strategy<Value = Pair> {
    let leaf = prop_oneof![
        "[a-z: ]{0,5}\n?[a-z ]{0,4}".prop_map(|raw| pair(raw.clone(), raw)),
        text().prop_map(|text| pair(format!("{{{{ {} }}}}", text.go), format!("{{{{ {} }}}}", text.jinja))),
        text().prop_map(|text| pair(format!("\n{{{{- {} -}}}}\n", text.go), format!("\n{{{{- {} -}}}}\n", text.jinja))),
        prop_oneof![Just("labels"), Just("letters"), Just("resources"), Just("emptyList")].prop_map(|path| pair(
            format!("{{{{ toYaml .Values.data.{path} | nindent 2 }}}}"),
            format!("{{{{ toYaml(Values.data.{path}) | nindent(2) }}}}")
        )),
        Just(pair("{{/* a comment */}}", "{#+ a comment +#}")),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        let pieces = || proptest::collection::vec(inner.clone(), 1..3).prop_map(joined);
        prop_oneof![
            (condition(), pieces(), pieces()).prop_map(|(condition, one, other)| pair(
                format!("{{{{- if {} }}}}{}{{{{ else }}}}{}{{{{ end }}}}", condition.go, one.go, other.go),
                format!("{{%- if {} +%}}{}{{%+ else +%}}{}{{%+ endif +%}}", condition.jinja, one.jinja, other.jinja)
            )),
            pieces().prop_map(|body| pair(
                format!(
                    "{{{{ range $i, $one := $.Values.data.letters }}}}{{{{ $i }}}}={{{{ $one }}}}{}{{{{ end }}}}",
                    body.go.replace(".Values", "$.Values").replace("$$", "$")
                ),
                format!(
                    "{{%+ for one in Values.data.letters +%}}{{{{ loop.index0 }}}}={{{{ one }}}}{}{{%+ endfor +%}}",
                    body.jinja
                )
            )),
            (text(), pieces()).prop_map(|(value, body)| pair(
                format!("{{{{ $x := {} }}}}{{{{ $x }}}}{}", value.go, body.go),
                format!("{{%+ set x = {} +%}}{{{{ x }}}}{}", value.jinja, body.jinja)
            )),
        ]
    })
}

fn joined(pieces: Vec<Pair>) -> Pair {
    let (go, jinja): (Vec<String>, Vec<String>) = pieces.into_iter().map(|piece| (piece.go, piece.jinja)).unzip();
    Pair { go: go.concat(), jinja: jinja.concat() }
}

fn check(template: &Pair, values: &Value) -> Result<(), TestCaseError> {
    let go = engine::render_go(&template.go, values);
    let jinja = engine::render_ours(&template.jinja, values);
    match (go, jinja) {
        (Ok(go), Ok(jinja)) => prop_assert_eq!(go, jinja, "{}\n{}", template.go, template.jinja),
        // Both refuse what neither can do.
        (Err(_), Err(_)) => {}
        (go, jinja) => prop_assert!(false, "{}: {go:?}\n{}: {jinja:?}", template.go, template.jinja),
    }
    Ok(())
}

#[test]
fn a_template_that_both_syntaxes_can_express_gives_the_same_bytes() {
    let config = ProptestConfig {
        cases: 600,
        rng_seed: RngSeed::Fixed(18),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let values = cases::values();
    proptest!(config, |(template in proptest::collection::vec(piece(), 1..5).prop_map(joined))| {
        check(&template, &values)?;
    });
}
