//! Jinja's syntax, read with minijinja's parser and turned at once into a program of our own.
//!
//! The only place that knows minijinja. Its parser recurses without bound on some inputs and builds trees that recurse
//! when they are dropped, so `guard` looks at the tokens first. Nothing is evaluated here.

use std::sync::{Arc, OnceLock};

use minijinja::machinery::{ast, parse};
use minijinja::syntax::SyntaxConfig;

use super::program::{Macro, Program, Routine, Span};
use crate::diagnostic::{Diagnostic, Location};
use names::Names;

pub(super) use calls::{expected, fits};

mod calls;
mod expressions;
mod guard;
mod names;
mod statements;

/// What is read, and where it is from.
pub(super) struct Input {
    pub name: Arc<str>,
    pub file: Arc<str>,
    pub text: Arc<str>,
    /// Whether it was given to `tpl`.
    pub is_text: bool,
}

/// Reads a template; gives back all that is wrong with it.
pub(super) fn read(text: Input) -> Result<Program, Vec<Diagnostic>> {
    if let Err(refusal) = guard::check(&text.text) {
        let location = location(&text.file, &text.text, refusal.span);
        return Err(vec![Diagnostic::error("template-syntax", refusal.message).at(location)]);
    }
    let source = Arc::clone(&text.text);
    let name = Arc::clone(&text.name);
    let parsed = parse(&source, &name, configuration()).map_err(|error| vec![syntax_error(&text, &error)])?;
    let mut reader = Reader {
        source: &source,
        file: Arc::clone(&text.file),
        names: Names::default(),
        macros: Vec::new(),
        loops: Vec::new(),
        problems: Vec::new(),
    };
    let ast::Stmt::Template(template) = &parsed else {
        return Err(vec![Diagnostic::error("template-syntax", "no template").at(Location::file(text.file))]);
    };
    reader.names.open_routine();
    reader.names.open_frame();
    reader.declare_all(&template.children);
    let exports = reader.names.frame_names();
    let body = reader.statements(&template.children);
    reader.names.close_frame();
    let names = reader.names.close_routine();
    if !reader.problems.is_empty() {
        return Err(reader.problems);
    }
    let Input { name, file, text, is_text } = text;
    let (macros, loops) = (reader.macros.into_iter().flatten().collect(), reader.loops.into_iter().flatten().collect());
    let routine = Routine { body, names };
    let (defines, syntax) = (Vec::new(), super::program::Syntax::Jinja);
    let (unhonoured, asked) = (Vec::new(), Vec::new());
    Ok(Program {
        name,
        file,
        text,
        is_text,
        routine,
        macros,
        loops,
        exports,
        defines,
        unhonoured,
        asked,
        syntax,
        line_ends: OnceLock::new(),
    })
}

fn configuration() -> SyntaxConfig {
    // Tags take no line of their own, which is what YAML wants.
    SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()
        .unwrap_or_default()
}

fn syntax_error(text: &Input, error: &minijinja::Error) -> Diagnostic {
    let range = error.range().unwrap_or_default();
    let span = Span { start: offset(range.start), end: offset(range.end) };
    let message = error.detail().unwrap_or("cannot be read");
    Diagnostic::error("template-syntax", message).at(location(&text.file, &text.text, span))
}

fn offset(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

/// The line and column of a stretch.
pub(super) fn location(file: &Arc<str>, text: &str, span: Span) -> Location {
    let mut start = (span.start as usize).min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let before = &text[..start];
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    let marked = text[start..].chars().take_while(|c| *c != '\n');
    let mut length = 0;
    let mut at = start;
    for c in marked {
        if at >= span.end as usize {
            break;
        }
        length += 1;
        at += c.len_utf8();
    }
    Location::new(Arc::clone(file), offset(line), offset(column)).with_length(length)
}

/// Turns one parsed template into a program.
struct Reader<'s> {
    source: &'s str,
    file: Arc<str>,
    names: Names,
    /// A macro has its number before its body is read.
    macros: Vec<Option<Macro>>,
    loops: Vec<Option<super::program::For>>,
    problems: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn problem(&mut self, code: &'static str, span: Span, message: String, help: Option<String>) {
        let mut diagnostic = Diagnostic::error(code, message).at(location(&self.file, self.source, span));
        diagnostic.help = help;
        self.problems.push(diagnostic);
    }
}

fn span(span: minijinja::machinery::Span) -> Span {
    Span { start: span.start_offset, end: span.end_offset }
}
