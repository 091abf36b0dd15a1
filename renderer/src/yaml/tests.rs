use std::fmt::Write as _;

use super::*;

fn read(text: &str) -> serde_json::Value {
    let nodes = documents(text, &Options::default()).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
    nodes.iter().map(|node| serde_json::Value::from(&node.to_value().expect("shallow"))).collect()
}

fn problem(text: &str) -> String {
    let problems = documents(text, &Options::default()).expect_err(text);
    let first = &problems[0];
    let help = first.help.as_deref().unwrap_or_default();
    format!("{}:{} {}: {} ({help})", first.span.line, first.span.column, first.code, first.message)
}

#[test]
fn documents_aliases_merge_keys_and_crlf_are_read() {
    let text = "a: &x {k: 1, l: [1, 2]}\r\nb:\r\n  <<: *x\r\n  k: 2\r\n---\r\n---\r\nc: |\r\n  one\r\n  two\r\n...\r\n";
    assert_eq!(
        read(text),
        serde_json::json!([{"a": {"k": 1, "l": [1, 2]}, "b": {"k": 2, "l": [1, 2]}}, {"c": "one\ntwo\n"}])
    );
    assert_eq!(
        read("d: &d {x: 1}\ne: &e {x: 2, z: 3}\nf: {<<: [*d, *e]}\n")[0]["f"],
        serde_json::json!({"x": 1, "z": 3})
    );
    assert_eq!(read("\u{feff}a: 1\n"), serde_json::json!([{"a": 1}]));
}

#[test]
fn scalars_that_all_readers_agree_on_are_read() {
    let text = "[1, -7, 0x1F, 1.5, .5, 1.5e+3, true, ~, null, text, 1.2.3, v1, 2012-10-17, 10.0.0.1, 'yes', \"0755\", 1e, e3, 12:99]";
    assert_eq!(
        read(text)[0],
        serde_json::json!([
            1,
            -7,
            31,
            1.5,
            0.5,
            1500.0,
            true,
            null,
            null,
            "text",
            "1.2.3",
            "v1",
            "2012-10-17",
            "10.0.0.1",
            "yes",
            "0755",
            "1e",
            "e3",
            "12:99"
        ])
    );
}

#[test]
fn scalars_that_readers_disagree_on_are_refused_with_what_to_write() {
    let cases = [
        (
            "a: yes",
            "1:4 yaml-ambiguous: `yes` is a boolean to some readers of YAML and text to others (write \"yes\" for the text, or true for the boolean)",
        ),
        (
            "a: off",
            "1:4 yaml-ambiguous: `off` is a boolean to some readers of YAML and text to others (write \"off\" for the text, or false for the boolean)",
        ),
        (
            "on: 1",
            "1:1 yaml-ambiguous: `on` is a boolean to some readers of YAML and text to others (write \"on\" for the text, or true for the boolean)",
        ),
        (
            "a: 0755",
            "1:4 yaml-ambiguous: `0755` is an octal number to some readers of YAML and something else to others (write \"0755\" for the text, or 493 for the number)",
        ),
        (
            "a: 0o17",
            "1:4 yaml-ambiguous: `0o17` is an octal number to some readers of YAML and something else to others (write \"0o17\" for the text, or 15 for the number)",
        ),
        (
            "a: 0b11",
            "1:4 yaml-ambiguous: `0b11` is a binary number to some readers of YAML and something else to others (write \"0b11\" for the text, or 3 for the number)",
        ),
        (
            "a: 1_000",
            "1:4 yaml-ambiguous: `1_000` is a number to some readers of YAML and something else to others (write \"1_000\" for the text, or 1000 for the number)",
        ),
        (
            "a: 22:22",
            "1:4 yaml-ambiguous: `22:22` is a number to base sixty to some readers of YAML and something else to others (write \"22:22\" for the text)",
        ),
        (
            "a: 1e10",
            "1:4 yaml-ambiguous: `1e10` is a number to some readers of YAML and something else to others (write \"1e10\" for the text, or 10000000000.0 for the number)",
        ),
        (
            "a: 1e400",
            "1:4 yaml-ambiguous: `1e400` is a number to some readers of YAML and something else to others (write \"1e400\" for the text)",
        ),
        ("a: .nan", "1:4 yaml-ambiguous: `.nan` is no number that an object can hold (write \".nan\" for the text)"),
        (
            "a: 99999999999999999999",
            "1:4 yaml-ambiguous: `99999999999999999999` is too large for a whole number (write \"99999999999999999999\" for the text; whole numbers end at 9223372036854775807)",
        ),
    ];
    for (text, said) in cases {
        assert_eq!(problem(text), said);
    }
}

#[test]
fn what_is_wrong_is_said_with_line_and_column() {
    assert_eq!(
        problem("a: 1\nb:\n  a: 2\n  a: 3\n"),
        "4:3 yaml-duplicate-key: `a` is there twice (keep one of the two)"
    );
    assert_eq!(problem("a:\n\tb: 1\n"), "2:1 yaml-syntax: a tab is used for indentation (indent with spaces)");
    assert_eq!(
        problem("a: !Ref b\n"),
        "1:4 yaml-tag: the tag `!Ref` cannot be used here (remove the tag; text, numbers, booleans, lists and maps need none)"
    );
    assert!(problem("a: [1, 2\nb: 3\n").contains("yaml-syntax"));
    assert!(problem("a: *nobody\n").contains("yaml-syntax"));
    assert!(problem("? [a, b]\n: 1\n").contains("yaml-key"));
    assert!(problem("~: 1\n").contains("yaml-key"));
    assert!(problem("a: {<<: 3}\n").contains("yaml-merge"));
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..20 {
        let before = level - 1;
        let ten = vec![format!("*a{before}"); 10].join(", ");
        writeln!(text, "a{level}: &a{level} [{ten}]").expect("text takes text");
    }
    assert!(problem(&text).contains("yaml-limit: the document has too many values"), "{}", problem(&text));
}

#[test]
fn deep_nesting_is_refused() {
    let limit = "yaml-limit: nested deeper than 100 levels";
    assert!(problem(&"[".repeat(100_000)).contains("yaml-"));
    assert!(problem(&format!("{}{}", "[".repeat(101), "]".repeat(101))).contains(limit));
    let block: Vec<String> = (0..5_000).map(|level| " ".repeat(level) + "a:\n").collect();
    let block = block.concat();
    assert!(problem(&block).contains("yaml-"));
    let half = format!("a: &a {}{}\nb: {}*a{}\n", "[".repeat(60), "]".repeat(60), "[".repeat(60), "]".repeat(60));
    assert!(problem(&half).contains(limit));
}

#[test]
fn the_place_of_a_value_is_that_of_its_key() {
    let nodes = documents("a:\n  b:\n    - x\n    - c: 1\n", &Options::default()).expect("fine");
    let at = |path: &str| nodes[0].span_at(&path.parse().expect("a path")).map(|span| (span.line, span.column));
    assert_eq!(at("a.b"), Some((2, 3)));
    assert_eq!(at("a.b[0]"), Some((3, 7)));
    assert_eq!(at("a.b[1].c"), Some((4, 7)));
    assert_eq!(at("a.x"), None);
}

#[test]
fn a_block_without_a_line_break_at_the_end_of_the_text_has_none_for_helm() {
    let last = |text: &str, dialect| {
        let options = Options { dialect, ..Options::default() };
        let by_position = documents(text, &options).unwrap()[0].to_value().unwrap();
        let as_data = values(text, &options, &mut Interner::default()).unwrap().remove(0).value;
        assert_eq!(by_position, as_data, "{text:?}");
        serde_json::Value::from(&as_data).to_string()
    };
    for (text, expected) in [
        ("a: |\n  x", r#"{"a":"x"}"#),
        ("a: |\n  x\n", r#"{"a":"x\n"}"#),
        ("a: |\n  x\n  ", r#"{"a":"x\n"}"#),
        ("a: |+\n  x", r#"{"a":"x"}"#),
        ("a: >\n  x\n  y", r#"{"a":"x y"}"#),
        ("a: |-\n  x", r#"{"a":"x"}"#),
        ("a: |\n  \u{e4}\n\n  y", "{\"a\":\"\u{e4}\\n\\ny\"}"),
        ("a: |\n  x\nb: 1", r#"{"a":"x\n","b":1}"#),
        ("a: |\n  x\n# end", r#"{"a":"x\n"}"#),
        ("- b: |\n    x\n- |\n  y", r#"[{"b":"x\n"},"y"]"#),
        ("a: \"x\"", r#"{"a":"x"}"#),
    ] {
        assert_eq!(last(text, Dialect::Helm), expected, "{text:?}");
    }
    assert_eq!(last("a: |\n  x", Dialect::Strict), r#"{"a":"x\n"}"#);
}
