//! Columns that stand below each other.

use std::borrow::Cow;

use crate::cli::style::{Paint, Style};
use crate::cli::text::{cut, width};

/// Between two columns.
const GAP: &str = "   ";

/// Columns, as wide as the widest text that was seen in them.
pub(super) struct Table {
    widths: Vec<usize>,
    style: Style,
    /// Columns of the screen, if the last text of a row is to be cut for it.
    screen: Option<usize>,
}

/// The least that is left of a text that is cut.
const SHORTEST: usize = 12;

/// A text and its colour.
pub(super) type Shown = (String, Option<Paint>);

impl Table {
    pub(super) fn new(style: Style) -> Self {
        Self { widths: Vec::new(), style, screen: None }
    }

    /// Cuts the last text of each row so that the row fits on a screen, if enough is left of it.
    pub(super) fn on_screen(mut self, columns: Option<usize>) -> Self {
        self.screen = columns;
        self
    }

    /// Makes room for a row.
    pub(super) fn fit(&mut self, row: &[Shown]) {
        self.widths.resize(self.widths.len().max(row.len()), 0);
        for (widest, (text, _)) in self.widths.iter_mut().zip(row) {
            *widest = (*widest).max(width(text));
        }
    }

    /// A row on a line of its own, without white space at its end.
    pub(super) fn line(&self, row: &[Shown]) -> String {
        let last = row.iter().rposition(|(text, _)| !text.is_empty()).map_or(0, |last| last + 1);
        let mut line = String::new();
        let mut used = 0;
        for (at, (text, paint)) in row.iter().take(last).enumerate() {
            let text = if at + 1 == row.len() { &*self.cut(text, used) } else { text };
            let columns = self.widths.get(at).map_or(0, |widest| *widest).max(width(text));
            used += columns + GAP.len();
            match paint {
                Some(paint) => line.push_str(&self.style.paint(*paint, text)),
                None => line.push_str(text),
            }
            if at + 1 < last {
                line.push_str(&" ".repeat(columns - width(text)));
                line.push_str(GAP);
            }
        }
        line.push('\n');
        line
    }

    fn cut<'a>(&self, text: &'a str, used: usize) -> Cow<'a, str> {
        let room = self.screen.map_or(usize::MAX, |columns| columns.saturating_sub(used));
        if room < SHORTEST { Cow::Borrowed(text) } else { cut(text, room) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_take_no_room_and_lines_have_no_tail() {
        let mut table = Table::new(Style::new(true));
        let rows = [
            [("A".to_owned(), Some(Paint::Error)), ("é".to_owned(), None), (String::new(), None)],
            [("long".to_owned(), None), ("b".to_owned(), None), ("c".to_owned(), None)],
        ];
        for row in &rows {
            table.fit(row);
        }
        assert_eq!(table.line(&rows[0]), "\x1b[1;31mA\x1b[0m      é\n");
        assert_eq!(table.line(&rows[1]), "long   b   c\n");
    }

    #[test]
    fn letters_that_are_two_columns_wide_take_two() {
        let mut table = Table::new(Style::new(false)).on_screen(Some(20));
        let row = |name: &str, message: &str| [(name.to_owned(), None), (message.to_owned(), None)];
        let rows = [row("東京", "失敗しました失敗しました"), row("name", "e\u{301}")];
        for row in &rows {
            table.fit(row);
        }
        assert_eq!(table.line(&rows[0]), "東京   失敗しまし...\n");
        assert_eq!(table.line(&rows[1]), "name   e\u{301}\n");
    }

    #[test]
    fn the_last_text_is_cut_for_the_screen_unless_nothing_would_be_left_of_it() {
        let row = [("name".to_owned(), None), ("a message of some length".to_owned(), None)];
        let line = |columns| {
            let mut table = Table::new(Style::new(false)).on_screen(columns);
            table.fit(&row);
            table.line(&row)
        };
        assert_eq!(line(Some(24)), "name   a message of s...\n");
        assert_eq!(line(Some(31)), "name   a message of some length\n");
        assert_eq!(line(Some(10)), "name   a message of some length\n");
        assert_eq!(line(None), "name   a message of some length\n");
    }
}
