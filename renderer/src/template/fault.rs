//! Says what went wrong in a template, where, and what to do: the one place that words errors of a running template.

use std::fmt;
use std::sync::Arc;

use super::item::{Missing, Reason};
use super::program::{Program, Span};
use super::scope::Scope;
use super::syntax;
use crate::diagnostic::{Diagnostic, Location};
use crate::failure::Failure;
use crate::suggest;
use crate::value::Value;

/// An error on its way out.
pub(super) type Fault = Box<Diagnostic>;

/// How many keys are looked at for the one that was meant.
const CANDIDATES: usize = 500;
/// How much of the source is quoted.
const QUOTED: usize = 80;

/// What is called.
pub(super) enum Called {
    Macro(Arc<str>),
    Template(Arc<str>),
    Text,
    Loop,
}

impl fmt::Display for Called {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Macro(name) => write!(f, "macro `{name}`"),
            Self::Template(name) => write!(f, "`{name}`"),
            Self::Text => f.write_str("a text given to `tpl`"),
            Self::Loop => f.write_str("the recursive loop"),
        }
    }
}

/// A call that is being made: what was called, from where.
pub(super) struct Frame {
    pub what: Called,
    pub program: Arc<Program>,
    pub span: Span,
}

/// Where errors are reported from.
pub(super) struct Site<'s> {
    pub program: &'s Arc<Program>,
    pub calls: &'s [Frame],
}

/// Calls that are shown of a chain of calls: the last ones, and the first ones.
const INNERMOST: usize = 6;
const OUTERMOST: usize = 3;

impl Site<'_> {
    /// An error at a stretch of the running template.
    pub(super) fn fault(&self, code: &'static str, span: Span, message: impl Into<String>) -> Fault {
        self.fault_in(self.program, code, span, message.into())
    }

    fn fault_in(&self, program: &Arc<Program>, code: &'static str, span: Span, message: String) -> Fault {
        let mut diagnostic = Diagnostic::error(code, message);
        let mut calls = self.calls.iter().rev();
        let mut location = self.location(program, span);
        if program.is_text {
            // A text given to `tpl` is no file: the location is where the template gave it.
            diagnostic.message = format!("line {} of the text given to `tpl`: {}", location.line, diagnostic.message);
            for call in calls.by_ref() {
                if !call.program.is_text {
                    location = self.location(&call.program, call.span);
                    break;
                }
            }
        }
        diagnostic.location = Some(location);
        let calls: Vec<_> = calls.collect();
        for (at, call) in calls.iter().enumerate() {
            // Of a recursion, where it is and how it began.
            if at >= INNERMOST && at + OUTERMOST < calls.len() {
                if at == INNERMOST {
                    let between = calls.len() - INNERMOST - OUTERMOST;
                    diagnostic = diagnostic.note(format!("{between} more calls between these"), None);
                }
                continue;
            }
            let from = self.location(&call.program, call.span);
            diagnostic = diagnostic.note(format!("in {}, called from {from}", call.what), Some(from));
        }
        Box::new(diagnostic)
    }

    #[expect(clippy::unused_self, reason = "reads as what it is: the location as this site sees it")]
    fn location(&self, program: &Program, span: Span) -> Location {
        syntax::location(&program.file, &program.text, balanced(&program.text, span))
    }

    /// The failure of a function or an operator.
    pub(super) fn failure(&self, span: Span, name: Option<&str>, failure: &Failure) -> Fault {
        match failure {
            Failure::Argument(message) => match name {
                Some(name) => self.fault("function-failed", span, format!("`{name}`: {message}")),
                None => self.fault("template-type", span, format!("{}: {message}", quoted(self.program, span))),
            },
            Failure::Chart(message) => self.fault("chart-failed", span, message.clone()),
            Failure::Refused { .. } => self.fault("function-refused", span, failure.to_string()),
            Failure::Exceeded(exceeded) => {
                let name = self.calls.first().map_or(&self.program.name, |call| &call.program.name);
                self.fault("limit", span, format!("`{name}` {exceeded}"))
            }
            Failure::TooDeep(deep) => {
                self.fault("limit", span, format!("{}: the value would be {deep}", quoted(self.program, span)))
            }
        }
    }

    /// The use of something that is not set.
    pub(super) fn missing(&self, missing: &Missing, scope: &Scope<'_>) -> Fault {
        let program = &missing.program;
        let source = quoted(program, missing.span);
        let (message, help) = match &missing.reason {
            Reason::Unknown(name) => {
                let help = suggest::nearest(name, scope.names()).map(|name| format!("did you mean `{name}`?"));
                (format!("`{name}` is not known here"), help)
            }
            Reason::Key { parent, parent_end, key, root } => {
                let parent_source = quoted(program, Span { end: *parent_end, ..missing.span });
                let why = match parent {
                    Value::Dict(_) => format!("{parent_source} has no key `{key}`"),
                    Value::List(list) => format!("{parent_source} is a list of {}", list.len()),
                    other => format!("{parent_source} is {}", other.kind()),
                };
                let near = parent
                    .as_dict()
                    .and_then(|dict| suggest::nearest(key, dict.entries().keys().take(CANDIDATES).map(|key| &**key)));
                let advice = || root.as_ref().and_then(|root| scope.advice_for(root)).map(ToOwned::to_owned);
                let help = near.map(|near| format!("did you mean `{near}`?")).or_else(advice);
                (format!("{source} is not set: {why}"), help)
            }
            Reason::Parameter { callee } => (format!("{source} is not set: `{callee}` was called without it"), None),
            Reason::Member { of, key } => (format!("{source} is not set: {of} has no `{key}`"), None),
        };
        let mut fault = self.fault_in(program, "undefined", missing.span, message);
        fault.help = help;
        fault
    }
}

/// The source of an expression, in backticks.
pub(super) fn quoted(program: &Program, span: Span) -> String {
    let source = program.source(balanced(&program.text, span));
    let line: String = source.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(QUOTED) {
        Some((cut, _)) => format!("`{}…`", &line[..cut]),
        None => format!("`{line}`"),
    }
}

/// The parser leaves out a bracket before the first part: `(a + b).c` would read `a + b).c`.
fn balanced(text: &str, span: Span) -> Span {
    let (start, end) = (span.start as usize, span.end as usize);
    let Some(source) = text.get(start..end) else { return span };
    let count = |bracket: u8| source.bytes().filter(|byte| *byte == bracket).count();
    let mut open = count(b')').saturating_sub(count(b'('));
    let mut start = start;
    for (at, byte) in text.as_bytes()[..start].iter().enumerate().rev() {
        match byte {
            _ if open == 0 => break,
            b'(' => {
                open -= 1;
                start = at;
            }
            b' ' => {}
            _ => break,
        }
    }
    Span { start: u32::try_from(start).unwrap_or(span.start), end: span.end }
}
