//! Calls of functions in Go's syntax.

use std::rc::Rc;

use super::poison::passed_on;
use super::statements::settled;
use crate::failure::Failure;
use crate::functions::{Entry, to_yaml_exact};
use crate::template::evaluate::Evaluator;
use crate::template::evaluate::files::base64;
use crate::template::fault::Fault;
use crate::template::go::functions::{Form, Function, Manner, Native, name_of};
use crate::template::heap::{ListId, Shape};
use crate::template::item::Item;
use crate::template::program::{Expression, FunctionCall, Span};
use crate::template::syntax::{expected, fits};
use crate::value::Value;

/// The arguments of a native function, with where each was written.
pub(super) struct Given<'a, 'e> {
    pub items: Vec<Item<'a>>,
    pub expressions: &'e [Expression],
    pub span: Span,
    pub native: Native,
}

impl<'a> Given<'a, '_> {
    pub(super) fn at(&self, at: usize) -> Item<'a> {
        self.items.get(at).cloned().unwrap_or(Item::Unset)
    }

    pub(super) fn span_of(&self, at: usize) -> Span {
        self.expressions.get(at).map_or(self.span, |expression| expression.span)
    }
}

impl<'a> Evaluator<'a> {
    pub(in crate::template::evaluate) fn go_function(
        &mut self,
        call: &FunctionCall,
        span: Span,
    ) -> Result<Item<'a>, Fault> {
        match call.function {
            Function::Library(entry, manner, form) => {
                self.library_function(entry, (manner, form), &call.arguments, span)
            }
            Function::Poison(name, instead) => self.poison(name, instead, &call.arguments, span),
            Function::Native(native) => {
                let mut items = Vec::with_capacity(call.arguments.len());
                for argument in &call.arguments {
                    let item = self.evaluate(argument)?;
                    items.push(if native.keeps_types() { item } else { plain(item) });
                }
                let given = Given { items, expressions: &call.arguments, span, native };
                self.native(&given)
            }
        }
    }

    pub(in crate::template::evaluate) fn go_either(
        &mut self,
        wanted: bool,
        arguments: &[Expression],
    ) -> Result<Item<'a>, Fault> {
        let mut last = Item::Unset;
        for (at, argument) in arguments.iter().enumerate() {
            last = self.evaluate(argument)?;
            if at + 1 < arguments.len() && self.is_true(&last, argument.span)? == wanted {
                break;
            }
        }
        Ok(last)
    }

    /// A function from data to data. One that is given a poisoned value gives it back.
    fn library_function(
        &mut self,
        entry: &'static Entry,
        (manner, form): (Manner, Form),
        arguments: &[Expression],
        span: Span,
    ) -> Result<Item<'a>, Fault> {
        let base = self.arguments.len();
        let mut given = (manner == Manner::Chooses).then(Vec::new);
        for (at, argument) in arguments.iter().enumerate() {
            let item = self.evaluate(argument)?;
            if let Some(given) = &mut given {
                given.push(item.clone());
            }
            match self.known_as(&item, argument.span, form)? {
                Ok(value) => self.arguments.push(as_taken(value, &item, manner)),
                Err(poison) => {
                    let passed =
                        passed_on(Rc::clone(&poison), entry.name, self.arguments.get(base..).unwrap_or_default());
                    self.arguments.truncate(base);
                    if manner != Manner::Compares {
                        return Ok(Item::Poison(passed));
                    }
                    let others = arguments.get(at + 1..).unwrap_or_default();
                    let known = self.compared_moments(entry.name, &poison, others)?;
                    return known.ok_or_else(|| self.poisoned_use(&poison, span, "a comparison"));
                }
            }
        }
        if !fits(entry.arity, arguments.len()) {
            self.arguments.truncate(base);
            let message = format!("`{}` takes {}, not {}", entry.name, expected(entry.arity), arguments.len());
            return Err(self.fault("function-arguments", span, message));
        }
        if let Some(given) = given
            && let Some(chosen) = self.carried(entry, &given, span)?
        {
            self.arguments.truncate(base);
            return Ok(chosen);
        }
        let values = self.arguments.get(base..).unwrap_or_default();
        let result = match manner {
            Manner::Compares if mixes_numbers(values) => Err(Failure::argument(
                "a whole number and a float cannot be compared; make one of the other with `int` or `float64`",
            )),
            Manner::WritesYaml => to_yaml_exact(self.budget, values.first().unwrap_or(&Value::Null)),
            Manner::GivesFloats => (entry.call)(self.budget, values).map(|value| value.with_floats()),
            Manner::Plain
            | Manner::Chooses
            | Manner::Compares
            | Manner::GivesTimes
            | Manner::GivesVersions
            | Manner::GivesWide
            | Manner::GivesFound
            | Manner::TakesWide => (entry.call)(self.budget, values),
        };
        self.arguments.truncate(base);
        match result {
            Ok(value) if manner == Manner::GivesVersions => Ok(self.version_item(&value)),
            Ok(value) if manner == Manner::GivesTimes => Ok(self.time_item(value)),
            Ok(Value::Int(number)) if manner == Manner::GivesWide => Ok(Item::Wide(number)),
            Ok(Value::List(found)) if manner == Manner::GivesFound && found.is_empty() => Ok(Item::Slice(ListId::NIL)),
            Ok(value) => self.opened(value, span),
            Err(failure) => Err(self.failure(span, Some(entry.name), &failure)),
        }
    }

    fn native(&mut self, given: &Given<'a, '_>) -> Result<Item<'a>, Fault> {
        let (least, most) = arity(given.native);
        if !fits((least, most), given.items.len()) {
            let message =
                format!("`{}` takes {}, not {}", name_of(given.native), expected((least, most)), given.items.len());
            return Err(self.fault("function-arguments", given.span, message));
        }
        match given.native {
            Native::And | Native::Or => Ok(given.at(0)),
            Native::Not => {
                let truth = self.is_true(&given.at(0), given.span_of(0))?;
                Ok(Item::Data(Value::Bool(!truth)))
            }
            Native::Call => Err(self.fault("template-type", given.span, "values hold no functions to call")),
            Native::Hello => Ok(Item::Data(Value::from("Hello!"))),
            Native::Include => self.include_template(given),
            Native::Tpl => self.go_tpl(given),
            Native::Lookup => Ok(Item::Map(self.heap.add_map(std::collections::BTreeMap::new()))),
            Native::Required => self.required(given),
            Native::Default | Native::Coalesce | Native::Ternary | Native::Empty => self.chosen(given),
            Native::KindOf | Native::KindIs | Native::TypeOf | Native::TypeIs => self.kinds(given),
            Native::ToString => match self.printed(&given.at(0), given.span)? {
                Ok(text) => Ok(Item::Data(Value::Text(text))),
                Err(poison) => Ok(Item::Poison(poison)),
            },
            Native::Base64 => self.base64(given),
            Native::Len
            | Native::Index
            | Native::List
            | Native::First
            | Native::Last
            | Native::Rest
            | Native::Initial
            | Native::Append
            | Native::Prepend
            | Native::Concat => self.list_function(given),
            Native::Dict
            | Native::Get
            | Native::Set
            | Native::Unset
            | Native::HasKey
            | Native::Keys
            | Native::Values
            | Native::Dig
            | Native::Pick
            | Native::Omit
            | Native::Merge
            | Native::MergeOverwrite
            | Native::DeepCopy => self.map_function(given),
        }
    }

    /// Functions that choose one of their arguments, or say whether there is one.
    fn chosen(&mut self, given: &Given<'a, '_>) -> Result<Item<'a>, Fault> {
        match given.native {
            Native::Default => {
                let value = given.at(1);
                Ok(if given.items.len() > 1 && !self.is_empty_item(&value) { value } else { given.at(0) })
            }
            Native::Coalesce => {
                let found = given.items.iter().find(|item| !self.is_empty_item(item)).cloned();
                Ok(found.unwrap_or(Item::Unset))
            }
            Native::Ternary => match given.at(2) {
                Item::Data(Value::Bool(truth)) => Ok(given.at(usize::from(!truth))),
                Item::Poison(poison) => Err(self.poisoned_use(&poison, given.span, "a condition")),
                other => Err(self.wrong_type(&other, "a boolean", given.span_of(2))),
            },
            _ => match given.at(0) {
                Item::Poison(poison) if !poison.is_filled => Err(self.poisoned_use(&poison, given.span, "a condition")),
                item => Ok(Item::Data(Value::Bool(self.is_empty_item(&item)))),
            },
        }
    }

    fn required(&mut self, given: &Given<'a, '_>) -> Result<Item<'a>, Fault> {
        let value = given.at(1);
        if !matches!(given.at(0), Item::Data(Value::Text(_))) {
            return Err(self.wrong_type(&given.at(0), "text to be a message", given.span_of(0)));
        }
        let missing = match &value {
            Item::Unset | Item::Data(Value::Null) => true,
            Item::Data(Value::Text(text)) => text.is_empty(),
            _ => false,
        };
        if !missing {
            return Ok(value);
        }
        let message = match self.known(&given.at(0), given.span_of(0))? {
            Ok(Value::Text(message)) => message.to_string(),
            _ => "a value is required".to_owned(),
        };
        Err(self.failure(given.span, None, &Failure::Chart(message)))
    }

    /// What Sprig takes for empty; a poisoned value is something.
    pub(super) fn is_empty_item(&self, item: &Item<'a>) -> bool {
        match item {
            Item::Unset => true,
            Item::Data(value) => !value.is_truthy(),
            Item::Wide(number) => *number == 0,
            Item::Map(id) => self.heap.map(*id).is_none_or(|map| map.contents.is_empty() && map.shape == Shape::Map),
            Item::Slice(id) => self.heap.list(*id).is_empty(),
            Item::Bytes(bytes) => bytes.is_empty(),
            Item::ChartFiles(set) => set.paths().is_empty(),
            _ => false,
        }
    }

    fn base64(&mut self, given: &Given<'a, '_>) -> Result<Item<'a>, Fault> {
        match settled(given.at(0)) {
            Item::Data(Value::Text(text)) => {
                self.pay(text.len() as u64 * 2, given.span)?;
                Ok(Item::Data(Value::from(base64(text.as_bytes()))))
            }
            Item::Bytes(bytes) => {
                self.pay(bytes.len() as u64 * 2, given.span)?;
                Ok(Item::Data(Value::from(base64(&bytes))))
            }
            Item::Poison(poison) => Ok(Item::Poison(poison)),
            other => Err(self.wrong_type(&other, "text", given.span_of(0))),
        }
    }

    #[cold]
    pub(super) fn wrong_type(&self, item: &Item<'a>, wanted: &str, span: Span) -> Fault {
        if let Item::Poison(poison) = item {
            return self.poisoned_use(poison, span, "what a function gives");
        }
        let message = format!("{} must be {wanted}", self.described(item, span));
        self.fault("template-type", span, message)
    }
}

/// A whole number without its type.
fn plain(item: Item<'_>) -> Item<'_> {
    match item {
        Item::Wide(number) => Item::Data(Value::Int(number)),
        other => other,
    }
}

/// An argument as a function takes it.
fn as_taken(value: Value, item: &Item<'_>, manner: Manner) -> Value {
    match (manner, value) {
        // Sprig knows durations of texts and of what arithmetic gives, and takes all other numbers for none.
        (Manner::TakesWide, Value::Int(_) | Value::Float(_)) if !matches!(item, Item::Wide(_)) => Value::Int(0),
        (_, value) => value,
    }
}

fn mixes_numbers(values: &[Value]) -> bool {
    let first_is_whole = matches!(values.first(), Some(Value::Int(_)));
    values.iter().skip(1).any(|value| match value {
        Value::Int(_) => matches!(values.first(), Some(Value::Float(_))),
        Value::Float(_) => first_is_whole,
        _ => false,
    })
}

fn arity(native: Native) -> (usize, Option<usize>) {
    match native {
        Native::And
        | Native::Or
        | Native::Call
        | Native::Index
        | Native::Default
        | Native::Pick
        | Native::Omit
        | Native::Merge
        | Native::MergeOverwrite => (1, None),
        Native::Not
        | Native::Len
        | Native::Empty
        | Native::DeepCopy
        | Native::First
        | Native::Last
        | Native::Rest
        | Native::Initial
        | Native::KindOf
        | Native::TypeOf
        | Native::ToString
        | Native::Base64
        | Native::Values => (1, Some(1)),
        Native::Include
        | Native::Tpl
        | Native::Required
        | Native::Get
        | Native::Unset
        | Native::HasKey
        | Native::Append
        | Native::Prepend
        | Native::KindIs
        | Native::TypeIs => (2, Some(2)),
        Native::Ternary | Native::Set => (3, Some(3)),
        Native::Lookup => (4, Some(4)),
        Native::Coalesce | Native::Dict | Native::List | Native::Keys | Native::Concat => (0, None),
        Native::Hello => (0, Some(0)),
        Native::Dig => (3, None),
    }
}
