//! Text and characters in quotes, with everything unprintable escaped.

use std::fmt::Write as _;

use crate::failure::Failure;
use crate::functions::letters;

use super::{Spec, Writer};

impl Writer<'_> {
    /// Text in double quotes.
    pub(super) fn quoted_text(&mut self, text: &str, ascii_only: bool) -> Result<(), Failure> {
        self.push("\"")?;
        let mut rest = text;
        while let Some(at) = rest.find(|letter: char| needs_escape(letter, '"', ascii_only)) {
            self.push(&rest[..at])?;
            let letter = rest[at..].chars().next().unwrap_or_default();
            self.push(&escape(letter))?;
            rest = &rest[at + letter.len_utf8()..];
        }
        self.push(rest)?;
        self.push("\"")
    }

    pub(super) fn quoted_padded(&mut self, spec: &Spec, text: &str) -> Result<(), Failure> {
        if spec.sharp && can_backquote(text) {
            return self.padded(spec, &format!("`{text}`"));
        }
        let mut writer = Writer::new(self.budget);
        writer.quoted_text(text, spec.plus)?;
        let quoted = writer.finish();
        self.padded(spec, &quoted)
    }

    pub(super) fn quoted_character(&mut self, spec: &Spec, letter: char) -> Result<(), Failure> {
        let inner = if needs_escape(letter, '\'', spec.plus) { escape(letter) } else { letter.to_string() };
        self.padded(spec, &format!("'{inner}'"))
    }
}

fn needs_escape(letter: char, quote: char, ascii_only: bool) -> bool {
    letter == quote || letter == '\\' || !letters::is_printable(letter) || ascii_only && !letter.is_ascii()
}

fn escape(letter: char) -> String {
    let named = match letter {
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\u{c}' => 'f',
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        '\u{b}' => 'v',
        '\\' | '"' | '\'' => letter,
        _ => return numbered(letter),
    };
    format!("\\{named}")
}

fn numbered(letter: char) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail.
    let _ = match u32::from(letter) {
        code @ (0..0x20 | 0x7f) => write!(text, "\\x{code:02x}"),
        code @ 0x20..0x1_0000 => write!(text, "\\u{code:04x}"),
        code => write!(text, "\\U{code:08x}"),
    };
    text
}

fn can_backquote(text: &str) -> bool {
    !text.chars().any(|letter| letter == '`' || letter == '\u{feff}' || letter.is_ascii_control() && letter != '\t')
}
