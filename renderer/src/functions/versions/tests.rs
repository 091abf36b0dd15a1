use crate::budget::{Budget, Limits};
use crate::failure::Failure;
use crate::value::Value;

use super::{semver, semver_compare};

fn admits(constraint: &str, version: &str) -> Result<Value, Failure> {
    semver_compare(&Budget::new(Limits::default()), &[constraint.into(), version.into()])
}

#[test]
fn a_prerelease_is_admitted_only_where_one_is_named() {
    assert_eq!(admits(">=1.2", "1.3.0-beta"), Ok(false.into()));
    assert_eq!(admits(">=1.2-0", "1.3.0-beta"), Ok(true.into()));
    assert_eq!(admits("<1 || >=1.2-0", "1.3.0-beta"), Ok(true.into()));
}

#[test]
fn a_caret_holds_the_first_number_that_is_not_zero() {
    for (constraint, version, holds) in
        [("^1.2", "1.9.0", true), ("^1.2", "2.0.0", false), ("^0.2.3", "0.3.0", false), ("^0.0.3", "0.0.4", false)]
    {
        assert_eq!(admits(constraint, version), Ok(holds.into()), "{constraint} {version}");
    }
}

#[test]
fn numbers_in_prereleases_are_compared_as_numbers() {
    assert_eq!(admits(">=1.0.0-rc.9", "1.0.0-rc.10"), Ok(true.into()));
    assert_eq!(admits(">=1.0.0-1", "1.0.0-rc"), Ok(true.into()));
}

#[test]
fn what_is_no_constraint_or_version_is_an_error() {
    assert_eq!(admits("", "1.2.3"), Err(Failure::argument("`` is no constraint on versions")));
    assert_eq!(admits(">=1", "1.2.3.4"), Err(Failure::argument("`1.2.3.4` is no semantic version")));
}

#[test]
fn a_version_is_taken_apart_under_the_names_of_go() {
    let version = semver(&Budget::new(Limits::default()), &["v1.2-rc.1+b".into()]).unwrap();
    assert_eq!(version.get("Major"), Some(&Value::Int(1)));
    assert_eq!(version.get("Patch"), Some(&Value::Int(0)));
    assert_eq!(version.get("Prerelease"), Some(&"rc.1".into()));
    assert_eq!(version.get("Original"), Some(&"v1.2-rc.1+b".into()));
    assert_eq!(version.get("String"), Some(&"1.2.0-rc.1+b".into()));
}
