//! Runs a program: one evaluator for one render, on one thread.
//!
//! Every statement, expression and turn of a loop is a step of the budget, and every text, list and map is paid for before
//! it is made. Its own recursion is counted too, so that no template can exhaust the stack.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use super::Library;
use super::charts;
use super::fault::{Fault, Frame, Site};
use super::heap::Heap;
use super::item::{Item, Poison};
use super::program::{Program, Span};
use super::scope::Scope;
use super::written::{Lines, Poisoned, Written};
use crate::budget::{Budget, Exceeded};
use crate::diagnostic::Diagnostic;
use crate::failure::Failure;
use crate::value::Value;

mod calls;
mod expressions;
mod files;
mod go;
mod lookup;
mod loops;
mod macros;
mod modules;
mod statements;
mod undefined;

use undefined::Undefined;

/// Statements and expressions inside each other, over all calls: what a small stack holds, without optimization too.
const NESTING: u32 = 400;

/// Emptied texts with more room than this are given back.
const LARGEST_SPARE: usize = 16 << 10;

/// The slots of a routine that runs, or of a template that was imported.
pub(super) struct Activation<'a> {
    slots: Vec<Item<'a>>,
    program: Arc<Program>,
    /// Which macro of the program; none is its top level.
    number: Option<u32>,
    /// Where its macro was declared.
    parent: Option<usize>,
    /// Names it sees besides its own and the scope's: those of whoever included it, or those given to `tpl`.
    seen: Option<Seen<'a>>,
}

/// Names of elsewhere and what they hold.
pub(super) type Seen<'a> = Rc<BTreeMap<Arc<str>, Item<'a>>>;

/// One render.
pub(super) struct Evaluator<'a> {
    library: &'a Library,
    scope: &'a Scope<'a>,
    budget: &'a Budget,
    program: Arc<Program>,
    activations: Vec<Activation<'a>>,
    current: usize,
    out: String,
    lines: Lines,
    captures: u32,
    calls: Vec<Frame>,
    nesting: u32,
    /// Arguments of the calls that are being made, so that a call need not allocate.
    arguments: Vec<Value>,
    /// Texts that were caught, emptied, for the next to be caught in.
    spare: Vec<String>,
    /// Slots of routines that ended, emptied, for the next to begin.
    spare_slots: Vec<Vec<Item<'a>>>,
    modules: BTreeMap<Arc<str>, Option<usize>>,
    undefined: Undefined,
    texts: HashMap<Arc<str>, Arc<Program>>,
    /// The maps and lists of Go's templates.
    heap: Heap<'a>,
    /// The named templates of Go's syntax.
    go_library: Option<&'a charts::Library>,
    /// Texts given to `tpl` that declare templates, the innermost last.
    overlays: Vec<Arc<Program>>,
    /// The poisoned value that was written into the text being caught.
    poisoned: Option<Rc<Poison>>,
    /// Poisoned values that were written into the output.
    poisoned_output: Vec<Poisoned>,
}

/// How a body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    Break,
    Continue,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(library: &'a Library, scope: &'a Scope<'a>, budget: &'a Budget, program: Arc<Program>) -> Self {
        Self {
            library,
            scope,
            budget,
            program,
            activations: Vec::new(),
            current: 0,
            out: String::new(),
            lines: Lines::default(),
            captures: 0,
            calls: Vec::new(),
            nesting: 0,
            arguments: Vec::new(),
            spare: Vec::new(),
            spare_slots: Vec::new(),
            modules: BTreeMap::new(),
            undefined: Undefined::default(),
            texts: HashMap::new(),
            heap: Heap::default(),
            go_library: None,
            overlays: Vec::new(),
            poisoned: None,
            poisoned_output: Vec::new(),
        }
    }

    /// With the templates and maps of a chart in Go's syntax.
    pub(super) fn with_charts(mut self, library: &'a charts::Library, heap: Heap<'a>) -> Self {
        self.go_library = Some(library);
        self.heap = heap;
        self
    }

    /// The output of a program of Go's syntax with this dot, and the maps for the next.
    pub(super) fn render_with(mut self, dot: Item<'a>) -> (Result<Written, Vec<Diagnostic>>, Heap<'a>) {
        let program = Arc::clone(&self.program);
        self.out.reserve(program.text.len());
        self.activate(&program, None, None, None);
        self.set_slot(0, dot);
        let result = self.run(&program.routine.body);
        let heap = std::mem::take(&mut self.heap);
        let (text, lines) = (std::mem::take(&mut self.out), std::mem::take(&mut self.lines));
        let poisoned = std::mem::take(&mut self.poisoned_output);
        let result = self.undefined.into_result(result.map(drop));
        (result.map(|()| Written { text: go::without_no_value(text), poisoned, program, lines }), heap)
    }

    /// The output of the program.
    pub(super) fn render(mut self) -> Result<Written, Vec<Diagnostic>> {
        let program = Arc::clone(&self.program);
        self.out.reserve(program.text.len());
        self.activate(&program, None, None, None);
        let result = self.run(&program.routine.body);
        self.undefined.into_result(result.map(drop))?;
        Ok(Written { text: self.out, poisoned: Vec::new(), program, lines: self.lines })
    }

    /// Whether what is written now is the output of the template itself, not caught and not of another template.
    fn is_output(&self) -> bool {
        self.captures == 0 && self.calls.is_empty()
    }

    /// Begins a routine; gives back the one that ran before.
    fn activate(
        &mut self,
        program: &Arc<Program>,
        number: Option<u32>,
        parent: Option<usize>,
        seen: Option<Seen<'a>>,
    ) -> usize {
        let routine = match number.and_then(|number| program.macros.get(number as usize)) {
            Some(found) => &found.routine,
            None => &program.routine,
        };
        let mut slots = self.spare_slots.pop().unwrap_or_default();
        slots.resize_with(routine.names.len(), || Item::Unset);
        let of_parent =
            || parent.and_then(|parent| self.activations.get(parent)).and_then(|parent| parent.seen.clone());
        let seen = seen.or_else(of_parent);
        let program = Arc::clone(program);
        self.activations.push(Activation { slots, program, number, parent, seen });
        std::mem::replace(&mut self.current, self.activations.len() - 1)
    }

    /// Ends a routine and goes back to the one before. An imported template may lie above it and stays.
    fn deactivate(&mut self, before: usize) {
        if self.current + 1 == self.activations.len() {
            if let Some(mut ended) = self.activations.pop() {
                ended.slots.clear();
                self.spare_slots.push(ended.slots);
            }
        } else if let Some(activation) = self.activations.get_mut(self.current) {
            activation.slots.clear();
        }
        self.current = before;
    }

    fn set_slot(&mut self, slot: u32, item: Item<'a>) {
        if let Some(location) = self.activations.get_mut(self.current).and_then(|own| own.slots.get_mut(slot as usize))
        {
            *location = item;
        }
    }

    fn site(&self) -> Site<'_> {
        Site { program: &self.program, calls: &self.calls }
    }

    fn fault(&self, code: &'static str, span: Span, message: impl Into<String>) -> Fault {
        self.site().fault(code, span, message)
    }

    #[cold]
    fn failure(&self, span: Span, name: Option<&str>, failure: &Failure) -> Fault {
        self.site().failure(span, name, failure)
    }

    #[cold]
    fn exceeded(&self, span: Span, exceeded: Exceeded) -> Fault {
        self.failure(span, None, &Failure::Exceeded(exceeded))
    }

    fn step(&self, span: Span) -> Result<(), Fault> {
        self.budget.steps(1).map_err(|exceeded| self.exceeded(span, exceeded))
    }

    fn pay(&self, bytes: u64, span: Span) -> Result<(), Fault> {
        self.budget.memory(bytes).map_err(|exceeded| self.exceeded(span, exceeded))
    }

    /// Goes one level deeper.
    fn deeper(&mut self, span: Span) -> Result<(), Fault> {
        self.nesting += 1;
        self.has_room(0, span)
    }

    /// Makes sure that there is stack left for so many levels.
    fn has_room(&self, levels: u32, span: Span) -> Result<(), Fault> {
        if self.nesting + levels > NESTING {
            return Err(self.nested_too_deep(span));
        }
        Ok(())
    }

    #[cold]
    fn nested_too_deep(&self, span: Span) -> Fault {
        let name = self.calls.first().map_or(&self.program.name, |call| &call.program.name);
        self.fault("limit", span, format!("`{name}` nests more than {NESTING} statements and expressions"))
    }

    /// Writes text, within the limit of a template's output.
    fn write(&mut self, text: &str, span: Span) -> Result<(), Fault> {
        self.room_for(text.len() as u64, span)?;
        self.out.push_str(text);
        Ok(())
    }

    /// Makes sure that so many bytes may be written.
    fn room_for(&self, bytes: u64, span: Span) -> Result<(), Fault> {
        let limit = self.budget.limits().output;
        if (self.out.len() as u64).saturating_add(bytes) > limit {
            return Err(self.exceeded(span, Exceeded::Output(limit)));
        }
        if self.captures > 0 {
            self.pay(bytes, span)?;
        }
        Ok(())
    }

    /// Catches what is written.
    fn capture(&mut self, span: Span, write: impl FnOnce(&mut Self) -> Result<(), Fault>) -> Result<Value, Fault> {
        let inner = self.spare.pop().unwrap_or_default();
        let outer = std::mem::replace(&mut self.out, inner);
        self.captures += 1;
        let result = write(self);
        self.captures -= 1;
        let mut text = std::mem::replace(&mut self.out, outer);
        result?;
        self.pay(text.len() as u64, span)?;
        let caught = Value::from(text.as_str());
        if text.capacity() <= LARGEST_SPARE {
            text.clear();
            self.spare.push(text);
        }
        Ok(caught)
    }
}
