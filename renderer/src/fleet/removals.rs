//! How many runtimes one commit may remove: `limits.removals` of `fleet.yaml`.

use std::fmt;

use super::decode::{Decoder, Field};
use crate::diagnostic::Diagnostic;
use crate::value::Value;
use crate::yaml::Content;

/// So many may go although a percentage of a small fleet would be less.
const ALWAYS: usize = 5;

/// How many runtimes with `deletionPolicy: Delete` one commit may remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovalLimit {
    /// So many.
    Count(u32),
    /// So many of a hundred, and five in any case.
    Percent(u8),
}

impl RemovalLimit {
    /// Whether so many of all may go with one commit.
    pub fn allows(self, removed: usize, all: usize) -> bool {
        match self {
            Self::Count(most) => u32::try_from(removed).is_ok_and(|removed| removed <= most),
            Self::Percent(most) => {
                removed <= ALWAYS || removed.saturating_mul(100) <= all.saturating_mul(usize::from(most))
            }
        }
    }
}

impl Default for RemovalLimit {
    fn default() -> Self {
        Self::Percent(10)
    }
}

impl fmt::Display for RemovalLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(most) => write!(f, "{most}"),
            Self::Percent(most) => write!(f, "{most}%"),
        }
    }
}

impl Decoder {
    /// A number, or a percentage such as `20%`.
    pub(super) fn removals(&mut self, field: &Field<'_>) -> Option<RemovalLimit> {
        let Content::Scalar(Value::Text(text)) = &field.node.content else {
            return self.number(field, 0, 1_000_000).and_then(|most| u32::try_from(most).ok()).map(RemovalLimit::Count);
        };
        let percent = text.strip_suffix('%').and_then(|digits| digits.parse().ok());
        let percent = percent.filter(|percent| (1..=100).contains(percent)).map(RemovalLimit::Percent);
        if percent.is_none() {
            let message = format!("`{}` must be a number, or a percentage from 1% to 100%, not `{text}`", field.path);
            let finding = Diagnostic::error("out-of-range", message).help("write it like 50 or 20%");
            self.report(field.node.span, &field.path, finding);
        }
        percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_lets_five_go_in_any_case_and_a_number_means_itself() {
        let default = RemovalLimit::default();
        assert!(default.allows(5, 5) && !default.allows(6, 59) && default.allows(6, 60));
        assert!(RemovalLimit::Percent(100).allows(400, 400));
        let none = RemovalLimit::Count(0);
        assert!(none.allows(0, 400) && !none.allows(1, 400));
        assert!(RemovalLimit::Count(7).allows(7, 7) && !RemovalLimit::Count(7).allows(8, 1000));
    }
}
