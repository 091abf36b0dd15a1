use crate::budget::{Budget, Limits};
use crate::failure::Failure;
use crate::functions::Function;
use crate::value::Value;

use super::{base32_decode, base32_encode, base64_decode, base64_encode};

fn call(function: Function, subject: &str) -> Result<Value, Failure> {
    function(&Budget::new(Limits::default()), &[subject.into()])
}

#[test]
fn what_is_encoded_decodes_to_itself() {
    for subject in ["", "a", "ab", "abc", "abcd", "abcde", "héllo ✓\n\0"] {
        for (encode, decode) in [(base64_encode as Function, base64_decode as Function), (base32_encode, base32_decode)]
        {
            let encoded = call(encode, subject).unwrap();
            assert_eq!(call(decode, encoded.as_text().unwrap()), Ok(subject.into()));
        }
    }
}

#[test]
fn a_mistake_comes_back_as_gos_text() {
    assert_eq!(call(base64_decode, "YQ"), Ok("illegal base64 data at input byte 0".into()));
    assert_eq!(call(base64_decode, "YQ==x"), Ok("illegal base64 data at input byte 4".into()));
    assert_eq!(call(base32_decode, "!"), Ok("illegal base32 data at input byte 0".into()));
}

#[test]
fn bytes_that_are_no_text_are_an_error() {
    assert!(matches!(call(base64_decode, "gICA"), Err(Failure::Argument(_))));
}
