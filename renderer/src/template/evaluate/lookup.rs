//! Finding what names and paths hold, and recording what is read of facts.

use std::rc::Rc;
use std::sync::Arc;

use super::{Activation, Evaluator};
use crate::template::fault::Fault;
use crate::template::item::{Item, Missing, Reason, Tracked, Turns};
use crate::template::operators;
use crate::template::program::{self, Path, Program, Routine, Span, Variable};
use crate::template::scope::{Root, from_helm_spelling, is_helm_spelling_tried};
use crate::value::{Step, Value};

/// What a name holds.
enum Found<'e, 'a> {
    Item(&'e Item<'a>),
    Root(&'e Root<'a>),
    Files,
    Nothing,
}

/// A path that leads nowhere: the step that failed, and what it was tried on.
struct Lost<'v> {
    at: usize,
    parent: &'v Value,
}

pub(super) fn routine<'e>(activation: &'e Activation<'_>) -> &'e Routine {
    match activation.number.and_then(|number| activation.program.macros.get(number as usize)) {
        Some(found) => &found.routine,
        None => &activation.program.routine,
    }
}

impl<'a> Evaluator<'a> {
    fn find(&self, variable: &Variable) -> Found<'_, 'a> {
        for place in &*variable.places {
            let mut activation = self.activations.get(self.current);
            for _ in 0..place.level {
                activation = activation.and_then(|inner| inner.parent).and_then(|parent| self.activations.get(parent));
            }
            match activation.and_then(|activation| activation.slots.get(place.slot as usize)) {
                None | Some(Item::Unset) => {}
                Some(item) => return Found::Item(item),
            }
        }
        self.find_outside(&variable.name)
    }

    /// What a name holds that the template does not set itself.
    fn find_outside(&self, name: &str) -> Found<'_, 'a> {
        let seen = self.activations.get(self.current).and_then(|own| own.seen.as_ref());
        if let Some(item) = seen.and_then(|seen| seen.get(name)) {
            return Found::Item(item);
        }
        match self.scope.find(name) {
            Some(root) => Found::Root(root),
            None if name == "Files" && self.scope.chart_files().is_some() => Found::Files,
            None => Found::Nothing,
        }
    }

    pub(super) fn variable(&self, variable: &Variable, span: Span) -> Item<'a> {
        match self.find(variable) {
            Found::Item(item) => item.clone(),
            Found::Root(Root::Data(value)) => Item::Data(value.clone()),
            Found::Root(Root::Facts(facts)) => Item::Facts(Rc::new(Tracked {
                facts,
                root: Arc::clone(&variable.name),
                path: Vec::new(),
                value: facts.value().clone(),
            })),
            Found::Files => Item::Files(None),
            Found::Nothing => self.missing_item(span, Reason::Unknown(Arc::clone(&variable.name))),
        }
    }

    /// What a slot of the running routine holds.
    pub(super) fn slot(&self, slot: u32) -> Item<'a> {
        let own = self.activations.get(self.current);
        own.and_then(|own| own.slots.get(slot as usize)).cloned().unwrap_or(Item::Unset)
    }

    pub(super) fn missing_item(&self, span: Span, reason: Reason) -> Item<'a> {
        Item::Missing(Rc::new(Missing { program: Arc::clone(&self.program), span, reason }))
    }

    pub(super) fn path(&mut self, path: &Path, span: Span) -> Result<Item<'a>, Fault> {
        let item = match &path.root {
            program::Root::Variable(variable, root_span) => {
                let (value, root) = match self.find(variable) {
                    Found::Item(Item::Data(value)) => (value, None),
                    Found::Root(Root::Data(value)) => (value, Some(&variable.name)),
                    Found::Item(_) | Found::Root(Root::Facts(_)) | Found::Files | Found::Nothing => {
                        let item = self.variable(variable, *root_span);
                        return self.follow(item, path, span);
                    }
                };
                match walk(value, &path.steps, root) {
                    Ok(found) => return Ok(Item::Data(found.clone())),
                    Err(Lost { at, parent }) => {
                        let parent = parent.clone();
                        return self.lost(path, at, parent, root.cloned(), span);
                    }
                }
            }
            program::Root::Computed(expression) => self.evaluate(expression)?,
        };
        self.follow(item, path, span)
    }

    /// The last step of a path may lead nowhere; one before it may not.
    fn lost(
        &self,
        path: &Path,
        at: usize,
        parent: Value,
        root: Option<Arc<str>>,
        span: Span,
    ) -> Result<Item<'a>, Fault> {
        let Some(step) = path.steps.get(at) else { return Ok(Item::Unset) };
        let span = Span { end: step.end, ..span };
        let parent_end = match at.checked_sub(1).and_then(|before| path.steps.get(before)) {
            Some(before) => before.end,
            None => match &path.root {
                program::Root::Variable(_, span) => span.end,
                program::Root::Computed(expression) => expression.span.end,
            },
        };
        let reason = Reason::Key { parent, parent_end, key: step.key.to_string(), root };
        let missing = Missing { program: Arc::clone(&self.program), span, reason };
        if at + 1 == path.steps.len() {
            return Ok(Item::Missing(Rc::new(missing)));
        }
        Err(self.missing(&missing))
    }

    /// Goes on from something that is not plain data.
    fn follow(&mut self, mut item: Item<'a>, path: &Path, span: Span) -> Result<Item<'a>, Fault> {
        for (at, step) in path.steps.iter().enumerate() {
            item = match item {
                Item::Data(value) => match walk(&value, path.steps.get(at..).unwrap_or_default(), None) {
                    Ok(found) => return Ok(Item::Data(found.clone())),
                    Err(Lost { at: further, parent }) => {
                        return self.lost(path, at + further, parent.clone(), None, span);
                    }
                },
                Item::Facts(tracked) => match self.tracked(&tracked, &step.key, span)? {
                    Some(child) => child,
                    None => {
                        return self.lost(path, at, tracked.value.clone(), Some(Arc::clone(&tracked.root)), span);
                    }
                },
                Item::Missing(missing) => return Err(self.missing(&missing)),
                other => {
                    if let Some(member) = self.member(&other, &step.key) {
                        member
                    } else {
                        let of = other.kind();
                        let span = Span { end: step.end, ..span };
                        let missing = self.missing_item(span, Reason::Member { of, key: Arc::clone(&step.key) });
                        if at + 1 == path.steps.len() {
                            return Ok(missing);
                        }
                        missing
                    }
                }
            };
        }
        Ok(item)
    }

    /// A name of something that is no data.
    pub(super) fn member(&self, item: &Item<'a>, key: &str) -> Option<Item<'a>> {
        match item {
            Item::Namespace(namespace) => namespace.borrow().get(key).cloned().map(Item::Data),
            Item::Module(id) => {
                let module = self.activations.get(*id)?;
                exported(&module.program, key)
                    .and_then(|slot| module.slots.get(slot as usize))
                    .filter(|item| !matches!(item, Item::Unset))
                    .cloned()
            }
            Item::Loop(turns) => turn(turns, key).map(Item::Data),
            Item::Macro(called) => {
                let found = called.program.macros.get(called.number as usize)?;
                (key == "name").then(|| Item::Data(Value::text(Arc::clone(&found.name))))
            }
            Item::Data(_)
            | Item::Unset
            | Item::Missing(_)
            | Item::Facts(_)
            | Item::Files(_)
            | Item::Map(_)
            | Item::Slice(_)
            | Item::ChartFiles(_)
            | Item::Bytes(_)
            | Item::Wide(_)
            | Item::Poison(_) => None,
        }
    }

    /// The value under a key computed while running.
    pub(super) fn child(
        &mut self,
        subject: &Item<'a>,
        key: &Value,
        span: Span,
        parent_end: u32,
    ) -> Result<Item<'a>, Fault> {
        let (parent, root) = match subject {
            Item::Facts(tracked) => {
                if let Some(key) = key.as_text()
                    && let Some(child) = self.tracked(tracked, key, span)?
                {
                    return Ok(child);
                }
                (tracked.value.clone(), Some(Arc::clone(&tracked.root)))
            }
            Item::Data(value) => (value.clone(), None),
            Item::Missing(missing) => return Err(self.missing(missing)),
            Item::Files(_) => {
                let value = self.data(subject.clone(), span)?;
                (value, None)
            }
            other => {
                let Some(key) = key.as_text() else {
                    return Err(self.fault("template-type", span, format!("{} has no items", other.kind())));
                };
                let reason = Reason::Member { of: other.kind(), key: key.into() };
                return Ok(self.member(other, key).unwrap_or_else(|| self.missing_item(span, reason)));
            }
        };
        let found = match (&parent, key) {
            (Value::Dict(dict), Value::Text(key)) => dict.get(key),
            (Value::List(list), _) => operators::integral(key)
                .and_then(|index| position(index, list.len()))
                .and_then(|at| list.items().get(at)),
            (Value::Text(text), _) if operators::integral(key).is_some() => {
                let cost = text.len() as u64 / 16;
                self.budget.steps(cost).map_err(|exceeded| self.exceeded(span, exceeded))?;
                let length = text.chars().count();
                let at = operators::integral(key).and_then(|index| position(index, length));
                let letter = at.and_then(|at| text.chars().nth(at));
                return Ok(letter.map_or_else(
                    || self.missing_key(&parent, key, root, span, parent_end),
                    |letter| Item::Data(Value::from(letter.to_string())),
                ));
            }
            _ => None,
        };
        Ok(match found {
            Some(found) => Item::Data(found.clone()),
            None => self.missing_key(&parent, key, root, span, parent_end),
        })
    }

    /// A key of tracked facts, whose record is paid for.
    pub(super) fn tracked(&self, tracked: &Tracked<'a>, key: &str, span: Span) -> Result<Option<Item<'a>>, Fault> {
        self.pay((key.len() + tracked.path.len() * 32 + 128) as u64, span)?;
        Ok(tracked_child(tracked, key))
    }

    fn missing_key(
        &self,
        parent: &Value,
        key: &Value,
        root: Option<Arc<str>>,
        span: Span,
        parent_end: u32,
    ) -> Item<'a> {
        let key = match key {
            Value::Text(text) => text.to_string(),
            Value::Int(number) => number.to_string(),
            other => other.kind().to_owned(),
        };
        self.missing_item(span, Reason::Key { parent: parent.clone(), parent_end, key, root })
    }

    /// The data of an item: the use of it as a whole.
    pub(super) fn data(&mut self, item: Item<'a>, span: Span) -> Result<Value, Fault> {
        match item {
            Item::Data(value) => Ok(value),
            Item::Missing(missing) => Err(self.missing(&missing)),
            Item::Facts(tracked) => {
                tracked.facts.record(&tracked.path, Some(&tracked.value));
                Ok(tracked.value.clone())
            }
            Item::Files(selected) => self.files_as_map(selected.as_deref(), span),
            other @ (Item::Unset
            | Item::Namespace(_)
            | Item::Macro(_)
            | Item::Module(_)
            | Item::Loop(_)
            | Item::Map(_)
            | Item::Slice(_)
            | Item::ChartFiles(_)
            | Item::Bytes(_)
            | Item::Wide(_)
            | Item::Poison(_)) => {
                let source = crate::template::fault::quoted(&self.program, span);
                Err(self.fault("template-type", span, format!("{source} is {}, not a value", other.kind())))
            }
        }
    }
}

/// A key of tracked facts: only what is finally used is recorded.
fn tracked_child<'a>(tracked: &Tracked<'a>, key: &str) -> Option<Item<'a>> {
    let dict = tracked.value.as_dict()?;
    let step = |key: &str| {
        let mut path = tracked.path.clone();
        path.push(Step::Key(key.into()));
        path
    };
    let found = dict.get(key).map(|value| (step(key), value));
    let (path, value) = found.or_else(|| {
        tracked.facts.record(&step(key), None);
        let key = from_helm_spelling(key).filter(|_| is_helm_spelling_tried(&tracked.root, tracked.path.len()))?;
        let value = dict.get(&key);
        if value.is_none() {
            tracked.facts.record(&step(&key), None);
        }
        value.map(|value| (step(&key), value))
    })?;
    if matches!(value, Value::Dict(_)) {
        let root = Arc::clone(&tracked.root);
        return Some(Item::Facts(Rc::new(Tracked { facts: tracked.facts, root, path, value: value.clone() })));
    }
    tracked.facts.record(&path, Some(value));
    Some(Item::Data(value.clone()))
}

/// Follows keys; below a root of the scope Helm's spelling is known.
fn walk<'v>(mut value: &'v Value, steps: &[program::Step], root: Option<&Arc<str>>) -> Result<&'v Value, Lost<'v>> {
    for (at, step) in steps.iter().enumerate() {
        let Some(dict) = value.as_dict() else { return Err(Lost { at, parent: value }) };
        value = match dict.get(&step.key) {
            Some(found) => found,
            None => root
                .filter(|root| is_helm_spelling_tried(root, at))
                .and_then(|_| from_helm_spelling(&step.key))
                .and_then(|key| dict.get(&key))
                .ok_or(Lost { at, parent: value })?,
        };
    }
    Ok(value)
}

/// A position that may count from the end.
fn position(index: i64, length: usize) -> Option<usize> {
    if index >= 0 {
        return usize::try_from(index).ok();
    }
    usize::try_from(index.unsigned_abs()).ok().and_then(|back| length.checked_sub(back))
}

/// The slot of a name that a template gives away.
pub(super) fn exported(program: &Program, name: &str) -> Option<u32> {
    program.exports.iter().find(|(known, _)| &**known == name).map(|(_, slot)| *slot)
}

fn turn(turns: &Turns, key: &str) -> Option<Value> {
    let (at, length) = (turns.at.get(), turns.items.len());
    let int = |number: usize| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
    Some(match key {
        "index" => int(at + 1),
        "index0" => int(at),
        "revindex" => int(length.saturating_sub(at)),
        "revindex0" => int(length.saturating_sub(at + 1)),
        "first" => Value::Bool(at == 0),
        "last" => Value::Bool(at + 1 == length),
        "length" => int(length),
        "depth" => int(turns.depth + 1),
        "depth0" => int(turns.depth),
        "previtem" => turns.items.items().get(at.checked_sub(1)?)?.clone(),
        "nextitem" => turns.items.items().get(at + 1)?.clone(),
        _ => return None,
    })
}
