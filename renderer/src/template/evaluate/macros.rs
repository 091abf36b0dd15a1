//! Calling macros.

use std::sync::Arc;

use super::Evaluator;
use super::calls::Arguments;
use crate::budget::Exceeded;
use crate::template::fault::{Called, Fault, Frame};
use crate::template::item::{Item, MacroItem, Reason};
use crate::template::operators::NODE;
use crate::template::program::{Macro, Span};
use crate::template::syntax::expected;
use crate::value::Value;

impl<'a> Evaluator<'a> {
    /// The text that a macro writes.
    pub(super) fn call_macro(
        &mut self,
        callee: &MacroItem,
        arguments: Arguments<'a>,
        body: Option<Item<'a>>,
        span: Span,
    ) -> Result<Value, Fault> {
        let program = Arc::clone(&callee.program);
        let Some(found) = program.macros.get(callee.number as usize) else { return Ok(Value::Null) };
        let items = self.bind(found, arguments, span)?;
        self.enter(Called::Macro(Arc::clone(&found.name)), span)?;
        self.pay(found.routine.names.len() as u64 * NODE, span)?;
        let before_program = std::mem::replace(&mut self.program, Arc::clone(&program));
        let before = self.activate(&program, Some(callee.number), Some(callee.activation), None);
        if let Some(body) = body {
            self.set_slot(found.caller, body);
        }
        let text = self.capture(span, |this| {
            this.fill(found, items)?;
            this.run(&found.routine.body).map(drop)
        })?;
        self.deactivate(before);
        self.program = before_program;
        self.calls.pop();
        Ok(text)
    }

    /// Notes a call, within the limit of calls inside calls.
    pub(super) fn enter(&mut self, what: Called, span: Span) -> Result<(), Fault> {
        let limit = self.budget.limits().depth;
        if self.calls.len() >= limit as usize {
            return Err(self.exceeded(span, Exceeded::Depth(limit)));
        }
        self.calls.push(Frame { what, program: Arc::clone(&self.program), span });
        Ok(())
    }

    /// One item for each parameter, unset where none was given.
    fn bind(&self, callee: &Macro, arguments: Arguments<'a>, span: Span) -> Result<Vec<Item<'a>>, Fault> {
        let wrong = |message: String| self.fault("function-arguments", span, message);
        let name = &callee.name;
        let given = arguments.items.len();
        if given > callee.parameters.len() {
            let most = callee.parameters.len();
            return Err(wrong(format!("macro `{name}` takes {}, not {given}", expected((most, Some(most))))));
        }
        let mut items: Vec<Item<'a>> = arguments.items.into_iter().map(|(item, _)| item).collect();
        items.resize_with(callee.parameters.len(), || Item::Unset);
        for (key, item, _) in arguments.named {
            let Some(at) = callee.parameters.iter().position(|parameter| parameter.name == key) else {
                return Err(wrong(format!("macro `{name}` has no parameter `{key}`")));
            };
            match items.get_mut(at) {
                Some(place @ Item::Unset) => *place = item,
                _ => return Err(wrong(format!("macro `{name}` is given `{key}` twice"))),
            }
        }
        Ok(items)
    }

    /// Puts the arguments into their slots; a default may use the parameters before it.
    fn fill(&mut self, callee: &Macro, items: Vec<Item<'a>>) -> Result<(), Fault> {
        for (parameter, item) in callee.parameters.iter().zip(items) {
            let item = match (item, &parameter.default) {
                (Item::Unset | Item::Missing(_), Some(default)) => self.evaluate(default)?,
                (Item::Unset, None) => {
                    let callee = Arc::clone(&callee.name);
                    self.missing_item(parameter.span, Reason::Parameter { callee })
                }
                (item @ Item::Facts(_), _) => Item::Data(self.data(item, Span::default())?),
                (item, _) => item,
            };
            self.set_slot(parameter.slot, item);
        }
        Ok(())
    }
}
