//! What is not set: a template goes on after it, so that all of it is said at once.
//!
//! A statement of the template itself that uses something undefined is left out, and the next one runs. Since a statement
//! that was left out may have set names or chosen a way, what goes wrong later counts only if it depends on nothing but
//! the scope: a key that `Values` does not have. Everything else may be a consequence, and ends the template unsaid.

use std::cell::Cell;

use super::Evaluator;
use crate::diagnostic::Diagnostic;
use crate::template::fault::Fault;
use crate::template::item::{Missing, Reason};
use crate::template::program::{Program, Span};

/// So many statements are left out at most.
const MOST_LEFT_OUT: usize = 100;

/// So many findings of one template are said.
const MOST_SAID: usize = 20;

#[derive(Debug, Default)]
pub(super) struct Undefined {
    said: Vec<Diagnostic>,
    left_out: usize,
    /// Whether the last thing found missing is so whatever else the template does.
    is_certain: Cell<bool>,
}

impl Undefined {
    /// All that is undefined, and what ended the template if nothing was.
    pub(super) fn into_result(mut self, result: Result<(), Fault>) -> Result<(), Vec<Diagnostic>> {
        match result {
            Err(fault) if self.said.is_empty() => self.said.push(*fault),
            Err(_) | Ok(()) => {}
        }
        if self.said.is_empty() { Ok(()) } else { Err(self.said) }
    }
}

impl Evaluator<'_> {
    /// The use of something that is not set.
    #[cold]
    pub(super) fn missing(&self, missing: &Missing) -> Fault {
        let certain = match &missing.reason {
            Reason::Key { root, .. } => root.is_some(),
            Reason::Unknown(name) => !is_set_somewhere(&missing.program, name),
            Reason::Parameter { .. } | Reason::Member { .. } => false,
        };
        self.undefined.is_certain.set(certain);
        self.site().missing(missing, self.scope)
    }

    /// Whether a statement that fails now may be left out: what it was in the middle of is known here in full.
    pub(super) fn may_leave_out(&self) -> bool {
        self.is_output()
    }

    /// Goes on after a statement that used something undefined.
    #[cold]
    pub(super) fn leave_out(&mut self, fault: Fault, nesting: u32) -> Result<(), Fault> {
        let certain = self.undefined.is_certain.replace(false);
        let first = self.undefined.said.is_empty();
        if fault.code != "undefined" || (first && !certain) {
            return Err(fault);
        }
        let known =
            self.undefined.said.iter().any(|said| said.location == fault.location && said.message == fault.message);
        if certain && !known {
            self.undefined.said.push(*fault);
        }
        self.undefined.left_out += 1;
        if self.undefined.left_out >= MOST_LEFT_OUT || self.undefined.said.len() >= MOST_SAID {
            return Err(self.fault("undefined", Span::default(), "too much is undefined"));
        }
        self.nesting = nesting;
        self.arguments.clear();
        self.calls.clear();
        self.modules.retain(|_, module| module.is_some());
        self.current = 0;
        if let Some(main) = self.activations.first() {
            self.program = main.program.clone();
        }
        Ok(())
    }
}

/// Whether a template gives this name to anything itself, which a statement that was left out may have done.
fn is_set_somewhere(program: &Program, name: &str) -> bool {
    let macros = program.macros.iter().map(|declared| &declared.routine);
    macros.chain([&program.routine]).any(|routine| routine.names.iter().any(|known| &**known == name))
}
