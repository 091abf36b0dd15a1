use crate::budget::{Budget, Limits};
use crate::failure::Failure;
use crate::value::Value;

use super::{indent, quote, replace, substr, trunc};
use crate::functions::Function;

fn call(function: Function, arguments: &[Value]) -> Result<Value, Failure> {
    function(&Budget::new(Limits::default()), arguments)
}

#[test]
fn a_cut_never_leaves_half_a_character() {
    assert_eq!(call(trunc, &[Value::Int(2), "héllo".into()]), Ok("h".into()));
    assert_eq!(call(trunc, &[Value::Int(-2), "a✓".into()]), Ok("".into()));
    assert_eq!(call(substr, &[Value::Int(2), Value::Int(4), "héllo".into()]), Ok("l".into()));
    assert_eq!(call(substr, &[Value::Int(2), Value::Int(2), "héllo".into()]), Ok("".into()));
}

#[test]
fn nothing_is_quoted_for_null() {
    assert_eq!(call(quote, &[Value::Null]), Ok("".into()));
    assert_eq!(call(quote, &["a".into(), Value::Null, Value::Int(1)]), Ok(r#""a" "1""#.into()));
}

#[test]
fn a_negative_width_is_an_error() {
    assert_eq!(call(indent, &[Value::Int(-1), "a".into()]), Err(Failure::argument("argument 1 must not be negative")));
}

#[test]
fn replacing_nothing_puts_the_new_text_between_all_characters() {
    assert_eq!(call(replace, &["".into(), "-".into(), "hé".into()]), Ok("-h-é-".into()));
}
