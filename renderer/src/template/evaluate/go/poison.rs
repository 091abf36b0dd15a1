//! Values that cannot be known when a commit is rendered: how they come about, and what is known of them all the same.
//!
//! A text of ten letters by chance is never empty, so it may decide whether there is one; and a time that was moved differs
//! from the time before, whenever it is. Everything else that such a value would decide is refused where it is used.

use std::rc::Rc;
use std::sync::Arc;

use crate::functions;
use crate::template::evaluate::Evaluator;
use crate::template::fault::Fault;
use crate::template::item::{Item, Moment, Poison};
use crate::template::program::{Expression, Span};
use crate::value::Value;

/// Functions that make something of whatever they are given.
const FILLING: &[&str] = &[
    "adler32sum",
    "nindent",
    "quote",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "squote",
    "toJson",
    "toPrettyJson",
    "toRawJson",
    "toYaml",
];

/// Functions that make something of something.
const KEEPING: &[&str] =
    &["b32enc", "b64enc", "cat", "indent", "lower", "print", "printf", "println", "title", "trunc", "upper"];

impl<'a> Evaluator<'a> {
    /// What a function gives whose result is another on every render.
    pub(super) fn poison(
        &mut self,
        name: &'static str,
        instead: &'static str,
        arguments: &[Expression],
        span: Span,
    ) -> Result<Item<'a>, Fault> {
        let mut given = Vec::with_capacity(arguments.len());
        for argument in arguments {
            given.push(self.evaluate(argument)?);
        }
        let is_filled = match name {
            "env" | "expandenv" | "getHostByName" | "randInt" | "decryptAES" | "shuffle" => false,
            "randAlpha" | "randAlphaNum" | "randAscii" | "randBytes" | "randNumeric" => match given.first() {
                Some(Item::Data(Value::Int(letters))) => *letters > 0,
                Some(Item::Data(Value::Float(letters))) => *letters >= 1.0,
                _ => false,
            },
            _ => true,
        };
        let moment = (name == "now").then(|| Moment { reading: Rc::new(()), moved: 0 });
        let program = Arc::clone(&self.program);
        Ok(Item::Poison(Rc::new(Poison { name, instead, program, span, is_filled, moment })))
    }

    /// What `eq` or `ne` makes of a time that cannot be known and another that was moved from it, if it is that.
    pub(super) fn compared_moments(
        &mut self,
        function: &str,
        first: &Poison,
        others: &[Expression],
    ) -> Result<Option<Item<'a>>, Fault> {
        let ("eq" | "ne", Some(first), [other]) = (function, &first.moment, others) else { return Ok(None) };
        let Item::Poison(other) = self.evaluate(other)? else { return Ok(None) };
        let same = other.moment.as_ref().filter(|other| Rc::ptr_eq(&first.reading, &other.reading));
        Ok(same.map(|other| Item::Data(Value::Bool((first.moved == other.moved) == (function == "eq")))))
    }
}

/// What a function makes of a poisoned value that comes after these arguments.
pub(super) fn passed_on(poison: Rc<Poison>, function: &str, before: &[Value]) -> Rc<Poison> {
    let moment = poison.moment.as_ref().and_then(|moment| moved(moment, function, before));
    let is_filled = FILLING.contains(&function) || poison.is_filled && KEEPING.contains(&function) || moment.is_some();
    if is_filled == poison.is_filled && moment.is_none() && poison.moment.is_none() {
        return poison;
    }
    let Poison { name, instead, ref program, span, .. } = *poison;
    Rc::new(Poison { name, instead, program: Arc::clone(program), span, is_filled, moment })
}

/// A reading of the clock after a function that moves it.
fn moved(moment: &Moment, function: &str, before: &[Value]) -> Option<Moment> {
    let ("dateModify" | "date_modify", [Value::Text(change)]) = (function, before) else { return None };
    // As the function itself: what is no duration moves nothing.
    let moved = moment.moved.checked_add(functions::duration(change).unwrap_or(0))?;
    Some(Moment { reading: Rc::clone(&moment.reading), moved })
}

#[cfg(test)]
mod tests {
    use super::{FILLING, KEEPING};
    use crate::functions;

    #[test]
    fn functions_that_say_something_of_poison_are_functions() {
        for name in FILLING.iter().chain(KEEPING) {
            assert!(functions::find(name).is_some(), "{name}");
        }
    }
}
