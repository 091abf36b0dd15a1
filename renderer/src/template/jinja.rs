//! Jinja's own functions and filters, those that Helm's library does not have. The piped value is the first argument.
//!
//! Pure functions from values to a value, paid for before they make or walk anything; they know no template.

use std::sync::Arc;

use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::{List, Value};

mod lists;
mod maps;
pub(super) mod methods;
mod numbers;
mod selection;
pub(super) mod tests;
mod texts;

/// A function of Jinja.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    pub name: &'static str,
    /// The least and the most plain arguments.
    pub arity: (usize, Option<usize>),
    pub call: fn(&Given<'_>) -> Result<Value, Failure>,
}

impl Function {
    const fn new(
        name: &'static str,
        least: usize,
        most: usize,
        call: fn(&Given<'_>) -> Result<Value, Failure>,
    ) -> Self {
        Self { name, arity: (least, Some(most)), call }
    }

    const fn variadic(name: &'static str, least: usize, call: fn(&Given<'_>) -> Result<Value, Failure>) -> Self {
        Self { name, arity: (least, None), call }
    }
}

/// What a function is given.
pub(super) struct Given<'v> {
    pub budget: &'v Budget,
    pub values: &'v [Value],
    pub named: &'v [(Arc<str>, Value)],
}

static TABLES: &[&[Function]] = &[lists::TABLE, maps::TABLE, numbers::TABLE, selection::TABLE, texts::TABLE];

/// The function of this name.
pub(super) fn find(name: &str) -> Option<&'static Function> {
    TABLES.iter().copied().flatten().find(|function| function.name == name)
}

/// All names.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TABLES.iter().copied().flatten().map(|function| function.name)
}

impl<'v> Given<'v> {
    /// The value the filter is applied to.
    fn subject(&self) -> &'v Value {
        self.values.first().unwrap_or(&Value::Null)
    }

    /// An argument, by place or by name.
    fn argument(&self, at: usize, name: &str) -> Option<&'v Value> {
        let named = || self.named.iter().find(|(known, _)| &**known == name).map(|(_, value)| value);
        self.values.get(at).or_else(named)
    }

    /// A named argument that is a truth.
    fn flag(&self, at: usize, name: &str) -> bool {
        self.argument(at, name).is_some_and(Value::is_truthy)
    }

    /// Refuses names that the function does not know.
    fn only(&self, names: &[&str]) -> Result<(), Failure> {
        match self.named.iter().find(|(name, _)| !names.contains(&&**name)) {
            Some((name, _)) => Err(Failure::argument(format!("there is no argument `{name}`"))),
            None => Ok(()),
        }
    }

    /// The items of the subject, as a loop would see them.
    fn items(&self) -> Result<List, Failure> {
        items(self.budget, self.subject())
    }
}

/// The items of a value, as a loop would see them.
fn items(budget: &Budget, value: &Value) -> Result<List, Failure> {
    use super::operators::NODE;
    match value {
        Value::List(list) => Ok(list.clone()),
        Value::Null => Ok(List::default()),
        Value::Dict(dict) => {
            budget.memory(dict.len() as u64 * NODE)?;
            Ok(List::new(dict.entries().keys().map(|key| Value::Text(Arc::clone(key))).collect())?)
        }
        Value::Text(text) => {
            budget.memory(text.len() as u64 * NODE * 2)?;
            Ok(List::new(text.chars().map(|letter| Value::from(letter.to_string())).collect())?)
        }
        other => Err(Failure::argument(format!("{} has no items", other.kind()))),
    }
}

/// A value inside another, by a path such as `spec.name`.
fn attribute<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, key| match value {
        Value::Dict(dict) => dict.get(key),
        Value::List(list) => key.parse::<usize>().ok().and_then(|at| list.items().get(at)),
        _ => None,
    })
}

fn whole(value: &Value, what: &str) -> Result<i64, Failure> {
    match value {
        Value::Int(number) => Ok(*number),
        other => Err(Failure::argument(format!("{what} must be a whole number, not {}", other.kind()))),
    }
}

fn word<'v>(value: &'v Value, what: &str) -> Result<&'v str, Failure> {
    value.as_text().ok_or_else(|| Failure::argument(format!("{what} must be text, not {}", value.kind())))
}

fn count(length: usize) -> Value {
    Value::Int(i64::try_from(length).unwrap_or(i64::MAX))
}
