use crate::budget::{Budget, Exceeded, Limits};
use crate::failure::Failure;
use crate::value::Value;

use super::{display, quoted, sprint, sprintf, sprintln};

fn budget() -> Budget {
    Budget::new(Limits::default())
}

fn shown(value: &Value) -> String {
    display(&budget(), value).unwrap().to_string()
}

fn formatted(format: &str, values: &[Value]) -> String {
    sprintf(&budget(), format, values).unwrap()
}

fn nested() -> Value {
    let inner = Value::list(vec![Value::Int(1), Value::Null, "a b".into()]).unwrap();
    Value::dict([("b".into(), inner), ("a".into(), Value::Bool(true))].into()).unwrap()
}

#[test]
fn floats_are_as_short_as_go_writes_them() {
    let cases =
        [(1.5, "1.5"), (1e6, "1e+06"), (100_000.0, "100000"), (1e21, "1e+21"), (0.0001, "0.0001"), (1e-5, "1e-05")];
    for (number, text) in cases {
        assert_eq!(shown(&Value::Float(number)), text);
    }
    assert_eq!(shown(&Value::Float(f64::NEG_INFINITY)), "-Inf");
    assert_eq!(shown(&Value::Float(f64::NAN)), "NaN");
}

#[test]
fn maps_are_written_in_the_order_of_their_keys() {
    assert_eq!(shown(&nested()), "map[a:true b:[1 <nil> a b]]");
}

#[test]
fn mistakes_are_written_into_the_text_as_go_does() {
    assert_eq!(formatted("%d", &["x".into()]), "%!d(string=x)");
    assert_eq!(formatted("%s %s", &[Value::Int(1)]), "%!s(int=1) %!s(MISSING)");
    assert_eq!(formatted("%d", &[Value::Int(1), Value::Null]), "1%!(EXTRA <nil>)");
    assert_eq!(formatted("100%", &[]), "100%!(NOVERB)");
}

#[test]
fn a_verb_for_floats_takes_whole_numbers() {
    assert_eq!(formatted("%.2f", &[Value::Int(3)]), "3.00");
}

#[test]
fn a_space_stands_between_neighbours_of_which_neither_is_text() {
    let values = [Value::Int(1), Value::Int(2), "a".into(), Value::Int(3)];
    assert_eq!(sprint(&budget(), &values).unwrap(), "1 2a3");
    assert_eq!(sprintln(&budget(), &values).unwrap(), "1 2 a 3\n");
}

#[test]
fn what_cannot_be_printed_is_escaped_in_quotes() {
    assert_eq!(quoted(&budget(), "a\"\n\u{1}\u{200b}é\u{e0001}").unwrap(), r#""a\"\n\x01\u200bé\U000e0001""#);
}

#[test]
fn padding_is_paid_for_before_it_is_made() {
    let poor = Budget::new(Limits { memory: 1000, ..Limits::default() });
    let failure = sprintf(&poor, "%1000000d", &[Value::Int(1)]).unwrap_err();
    assert!(matches!(failure, Failure::Exceeded(Exceeded::Memory(_))));
}
