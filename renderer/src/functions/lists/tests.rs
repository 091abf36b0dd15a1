//! What lists cost; their results are in the conformance cases.

use super::*;
use crate::budget::{Exceeded, Limits};

fn call(name: &str, budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let entry = TABLE.iter().find(|entry| entry.name == name).unwrap();
    (entry.call)(budget, arguments)
}

fn numbers(count: i64) -> Value {
    Value::list((0..count).map(Value::Int).collect()).unwrap()
}

fn doubled(times: u32) -> Value {
    (0..times).fold(numbers(1), |value, _| Value::list(vec![value.clone(), value]).unwrap())
}

#[test]
fn a_list_that_grows_in_a_loop_is_paid_for() {
    let budget = Budget::new(Limits { memory: 1_000_000, ..Limits::default() });
    let mut list = Value::empty_list();
    let failure = loop {
        match call("append", &budget, &[list.clone(), Value::Int(1)]) {
            Ok(longer) => list = longer,
            Err(failure) => break failure,
        }
    };
    assert_eq!(failure, Failure::Exceeded(Exceeded::Memory(1_000_000)));
}

#[test]
fn values_that_are_huge_only_when_walked_are_not_compared() {
    let budget = Budget::new(Limits::default());
    let list = Value::list(vec![doubled(60)]).unwrap();
    for arguments in [vec![doubled(60), list.clone()], vec![doubled(60), Value::list(vec![doubled(60)]).unwrap()]] {
        assert!(matches!(call("has", &budget, &arguments), Err(Failure::Exceeded(Exceeded::Steps(_)))));
    }
    let twice = Value::list(vec![doubled(60), doubled(60)]).unwrap();
    assert!(matches!(call("uniq", &budget, &[twice]), Err(Failure::Exceeded(Exceeded::Steps(_)))));
}

#[test]
fn long_lists_of_texts_are_cheap_to_make_unique() {
    let budget = Budget::new(Limits::default());
    let texts = (0..50_000).map(|number| Value::from(format!("text-{}", number % 100))).collect();
    let unique = call("uniq", &budget, &[Value::list(texts).unwrap()]).unwrap();
    assert_eq!(unique.as_list().unwrap().len(), 100);
}

#[test]
fn a_list_nested_in_itself_too_often_is_refused() {
    let budget = Budget::new(Limits::default());
    let mut list = Value::empty_list();
    let failure = loop {
        match call("list", &budget, std::slice::from_ref(&list)) {
            Ok(deeper) => list = deeper,
            Err(failure) => break failure,
        }
    };
    assert_eq!(failure, Failure::TooDeep(crate::value::TooDeep));
}

#[test]
fn positions_beyond_all_numbers_are_errors() {
    let budget = Budget::new(Limits::default());
    for bound in [Value::Int(i64::MAX), Value::Int(i64::MIN), Value::Float(1e300), Value::Float(-1e300)] {
        assert!(call("slice", &budget, &[numbers(3), bound.clone()]).is_err());
        assert!(call("slice", &budget, &[numbers(3), Value::Int(0), bound.clone()]).is_err());
        assert!(call("index", &budget, &[numbers(3), bound.clone()]).is_err());
    }
    assert!(call("chunk", &budget, &[Value::Int(i64::MIN), numbers(3)]).is_err());
    assert!(call("chunk", &budget, &[Value::Int(i64::MAX), numbers(3)]).is_ok());
}
