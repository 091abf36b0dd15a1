//! Evaluating expressions.
//!
//! The one function that recurses holds next to nothing on the stack; each kind of expression has its own below it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Evaluator, go};
use crate::failure::Failure;
use crate::template::fault::{Fault, quoted};
use crate::template::item::Item;
use crate::template::jinja::tests::{self, Test};
use crate::template::operators::{self, NODE};
use crate::template::program::{Arithmetic, Comparison, Expression, Kind, Slice, Span, TestCall};
use crate::value::Value;

impl<'a> Evaluator<'a> {
    pub(super) fn evaluate(&mut self, expression: &Expression) -> Result<Item<'a>, Fault> {
        self.step(expression.span)?;
        match &expression.kind {
            Kind::Constant(value) => return Ok(Item::Data(value.clone())),
            Kind::Variable(variable) => return Ok(self.variable(variable, expression.span)),
            Kind::Slot(slot) => return Ok(self.slot(*slot)),
            _ => {}
        }
        self.deeper(expression.span)?;
        let item = match &expression.kind {
            Kind::Path(path) => self.path(path, expression.span)?,
            Kind::Call(call) => self.call(call, expression.span, None)?,
            Kind::If(parts) => self.inline_if(parts)?,
            Kind::And(parts) => self.either(parts, false)?,
            Kind::Or(parts) => self.either(parts, true)?,
            Kind::Item(parts) => self.item(parts, expression.span)?,
            Kind::Field(field) => self.fields(field, expression.span)?,
            Kind::Function(call) => self.go_function(call, expression.span)?,
            Kind::Either(wanted, arguments) => self.go_either(*wanted, arguments)?,
            Kind::Assign(parts) => {
                let (slot, value) = &**parts;
                let item = go::settled(self.evaluate(value)?);
                self.set_slot(*slot, item.clone());
                item
            }
            Kind::Failing(message) => return Err(self.fault("template-type", expression.span, &**message)),
            _ => Item::Data(self.computed(expression)?),
        };
        self.nesting -= 1;
        Ok(item)
    }

    /// The data of an expression.
    pub(super) fn value(&mut self, expression: &Expression) -> Result<Value, Fault> {
        match self.evaluate(expression)? {
            Item::Data(value) => Ok(value),
            other => self.data(other, expression.span),
        }
    }

    /// What always is data.
    fn computed(&mut self, expression: &Expression) -> Result<Value, Fault> {
        let span = expression.span;
        match &expression.kind {
            Kind::Not(operand) => Ok(Value::Bool(!self.is_truthy(operand)?)),
            Kind::Negate(operand) => {
                let value = self.value(operand)?;
                operators::negate(&value).map_err(|failure| self.failure(span, None, &failure))
            }
            Kind::Arithmetic(operator, operands) => self.arithmetic(*operator, operands, span),
            Kind::Concat(parts) => self.concat(parts, span),
            Kind::Compare(first, links) => self.compare(first, links).map(Value::Bool),
            Kind::Slice(slice) => self.slice(slice, span),
            Kind::Test(test) => self.test(test, span).map(Value::Bool),
            Kind::List(items) => self.list(items, span),
            Kind::Map(entries) => self.map(entries, span),
            Kind::Constant(value) => Ok(value.clone()),
            Kind::Variable(_)
            | Kind::Path(_)
            | Kind::Call(_)
            | Kind::If(_)
            | Kind::And(_)
            | Kind::Or(_)
            | Kind::Item(_)
            | Kind::Slot(_)
            | Kind::Field(_)
            | Kind::Function(_)
            | Kind::Either(..)
            | Kind::Assign(_)
            | Kind::Failing(_) => Ok(Value::Null),
        }
    }

    /// Whether an expression is true. Of facts it is enough to know whether there are any.
    pub(super) fn is_truthy(&mut self, expression: &Expression) -> Result<bool, Fault> {
        let item = self.evaluate(expression)?;
        self.is_truthy_item(&item, expression.span)
    }

    fn is_truthy_item(&mut self, item: &Item<'a>, span: Span) -> Result<bool, Fault> {
        match item {
            Item::Data(value) => Ok(value.is_truthy()),
            Item::Missing(_) | Item::Facts(_) | Item::Files(_) => Ok(self.data(item.clone(), span)?.is_truthy()),
            Item::Unset | Item::Namespace(_) | Item::Macro(_) | Item::Module(_) | Item::Loop(_) => Ok(true),
            Item::Map(_) | Item::Slice(_) | Item::ChartFiles(_) | Item::Bytes(_) | Item::Wide(_) | Item::Poison(_) => {
                self.is_true(item, span)
            }
        }
    }

    fn inline_if(&mut self, parts: &(Expression, Expression, Option<Expression>)) -> Result<Item<'a>, Fault> {
        let (test, then, otherwise) = parts;
        if self.is_truthy(test)? {
            return self.evaluate(then);
        }
        match otherwise {
            Some(otherwise) => self.evaluate(otherwise),
            None => Ok(Item::Data(Value::from(""))),
        }
    }

    fn either(&mut self, parts: &(Expression, Expression), wanted: bool) -> Result<Item<'a>, Fault> {
        let left = self.evaluate(&parts.0)?;
        if self.is_truthy_item(&left, parts.0.span)? == wanted {
            return Ok(left);
        }
        self.evaluate(&parts.1)
    }

    fn item(&mut self, parts: &(Expression, Expression), span: Span) -> Result<Item<'a>, Fault> {
        let subject = self.evaluate(&parts.0)?;
        let key = self.value(&parts.1)?;
        self.child(&subject, &key, span, parts.0.span.end)
    }

    fn arithmetic(
        &mut self,
        operator: Arithmetic,
        operands: &(Expression, Expression),
        span: Span,
    ) -> Result<Value, Fault> {
        let left = self.value(&operands.0)?;
        let right = self.value(&operands.1)?;
        operators::arithmetic(self.budget, operator, &left, &right)
            .map_err(|failure| self.failure(span, None, &failure))
    }

    fn concat(&mut self, parts: &[Expression], span: Span) -> Result<Value, Fault> {
        let mut joined = String::new();
        for part in parts {
            let value = self.value(part)?;
            let text = operators::text_of(&value).map_err(|_| {
                let mut fault = self.fault(
                    "template-type",
                    part.span,
                    format!("{} is {}, which `~` cannot join", quoted(&self.program, part.span), value.kind()),
                );
                fault.help = Some("write it with `toYaml` or `toJson`, or use `default` if it may be null".to_owned());
                fault
            })?;
            self.pay(text.len() as u64, span)?;
            joined.push_str(&text);
        }
        Ok(Value::from(joined))
    }

    fn compare(&mut self, first: &Expression, links: &[(Comparison, Expression)]) -> Result<bool, Fault> {
        let mut left = self.evaluate(first)?;
        let mut left_span = first.span;
        for (operator, right) in links {
            let span = Span { start: first.span.start, end: right.span.end };
            let right_item = self.evaluate(right)?;
            if let (Comparison::In | Comparison::NotIn, Item::Facts(tracked)) = (operator, &right_item) {
                let key = self.data(left, left_span)?;
                let child = match key.as_text() {
                    Some(key) => self.tracked(tracked, key, span)?,
                    None => None,
                };
                let has = child.is_some();
                if let Some(child) = child {
                    self.data(child, right.span)?;
                }
                if has != (*operator == Comparison::In) {
                    return Ok(false);
                }
                left = right_item;
                left_span = right.span;
                continue;
            }
            let left_value = self.data(left, left_span)?;
            let right_value = self.data(right_item, right.span)?;
            let holds = operators::compare(self.budget, *operator, &left_value, &right_value)
                .map_err(|failure| self.failure(span, None, &failure))?;
            if !holds {
                return Ok(false);
            }
            left = Item::Data(right_value);
            left_span = right.span;
        }
        Ok(true)
    }

    fn slice(&mut self, slice: &Slice, span: Span) -> Result<Value, Fault> {
        let subject = self.value(&slice.subject)?;
        let start = self.bound(slice.start.as_ref())?;
        let end = self.bound(slice.end.as_ref())?;
        let step = self.bound(slice.step.as_ref())?.unwrap_or(1);
        operators::slice(self.budget, &subject, start, end, step).map_err(|failure| self.failure(span, None, &failure))
    }

    fn bound(&mut self, bound: Option<&Expression>) -> Result<Option<i64>, Fault> {
        let Some(bound) = bound else { return Ok(None) };
        let value = self.value(bound)?;
        match operators::integral(&value) {
            Some(number) => Ok(Some(number)),
            None if value == Value::Null => Ok(None),
            None => {
                let message = format!("a bound of a slice must be a whole number, not {}", value.kind());
                Err(self.fault("template-type", bound.span, message))
            }
        }
    }

    fn test(&mut self, call: &TestCall, span: Span) -> Result<bool, Fault> {
        let mut subject = self.evaluate(&call.subject)?;
        if matches!(subject, Item::Facts(_)) {
            subject = Item::Data(self.data(subject, call.subject.span)?);
        }
        match call.test {
            Test::Defined => return Ok(!matches!(subject, Item::Missing(_) | Item::Unset)),
            Test::Undefined => return Ok(matches!(subject, Item::Missing(_) | Item::Unset)),
            _ => {}
        }
        if let (Some(kind), false) = (call.test.of_kind(), matches!(subject, Item::Missing(_))) {
            return Ok(match &subject {
                Item::Data(value) => kind(value),
                Item::Files(_) => call.test == Test::Mapping || call.test == Test::Iterable,
                _ => false,
            });
        }
        let subject = self.data(subject, call.subject.span)?;
        let arguments = call.arguments.iter().map(|argument| self.value(argument)).collect::<Result<Vec<_>, _>>()?;
        tests::holds(self.budget, call.test, &subject, &arguments)
            .map_err(|failure| self.failure(span, Some(call.test.name()), &failure))
    }

    fn list(&mut self, items: &[Expression], span: Span) -> Result<Value, Fault> {
        self.pay(items.len() as u64 * NODE, span)?;
        let items = items.iter().map(|item| self.value(item)).collect::<Result<Vec<_>, _>>()?;
        Value::list(items).map_err(|deep| self.failure(span, None, &Failure::from(deep)))
    }

    fn map(&mut self, entries: &[(Expression, Expression)], span: Span) -> Result<Value, Fault> {
        self.pay(entries.len() as u64 * NODE * 2, span)?;
        let mut map: BTreeMap<Arc<str>, Value> = BTreeMap::new();
        for (key, value) in entries {
            let Value::Text(text) = self.value(key)? else {
                let source = quoted(&self.program, key.span);
                return Err(self.fault("template-type", key.span, format!("{source} is no text, as a key must be")));
            };
            map.insert(text, self.value(value)?);
        }
        Value::dict(map.into()).map_err(|deep| self.failure(span, None, &Failure::from(deep)))
    }
}
