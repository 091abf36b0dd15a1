//! What dicts cost, and that none is changed; their results are in the conformance cases.

use super::*;
use crate::budget::{Exceeded, Limits};

fn call(name: &str, budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let entry = TABLE.iter().find(|entry| entry.name == name).unwrap();
    (entry.call)(budget, arguments)
}

fn one(key: &str, value: Value) -> Value {
    Value::dict([(Arc::from(key), value)].into()).unwrap()
}

/// Two dicts of equal content in other memory, two to the power of `levels` nodes each.
fn twins(levels: u32) -> [Value; 2] {
    let leaf = || one("leaf", Value::Int(1));
    let grown =
        |value: Value, _| Value::dict([(Arc::from("l"), value.clone()), (Arc::from("r"), value)].into()).unwrap();
    [(0..levels).fold(leaf(), grown), (0..levels).fold(leaf(), grown)]
}

#[test]
fn setting_a_key_leaves_the_dict_given_as_it_was() {
    let budget = Budget::new(Limits::default());
    let before = one("a", Value::Int(1));
    let after = call("set", &budget, &[before.clone(), Value::from("b"), Value::Int(2)]).unwrap();
    assert_eq!(before, one("a", Value::Int(1)));
    assert_eq!(after.get("b"), Some(&Value::Int(2)));
}

#[test]
fn merging_values_that_are_huge_only_when_walked_is_refused() {
    let budget = Budget::new(Limits { memory: 1 << 20, ..Limits::default() });
    let failure = call("merge", &budget, &twins(60)).unwrap_err();
    assert!(matches!(failure, Failure::Exceeded(Exceeded::Steps(_) | Exceeded::Memory(_))));
}

#[test]
fn merging_a_dict_with_itself_costs_nothing() {
    let budget = Budget::new(Limits { steps: 0, memory: 0, ..Limits::default() });
    let [value, _] = twins(60);
    assert!(call("merge", &budget, &[value.clone(), value]).is_ok());
}

#[test]
fn a_copy_costs_nothing() {
    let budget = Budget::new(Limits { steps: 0, memory: 0, ..Limits::default() });
    let [value, _] = twins(60);
    assert!(call("deepCopy", &budget, &[value]).is_ok());
}

#[test]
fn a_dict_that_grows_in_a_loop_is_paid_for() {
    let budget = Budget::new(Limits { memory: 1_000_000, ..Limits::default() });
    let mut dict = Value::empty_dict();
    let failure = (0..)
        .find_map(|number| {
            let key = Value::from(format!("key-{number}"));
            call("set", &budget, &[dict.clone(), key, Value::Null]).map(|larger| dict = larger).err()
        })
        .unwrap();
    assert_eq!(failure, Failure::Exceeded(Exceeded::Memory(1_000_000)));
}

#[test]
fn looking_up_a_long_key_is_paid_for() {
    let budget = Budget::new(Limits { steps: 1_000, ..Limits::default() });
    let long = Value::from("k".repeat(1 << 20));
    let dict = one("k", Value::Null);
    for name in ["get", "hasKey", "unset", "pick", "omit"] {
        let failure = call(name, &budget, &[dict.clone(), long.clone()]).unwrap_err();
        assert_eq!(failure, Failure::Exceeded(Exceeded::Steps(1_000)), "{name}");
    }
}
