//! What may stand after `is`.

use crate::budget::Budget;
use crate::failure::Failure;
use crate::suggest;
use crate::template::operators;
use crate::template::program::Comparison;
use crate::value::Value;

/// A test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::template) enum Test {
    Defined,
    Undefined,
    None,
    True,
    False,
    Boolean,
    Text,
    Number,
    Integer,
    Float,
    Mapping,
    Sequence,
    Iterable,
    Odd,
    Even,
    DivisibleBy,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    StartingWith,
    EndingWith,
    Containing,
    Empty,
    Lower,
    Upper,
}

const TESTS: &[(&str, Test)] = &[
    ("defined", Test::Defined),
    ("undefined", Test::Undefined),
    ("none", Test::None),
    ("true", Test::True),
    ("false", Test::False),
    ("boolean", Test::Boolean),
    ("string", Test::Text),
    ("number", Test::Number),
    ("integer", Test::Integer),
    ("int", Test::Integer),
    ("float", Test::Float),
    ("mapping", Test::Mapping),
    ("sequence", Test::Sequence),
    ("iterable", Test::Iterable),
    ("odd", Test::Odd),
    ("even", Test::Even),
    ("divisibleby", Test::DivisibleBy),
    ("eq", Test::Equal),
    ("equalto", Test::Equal),
    ("==", Test::Equal),
    ("ne", Test::NotEqual),
    ("!=", Test::NotEqual),
    ("lt", Test::Less),
    ("lessthan", Test::Less),
    ("<", Test::Less),
    ("le", Test::LessOrEqual),
    ("<=", Test::LessOrEqual),
    ("gt", Test::Greater),
    ("greaterthan", Test::Greater),
    (">", Test::Greater),
    ("ge", Test::GreaterOrEqual),
    (">=", Test::GreaterOrEqual),
    ("in", Test::In),
    ("startingwith", Test::StartingWith),
    ("endingwith", Test::EndingWith),
    ("containing", Test::Containing),
    ("empty", Test::Empty),
    ("lower", Test::Lower),
    ("upper", Test::Upper),
];

/// The test of this name.
pub(in crate::template) fn find(name: &str) -> Option<Test> {
    TESTS.iter().find(|(known, _)| *known == name).map(|(_, test)| *test)
}

/// The test that was probably meant.
pub(in crate::template) fn nearest(name: &str) -> Option<&'static str> {
    suggest::nearest(name, TESTS.iter().map(|(name, _)| *name))
}

impl Test {
    /// Its name.
    pub(in crate::template) fn name(self) -> &'static str {
        TESTS.iter().find(|(_, test)| *test == self).map_or("test", |(name, _)| name)
    }

    /// How many arguments it takes.
    pub(in crate::template) fn arguments(self) -> usize {
        match self {
            Self::DivisibleBy
            | Self::Equal
            | Self::NotEqual
            | Self::Less
            | Self::LessOrEqual
            | Self::Greater
            | Self::GreaterOrEqual
            | Self::In
            | Self::StartingWith
            | Self::EndingWith
            | Self::Containing => 1,
            Self::Defined
            | Self::Undefined
            | Self::None
            | Self::True
            | Self::False
            | Self::Boolean
            | Self::Text
            | Self::Number
            | Self::Integer
            | Self::Float
            | Self::Mapping
            | Self::Sequence
            | Self::Iterable
            | Self::Odd
            | Self::Even
            | Self::Empty
            | Self::Lower
            | Self::Upper => 0,
        }
    }

    /// Those that only look at the kind of value.
    pub(in crate::template) fn of_kind(self) -> Option<fn(&Value) -> bool> {
        Some(match self {
            Self::None => |value| matches!(value, Value::Null),
            Self::True => |value| matches!(value, Value::Bool(true)),
            Self::False => |value| matches!(value, Value::Bool(false)),
            Self::Boolean => |value| matches!(value, Value::Bool(_)),
            Self::Text => |value| matches!(value, Value::Text(_)),
            Self::Number => |value| matches!(value, Value::Int(_) | Value::Float(_)),
            Self::Integer => |value| matches!(value, Value::Int(_)),
            Self::Float => |value| matches!(value, Value::Float(_)),
            Self::Mapping => |value| matches!(value, Value::Dict(_)),
            Self::Sequence => |value| matches!(value, Value::List(_)),
            Self::Iterable => |value| matches!(value, Value::List(_) | Value::Dict(_) | Value::Text(_) | Value::Null),
            _ => return None,
        })
    }
}

/// Whether a test holds.
pub(in crate::template) fn holds(
    budget: &Budget,
    test: Test,
    subject: &Value,
    arguments: &[Value],
) -> Result<bool, Failure> {
    if let Some(of_kind) = test.of_kind() {
        return Ok(of_kind(subject));
    }
    // No test walks more than both its values.
    if let Some(text) = subject.as_text() {
        budget.steps(text.len() as u64 / 16)?;
    }
    let other = arguments.first().unwrap_or(&Value::Null);
    let compare = |comparison| operators::compare(budget, comparison, subject, other);
    match test {
        Test::Equal => compare(Comparison::Equal),
        Test::NotEqual => compare(Comparison::NotEqual),
        Test::Less => compare(Comparison::Less),
        Test::LessOrEqual => compare(Comparison::LessOrEqual),
        Test::Greater => compare(Comparison::Greater),
        Test::GreaterOrEqual => compare(Comparison::GreaterOrEqual),
        Test::In => compare(Comparison::In),
        Test::Containing => operators::contains(budget, subject, other),
        Test::Odd => Ok(operators::integral(subject).is_some_and(|number| number.rem_euclid(2) == 1)),
        Test::Even => Ok(operators::integral(subject).is_some_and(|number| number.rem_euclid(2) == 0)),
        Test::DivisibleBy => Ok(match (operators::integral(subject), operators::integral(other)) {
            (Some(number), Some(by)) => by == -1 || number.checked_rem_euclid(by) == Some(0),
            _ => false,
        }),
        Test::StartingWith => Ok(operators::text_of(subject)?.starts_with(&*operators::text_of(other)?)),
        Test::EndingWith => Ok(operators::text_of(subject)?.ends_with(&*operators::text_of(other)?)),
        Test::Empty => Ok(!subject.is_truthy()),
        Test::Lower => Ok(is_cased(subject, char::is_lowercase, char::is_uppercase)),
        Test::Upper => Ok(is_cased(subject, char::is_uppercase, char::is_lowercase)),
        _ => Ok(!matches!(test, Test::Undefined)),
    }
}

fn is_cased(value: &Value, wanted: fn(char) -> bool, other: fn(char) -> bool) -> bool {
    value.as_text().is_some_and(|text| text.chars().any(wanted) && !text.chars().any(other))
}
