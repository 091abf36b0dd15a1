//! Loops.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use super::calls::Arguments;
use super::{Evaluator, Flow};
use crate::failure::Failure;
use crate::template::fault::{Called, Fault, quoted};
use crate::template::item::{Item, Turns};
use crate::template::operators::{self, NODE};
use crate::template::program::{Expression, For, Span, Target};
use crate::value::{List, Value};

impl<'a> Evaluator<'a> {
    pub(super) fn for_loop(&mut self, node: &For) -> Result<(), Fault> {
        if let (true, Some(map)) = (node.pairs, node.items.map_of_items()) {
            return self.each_pair(node, map);
        }
        let items = self.value(&node.items)?;
        self.iterate(node, items, node.items.span, 0)
    }

    fn iterate(&mut self, node: &For, items: Value, span: Span, depth: usize) -> Result<(), Fault> {
        let items = self.items(items, span)?;
        let items = match &node.filter {
            Some(_) => self.filtered(node, &items, span)?,
            None => items,
        };
        if items.is_empty() {
            return self.run(&node.otherwise).map(drop);
        }
        let turns = node.uses_controls.then(|| {
            Rc::new(Turns {
                items: items.clone(),
                at: Cell::new(0),
                depth,
                recursive: node.recursive.map(|number| (Arc::clone(&self.program), number)),
                last: RefCell::new(None),
            })
        });
        let cost = 1 + u64::from(node.own.end - node.own.start) / 16;
        for (at, item) in items.items().iter().enumerate() {
            self.budget.steps(cost).map_err(|exceeded| self.exceeded(span, exceeded))?;
            self.clear(node.own);
            if let Some(turns) = &turns {
                turns.at.set(at);
                self.set_slot(node.controls, Item::Loop(Rc::clone(turns)));
            }
            self.assign(&node.target, Item::Data(item.clone()), span)?;
            if self.run(&node.body)? == Flow::Break {
                break;
            }
        }
        self.clear(node.own);
        Ok(())
    }

    /// A loop over the keys and values of a map, without making pairs of them.
    fn each_pair(&mut self, node: &For, map: &Expression) -> Result<(), Fault> {
        let span = node.items.span;
        let item = self.evaluate(map)?;
        let value = self.argument(item, map.span, false)?;
        let Value::Dict(dict) = value else {
            let failure = Failure::argument(format!("{} is no map", value.kind()));
            return Err(self.failure(span, Some("items"), &failure));
        };
        let Target::Each(targets, _) = &node.target else { return Ok(()) };
        if dict.is_empty() {
            return self.run(&node.otherwise).map(drop);
        }
        let cost = 1 + u64::from(node.own.end - node.own.start) / 16;
        for (key, value) in dict.entries() {
            self.budget.steps(cost).map_err(|exceeded| self.exceeded(span, exceeded))?;
            self.clear(node.own);
            for (target, value) in targets.iter().zip([Value::Text(Arc::clone(key)), value.clone()]) {
                self.assign(target, Item::Data(value), span)?;
            }
            if self.run(&node.body)? == Flow::Break {
                break;
            }
        }
        self.clear(node.own);
        Ok(())
    }

    /// What a value holds, one after the other.
    fn items(&self, value: Value, span: Span) -> Result<List, Fault> {
        let items = match value {
            Value::List(list) => return Ok(list),
            Value::Null => return Ok(List::default()),
            Value::Dict(dict) => {
                self.pay(dict.len() as u64 * NODE, span)?;
                dict.entries().keys().map(|key| Value::Text(Arc::clone(key))).collect()
            }
            Value::Text(text) => {
                self.pay(text.len() as u64 * NODE * 2, span)?;
                text.chars().map(|letter| Value::from(letter.to_string())).collect()
            }
            other @ (Value::Bool(_) | Value::Int(_) | Value::Float(_)) => {
                let message = format!("{} is {}, which has no items", quoted(&self.program, span), other.kind());
                return Err(self.fault("template-type", span, message));
            }
        };
        List::new(items).map_err(|deep| self.failure(span, None, &Failure::from(deep)))
    }

    fn filtered(&mut self, node: &For, items: &List, span: Span) -> Result<List, Fault> {
        self.pay(items.len() as u64 * NODE, span)?;
        let Some(filter) = &node.filter else { return Ok(items.clone()) };
        let mut kept = Vec::new();
        let cost = 1 + u64::from(node.own.end - node.own.start) / 16;
        for item in items.items() {
            self.budget.steps(cost).map_err(|exceeded| self.exceeded(span, exceeded))?;
            self.clear(node.own);
            self.assign(&node.target, Item::Data(item.clone()), span)?;
            if self.is_truthy(filter)? {
                kept.push(item.clone());
            }
        }
        self.clear(node.own);
        List::new(kept).map_err(|deep| self.failure(span, None, &Failure::from(deep)))
    }

    /// `loop(items)`: the same loop again, inside itself.
    pub(super) fn recurse(&mut self, turns: &Turns, arguments: Arguments<'a>, span: Span) -> Result<Value, Fault> {
        let Some((program, number)) = &turns.recursive else {
            let mut fault = self.fault("template-type", span, "the loop cannot call itself");
            fault.help = Some("write `{% for .. in .. recursive %}`".to_owned());
            return Err(fault);
        };
        let (mut values, _) = self.values(arguments, false)?;
        let (Some(items), true) = (values.pop(), values.is_empty()) else {
            return Err(self.fault("function-arguments", span, "`loop` takes the items of the next level"));
        };
        let Some(node) = program.loops.get(*number as usize) else { return Ok(Value::Null) };
        if !Arc::ptr_eq(program, &self.program) {
            return Err(self.fault("template-type", span, "a loop can be called in its own template only"));
        }
        self.enter(Called::Loop, span)?;
        let slots = node.all.start as usize..node.all.end as usize;
        self.pay((slots.len() as u64 + 1) * NODE, span)?;
        let saved: Vec<Item<'a>> = self
            .activations
            .get_mut(self.current)
            .and_then(|own| own.slots.get_mut(slots.clone()))
            .map(|slots| slots.iter_mut().map(|slot| std::mem::replace(slot, Item::Unset)).collect())
            .unwrap_or_default();
        let depth = turns.depth + 1;
        let text = self.capture(span, |this| this.iterate(node, items, span, depth))?;
        if let Some(slots) = self.activations.get_mut(self.current).and_then(|own| own.slots.get_mut(slots)) {
            slots.iter_mut().zip(saved).for_each(|(slot, item)| *slot = item);
        }
        self.calls.pop();
        Ok(text)
    }

    pub(super) fn loop_method(
        &mut self,
        turns: &Turns,
        name: &str,
        arguments: Arguments<'a>,
        span: Span,
    ) -> Result<Value, Fault> {
        let (values, _) = self.values(arguments, false)?;
        match name {
            "cycle" if !values.is_empty() => {
                Ok(values.get(turns.at.get() % values.len()).cloned().unwrap_or(Value::Null))
            }
            "changed" => {
                let mut last = turns.last.borrow_mut();
                let same = match last.as_ref() {
                    Some(before) if before.len() == values.len() => {
                        let mut same = true;
                        for (before, now) in before.iter().zip(&values) {
                            same = same
                                && operators::equal(self.budget, before, now)
                                    .map_err(|failure| self.failure(span, Some(name), &failure))?;
                        }
                        same
                    }
                    _ => false,
                };
                *last = Some(values);
                Ok(Value::Bool(!same))
            }
            "cycle" => Err(self.fault("function-arguments", span, "`loop.cycle` needs something to cycle")),
            _ => Err(self.fault("undefined", span, format!("a loop has no `{name}`"))),
        }
    }
}
