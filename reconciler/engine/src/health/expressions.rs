//! Rules in CEL for kinds whose health nobody else knows.
//!
//! An expression sees the top-level fields of the object (`metadata`, `spec`, `status`, ...) and the whole as `self`. It
//! cannot hang or exhaust us: its text, its size and what it may call are bounded when it is parsed
//! (`expressions::bounds`), and what it would cost is compared with the object before it runs.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use cel::parser::{Expression, Parser};
use cel::{Context, Env, ExecutionError};
use serde_json::Value;

use super::Health;

mod bounds;

use bounds::Shape;

/// How many steps one evaluation may take at most. They are counted generously: what comes near it takes a second.
const MAX_STEPS: u64 = 500_000_000;

/// Why an expression is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum ExpressionError {
    #[error("the rule for {kind} needs an apiVersion, such as example.com/v1, and a kind")]
    NoKind { kind: String },
    #[error("the expression {which} for {kind} has {length} characters; write at most {}", bounds::MAX_LENGTH)]
    TooLong { which: &'static str, kind: String, length: usize },
    #[error("the expression {which} for {kind} is not CEL: {why}")]
    Syntax { which: &'static str, kind: String, why: String },
    #[error("the expression {which} for {kind} is not accepted: {why}")]
    NotAccepted { which: &'static str, kind: String, why: String },
}

/// By which a kind is judged, instead of what is known of it. Equal if they are written alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Expressions {
    api_version: String,
    kind: String,
    /// In the order in which they are asked.
    parts: Arc<[Part]>,
}

#[derive(Debug)]
struct Part {
    which: Which,
    text: Box<str>,
    expression: Expression,
    shape: Shape,
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        (self.which, &self.text) == (other.which, &other.text)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Which {
    InProgress,
    Failed,
    Current,
}

impl Which {
    const fn name(self) -> &'static str {
        match self {
            Self::InProgress => "inProgress",
            Self::Failed => "failed",
            Self::Current => "current",
        }
    }
}

impl Expressions {
    /// `current` says when an object is as it should be; until then it is on its way. The other two are asked first,
    /// `in_progress` before `failed`.
    pub fn parse(
        api_version: &str,
        kind: &str,
        current: &str,
        in_progress: Option<&str>,
        failed: Option<&str>,
    ) -> Result<Self, ExpressionError> {
        if api_version.is_empty() || kind.is_empty() {
            return Err(ExpressionError::NoKind { kind: format!("{api_version} {kind}").trim().to_owned() });
        }
        let texts = [(Which::InProgress, in_progress), (Which::Failed, failed), (Which::Current, Some(current))];
        let given = texts.into_iter().filter_map(|(which, text)| Some((which, text?)));
        let parts: Result<Vec<Part>, _> = given.map(|(which, text)| Part::parse(which, kind, text)).collect();
        Ok(Self { api_version: api_version.to_owned(), kind: kind.to_owned(), parts: parts?.into() })
    }

    /// Whether objects of this kind are judged by these.
    pub fn is_for(&self, api_version: &str, kind: &str) -> bool {
        self.api_version == api_version && self.kind == kind
    }

    /// Those of two sets that the other set does not have.
    pub fn differing<'a>(before: &'a [Self], after: &'a [Self]) -> Vec<&'a Self> {
        let gone = before.iter().filter(|rule| !after.contains(rule));
        gone.chain(after.iter().filter(|rule| !before.contains(rule))).collect()
    }

    pub(super) fn assess(&self, object: &Value) -> Health {
        for part in self.parts.iter() {
            match (part.evaluate(object), part.which) {
                (Ok(true), Which::Current) => return Health::current(""),
                (Ok(true), Which::Failed) => return Health::failed("the expression failed is true"),
                (Ok(true), Which::InProgress) => return Health::in_progress("the expression inProgress is true"),
                // What there is not yet cannot have failed either.
                (Ok(false), _) | (Err(Trouble::Missing(_)), Which::Failed) => {}
                (Err(Trouble::Missing(what)), which) => {
                    return Health::in_progress(format!("the expression {} waits: {what}", which.name()));
                }
                (Err(Trouble::Mistake(why)), which) => {
                    return Health::failed(format!("the expression {} for {}: {why}", which.name(), self.kind));
                }
            }
        }
        Health::in_progress("the expression current is not true yet")
    }
}

/// Why an expression has no answer.
enum Trouble {
    /// the object does not have it yet.
    Missing(String),
    /// it will not have an answer by itself.
    Mistake(String),
}

impl Part {
    fn parse(which: Which, kind: &str, text: &str) -> Result<Self, ExpressionError> {
        let (name, kind) = (which.name(), kind.to_owned());
        let length = text.chars().count();
        if length > bounds::MAX_LENGTH {
            return Err(ExpressionError::TooLong { which: name, kind, length });
        }
        if let Err(why) = bounds::check_text(text) {
            return Err(ExpressionError::NotAccepted { which: name, kind, why });
        }
        let expression = match Parser::default().parse(text) {
            Ok(expression) => expression,
            Err(errors) => {
                let why = errors.errors.first().map_or_else(String::new, |error| {
                    format!("{} (line {}, column {})", error.msg, error.pos.0.max(1), error.pos.1.max(0))
                });
                return Err(ExpressionError::Syntax { which: name, kind, why });
            }
        };
        match Shape::of(&expression) {
            Ok(shape) => Ok(Self { which, text: text.into(), expression, shape }),
            Err(why) => Err(ExpressionError::NotAccepted { which: name, kind, why }),
        }
    }

    fn evaluate(&self, object: &Value) -> Result<bool, Trouble> {
        static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));
        if self.shape.steps(object) > MAX_STEPS {
            return Err(Trouble::Mistake("it would take too long on an object of this size".to_owned()));
        }
        let mut context = Context::with_env(Arc::clone(&ENVIRONMENT));
        for (name, value) in self.shape.variables(object) {
            context.add_variable_from_value(name, known(value));
        }
        match cel::Value::resolve(&self.expression, &context) {
            Ok(cel::Value::Bool(answer)) => Ok(answer),
            Ok(other) => Err(Trouble::Mistake(format!("it gives {}, not true or false", other.type_of()))),
            Err(ExecutionError::NoSuchKey(name) | ExecutionError::UndeclaredReference(name)) => {
                Err(Trouble::Missing(format!("there is no {name}")))
            }
            Err(ExecutionError::IndexOutOfBounds(_)) => Err(Trouble::Missing("a list is too short".to_owned())),
            Err(ExecutionError::NoSuchOverload(error)) => Err(Trouble::Mistake(error.to_string())),
            // The texts of the others repeat values, and those may be secret.
            Err(_) => Err(Trouble::Mistake("it cannot be evaluated on this object".to_owned())),
        }
    }
}

/// Whole numbers are `int`, as in Kubernetes' own expressions; nothing is `uint`.
fn known(value: &Value) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(value) => cel::Value::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => cel::Value::Int(whole),
            None => cel::Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => items.iter().map(known).collect::<Vec<_>>().into(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), known(value))).collect::<HashMap<_, _>>().into()
        }
    }
}

#[cfg(test)]
mod tests;
