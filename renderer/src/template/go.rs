//! Go's text/template, as Helm's charts are written in: read by a lexer and a parser of our own, straight to a program.
//!
//! Nothing is evaluated here. What Go finds out when it parses (unknown functions, variables, unclosed blocks) is a finding
//! of the chart; what it finds out when it runs, in a branch that is reached, is found then here too.

use std::sync::{Arc, OnceLock};

use super::program::{Define, Macro, Program, Routine, Span, Syntax};
use super::syntax::{self, Input};
use crate::diagnostic::Diagnostic;
use lexer::{Lexeme, Mistake};

pub(super) mod functions;
mod lexer;
mod literals;
mod pipelines;
mod statements;

/// Bytes of one template.
const LARGEST: usize = 5 << 20;
/// Blocks and brackets inside each other.
const DEEPEST: u32 = 60;

/// Reads a template; gives back what is wrong with it.
pub(super) fn read(input: Input) -> Result<Program, Vec<Diagnostic>> {
    let text = Arc::clone(&input.text);
    let finding = |mistake: Mistake| {
        let location = syntax::location(&input.file, &text, mistake.span);
        vec![Diagnostic::error("template-syntax", mistake.message).at(location)]
    };
    if text.len() > LARGEST {
        return Err(finding(Mistake { message: "the template is larger than 5 MiB".into(), span: Span::default() }));
    }
    let lexemes = lexer::tokens(&text).map_err(finding)?;
    let mut parser = Parser {
        text: &text,
        lexemes,
        at: 0,
        scope: Scope::new(),
        macros: Vec::new(),
        defines: Vec::new(),
        unhonoured: Vec::new(),
        asked: Vec::new(),
        depth: 0,
        loops: 0,
    };
    let body = parser.template().map_err(finding)?;
    let Parser { scope, macros, defines, unhonoured, asked, .. } = parser;
    let Input { name, file, text, is_text } = input;
    let routine = Routine { body, names: scope.names };
    let syntax = Syntax::Go;
    let (loops, exports) = (Vec::new(), Vec::new());
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

/// The variables of one template.
struct Scope {
    /// Those that can be seen, the last first.
    visible: Vec<(Arc<str>, u32)>,
    /// One for each slot.
    names: Vec<Arc<str>>,
    /// Those of another branch of the block at hand: Go takes their names when it reads, and fails when it runs.
    elsewhere: Vec<Arc<str>>,
    /// The slot of the dot.
    dot: u32,
}

impl Scope {
    fn new() -> Self {
        let root: Arc<str> = "$".into();
        Self { visible: vec![(Arc::clone(&root), 0)], names: vec![root], elsewhere: Vec::new(), dot: 0 }
    }

    fn slot(&mut self, name: &str) -> u32 {
        self.names.push(name.into());
        u32::try_from(self.names.len() - 1).unwrap_or(u32::MAX)
    }

    fn declare(&mut self, name: &str) -> u32 {
        let slot = self.slot(name);
        self.visible.push((name.into(), slot));
        slot
    }

    /// Forgets the variables of a branch, of which other branches know the names alone.
    fn leave_branch(&mut self, known: usize) {
        let left = self.visible.drain(known.min(self.visible.len())..).map(|(name, _)| name);
        self.elsewhere.extend(left);
    }

    fn is_elsewhere(&self, name: &str) -> bool {
        self.elsewhere.iter().any(|known| &**known == name)
    }

    fn find(&self, name: &str) -> Option<u32> {
        self.visible.iter().rev().find(|(known, _)| &**known == name).map(|(_, slot)| *slot)
    }
}

/// Turns tokens into statements.
struct Parser<'t> {
    text: &'t str,
    lexemes: Vec<Lexeme>,
    at: usize,
    scope: Scope,
    macros: Vec<Macro>,
    defines: Vec<Define>,
    unhonoured: Vec<(&'static str, Span)>,
    asked: Vec<(Arc<str>, Span)>,
    depth: u32,
    /// Loops around the statement.
    loops: u32,
}

impl<'t> Parser<'t> {
    fn source(&self, span: Span) -> &'t str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    fn mistake<T>(span: Span, message: impl Into<String>) -> Result<T, Mistake> {
        Err(Mistake { message: message.into(), span })
    }

    fn deeper(&mut self, span: Span) -> Result<(), Mistake> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Self::mistake(span, format!("blocks and brackets are nested more than {DEEPEST} levels deep"));
        }
        Ok(())
    }
}
