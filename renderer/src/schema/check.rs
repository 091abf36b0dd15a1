//! Holds a value against the rules.
//!
//! Every visit is paid for in steps and bounded in depth, so that a schema which multiplies itself ends, and says so.
//! Where only a verdict is wanted, as for the alternatives of `anyOf`, no violation is put into words; when no
//! alternative fits they are visited once more, for the words.

use std::collections::BTreeSet;

use crate::value::{Step, Value};
use crate::yaml::Span;

use super::rule::{Body, Compiled, Counted, Demand, Id, Kinds, Rule, Side};
use super::wording::{self, Words};
use super::{Schema, Violation, number};

mod alternatives;
mod lists;
mod maps;

/// Steps of one check.
pub(super) const STEPS: u64 = 1_000_000;

/// Schemas inside schemas, with each level of the value counted.
const DEPTH: u16 = 400;

/// The check could not be ended.
pub(super) struct Stop {
    pub(super) span: Span,
    pub(super) message: String,
}

/// What other rules of a schema have looked at: what is left is for `unevaluatedItems` and `unevaluatedProperties`.
#[derive(Default)]
struct Seen<'v> {
    every_key: bool,
    keys: BTreeSet<&'v str>,
    every_item: bool,
    items: BTreeSet<usize>,
}

impl Seen<'_> {
    /// Everything: of a value that is wrong as a whole there is nothing to say about its parts.
    fn all(&mut self) {
        self.every_key = true;
        self.every_item = true;
    }
}

/// A verdict and what it rests on.
struct Outcome<'v> {
    valid: bool,
    seen: Seen<'v>,
}

/// Why a violation was found, as far as alternatives are told apart by it.
enum Reason<'s> {
    Kinds(Kinds),
    Options(&'s [Value]),
    Other,
}

struct Finding<'s> {
    violation: Violation,
    reason: Reason<'s>,
}

/// Violations, up to as many as are wanted.
pub(super) struct Found<'s> {
    list: Vec<Finding<'s>>,
    wanted: usize,
}

impl Found<'_> {
    pub(super) fn up_to(wanted: usize) -> Self {
        Self { list: Vec::new(), wanted }
    }

    /// Only the verdict matters.
    fn none() -> Self {
        Self::up_to(0)
    }

    fn wanted(&self) -> bool {
        self.list.len() < self.wanted
    }

    pub(super) fn into_violations(self) -> Vec<Violation> {
        self.list.into_iter().map(|finding| finding.violation).collect()
    }
}

/// One check of one value.
pub(super) struct Checker<'s> {
    schema: &'s Schema,
    steps: u64,
    depth: u16,
    at: Span,
    path: Vec<Step>,
    /// The schemas with an address that were entered, for dynamic references.
    scope: Vec<usize>,
    /// What to call the value while it is the name of a key.
    name: Option<String>,
}

impl<'s> Checker<'s> {
    pub(super) fn new(schema: &'s Schema) -> Self {
        let (path, scope) = (Vec::new(), Vec::new());
        Self { schema, steps: STEPS, depth: 0, at: Span::default(), path, scope, name: None }
    }

    /// Checks a value from the root of the schema.
    pub(super) fn run(&mut self, value: &Value, found: &mut Found<'s>) -> Result<(), Stop> {
        self.visit(0, value, found).map(|_| ())
    }

    fn pay(&mut self, steps: u64) -> Result<(), Stop> {
        match self.steps.checked_sub(steps) {
            Some(left) => {
                self.steps = left;
                Ok(())
            }
            None => Err(Stop {
                span: self.at,
                message: format!("the check takes more than {STEPS} steps: the schema is too complex for these values"),
            }),
        }
    }

    fn visit<'v>(&mut self, id: Id, value: &'v Value, found: &mut Found<'s>) -> Result<Outcome<'v>, Stop> {
        let mut outcome = Outcome { valid: true, seen: Seen::default() };
        let Some(compiled) = self.schema.schemas.get(id) else { return Ok(outcome) };
        self.at = compiled.span;
        self.pay(1)?;
        if self.depth >= DEPTH {
            let message = format!("the check goes more than {DEPTH} schemas deep: the schema may lead back to itself");
            return Err(Stop { span: compiled.span, message });
        }
        self.depth += 1;
        let entered = self.scope.last() != Some(&compiled.resource);
        if entered {
            self.scope.push(compiled.resource);
        }
        self.apply(compiled, value, &mut outcome, found)?;
        if entered {
            self.scope.pop();
        }
        self.depth -= 1;
        Ok(outcome)
    }

    fn apply<'v>(
        &mut self,
        compiled: &'s Compiled,
        value: &'v Value,
        outcome: &mut Outcome<'v>,
        found: &mut Found<'s>,
    ) -> Result<(), Stop> {
        let rules = match &compiled.body {
            Body::Anything => return Ok(()),
            Body::Nothing => {
                let message = |subject: String| (format!("{subject} is not allowed"), compiled.description());
                self.refuse(compiled.span, outcome, found, message);
                return Ok(());
            }
            Body::Rules(rules) => rules,
        };
        for rule in rules {
            self.at = rule.span;
            self.pay(1)?;
            self.demand(compiled, rule, value, outcome, found)?;
            if outcome.valid {
                continue;
            }
            if matches!(rule.demand, Demand::Type(_)) {
                outcome.seen.all();
                return Ok(());
            }
            if !found.wanted() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn demand<'v>(
        &mut self,
        compiled: &'s Compiled,
        rule: &'s Rule,
        value: &'v Value,
        outcome: &mut Outcome<'v>,
        found: &mut Found<'s>,
    ) -> Result<(), Stop> {
        match &rule.demand {
            Demand::Unique => self.unique(rule, value, outcome, found),
            Demand::Required(names) => self.required(compiled, rule, names, value, outcome, found),
            Demand::DependentRequired(names) => self.dependent(compiled, rule, names, value, outcome, found),
            Demand::DependentSchemas(schemas) => {
                let Some(dict) = value.as_dict() else { return Ok(()) };
                self.pay(schemas.len() as u64)?;
                for (_, id) in schemas.iter().filter(|(name, _)| dict.get(name).is_some()) {
                    self.also(*id, value, outcome, found)?;
                }
                Ok(())
            }
            Demand::Members(members) => self.members(rule, members, value, outcome, found),
            Demand::Names(id) => self.names(*id, value, outcome, found),
            Demand::Items { prefix, rest } => self.items(prefix, *rest, value, outcome, found),
            Demand::Contains { .. } => self.contains(rule, value, outcome, found),
            Demand::Reference(id) => self.also(*id, value, outcome, found),
            Demand::Dynamic { name, otherwise } => {
                self.pay(self.scope.len() as u64)?;
                let dynamic = &self.schema.dynamic;
                let known = self.scope.iter().find_map(|resource| dynamic.get(*resource)?.get(name).copied());
                self.also(known.unwrap_or(*otherwise), value, outcome, found)
            }
            Demand::All(ids) => ids.iter().try_for_each(|id| self.also(*id, value, outcome, found)),
            Demand::Any(ids) => self.any(rule, ids, value, outcome, found),
            Demand::One(ids) => self.one(rule, ids, value, outcome, found),
            Demand::Not(id) => self.not(rule, *id, value, outcome, found),
            Demand::Condition { test, then, otherwise } => {
                let tested = self.visit(*test, value, &mut Found::none())?;
                let branch = if tested.valid { *then } else { *otherwise };
                if tested.valid {
                    self.merge(&mut outcome.seen, tested.seen)?;
                }
                branch.map_or(Ok(()), |id| self.also(id, value, outcome, found))
            }
            Demand::UnevaluatedItems(id) => self.unevaluated_items(*id, value, outcome, found),
            Demand::UnevaluatedProperties(id) => self.unevaluated_keys(compiled, rule, *id, value, outcome, found),
            demand => {
                if !self.holds(demand, value)? {
                    let reason = match demand {
                        Demand::Type(kinds) => Reason::Kinds(*kinds),
                        Demand::Enum(options) => Reason::Options(options),
                        _ => Reason::Other,
                    };
                    let described = matches!(demand, Demand::Pattern(_)).then(|| compiled.description()).flatten();
                    let words = |subject: String| {
                        let (message, help) = wording::plain(&subject, demand, value);
                        (message, help.or(described))
                    };
                    self.refuse_for(reason, rule.span, outcome, found, words);
                }
                Ok(())
            }
        }
    }

    /// Whether a demand on a single value is met.
    fn holds(&mut self, demand: &Demand, value: &Value) -> Result<bool, Stop> {
        let is_number = matches!(value, Value::Int(_) | Value::Float(_));
        Ok(match demand {
            Demand::Type(kinds) => kinds.include(value),
            Demand::Enum(options) => {
                for option in options {
                    self.pay(1 + option.size().min(value.size()) / 8)?;
                    if number::order(option, value).is_eq() {
                        return Ok(true);
                    }
                }
                false
            }
            Demand::MultipleOf(step) => !is_number || number::is_multiple(value, step),
            Demand::Bound(side, bound) => match number::compare(value, bound) {
                None => true,
                Some(order) => match side {
                    Side::AtLeast => order.is_ge(),
                    Side::Above => order.is_gt(),
                    Side::AtMost => order.is_le(),
                    Side::Below => order.is_lt(),
                },
            },
            Demand::Least(counted, least) => self.count(*counted, value)?.is_none_or(|count| count >= *least),
            Demand::Most(counted, most) => self.count(*counted, value)?.is_none_or(|count| count <= *most),
            Demand::Pattern(pattern) => match value.as_text() {
                Some(text) => {
                    self.pay(pattern.cost(text))?;
                    pattern.matches(text)
                }
                None => true,
            },
            _ => true,
        })
    }

    fn count(&mut self, counted: Counted, value: &Value) -> Result<Option<u64>, Stop> {
        match (counted, value) {
            (Counted::Characters, Value::Text(text)) => self.pay(text.len() as u64 / 64)?,
            (Counted::Items, Value::List(_)) | (Counted::Keys, Value::Dict(_)) => {}
            _ => return Ok(None),
        }
        Ok(Some(wording::counts(value)))
    }

    /// Another schema for the same value.
    fn also<'v>(
        &mut self,
        id: Id,
        value: &'v Value,
        outcome: &mut Outcome<'v>,
        found: &mut Found<'s>,
    ) -> Result<(), Stop> {
        let other = self.visit(id, value, found)?;
        outcome.valid &= other.valid;
        self.merge(&mut outcome.seen, other.seen)
    }

    /// A schema for a part of the value.
    fn part(
        &mut self,
        step: Step,
        id: Id,
        value: &Value,
        outcome: &mut Outcome<'_>,
        found: &mut Found<'s>,
    ) -> Result<(), Stop> {
        self.path.push(step);
        let part = self.visit(id, value, found)?;
        self.path.pop();
        outcome.valid &= part.valid;
        Ok(())
    }

    fn merge<'v>(&mut self, into: &mut Seen<'v>, from: Seen<'v>) -> Result<(), Stop> {
        into.every_key |= from.every_key;
        into.every_item |= from.every_item;
        self.pay((from.keys.len() + from.items.len()) as u64)?;
        into.keys.extend(from.keys);
        into.items.extend(from.items);
        Ok(())
    }

    fn subject(&self) -> String {
        self.name.clone().unwrap_or_else(|| wording::subject(&self.path))
    }

    /// Records that the value here is wrong.
    fn refuse(
        &mut self,
        span: Span,
        outcome: &mut Outcome<'_>,
        found: &mut Found<'s>,
        words: impl FnOnce(String) -> Words,
    ) {
        self.refuse_for(Reason::Other, span, outcome, found, words);
    }

    fn refuse_for(
        &mut self,
        reason: Reason<'s>,
        span: Span,
        outcome: &mut Outcome<'_>,
        found: &mut Found<'s>,
        words: impl FnOnce(String) -> Words,
    ) {
        outcome.valid = false;
        if found.wanted() {
            // Words cost more than a look; the next step finds out if they cost too much.
            self.steps = self.steps.saturating_sub(20);
            let (message, help) = words(self.subject());
            let path = crate::value::KeyPath(self.path.clone());
            let rule = span.in_file(&self.schema.file);
            found.list.push(Finding { violation: Violation { path, message, help, rule }, reason });
        }
    }
}

impl Compiled {
    /// What the schema's author says about it, as help.
    fn description(&self) -> Option<String> {
        let line = self.description.as_deref()?.lines().next()?.trim();
        (!line.is_empty()).then(|| wording::shortened(line, 160))
    }
}
