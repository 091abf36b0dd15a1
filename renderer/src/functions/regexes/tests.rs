use crate::budget::{Budget, Limits};
use crate::failure::Failure;
use crate::value::Value;

use super::syntax::translate;
use super::{find, regex_match, replace_all};
use crate::functions::Function;

fn call(function: Function, arguments: &[&str]) -> Result<Value, Failure> {
    let arguments: Vec<Value> = arguments.iter().map(|text| Value::from(*text)).collect();
    function(&Budget::new(Limits::default()), &arguments)
}

#[test]
fn classes_are_those_of_ascii() {
    assert_eq!(call(regex_match, &[r"^\w+$", "héllo"]), Ok(false.into()));
    assert_eq!(call(regex_match, &[r"^\d$", "١"]), Ok(false.into()));
}

#[test]
fn brackets_and_signs_inside_a_class_are_themselves() {
    assert_eq!(call(find, &["[a&&[b]+", "x[&b"]), Ok("[&b".into()));
}

#[test]
fn a_groups_name_is_as_long_as_it_can_be() {
    assert_eq!(call(replace_all, &["a(x*)b", "-axxb-", "$1W"]), Ok("--".into()));
    assert_eq!(call(replace_all, &["a(x*)b", "-axxb-", "${1}W"]), Ok("-xxW-".into()));
}

#[test]
fn a_broken_pattern_matches_nothing_and_is_an_error_elsewhere() {
    assert_eq!(call(regex_match, &["(", "("]), Ok(false.into()));
    let Err(Failure::Argument(message)) = call(find, &["(", "("]) else { panic!("accepted") };
    assert_eq!(message, "`(` is no regular expression: a `)` is missing");
}

#[test]
fn a_limit_is_never_taken_for_no_match() {
    let poor = Budget::new(Limits { steps: 5, ..Limits::default() });
    assert!(matches!(regex_match(&poor, &["a".into(), "a".into()]), Err(Failure::Exceeded(_))));
}

#[test]
fn counts_multiply_what_a_pattern_costs() {
    let once = translate(r"\pL").unwrap().states;
    let often = translate(r"\pL{100}").unwrap().states;
    assert!(often >= once * 100, "{often} < 100 * {once}");
    assert!(translate("(a{100}){11}").is_err());
    assert!(translate(&"(".repeat(200)).is_err());
}

#[test]
fn a_search_costs_the_states_of_its_pattern_times_the_bytes_of_its_text() {
    let (text, pattern) = ("ab".repeat(100 << 10), "[ab]*a[ab]{900}c");
    assert!(matches!(call(regex_match, &[pattern, &text]), Err(Failure::Exceeded(_))));
    assert!(matches!(call(find, &[pattern, &text]), Err(Failure::Exceeded(_))));
    assert!(matches!(call(replace_all, &[pattern, &text, ""]), Err(Failure::Exceeded(_))));
    assert_eq!(call(regex_match, &["[ab]*c", &text]), Ok(false.into()));
}

#[test]
fn a_pattern_costs_what_compiling_it_takes_however_short_it_is() {
    let budget = Budget::new(Limits { steps: 2_000, ..Limits::default() });
    let compiled = (0..100).take_while(|_| regex_match(&budget, &["a".into(), "a".into()]).is_ok()).count();
    assert!(compiled < 10, "{compiled}");
}

#[test]
fn many_matches_in_a_long_text_are_paid_for_once_where_no_search_looks_far_ahead() {
    let text = "a line  of words\n".repeat(20 << 10);
    for pattern in ["\n", r"\s+", "[^a-z]+", "(line|words)", r"\s{2,4}"] {
        assert!(call(replace_all, &[pattern, &text, ""]).is_ok(), "{pattern}");
    }
    for pattern in [r"[^\n]*[^a]\n|a", "(a|o)*"] {
        assert!(matches!(call(replace_all, &[pattern, &text, ""]), Err(Failure::Exceeded(_))), "{pattern}");
    }
}
