//! Values that cannot be known when a commit is rendered: how they come about, and what is known of them all the same.
//!
//! A text of ten letters by chance is never empty, so it may decide whether there is one. Everything else that it would
//! decide is refused where it is used.

use std::rc::Rc;
use std::sync::Arc;

use crate::template::evaluate::Evaluator;
use crate::template::fault::Fault;
use crate::template::item::{Item, Poison};
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
        let program = Arc::clone(&self.program);
        Ok(Item::Poison(Rc::new(Poison { name, instead, program, span, is_filled })))
    }
}

/// What a function makes of a poisoned value.
pub(super) fn passed_on(poison: Rc<Poison>, function: &str) -> Rc<Poison> {
    let is_filled = FILLING.contains(&function) || poison.is_filled && KEEPING.contains(&function);
    if is_filled == poison.is_filled {
        return poison;
    }
    let Poison { name, instead, ref program, span, .. } = *poison;
    Rc::new(Poison { name, instead, program: Arc::clone(program), span, is_filled })
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
