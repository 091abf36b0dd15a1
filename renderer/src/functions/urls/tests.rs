use crate::budget::{Budget, Limits};
use crate::failure::Failure;
use crate::functions::Function;
use crate::value::Value;

use super::{url_join, url_parse, urlquery};

fn call(function: Function, argument: Value) -> Result<Value, Failure> {
    function(&Budget::new(Limits::default()), &[argument])
}

#[test]
fn what_is_taken_apart_joins_to_the_same_address() {
    for address in
        ["https://u:p%40x@example.com:8080/a%20b/c?x=1#f", "//h/p", "mailto:a@b.c", "http://[::1]:80/", "/a/b"]
    {
        let parts = call(url_parse, address.into()).unwrap();
        assert_eq!(call(url_join, parts), Ok(address.into()));
    }
}

#[test]
fn a_host_has_no_brackets_and_no_port_in_its_name() {
    let parts = call(url_parse, "http://[fe80::1%25eth0]:8080/".into()).unwrap();
    assert_eq!(parts.get("host"), Some(&"[fe80::1%eth0]:8080".into()));
    assert_eq!(parts.get("hostname"), Some(&"fe80::1%eth0".into()));
}

#[test]
fn what_is_no_address_says_why() {
    let failure = call(url_parse, "http://h:port/".into()).unwrap_err();
    assert_eq!(failure.to_string(), "`http://h:port/` is no address: its port is no number");
}

#[test]
fn a_part_that_is_no_text_is_an_error() {
    let parts = Value::dict([("host".into(), Value::Int(5))].into()).unwrap();
    let failure = call(url_join, parts).unwrap_err();
    assert_eq!(failure.to_string(), "`host` of an address must be text, not a whole number");
}

#[test]
fn a_space_in_a_query_is_a_plus() {
    assert_eq!(call(urlquery, "a b&é".into()), Ok("a+b%26%C3%A9".into()));
}
