//! `if`, `with`, `range` and printing.

use std::rc::Rc;
use std::sync::Arc;

use crate::template::evaluate::{Evaluator, Flow};
use crate::template::fault::Fault;
use crate::template::heap::Shape;
use crate::template::item::{Item, Poison};
use crate::template::program::{Choose, Expression, Range, Span};
use crate::template::written::Poisoned;
use crate::value::Value;

/// What Go prints for what is not there; Helm takes it out of the output.
pub(super) const NO_VALUE: &str = "<no value>";

/// A letter that no chart writes.
const MARK: char = '\u{e000}';

impl<'a> Evaluator<'a> {
    pub(in crate::template::evaluate) fn choose(&mut self, node: &Choose) -> Result<Flow, Fault> {
        for branch in &node.branches {
            let item = self.evaluate(&branch.condition)?;
            let holds = self.is_true(&item, branch.condition.span)?;
            let item = settled(item);
            if let Some(variable) = branch.variable {
                self.set_slot(variable, item.clone());
            }
            if holds {
                if let Some(dot) = branch.dot {
                    self.set_slot(dot, item);
                }
                return self.run(&branch.body);
            }
        }
        if node.otherwise.is_empty() { Ok(Flow::Next) } else { self.run(&node.otherwise) }
    }

    /// What Go takes for true.
    pub(in crate::template::evaluate) fn is_true(&mut self, item: &Item<'a>, span: Span) -> Result<bool, Fault> {
        match item {
            Item::Data(value) => Ok(value.is_truthy()),
            Item::Unset => Ok(false),
            Item::Wide(number) => Ok(*number != 0),
            Item::Map(id) => {
                self.read_whole(*id);
                Ok(self.heap.map(*id).is_some_and(|map| !map.contents.is_empty() || map.shape != Shape::Map))
            }
            Item::Slice(id) => Ok(!self.heap.list(*id).is_empty()),
            Item::Bytes(bytes) => Ok(!bytes.is_empty()),
            Item::ChartFiles(set) => Ok(!set.paths().is_empty()),
            Item::Poison(poison) if poison.is_filled => Ok(true),
            Item::Poison(poison) => Err(self.poisoned_use(poison, span, "a condition")),
            Item::Missing(_)
            | Item::Facts(_)
            | Item::Files(_)
            | Item::Namespace(_)
            | Item::Macro(_)
            | Item::Module(_)
            | Item::Loop(_) => Ok(true),
        }
    }

    pub(in crate::template::evaluate) fn range(&mut self, node: &Range) -> Result<Flow, Fault> {
        let span = node.subject.span;
        let subject = self.evaluate(&node.subject)?;
        let pairs: Vec<(Item<'a>, Item<'a>)> = match &subject {
            Item::Unset | Item::Data(Value::Null) => Vec::new(),
            Item::Data(Value::Int(count)) | Item::Wide(count) => {
                let count = u64::try_from(*count).unwrap_or(0);
                return self.count(node, count);
            }
            Item::Poison(poison) => return Err(self.poisoned_use(poison, span, "a loop")),
            other => self.pairs(other, span)?,
        };
        if pairs.is_empty() {
            return self.run(&node.otherwise);
        }
        for (key, value) in pairs {
            if self.turn(node, key, value)? == Flow::Break {
                break;
            }
        }
        Ok(Flow::Next)
    }

    fn count(&mut self, node: &Range, count: u64) -> Result<Flow, Fault> {
        if count == 0 {
            return self.run(&node.otherwise);
        }
        for number in 0..count {
            let item = Item::Data(Value::Int(i64::try_from(number).unwrap_or(i64::MAX)));
            if self.turn(node, item.clone(), item)? == Flow::Break {
                break;
            }
        }
        Ok(Flow::Next)
    }

    fn turn(&mut self, node: &Range, key: Item<'a>, value: Item<'a>) -> Result<Flow, Fault> {
        self.step(node.subject.span)?;
        if let Some(slot) = node.key {
            self.set_slot(slot, key);
        }
        if let Some(slot) = node.value {
            self.set_slot(slot, settled(value.clone()));
        }
        self.set_slot(node.dot, value);
        self.run(&node.body)
    }

    /// Keys and values, or positions and items.
    fn pairs(&mut self, subject: &Item<'a>, span: Span) -> Result<Vec<(Item<'a>, Item<'a>)>, Fault> {
        let number = |at: usize| Item::Data(Value::Int(i64::try_from(at).unwrap_or(i64::MAX)));
        match subject {
            Item::Map(id) if self.heap.map(*id).is_some_and(|map| map.shape == Shape::Versions) => {
                let keys = self.keys_of(*id, span)?;
                Ok(keys.iter().enumerate().map(|(at, key)| (number(at), Self::key_item(key))).collect())
            }
            Item::Map(id) => {
                self.not_a_struct(subject, "a list or a map to range over", span)?;
                let keys = self.keys_of(*id, span)?;
                let mut pairs = Vec::with_capacity(keys.len());
                for key in keys {
                    let value = self.entry(*id, &key, span)?.unwrap_or(Item::Unset);
                    pairs.push((Item::Data(Value::Text(key)), value));
                }
                Ok(pairs)
            }
            Item::ChartFiles(set) => {
                let mut pairs = Vec::new();
                for path in set.paths() {
                    let content = self.chart_file(set, &path, span)?;
                    pairs.push((Item::Data(Value::Text(path)), content));
                }
                Ok(pairs)
            }
            other => {
                if let Some(items) = self.items_of(other, span)? {
                    return Ok(items.into_iter().enumerate().map(|(at, item)| (number(at), item)).collect());
                }
                let message = format!("{} has no items to range over", self.described(other, span));
                Err(self.fault("template-type", span, message))
            }
        }
    }

    /// Writes what an expression gives.
    pub(in crate::template::evaluate) fn print(&mut self, expression: &Expression) -> Result<(), Fault> {
        let item = self.evaluate(expression)?;
        let span = expression.span;
        match item {
            Item::Data(Value::Text(text)) => self.write(&text, span),
            Item::Unset | Item::Data(Value::Null) => self.write(NO_VALUE, span),
            Item::Poison(poison) => self.print_poison(poison, span),
            // In the context of the template it can be addressed, and then Go prints it by its method.
            Item::Map(id) if self.heap.map(id).is_some_and(|map| map.shape == Shape::KubeVersion) => {
                match self.entry(id, "Version", span)? {
                    Some(Item::Data(Value::Text(version))) => self.write(&version, span),
                    _ => Ok(()),
                }
            }
            other => match self.printed(&other, span)? {
                Ok(text) => self.write(&text, span),
                Err(poison) => self.print_poison(poison, span),
            },
        }
    }

    /// A poisoned value inside a text that is caught poisons that text. In the output a mark stands for it: an object that
    /// holds the mark is an error, and a test hook is nobody's object.
    fn print_poison(&mut self, poison: Rc<Poison>, span: Span) -> Result<(), Fault> {
        if self.captures == 0 {
            let finding = *self.poisoned_use(&poison, span, "an object");
            let mark = format!("{MARK}{}{MARK}", self.poisoned_output.len());
            self.write(&mark, span)?;
            self.pay(512, span)?;
            self.poisoned_output.push(Poisoned { mark, finding });
            return Ok(());
        }
        self.poisoned.get_or_insert(poison);
        Ok(())
    }

    /// The use of a value that cannot be known.
    #[cold]
    pub(super) fn poisoned_use(&self, poison: &Poison, span: Span, where_used: &str) -> Fault {
        let message =
            format!("the value of `{}` would decide {where_used}, and is another on every render", poison.name);
        let mut fault = self.fault("function-refused", span, message);
        fault.help = Some(format!("set the value that the chart falls back from; or: {}", poison.instead));
        let location = crate::template::syntax::location(&poison.program.file, &poison.program.text, poison.span);
        if fault.location.as_ref() != Some(&location) {
            fault.notes.push(crate::diagnostic::Note {
                message: format!("`{}` is called here", poison.name),
                location: Some(location),
            });
        }
        fault
    }

    /// What an error calls the source of a value.
    pub(super) fn described(&self, item: &Item<'a>, span: Span) -> String {
        let source = crate::template::fault::quoted(&self.program, span);
        let kind = match item {
            Item::Unset | Item::Data(Value::Null) => "nil",
            other => other.kind(),
        };
        format!("{source} is {kind}, which")
    }

    /// A text poisoned while it was made, or the text.
    pub(super) fn caught_text(
        &mut self,
        span: Span,
        write: impl FnOnce(&mut Self) -> Result<(), Fault>,
    ) -> Result<Item<'a>, Fault> {
        let outer = self.poisoned.take();
        let text = self.capture(span, write)?;
        match std::mem::replace(&mut self.poisoned, outer) {
            Some(poison) => Ok(Item::Poison(poison)),
            None => Ok(Item::Data(text)),
        }
    }

    pub(super) fn key_item(key: &Arc<str>) -> Item<'a> {
        Item::Data(Value::Text(Arc::clone(key)))
    }
}

/// A nil that a variable or a dot holds is nobody's nil any more: its fields are nil too.
pub(in crate::template::evaluate) fn settled(item: Item<'_>) -> Item<'_> {
    match item {
        Item::Data(Value::Null) => Item::Unset,
        other => other,
    }
}
