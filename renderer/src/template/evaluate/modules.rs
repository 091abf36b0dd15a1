//! Templates that use other templates: `include`, `import`, Helm's `include` and `tpl`.

use std::sync::Arc;

use super::calls::Arguments;
use super::lookup::exported;
use super::{Evaluator, Seen};
use crate::suggest;
use crate::template::fault::{Called, Fault};
use crate::template::item::Item;
use crate::template::operators::NODE;
use crate::template::program::{Expression, Import, Include, Program, Span, Syntax};
use crate::template::syntax;
use crate::value::Value;

/// What reading a text takes of the stack, in levels of the evaluator.
const PARSER: u32 = 150;

impl<'a> Evaluator<'a> {
    /// Runs a whole template where another stands.
    fn run_program(&mut self, program: &Arc<Program>, seen: Option<Seen<'a>>) -> Result<(), Fault> {
        let before_program = std::mem::replace(&mut self.program, Arc::clone(program));
        let before = self.activate(program, None, None, seen);
        self.run(&program.routine.body)?;
        self.deactivate(before);
        self.program = before_program;
        Ok(())
    }

    pub(super) fn include(&mut self, node: &Include) -> Result<(), Fault> {
        let span = node.template.span;
        let names = self.template_names(&node.template)?;
        let library = self.library;
        let found = names.iter().find_map(|name| library.programs.get(&**name));
        let Some(program) = found else {
            return if node.ignore_missing { Ok(()) } else { Err(self.no_template(&names, span)) };
        };
        self.enter(Called::Template(Arc::clone(&program.name)), span)?;
        self.pay(program.routine.names.len() as u64 * NODE, span)?;
        let seen = self.visible(span)?;
        self.run_program(program, Some(seen))?;
        self.calls.pop();
        Ok(())
    }

    /// All names that hold something here, for a template that is included to see.
    fn visible(&self, span: Span) -> Result<Seen<'a>, Fault> {
        let Some(own) = self.activations.get(self.current) else { return Ok(Seen::default()) };
        let names = &super::lookup::routine(own).names;
        let inherited = own.seen.as_ref().map_or(0, |seen| seen.len());
        self.pay((names.len() + inherited) as u64 * NODE * 2, span)?;
        let mut seen = own.seen.as_deref().cloned().unwrap_or_default();
        let set = names.iter().zip(&own.slots).filter(|(name, item)| !name.is_empty() && !matches!(item, Item::Unset));
        // An inner name comes after the outer one it hides.
        seen.extend(set.map(|(name, item)| (Arc::clone(name), item.clone())));
        Ok(Seen::new(seen))
    }

    fn template_names(&mut self, expression: &Expression) -> Result<Vec<Arc<str>>, Fault> {
        let wrong = "the name of a template must be text";
        match self.value(expression)? {
            Value::Text(name) => Ok(vec![name]),
            Value::List(names) => names
                .items()
                .iter()
                .map(|name| match name {
                    Value::Text(name) => Ok(Arc::clone(name)),
                    _ => Err(self.fault("template-type", expression.span, wrong)),
                })
                .collect(),
            _ => Err(self.fault("template-type", expression.span, wrong)),
        }
    }

    fn no_template(&self, names: &[Arc<str>], span: Span) -> Fault {
        let wanted = names.join("`, `");
        let mut fault = self.fault("include-missing", span, format!("the chart has no template `{wanted}`"));
        let known = self.library.programs.keys().map(|name| &**name);
        let near = names.first().and_then(|name| suggest::nearest(name, known));
        fault.help = near.map(|name| format!("did you mean `{name}`?"));
        fault
    }

    pub(super) fn import(&mut self, node: &Import) -> Result<(), Fault> {
        let span = node.template.span;
        let names = self.template_names(&node.template)?;
        let library = self.library;
        let Some(program) = names.iter().find_map(|name| library.programs.get(&**name)) else {
            return Err(self.no_template(&names, span));
        };
        let module = self.module(program, span)?;
        if let Some(slot) = node.whole {
            self.set_slot(slot, Item::Module(module));
        }
        for (name, slot, at) in &node.names {
            let Some(item) = self.member(&Item::Module(module), name) else {
                let mut fault = self.fault("include-missing", *at, format!("`{}` has no `{name}`", program.name));
                let near = suggest::nearest(name, program.exports.iter().map(|(name, _)| &**name));
                fault.help = near.map(|name| format!("did you mean `{name}`?"));
                return Err(fault);
            };
            self.set_slot(*slot, item);
        }
        Ok(())
    }

    /// A template's names, from one run of it; what it writes is dropped.
    fn module(&mut self, program: &Arc<Program>, span: Span) -> Result<usize, Fault> {
        match self.modules.get(&program.name) {
            Some(Some(module)) => return Ok(*module),
            Some(None) => {
                return Err(self.fault("include-cycle", span, format!("`{}` imports itself", program.name)));
            }
            None => {}
        }
        self.modules.insert(Arc::clone(&program.name), None);
        self.enter(Called::Template(Arc::clone(&program.name)), span)?;
        self.pay(program.routine.names.len() as u64 * NODE, span)?;
        let before_program = std::mem::replace(&mut self.program, Arc::clone(program));
        let before = self.activate(program, None, None, None);
        let module = self.current;
        self.capture(span, |this| this.run(&program.routine.body).map(drop))?;
        self.current = before;
        self.program = before_program;
        self.calls.pop();
        self.modules.insert(Arc::clone(&program.name), Some(module));
        Ok(module)
    }

    /// Helm's `include("chart.labels", ..)`: a macro of any `_*.j2` file, by its name.
    pub(super) fn include_macro(&mut self, mut arguments: Arguments<'a>, span: Span) -> Result<Item<'a>, Fault> {
        if arguments.items.is_empty() {
            return Err(self.fault("function-arguments", span, "`include` needs the name of a macro"));
        }
        let (name, name_span) = arguments.items.remove(0);
        let Value::Text(name) = self.data(name, name_span)? else {
            return Err(self.fault("template-type", name_span, "the name of a macro must be text"));
        };
        self.budget.steps(name.len() as u64).map_err(|exceeded| self.exceeded(span, exceeded))?;
        let library = self.library;
        let (program, macro_name) = match library.find_macro(&name) {
            Ok(found) => found,
            Err(problem) => {
                let mut fault = self.fault("include-missing", name_span, problem.message);
                fault.help = problem.help;
                return Err(fault);
            }
        };
        let module = self.module(program, span)?;
        let item = exported(program, macro_name)
            .and_then(|slot| self.activations.get(module).and_then(|module| module.slots.get(slot as usize)))
            .cloned();
        let Some(Item::Macro(callee)) = item else {
            let message = format!("`{}` declares no macro `{macro_name}`", program.name);
            return Err(self.fault("include-missing", name_span, message));
        };
        let takes_nothing =
            callee.program.macros.get(callee.number as usize).is_some_and(|found| found.parameters.is_empty());
        if takes_nothing {
            arguments.items.clear();
        }
        self.call_macro(&callee, arguments, None, span).map(Item::Data)
    }

    /// Renders a text as a template.
    pub(super) fn tpl(&mut self, arguments: Arguments<'a>, span: Span) -> Result<Item<'a>, Fault> {
        let (values, _) = self.values(arguments, false)?;
        let (text, given) = match values.as_slice() {
            [Value::Text(text), Value::Dict(given)] => (text, Some(given)),
            [Value::Text(text)] | [Value::Text(text), _] => (text, None),
            _ => return Err(self.fault("function-arguments", span, "`tpl` takes a text, and maybe a map of names")),
        };
        self.budget.steps(text.len() as u64 / 64).map_err(|exceeded| self.exceeded(span, exceeded))?;
        if !text.contains("{{") && !text.contains("{%") && !text.contains("{#") {
            return Ok(Item::Data(Value::Text(Arc::clone(text))));
        }
        let program = self.compiled(text, span)?;
        self.enter(Called::Text, span)?;
        self.pay(program.routine.names.len() as u64 * NODE, span)?;
        let seen = match given {
            Some(given) => {
                self.pay(given.len() as u64 * NODE * 2, span)?;
                let entries = given.entries().iter();
                Some(Seen::new(entries.map(|(name, value)| (Arc::clone(name), Item::Data(value.clone()))).collect()))
            }
            None => None,
        };
        let text = self.capture(span, |this| this.run_program(&program, seen))?;
        self.calls.pop();
        Ok(Item::Data(text))
    }

    pub(super) fn compiled(&mut self, text: &Arc<str>, span: Span) -> Result<Arc<Program>, Fault> {
        if let Some(program) = self.texts.get(text) {
            return Ok(Arc::clone(program));
        }
        // The parser recurses too.
        self.has_room(PARSER, span)?;
        // A program is many times the size of its text, and takes about as long to read.
        self.pay(text.len() as u64 * 32, span)?;
        self.budget.steps(text.len() as u64 / 4).map_err(|exceeded| self.exceeded(span, exceeded))?;
        let input = syntax::Input {
            name: Arc::clone(&self.program.name),
            file: Arc::clone(&self.program.file),
            text: Arc::clone(text),
            is_text: true,
        };
        let read = match self.program.syntax {
            Syntax::Jinja => syntax::read(input),
            Syntax::Go => super::super::go::read(input),
        };
        match read {
            Ok(program) => {
                let program = Arc::new(program);
                self.texts.insert(Arc::clone(text), Arc::clone(&program));
                Ok(program)
            }
            Err(problems) => {
                let problem = problems.into_iter().next();
                let line =
                    problem.as_ref().and_then(|problem| problem.location.as_ref()).map_or(1, |location| location.line);
                let (code, message, help) = problem.map_or(("template-syntax", String::new(), None), |problem| {
                    (problem.code, problem.message, problem.help)
                });
                let message = format!("line {line} of the text given to `tpl`: {message}");
                let mut fault = self.fault(code, span, message);
                fault.help = help;
                Err(fault)
            }
        }
    }
}
