//! One text: which style it is written in, and how.

use super::plain::is_something_else;
use super::{Layout, Writer};
use crate::budget::Exceeded;

/// The column after which folded text goes on in the next line.
const WIDTH: usize = 80;
/// Longer keys are written after a `?`.
const LONGEST_KEY: usize = 128;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// Whether a key can stand before its colon as it is.
pub(super) fn is_simple_key(key: &str) -> bool {
    key.len() <= LONGEST_KEY && !key.chars().any(is_break)
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// What readers of YAML 1.1 take unescaped; line ends other than `\n` are left out, since they disagree on them.
fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        && !matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}')
}

/// Signs that end or begin something else when they are not quoted.
fn has_indicators(text: &str) -> bool {
    let blank_follows = |at: usize| text[at..].chars().nth(1).is_none_or(|c| c == ' ' || c == '\t');
    let mut before = None;
    text.starts_with("---")
        || text.starts_with("...")
        || text.char_indices().any(|(at, c)| {
            let preceded = before.replace(c);
            match c {
                ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => at == 0,
                '?' | '-' => at == 0 && blank_follows(at),
                ':' => blank_follows(at),
                '#' => preceded.is_none_or(|c| matches!(c, ' ' | '\t' | '\n')),
                _ => false,
            }
        })
}

fn style(text: &str, layout: Layout) -> Style {
    let tabs = text.contains('\t');
    let special = text.chars().any(|c| c != '\n' && c != '\t' && !is_printable(c));
    let space_before_break = text.contains(" \n");
    if text.contains('\n') {
        // A tab where readers look for the indentation is an error to them.
        let tabs_hinder = tabs && (layout != Layout::Pretty || text.starts_with('\t'));
        let allowed = !(special || tabs_hinder || space_before_break || text.ends_with(' '));
        return if allowed { Style::Literal } else { Style::Double };
    }
    if special || tabs || is_something_else(text) {
        return Style::Double;
    }
    if text.starts_with(' ') || text.ends_with(' ') || has_indicators(text) { Style::Single } else { Style::Plain }
}

impl Writer<'_> {
    /// A simple key with its colon.
    pub(super) fn key(&mut self, key: &str) {
        match style(key, self.layout) {
            // Unquoted it would merge what it holds into the map around it.
            Style::Plain if key == "<<" => self.out.push_str("\"<<\""),
            Style::Plain => self.out.push_str(key),
            Style::Single => self.single(key, None),
            Style::Double | Style::Literal => self.double(key, None),
        }
        self.out.push(':');
    }

    /// A text whose further lines begin at `indent`.
    pub(super) fn text(&mut self, text: &str, indent: usize, is_key: bool) -> Result<(), Exceeded> {
        let fold = matches!(self.layout, Layout::Folded | Layout::Exact).then_some(indent);
        match style(text, self.layout) {
            Style::Plain if is_key && text == "<<" => self.out.push_str("\"<<\""),
            Style::Plain => self.folding(text, fold, |_, _| None),
            Style::Single => self.single(text, fold),
            Style::Double => self.double(text, fold),
            Style::Literal => return self.literal(text, indent),
        }
        Ok(())
    }

    fn single(&mut self, text: &str, fold: Option<usize>) {
        self.out.push('\'');
        self.folding(text, fold, |out, c| {
            (c == '\'').then(|| {
                out.push_str("''");
                2
            })
        });
        self.out.push('\'');
    }

    fn double(&mut self, text: &str, fold: Option<usize>) {
        self.out.push('"');
        let mut column = self.column(fold);
        let mut after_space = false;
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            let inside = rest.as_str().len() + 1 < text.len() && !rest.as_str().is_empty();
            match fold {
                Some(indent) if c == ' ' && inside && !after_space && column > WIDTH => {
                    self.out.push('\n');
                    self.out.extend(std::iter::repeat_n(' ', indent));
                    column = indent;
                    if rest.as_str().starts_with(' ') {
                        self.out.push('\\');
                        column += 1;
                    }
                }
                _ => column += escape(self.out, c),
            }
            after_space = c == ' ';
        }
        self.out.push('"');
    }

    /// Text that is as it is but for what `special` writes itself, telling how many columns that took.
    fn folding(&mut self, text: &str, fold: Option<usize>, special: fn(&mut String, char) -> Option<usize>) {
        let mut column = self.column(fold);
        let mut before = None;
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            let next = rest.clone().next();
            let single_space = c == ' ' && before.is_some_and(|c| c != ' ') && next.is_some_and(|c| c != ' ');
            match fold {
                Some(indent) if single_space && column > WIDTH => {
                    self.out.push('\n');
                    self.out.extend(std::iter::repeat_n(' ', indent));
                    column = indent;
                }
                _ => {
                    column += special(self.out, c).unwrap_or_else(|| {
                        self.out.push(c);
                        1
                    });
                }
            }
            before = Some(c);
        }
    }

    /// How many characters of the line are written.
    fn column(&self, fold: Option<usize>) -> usize {
        if fold.is_none() {
            return 0;
        }
        let written = &self.out[self.begun..];
        written.rsplit('\n').next().map_or(0, |line| line.chars().count())
    }

    fn literal(&mut self, text: &str, indent: usize) -> Result<(), Exceeded> {
        self.out.push('|');
        if text.starts_with([' ', '\n']) {
            self.out.push('2');
        }
        match text.strip_suffix('\n') {
            None => self.out.push('-'),
            Some(head) if head.is_empty() || head.ends_with('\n') => self.out.push('+'),
            Some(_) => {}
        }
        self.out.push('\n');
        for line in text.split_inclusive('\n') {
            if line != "\n" {
                self.out.extend(std::iter::repeat_n(' ', indent));
            }
            self.out.push_str(line);
            self.pay()?;
        }
        Ok(())
    }
}

/// One character inside double quotes; gives the columns it takes.
fn escape(out: &mut String, c: char) -> usize {
    let short = match c {
        '\0' => '0',
        '\x07' => 'a',
        '\x08' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\x0b' => 'v',
        '\x0c' => 'f',
        '\r' => 'r',
        '\x1b' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ if is_printable(c) => {
            out.push(c);
            return 1;
        }
        _ => {
            let code = u32::from(c);
            let escaped = match code {
                ..=0xff => format!("\\x{code:02X}"),
                0x100..=0xffff => format!("\\u{code:04X}"),
                _ => format!("\\U{code:08X}"),
            };
            out.push_str(&escaped);
            return escaped.len();
        }
    };
    out.push('\\');
    out.push(short);
    2
}
