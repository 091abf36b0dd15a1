//! Odd arguments for every function of the library: none may panic, hang or make more than the budget allows.

use crate::budget::{Budget, Limits};
use crate::failure::Failure;
use crate::value::Value;

use super::{all, find};

const SMALL: Limits = Limits { steps: 2_000, memory: 1 << 16, output: 1 << 16, depth: 64 };

/// A list that is tiny in memory and has 2^60 items when written out.
fn bomb() -> Value {
    (0..60).fold(Value::from("x"), |inner, _| Value::list(vec![inner.clone(), inner]).unwrap())
}

fn odd() -> Vec<Value> {
    let texts = [
        "",
        "a",
        "é✓😀",
        "\u{0}\n\u{85}",
        "%",
        "%[",
        "%*.*d%!",
        "[[:",
        "(?i",
        "\\",
        "a{999}",
        "$1${",
        "=",
        "-",
        "v1.2-",
        "2006-01-02T15:04:05.9Z",
        "Jan 2 2006 03:04:05.000000000000 __2",
        "9223372036854775808",
        "1.5h",
        "http://[::1%25a]:/%41",
        "^1.x || 2 - 3",
        "_A1_b",
        "Zz-07:0",
        "\u{feff}é%25",
    ];
    let mut odd: Vec<Value> = texts.into_iter().map(Value::from).collect();
    odd.extend([i64::MIN, -1, 0, 1, 3, i64::MAX].map(Value::Int));
    odd.extend([f64::NAN, f64::INFINITY, -0.0, 1e300, 2.5].map(Value::Float));
    odd.extend([Value::Null, Value::Bool(true), Value::empty_list(), Value::empty_dict(), bomb()]);
    odd
}

/// Every function with every choice of so many odd arguments.
fn try_all(count: usize, odd: &[Value]) {
    for entry in all() {
        let (least, most) = entry.arity;
        if count < least || most.is_some_and(|most| count > most) {
            continue;
        }
        for choice in 0..odd.len().pow(u32::try_from(count).unwrap()) {
            let arguments: Vec<Value> = (0..count)
                .map(|at| odd[choice / odd.len().pow(u32::try_from(at).unwrap()) % odd.len()].clone())
                .collect();
            // Whatever comes out, it comes out.
            drop((entry.call)(&Budget::new(SMALL), &arguments));
        }
    }
}

#[test]
fn no_function_panics_on_odd_arguments() {
    let odd = odd();
    for count in 0..=2 {
        try_all(count, &odd);
    }
}

#[test]
fn no_function_of_three_panics_on_odd_arguments() {
    let odd = odd();
    let few: Vec<Value> = odd.iter().step_by(3).cloned().collect();
    try_all(3, &few);
}

fn call(name: &str, arguments: &[Value]) -> Result<Value, Failure> {
    (find(name).unwrap().call)(&Budget::new(Limits::default()), arguments)
}

#[test]
fn what_would_fill_the_machine_stops_at_the_budget() {
    let many = Value::Int(1 << 40);
    let text = Value::from("a b a b ".repeat(1 << 14));
    let long = Value::from("x".repeat(1 << 14));
    let cases: Vec<(&str, Vec<Value>)> = vec![
        ("repeat", vec![many.clone(), "abc".into()]),
        ("indent", vec![many.clone(), "a\nb".into()]),
        ("nindent", vec![many.clone(), "a".into()]),
        ("until", vec![many.clone()]),
        ("untilStep", vec![Value::Int(i64::MIN), Value::Int(i64::MAX), Value::Int(1)]),
        ("seq", vec![many]),
        ("replace", vec!["a".into(), long.clone(), text.clone()]),
        ("wrapWith", vec![Value::Int(1), long.clone(), text.clone()]),
        ("regexReplaceAll", vec!["a".into(), text.clone(), long.clone()]),
        ("regexReplaceAllLiteral", vec!["a".into(), text, long]),
        ("printf", vec!["%9999999[1]d".repeat(16).into(), Value::Int(1)]),
        ("toString", vec![bomb()]),
        ("quote", vec![bomb()]),
        ("join", vec![",".into(), bomb()]),
        ("print", vec![bomb()]),
        ("deepEqual", vec![bomb(), bomb()]),
    ];
    for (name, arguments) in cases {
        let result = call(name, &arguments);
        assert!(matches!(result, Err(Failure::Exceeded(_))), "{name} gave {:?}", result.map(|value| value.size()));
    }
}

#[test]
fn a_search_that_is_quadratic_stops_at_the_budget() {
    let text = Value::from("A".repeat(1 << 20));
    let result = call("regexFindAll", &["[^A]*[^A]|A".into(), text, Value::Int(-1)]);
    assert!(matches!(result, Err(Failure::Exceeded(_))));
}
