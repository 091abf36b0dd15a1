//! Columns that stand below each other.

use crate::cli::style::{Paint, Style};

/// Between two columns.
const GAP: &str = "   ";

/// Columns, as wide as the widest text that was seen in them.
pub(super) struct Table {
    widths: Vec<usize>,
    style: Style,
}

/// A text and its colour.
pub(super) type Shown = (String, Option<Paint>);

impl Table {
    pub(super) fn new(style: Style) -> Self {
        Self { widths: Vec::new(), style }
    }

    /// Makes room for a row.
    pub(super) fn fit(&mut self, row: &[Shown]) {
        self.widths.resize(self.widths.len().max(row.len()), 0);
        for (width, (text, _)) in self.widths.iter_mut().zip(row) {
            *width = (*width).max(text.chars().count());
        }
    }

    /// A row on a line of its own, without white space at its end.
    pub(super) fn line(&self, row: &[Shown]) -> String {
        let last = row.iter().rposition(|(text, _)| !text.is_empty()).map_or(0, |last| last + 1);
        let mut line = String::new();
        for (at, (text, paint)) in row.iter().take(last).enumerate() {
            let length = text.chars().count();
            match paint {
                Some(paint) => line.push_str(&self.style.paint(*paint, text)),
                None => line.push_str(text),
            }
            if at + 1 < last {
                line.push_str(&" ".repeat(self.widths.get(at).map_or(0, |width| width.saturating_sub(length))));
                line.push_str(GAP);
            }
        }
        line.push('\n');
        line
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
}
