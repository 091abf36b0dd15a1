//! Proof that what is written reads back, and that the styles are those of Helm; the rest of that is in the conformance
//! cases.

use std::sync::Arc;

use proptest::prelude::*;

use super::{Layout, write, write_paid};
use crate::budget::{Budget, Exceeded, Limits};
use crate::value::{Entries, Value};
use crate::yaml::{Dialect, Options, documents};

fn written(value: &Value, layout: Layout) -> String {
    let mut out = String::new();
    write_paid(value, layout, &Budget::new(Limits::default()), &mut out).unwrap();
    out
}

fn list(items: &[&str]) -> Value {
    Value::list(items.iter().map(|item| Value::from(*item)).collect()).unwrap()
}

fn dict(key: &str, value: Value) -> Value {
    Value::dict([(Arc::from(key), value)].into()).unwrap()
}

/// The same value, with whole floats as whole numbers: YAML writes both alike.
fn alike(value: &Value) -> Value {
    match value {
        #[expect(clippy::cast_possible_truncation, reason = "whole and small")]
        Value::Float(number) if number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0 => {
            Value::Int(*number as i64)
        }
        Value::List(list) => Value::list(list.items().iter().map(alike).collect()).unwrap(),
        Value::Dict(dict) => {
            Value::dict(dict.entries().iter().map(|(key, value)| (key.clone(), alike(value))).collect()).unwrap()
        }
        other => other.clone(),
    }
}

fn read_back(text: &str, dialect: Dialect) -> Value {
    let options = Options { dialect, ..Options::default() };
    let found = documents(text, &options).unwrap_or_else(|problems| panic!("{problems:?} in\n{text}"));
    found.first().map_or(Value::Null, |node| node.to_value().unwrap())
}

#[test]
fn large_whole_numbers_are_written_as_helm_writes_them() {
    for (number, in_helm) in [
        (12_345_678_901_234_567_f64, "12345678901234568"),
        (-12_345_678_901_234_567_f64, "-12345678901234568"),
        (1e18, "1000000000000000000"),
        (9_223_372_036_854_775_807_f64, "9223372036854776000"),
        (18_446_744_073_709_551_615_f64, "1.8446744073709552e+19"),
        (1e20, "1e+20"),
        (1e21, "1e+21"),
        (1.5e17, "150000000000000000"),
    ] {
        assert_eq!(written(&Value::Float(number), Layout::Exact).trim_end(), in_helm);
    }
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[-+.0-9_eExobn:TZ ]{0,12}",
        "[ \n\t#:'\"\\\\a?*&!|>%@`{}\\[\\],-]{0,12}",
        "(a|b |\n| \n|\\\\|\"|# |: |- ){0,30}",
        "([a-z]{1,9} {1,2}){8,40}",
        "[\u{7f}-\u{a1}\u{2027}-\u{202a}\u{d7fe}-\u{d7ff}\u{e000}\u{feff}\u{fffd}-\u{10000}]{0,4}",
        prop::sample::select(vec![
            "yes",
            "No",
            "on",
            "y",
            "~",
            "null",
            "true",
            "<<",
            "=",
            "1:30",
            "1:30.x",
            ".5_",
            "0x1F",
            "0o7",
            "017",
            "1_000",
            "1e3",
            "2001-01-01",
            "---",
            "...",
            "- a",
            "|",
            ".inf",
            "",
        ])
        .prop_map(str::to_owned),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::Float),
        (-1e7..1e7).prop_map(Value::Float),
        texts().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|items| Value::list(items).unwrap()),
            prop::collection::btree_map(texts().prop_map(Arc::from), inner, 0..5)
                .prop_map(|entries| Value::dict(entries.into()).unwrap()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_back_with_every_reader(value in values()) {
        for layout in [Layout::Straight, Layout::Folded, Layout::Pretty] {
            let text = written(&value, layout);
            prop_assert_eq!(alike(&read_back(&text, Dialect::Strict)), alike(&value), "strictly, from\n{}", text);
            prop_assert_eq!(alike(&read_back(&text, Dialect::Helm)), alike(&value), "as Helm, from\n{}", text);
            let read: serde_json::Value = serde_yaml::from_str(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
            prop_assert_eq!(alike(&Value::try_from(read).unwrap()), alike(&value), "with serde, from\n{}", text);
        }
    }

    #[test]
    fn keys_are_sorted_whatever_they_are(keys in prop::collection::btree_set("[0-3a-b-]{0,4}", 0..40)) {
        let entries: Entries = keys.iter().map(|key| (Arc::from(key.as_str()), Value::Null)).collect();
        let text = written(&Value::dict(entries).unwrap(), Layout::Folded);
        prop_assert_eq!(text.lines().count(), keys.len().max(1));
    }
}

#[test]
fn numbers_inside_keys_are_ordered_by_their_value() {
    let entries = ["a10", "a2", "b", "1", "_"].iter().map(|key| (Arc::from(*key), Value::Int(1))).collect();
    let mut out = String::new();
    write(&Value::dict(entries).unwrap(), &mut out);
    assert_eq!(out, "_: 1\n\"1\": 1\na2: 1\na10: 1\nb: 1\n");
}

#[test]
fn long_lines_are_folded_only_where_asked() {
    let text = "abcd ".repeat(20) + "end";
    let value = dict("a", Value::from(text.clone()));
    assert_eq!(written(&value, Layout::Straight), format!("a: {text}\n"));
    assert_eq!(written(&value, Layout::Folded), format!("a: {}\n  {}\n", &text[..79], &text[80..]));
}

#[test]
fn a_text_with_lines_keeps_them() {
    let value = list(&["a\nb", "a\nb\n", "a\n\n", " a\nb", "\n"]);
    let expected = "- |-\n  a\n  b\n- |\n  a\n  b\n- |+\n  a\n\n- |2-\n   a\n  b\n- |2+\n\n";
    assert_eq!(written(&value, Layout::Straight), expected);
}

#[test]
fn a_value_that_is_huge_only_when_written_is_refused_before_the_memory_is_gone() {
    let mut value = list(&["x"]);
    for _ in 0..60 {
        value = Value::list(vec![value.clone(), value]).unwrap();
    }
    let budget = Budget::new(Limits { steps: 10_000, ..Limits::default() });
    let mut out = String::new();
    assert_eq!(write_paid(&value, Layout::Folded, &budget, &mut out), Err(Exceeded::Steps(10_000)));
    assert!(out.len() < 2_000_000);
}

#[test]
fn deeply_indented_lines_are_paid_for() {
    let mut value = Value::from("a\n".repeat(10_000));
    for _ in 0..90 {
        value = dict("k", value);
    }
    let budget = Budget::new(Limits { memory: 100_000, ..Limits::default() });
    let mut out = String::new();
    assert_eq!(write_paid(&value, Layout::Folded, &budget, &mut out), Err(Exceeded::Memory(100_000)));
    assert!(out.len() < 200_000);
}
