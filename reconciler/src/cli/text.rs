//! Numbers, names and foreign text as they are shown to a person.

use std::borrow::Cow;
use std::sync::Arc;

use reeve_renderer::value::Value;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// More names than this are counted.
const NAMES: usize = 3;
/// A value longer than this is cut.
const LONGEST_VALUE: usize = 120;

/// A number with its thousands apart.
pub(super) fn number(number: usize) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A number of things, in words.
pub(super) fn count(count: usize, thing: &str) -> String {
    format!("{} {thing}{}", number(count), if count == 1 { "" } else { "s" })
}

/// `in 9,412 runtimes: eu-1, eu-2, eu-3 and 9,409 more`.
pub(super) fn in_runtimes(names: &[Arc<str>]) -> String {
    // One name more costs no more room than to say that there is one more.
    let shown = if names.len() == NAMES + 1 { names.len() } else { NAMES };
    let listed = names.iter().take(shown).map(|name| &**name).collect::<Vec<_>>().join(", ");
    let rest = names.len().saturating_sub(shown);
    let more = if rest > 0 { format!(" and {} more", number(rest)) } else { String::new() };
    match names.len() {
        1 => format!("in runtime {listed}"),
        many => format!("in {}: {listed}{more}", count(many, "runtime")),
    }
}

/// Text that others wrote, without what would move the cursor or change the colours of a terminal.
pub(super) fn harmless(text: &str) -> Cow<'_, str> {
    let odd = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(odd) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(
        text.chars()
            .map(|c| if c == '\t' || c == '\n' { ' ' } else { c })
            .map(|c| if odd(c) { '\u{fffd}' } else { c })
            .collect(),
    )
}

/// Columns of a terminal that a text takes.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// The text with spaces up to so many columns.
pub(super) fn padded(text: &str, columns: usize) -> String {
    format!("{text}{:1$}", "", columns.saturating_sub(width(text)))
}

/// Text that takes at most so many columns, with dots where it was cut.
pub(super) fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut left = columns.saturating_sub(3);
    let fits = |c: &char| {
        let rest = left.checked_sub(c.width().unwrap_or(0));
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    Cow::Owned(text.chars().take_while(fits).chain("...".chars()).collect())
}

/// A value on one line, cut if it is long.
pub(super) fn value(value: &Value) -> String {
    // A walk over a huge value for a line of it would be a waste.
    let text = if value.size() > 100_000 {
        format!("{} of {} bytes", value.kind(), number(usize::try_from(value.size()).unwrap_or(usize::MAX)))
    } else {
        serde_json::to_string(value).unwrap_or_default()
    };
    cut(&harmless(&text), LONGEST_VALUE).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_thousands_apart() {
        for (plain, shown) in [(0, "0"), (999, "999"), (1000, "1,000"), (9_412, "9,412"), (1_234_567, "1,234,567")] {
            assert_eq!(number(plain), shown);
        }
    }

    #[test]
    fn many_runtimes_are_counted_and_few_are_named() {
        let names = |many: usize| (1..=many).map(|at| Arc::from(format!("eu-{at}"))).collect::<Vec<Arc<str>>>();
        assert_eq!(in_runtimes(&names(1)), "in runtime eu-1");
        assert_eq!(in_runtimes(&names(4)), "in 4 runtimes: eu-1, eu-2, eu-3, eu-4");
        assert_eq!(in_runtimes(&names(9_412)), "in 9,412 runtimes: eu-1, eu-2, eu-3 and 9,409 more");
    }

    #[test]
    fn foreign_text_cannot_speak_to_the_terminal() {
        assert_eq!(harmless("a\x1b[31mb\tc\u{202e}"), "a\u{fffd}[31mb c\u{fffd}");
        assert_eq!(value(&Value::from("a\n\x1b")), "\"a\\n\\u001b\"");
    }
}
