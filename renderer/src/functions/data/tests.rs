//! That nothing read or written runs away; the results are in the conformance cases.

use std::fmt::Write;

use super::*;
use crate::budget::{Exceeded, Limits};

fn call(name: &str, argument: &Value) -> Result<Value, Failure> {
    let entry = TABLE.iter().find(|entry| entry.name == name).unwrap();
    let limits = Limits { steps: 200_000, memory: 16 << 20, ..Limits::default() };
    (entry.call)(&Budget::new(limits), std::slice::from_ref(argument))
}

#[test]
fn a_value_that_is_huge_only_when_written_is_refused() {
    let leaf = Value::dict([(Arc::from("k"), Value::Int(1))].into()).unwrap();
    let huge = (0..60)
        .fold(leaf, |value, _| Value::dict([(Arc::from("l"), value.clone()), (Arc::from("r"), value)].into()).unwrap());
    for name in ["toYaml", "toYamlPretty", "toJson", "toPrettyJson", "toRawJson", "toToml"] {
        let failure = call(name, &huge).unwrap_err();
        assert!(matches!(failure, Failure::Exceeded(Exceeded::Steps(_) | Exceeded::Memory(_))), "{name}: {failure}");
    }
}

#[test]
fn an_alias_bomb_is_an_error_as_data() {
    let mut bomb = "a0: &a0 [x, x]\n".to_owned();
    for level in 1..40 {
        writeln!(bomb, "a{level}: &a{level} [*a{0}, *a{0}]", level - 1).unwrap();
    }
    let read = call("fromYaml", &Value::from(bomb)).unwrap();
    assert!(read.get("Error").is_some_and(|error| error.as_text().is_some_and(|text| text.contains("aliases"))));
}

#[test]
fn text_nested_too_deep_is_an_error_as_data() {
    let deep = Value::from(format!("{}{}", "{\"a\":".repeat(5000), "}".repeat(5000)));
    for (name, text) in [("fromJson", &deep), ("fromYaml", &deep)] {
        assert!(call(name, text).unwrap().get("Error").is_some(), "{name}");
    }
    assert!(call("mustFromJson", &deep).is_err());
}

#[test]
fn whole_numbers_keep_all_their_digits() {
    let read = call("fromJson", &Value::from(r#"{"a":9007199254740993}"#)).unwrap();
    assert_eq!(read.get("a"), Some(&Value::Int(9_007_199_254_740_993)));
}

#[test]
fn a_number_that_is_not_finite_is_not_written_as_json() {
    assert!(call("toJson", &Value::Float(f64::NAN)).is_err());
}

#[test]
fn toml_nested_too_deep_in_any_way_is_an_error_as_data() {
    let dotted = "a".to_owned() + &".a".repeat(100_000);
    for text in [
        format!("a = {}{}", "[".repeat(5000), "]".repeat(5000)),
        format!("a = {}{}", "{a=".repeat(5000), "}".repeat(5000)),
        format!("{dotted} = 1"),
        format!("[{dotted}]"),
        format!("[[{dotted}]]\nb = 1"),
        format!("a = {{{dotted} = 1}}"),
    ] {
        assert!(call("fromToml", &Value::from(text)).unwrap().get("Error").is_some());
    }
}
