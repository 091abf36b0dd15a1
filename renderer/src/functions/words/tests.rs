use crate::budget::{Budget, Limits};
use crate::functions::Function;
use crate::value::Value;

use super::{abbrevboth, camelcase, initials, kebabcase, snakecase, swapcase, wrap_with};

fn call(function: Function, arguments: &[Value]) -> String {
    function(&Budget::new(Limits::default()), arguments).unwrap().as_text().unwrap().to_owned()
}

#[test]
fn a_number_stays_with_its_word_unless_small_letters_follow() {
    assert_eq!(call(snakecase, &["Bld4Floor3rd".into()]), "bld4_floor_3rd");
    assert_eq!(call(kebabcase, &["HTTP20xOK".into()]), "http-20x-ok");
}

#[test]
fn a_run_of_capitals_is_one_word() {
    assert_eq!(call(snakecase, &["HTTPServer".into()]), "http_server");
    assert_eq!(call(camelcase, &["GOLANG_IS_GREAT".into()]), "GolangIsGreat");
}

#[test]
fn initials_are_whole_characters() {
    assert_eq!(call(initials, &["école élan".into()]), "éé");
}

#[test]
fn both_ends_are_left_out_around_the_offset() {
    assert_eq!(call(abbrevboth, &[Value::Int(5), Value::Int(10), "1234 5678 9123".into()]), "...5678...");
}

#[test]
fn wrapping_narrower_than_a_character_still_goes_on() {
    assert_eq!(call(wrap_with, &[Value::Int(1), "|".into(), "✓✓".into()]), "✓|✓");
}

#[test]
fn swapping_knows_title_case() {
    assert_eq!(call(swapcase, &["\u{1C6}a".into()]), "\u{1C5}A");
}
