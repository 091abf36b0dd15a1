use crate::budget::{Budget, Limits};
use crate::failure::Failure;
use crate::functions::Function;
use crate::value::Value;

use super::{add, addf, div, divf, floor, modulo, mulf, round, seq, until_step};

fn call(function: Function, arguments: &[Value]) -> Result<Value, Failure> {
    function(&Budget::new(Limits::default()), arguments)
}

#[test]
fn whole_numbers_wrap_around() {
    assert_eq!(call(add, &[Value::Int(i64::MAX), Value::Int(1)]), Ok(Value::Int(i64::MIN)));
    assert_eq!(call(div, &[Value::Int(i64::MIN), Value::Int(-1)]), Ok(Value::Int(i64::MIN)));
    assert_eq!(call(modulo, &[Value::Int(i64::MIN), Value::Int(-1)]), Ok(Value::Int(0)));
}

#[test]
fn dividing_by_zero_is_an_error() {
    for function in [div as Function, modulo, divf] {
        assert_eq!(call(function, &[Value::Int(1), "x".into()]), Err(Failure::argument("division by zero")));
    }
}

#[test]
fn floats_are_added_in_decimals() {
    assert_eq!(call(addf, &[Value::Float(0.1), Value::Float(0.2)]), Ok(Value::Float(0.3)));
    assert_eq!(call(mulf, &[Value::Float(1.1), Value::Int(3)]), Ok(Value::Float(3.3)));
}

#[test]
fn a_quotient_has_sixteen_decimals() {
    assert_eq!(call(divf, &[Value::Int(2), Value::Int(3)]), Ok(Value::Float(0.666_666_666_666_666_7)));
    assert_eq!(call(divf, &[Value::Float(1e-17), Value::Int(1)]), Ok(Value::Int(0)));
}

#[test]
fn a_whole_result_is_a_whole_number() {
    assert_eq!(call(floor, &[Value::Float(3.7)]), Ok(Value::Int(3)));
    assert_eq!(call(round, &[Value::Float(2.675), Value::Int(1)]), Ok(Value::Float(2.7)));
}

#[test]
fn a_sequence_ends_where_numbers_end() {
    let ends = [Value::Int(i64::MAX - 4), Value::Int(i64::MAX), Value::Int(3)];
    let expected = Value::list(vec![Value::Int(i64::MAX - 4), Value::Int(i64::MAX - 1)]).unwrap();
    assert_eq!(call(until_step, &ends), Ok(expected));
    assert_eq!(call(seq, &[Value::Int(i64::MAX), Value::Int(i64::MAX)]), Ok("".into()));
}
