use crate::budget::{Budget, Limits};
use crate::failure::Failure;
use crate::functions::Function;
use crate::value::Value;

use super::{atoi, deep_equal, float64, int, kind_is, to_decimal, type_of};

fn call(function: Function, arguments: &[Value]) -> Result<Value, Failure> {
    function(&Budget::new(Limits::default()), arguments)
}

#[test]
fn a_whole_number_is_of_every_type_that_go_may_have_for_it() {
    for name in ["int", "int64", "float64"] {
        assert_eq!(call(kind_is, &[name.into(), Value::Int(1)]), Ok(true.into()), "{name}");
    }
    assert_eq!(call(kind_is, &["int".into(), Value::Float(1.5)]), Ok(false.into()));
    assert_eq!(call(type_of, &[Value::Int(1)]), Ok("int64".into()));
}

#[test]
fn text_is_read_in_the_base_of_its_prefix() {
    for (text, number) in [("0x1F", 31), ("010", 8), ("0b11", 3), ("1_000", 1000), ("12.0", 12), ("12.5", 0), ("x", 0)]
    {
        assert_eq!(call(int, &[text.into()]), Ok(Value::Int(number)), "{text}");
    }
    assert_eq!(call(to_decimal, &["0777".into()]), Ok(Value::Int(511)));
}

#[test]
fn a_number_that_is_too_large_is_the_largest_or_none_but_never_another() {
    assert_eq!(call(atoi, &["99999999999999999999".into()]), Ok(Value::Int(i64::MAX)));
    assert_eq!(call(int, &["99999999999999999999".into()]), Ok(Value::Int(0)));
    assert!(matches!(call(int, &[Value::Float(1e30)]), Err(Failure::Argument(_))));
    assert_eq!(call(float64, &["1e400".into()]), Ok(Value::Int(0)));
}

#[test]
fn equality_looks_inside() {
    let list = |last: i64| Value::list(vec!["a".into(), Value::Int(last)]).unwrap();
    assert_eq!(call(deep_equal, &[list(1), list(1)]), Ok(true.into()));
    assert_eq!(call(deep_equal, &[list(1), list(2)]), Ok(false.into()));
}
