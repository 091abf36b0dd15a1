//! Templates that use other templates: `template`, `include` and `tpl`.

use std::sync::Arc;

use super::functions::Given;
use super::statements::{NO_VALUE, settled};
use crate::suggest;
use crate::template::evaluate::Evaluator;
use crate::template::fault::{Called, Fault};
use crate::template::item::Item;
use crate::template::operators::NODE;
use crate::template::program::{Program, Span, TemplateCall};
use crate::value::Value;

impl<'a> Evaluator<'a> {
    pub(in crate::template::evaluate) fn call_template(&mut self, node: &TemplateCall) -> Result<(), Fault> {
        let dot = match &node.argument {
            Some(argument) => settled(self.evaluate(argument)?),
            None => Item::Unset,
        };
        let (program, number) = self.find_template(&node.name, node.span)?;
        self.run_template(&node.name, &program, number, dot, node.span)
    }

    /// Helm's `include`: the text of a named template.
    pub(super) fn include_template(&mut self, given: &Given<'a, '_>) -> Result<Item<'a>, Fault> {
        let name = match given.at(0) {
            Item::Data(Value::Text(name)) => name,
            Item::Poison(poison) => return Err(self.poisoned_use(&poison, given.span_of(0), "a name")),
            other => return Err(self.wrong_type(&other, "text to name a template", given.span_of(0))),
        };
        let (program, number) = self.find_template(&name, given.span_of(0))?;
        let dot = settled(given.at(1));
        let span = given.span;
        self.caught_text(span, |this| this.run_template(&name, &program, number, dot, span))
    }

    fn find_template(&self, name: &str, span: Span) -> Result<(Arc<Program>, Option<u32>), Fault> {
        let overlay = self.overlays.iter().rev().find_map(|program| {
            let define = program.defines.iter().find(|define| &*define.name == name)?;
            Some((Arc::clone(program), Some(define.number)))
        });
        if let Some(found) = overlay {
            return Ok(found);
        }
        let found = self.go_library.and_then(|library| library.find(name));
        found.ok_or_else(|| {
            let mut fault = self.fault("include-missing", span, format!("there is no template `{name}`"));
            let near = self.go_library.and_then(|library| suggest::nearest(name, library.names()));
            fault.help = near.map(|near| format!("did you mean `{near}`?"));
            fault
        })
    }

    fn run_template(
        &mut self,
        name: &Arc<str>,
        program: &Arc<Program>,
        number: Option<u32>,
        dot: Item<'a>,
        span: Span,
    ) -> Result<(), Fault> {
        self.enter(Called::Template(Arc::clone(name)), span)?;
        self.run_routine(program, number, dot, span)?;
        self.calls.pop();
        Ok(())
    }

    fn run_routine(
        &mut self,
        program: &Arc<Program>,
        number: Option<u32>,
        dot: Item<'a>,
        span: Span,
    ) -> Result<(), Fault> {
        let routine = number.and_then(|number| program.macros.get(number as usize)).map(|found| &found.routine);
        let routine = routine.unwrap_or(&program.routine);
        self.pay(routine.names.len() as u64 * NODE, span)?;
        let before_program = std::mem::replace(&mut self.program, Arc::clone(program));
        let before = self.activate(program, number, None, None);
        self.set_slot(0, dot);
        self.run(&routine.body)?;
        self.deactivate(before);
        self.program = before_program;
        Ok(())
    }

    /// Renders a text as a template; templates that it declares are known inside it.
    pub(super) fn go_tpl(&mut self, given: &Given<'a, '_>) -> Result<Item<'a>, Fault> {
        let span = given.span;
        let text = match given.at(0) {
            Item::Data(Value::Text(text)) => text,
            Item::Poison(poison) => return Ok(Item::Poison(poison)),
            other => return Err(self.wrong_type(&other, "text to be a template", given.span_of(0))),
        };
        self.budget.steps(text.len() as u64 / 64).map_err(|exceeded| self.exceeded(span, exceeded))?;
        if !text.contains("{{") {
            return Ok(Item::Data(Value::from(without_no_value(text.to_string()))));
        }
        let program = self.compiled(&text, span)?;
        let dot = settled(given.at(1));
        let declares = !program.defines.is_empty();
        if declares {
            self.overlays.push(Arc::clone(&program));
        }
        let result = self.caught_text(span, |this| {
            this.enter(Called::Text, span)?;
            this.run_routine(&program, None, dot, span)?;
            this.calls.pop();
            Ok(())
        })?;
        if declares {
            self.overlays.pop();
        }
        Ok(match result {
            Item::Data(Value::Text(text)) => Item::Data(Value::from(without_no_value(text.to_string()))),
            other => other,
        })
    }
}

/// Helm takes out what Go prints for nil.
pub(in crate::template::evaluate) fn without_no_value(text: String) -> String {
    if text.contains(NO_VALUE) { text.replace(NO_VALUE, "") } else { text }
}
