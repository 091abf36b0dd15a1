//! Filters that pick or change the items of a list: `map`, `select`, `reject`, `selectattr`, `rejectattr`.

use super::tests::{self, Test};
use super::{Function, Given, attribute, word};
use crate::failure::Failure;
use crate::template::builtins::{self, Builtin};
use crate::template::operators::NODE;
use crate::template::syntax::{expected, fits};
use crate::value::Value;

pub(super) static TABLE: &[Function] = &[
    Function::variadic("map", 1, map),
    Function::variadic("select", 1, |given| pick(given, false, true)),
    Function::variadic("reject", 1, |given| pick(given, false, false)),
    Function::variadic("selectattr", 2, |given| pick(given, true, true)),
    Function::variadic("rejectattr", 2, |given| pick(given, true, false)),
];

/// `map(attribute="name", default=..)`, or `map("filter", arguments)`.
fn map(given: &Given<'_>) -> Result<Value, Failure> {
    let items = given.items()?;
    given.budget.memory(items.len() as u64 * NODE)?;
    given.budget.steps(items.len() as u64)?;
    if let Some(path) = given.named.iter().find(|(name, _)| &**name == "attribute").map(|(_, path)| path) {
        given.only(&["attribute", "default"])?;
        let path = word(path, "`attribute`")?;
        let default = given.named.iter().find(|(name, _)| &**name == "default").map(|(_, value)| value);
        let found = items.items().iter().map(|item| {
            let found = attribute(item, path).or(default).cloned();
            found.ok_or_else(|| Failure::argument(format!("an item has no `{path}`")))
        });
        return Ok(Value::list(found.collect::<Result<_, _>>()?)?);
    }
    let name = word(given.values.get(1).unwrap_or(&Value::Null), "the name of a filter")?;
    let builtin = builtins::find(name).ok_or_else(|| Failure::argument(format!("`{name}` is no filter")))?;
    let rest = given.values.get(2..).unwrap_or_default();
    let mapped = items.items().iter().map(|item| apply(given, builtin, name, item, rest));
    Ok(Value::list(mapped.collect::<Result<_, _>>()?)?)
}

fn apply(given: &Given<'_>, builtin: Builtin, name: &str, item: &Value, rest: &[Value]) -> Result<Value, Failure> {
    let mut values = rest.to_vec();
    let wrong = |arity| Failure::argument(format!("`{name}` takes {}", expected(arity)));
    match builtin {
        Builtin::Library(entry) => {
            values.push(item.clone());
            if !fits(entry.arity, values.len()) {
                return Err(wrong(entry.arity));
            }
            (entry.call)(given.budget, &values)
        }
        // Filters that take filters would nest as deep as their arguments say.
        Builtin::Jinja(function) if function.name != "map" => {
            values.insert(0, item.clone());
            if !fits(function.arity, values.len()) {
                return Err(wrong(function.arity));
            }
            (function.call)(&Given { budget: given.budget, values: &values, named: &[] })
        }
        Builtin::Jinja(_) | Builtin::Special(_) => {
            Err(Failure::argument(format!("`{name}` cannot be mapped; use a loop")))
        }
    }
}

fn pick(given: &Given<'_>, by_attribute: bool, keep: bool) -> Result<Value, Failure> {
    given.only(&[])?;
    let items = given.items()?;
    given.budget.memory(items.len() as u64 * NODE)?;
    given.budget.steps(items.len() as u64)?;
    let mut rest = given.values.get(1..).unwrap_or_default();
    let mut path = None;
    if by_attribute {
        path = rest.first().map(|path| word(path, "the attribute")).transpose()?;
        rest = rest.get(1..).unwrap_or_default();
    }
    let (test, arguments) = match rest {
        [] => (None, rest),
        [name, arguments @ ..] => {
            let name = word(name, "the name of a test")?;
            let test = tests::find(name).ok_or_else(|| Failure::argument(format!("`{name}` is no test")))?;
            if arguments.len() != test.arguments() {
                return Err(Failure::argument(format!("the test `{name}` takes {} arguments", test.arguments())));
            }
            (Some(test), arguments)
        }
    };
    let mut kept = Vec::new();
    for item in items.items() {
        let subject = match path {
            Some(path) => attribute(item, path),
            None => Some(item),
        };
        let holds = match (test, subject) {
            (Some(Test::Defined), subject) => subject.is_some(),
            (Some(Test::Undefined), subject) => subject.is_none(),
            (Some(test), Some(subject)) => tests::holds(given.budget, test, subject, arguments)?,
            (None, Some(subject)) => subject.is_truthy(),
            (_, None) => false,
        };
        if holds == keep {
            kept.push(item.clone());
        }
    }
    Ok(Value::list(kept)?)
}
