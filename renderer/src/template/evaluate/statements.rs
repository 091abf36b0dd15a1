//! Running statements.

use std::fmt::Write;
use std::rc::Rc;
use std::sync::Arc;

use super::{Evaluator, Flow, go};
use crate::template::fault::{Fault, quoted};
use crate::template::item::{Item, MacroItem};
use crate::template::operators::float_text;
use crate::template::program::{Capture, Expression, If, Kind, Slots, Span, Statement, Target, With};
use crate::value::Value;

impl<'a> Evaluator<'a> {
    pub(super) fn run(&mut self, statements: &[Statement]) -> Result<Flow, Fault> {
        self.deeper(Span::default())?;
        let (nesting, may_leave_out) = (self.nesting, self.may_leave_out());
        for statement in statements {
            self.step(Span::default())?;
            let flow = match self.statement(statement) {
                Ok(flow) => flow,
                Err(fault) if may_leave_out => {
                    self.leave_out(fault, nesting)?;
                    Flow::Next
                }
                Err(fault) => return Err(fault),
            };
            if flow != Flow::Next {
                self.nesting -= 1;
                return Ok(flow);
            }
        }
        self.nesting -= 1;
        Ok(Flow::Next)
    }

    fn statement(&mut self, statement: &Statement) -> Result<Flow, Fault> {
        match statement {
            Statement::Raw(span) => self.raw(*span)?,
            Statement::Emit(expression) => self.noted(expression.span, |this| this.emit(expression))?,
            Statement::If(node) => return self.condition(node),
            Statement::For(node) => self.for_loop(node)?,
            Statement::Recursive(number) => {
                let program = Arc::clone(&self.program);
                if let Some(node) = program.loops.get(*number as usize) {
                    self.for_loop(node)?;
                }
            }
            Statement::With(node) => return self.with(node),
            Statement::Set(target, expression) => {
                let item = self.evaluate(expression)?;
                let item = match item {
                    // Whoever stores facts may do anything with them later.
                    item @ Item::Facts(_) => Item::Data(self.data(item, expression.span)?),
                    item => item,
                };
                self.assign(target, item, expression.span)?;
            }
            Statement::Capture(node) => return self.caught(node),
            Statement::Macro(slot, number) => {
                let item = self.macro_item(*number);
                self.set_slot(*slot, item);
            }
            Statement::Call(node) => {
                let caller = self.macro_item(node.body);
                self.noted(node.call.span, |this| this.call_with_body(&node.call, caller))?;
            }
            Statement::Import(node) => self.import(node)?,
            Statement::Include(node) => self.noted(node.template.span, |this| this.include(node))?,
            Statement::Do(expression) => {
                self.evaluate(expression)?;
            }
            Statement::Print(expression) => self.noted(expression.span, |this| this.print(expression))?,
            Statement::Assign(slot, expression) => {
                let item = self.evaluate(expression)?;
                self.set_slot(*slot, go::settled(item));
            }
            Statement::Choose(node) => return self.choose(node),
            Statement::Range(node) => return self.range(node),
            Statement::Template(node) => self.noted(node.span, |this| this.call_template(node))?,
            Statement::Break => return Ok(Flow::Break),
            Statement::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::Next)
    }

    pub(super) fn macro_item(&self, number: u32) -> Item<'a> {
        let program = Arc::clone(&self.program);
        Item::Macro(Rc::new(MacroItem { program, number, activation: self.current }))
    }

    fn raw(&mut self, span: Span) -> Result<(), Fault> {
        self.room_for(u64::from(span.end.saturating_sub(span.start)), span)?;
        let is_output = self.is_output();
        let text = self.program.source(span);
        self.out.push_str(text);
        if is_output {
            self.lines.copied(text, span.start);
        }
        Ok(())
    }

    /// Takes note of what is written to the output in the course of this.
    fn noted(&mut self, span: Span, write: impl FnOnce(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        let before = self.out.len();
        write(self)?;
        if self.is_output() {
            self.lines.made(self.out.get(before..).unwrap_or_default(), span.start);
        }
        Ok(())
    }

    pub(super) fn emit(&mut self, expression: &Expression) -> Result<(), Fault> {
        let item = self.evaluate(expression)?;
        match item {
            Item::Data(value) => self.emit_value(&value, expression),
            other => {
                let value = self.data(other, expression.span)?;
                self.emit_value(&value, expression)
            }
        }
    }

    fn emit_value(&mut self, value: &Value, expression: &Expression) -> Result<(), Fault> {
        let span = expression.span;
        match value {
            Value::Text(text) => self.write(text, span),
            Value::Bool(truth) => self.write(if *truth { "true" } else { "false" }, span),
            Value::Int(number) => {
                self.room_for(20, span)?;
                // Writing into a string cannot fail.
                let _ = write!(self.out, "{number}");
                Ok(())
            }
            Value::Float(number) => self.write(&float_text(*number), span),
            Value::Null | Value::List(_) | Value::Dict(_) => Err(self.not_text(value, expression)),
        }
    }

    #[cold]
    fn not_text(&self, value: &Value, expression: &Expression) -> Fault {
        let source = quoted(&self.program, expression.span);
        let (message, help) = match value {
            Value::Null => (
                format!("{source} is null, which cannot be written out"),
                "give it a value, or use `default`, or `toJson` to write `null`",
            ),
            other => (
                format!("{source} is {}, which cannot be written out as it is", other.kind()),
                "write it with `toYaml` or `toJson`",
            ),
        };
        let mut fault = self.fault("template-type", expression.span, message);
        fault.help = Some(help.to_owned());
        fault
    }

    fn condition(&mut self, node: &If) -> Result<Flow, Fault> {
        for (condition, body) in &node.branches {
            if self.is_truthy(condition)? {
                return self.run(body);
            }
        }
        if node.otherwise.is_empty() { Ok(Flow::Next) } else { self.run(&node.otherwise) }
    }

    fn with(&mut self, node: &With) -> Result<Flow, Fault> {
        self.clear(node.own);
        for (target, expression) in &node.assignments {
            let item = self.evaluate(expression)?;
            self.assign(target, item, expression.span)?;
        }
        let flow = self.run(&node.body)?;
        self.clear(node.own);
        Ok(flow)
    }

    /// Forgets the names of a frame.
    pub(super) fn clear(&mut self, slots: Slots) {
        let Some(activation) = self.activations.get_mut(self.current) else { return };
        if let Some(slots) = activation.slots.get_mut(slots.start as usize..slots.end as usize) {
            slots.fill_with(|| Item::Unset);
        }
    }

    fn caught(&mut self, node: &Capture) -> Result<Flow, Fault> {
        let span = node.result.span;
        let mut flow = Flow::Next;
        let text = self.capture(span, |this| {
            flow = this.run(&node.body)?;
            Ok(())
        })?;
        if flow != Flow::Next {
            return Ok(flow);
        }
        if let (Some(target), Kind::Variable(_)) = (&node.target, &node.result.kind) {
            self.assign(target, Item::Data(text), span)?;
            return Ok(Flow::Next);
        }
        self.set_slot(node.slot, Item::Data(text));
        match &node.target {
            Some(target) => {
                let item = self.evaluate(&node.result)?;
                self.assign(target, item, span)?;
            }
            None => self.noted(span, |this| this.emit(&node.result))?,
        }
        self.set_slot(node.slot, Item::Unset);
        Ok(Flow::Next)
    }

    pub(super) fn assign(&mut self, target: &Target, item: Item<'a>, span: Span) -> Result<(), Fault> {
        match target {
            Target::Slot(slot) => {
                self.set_slot(*slot, item);
                Ok(())
            }
            Target::Member(variable, key, at) => {
                let namespace = self.variable(variable, *at);
                let Item::Namespace(namespace) = namespace else {
                    let message =
                        format!("`{}` is {}; only a namespace has keys to set", variable.name, namespace.kind());
                    let mut fault = self.fault("template-type", *at, message);
                    fault.help =
                        Some("begin with `{% set x = namespace(..) %}`, or make another map with `merge`".into());
                    return Err(fault);
                };
                let value = self.data(item, span)?;
                self.pay(key.len() as u64 + 64, span)?;
                namespace.borrow_mut().insert(Arc::clone(key), value);
                Ok(())
            }
            Target::Each(targets, at) => {
                let value = self.data(item, span)?;
                let Value::List(list) = &value else {
                    let message = format!("{} cannot be taken apart into {}", value.kind(), targets.len());
                    return Err(self.fault("template-type", *at, message));
                };
                if list.len() != targets.len() {
                    let message = format!("a list of {} cannot be taken apart into {}", list.len(), targets.len());
                    return Err(self.fault("template-type", *at, message));
                }
                for (target, item) in targets.iter().zip(list.items()) {
                    self.assign(target, Item::Data(item.clone()), span)?;
                }
                Ok(())
            }
        }
    }
}
