//! What a template wrote, and which part of the template wrote each line of it.

use std::sync::Arc;

use super::program::{Program, Span};
use super::syntax;
use crate::bytes;
use crate::diagnostic::{Diagnostic, Location};

/// Lines beyond these are said to come from where the last of them came from.
const MOST_LINES: usize = 1 << 20;

/// The output of a template.
#[derive(Debug)]
pub struct Written {
    /// The text.
    pub text: String,
    /// Values that cannot be known, where they were written.
    pub poisoned: Vec<Poisoned>,
    pub(super) program: Arc<Program>,
    pub(super) lines: Lines,
}

/// A value that cannot be known was written: an error for whatever object it ends up in.
#[derive(Clone, Debug)]
pub struct Poisoned {
    /// What stands in the text in its place.
    pub mark: String,
    /// The error.
    pub finding: Diagnostic,
}

/// Where in the source each line of the output began to be written.
#[derive(Debug)]
pub(super) struct Lines {
    starts: Vec<u32>,
    /// Whether the next byte begins a line.
    at_start: bool,
}

impl Default for Lines {
    fn default() -> Self {
        Self { starts: Vec::new(), at_start: true }
    }
}

impl Lines {
    /// Takes note of text that was copied from the source, from there on.
    pub(super) fn copied(&mut self, text: &str, source: u32) {
        self.add(text, source, 1);
    }

    /// Takes note of text that an expression or a call at that location made.
    pub(super) fn made(&mut self, text: &str, source: u32) {
        self.add(text, source, 0);
    }

    fn add(&mut self, text: &str, source: u32, step: u32) {
        if text.is_empty() || self.starts.len() >= MOST_LINES {
            return;
        }
        if self.at_start {
            self.starts.push(source);
        }
        let mut begin = 0;
        while let Some(end) = bytes::find(&text[begin..], b'\n') {
            begin += end + 1;
            if begin < text.len() {
                let further = u32::try_from(begin).unwrap_or(u32::MAX);
                self.starts.push(source.saturating_add(further.saturating_mul(step)));
            }
        }
        self.at_start = text.ends_with('\n');
    }
}

impl Written {
    pub(super) fn nothing(program: Arc<Program>) -> Self {
        Self { text: String::new(), poisoned: Vec::new(), program, lines: Lines::default() }
    }

    /// The part of the template that began to write this line of the text; lines count from 1.
    pub fn location(&self, line: u32) -> Location {
        let start = self.source(line);
        syntax::location(&self.program.file, &self.program.text, Span { start, end: start.saturating_add(1) })
    }

    /// The line of that part alone.
    pub fn line(&self, line: u32) -> u32 {
        let found = self.program.line_at(self.source(line));
        debug_assert_eq!(found, self.location(line).line, "of line {line}");
        found
    }

    fn source(&self, line: u32) -> u32 {
        let at = (line.max(1) as usize - 1).min(self.lines.starts.len().saturating_sub(1));
        let source = self.lines.starts.get(at).copied().unwrap_or(0);
        // A line begins with its indentation, which nobody is interested in.
        let rest = self.program.text.get(source as usize..).unwrap_or_default();
        let spaces = rest.len() - rest.trim_start_matches(' ').len();
        let spaces = if rest[spaces..].starts_with(['\n', '\r']) { 0 } else { spaces };
        source.saturating_add(u32::try_from(spaces).unwrap_or(0))
    }
}
