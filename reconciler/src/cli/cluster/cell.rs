//! What stands in one place of a table, before it is known how wide and at what time it is printed.

use k8s_openapi::jiff::Timestamp;
use reeve_crds::State;

use super::age::age;
use crate::cli::style::Paint;
use crate::cli::text::harmless;

/// What stands in one place of a table. Two that are equal need not be printed again, whatever the time.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Text(String),
    State(Option<State>),
    Age(Option<Timestamp>),
}

impl Cell {
    /// Text, or a dash for none.
    pub(super) fn text(text: Option<impl AsRef<str>>) -> Self {
        Self::Text(text.map_or_else(|| "-".to_owned(), |text| text.as_ref().to_owned()))
    }

    /// A number; a dash for none.
    pub(super) fn number(number: Option<i32>) -> Self {
        Self::text(number.map(|number| number.to_string()))
    }

    /// As it is printed, and in which colour.
    pub(super) fn show(&self, now: Timestamp) -> (String, Option<Paint>) {
        match self {
            Self::Text(text) => (harmless(text).into_owned(), None),
            Self::State(Some(state)) => (format!("{state:?}"), Some(paint(*state))),
            Self::State(None) => ("-".to_owned(), None),
            Self::Age(since) => (since.map_or_else(|| "-".to_owned(), |since| age(since, now)), None),
        }
    }
}

/// The colour of a state.
pub(super) fn paint(state: State) -> Paint {
    match state {
        State::Ready => Paint::Added,
        State::Processing | State::Deleting => Paint::Changed,
        State::Warning | State::Unknown => Paint::Warning,
        State::Error => Paint::Error,
        State::Suspended => Paint::Faint,
    }
}

/// The worst first.
pub(super) fn severity(state: State) -> u8 {
    match state {
        State::Error => 0,
        State::Warning => 1,
        State::Unknown => 2,
        State::Processing => 3,
        State::Deleting => 4,
        State::Suspended => 5,
        State::Ready => 6,
    }
}
