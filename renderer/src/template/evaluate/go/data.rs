//! From Go's items to data and back, and the reads of facts that this means.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::failure::Failure;
use crate::functions;
use crate::template::evaluate::Evaluator;
use crate::template::fault::Fault;
use crate::template::go::functions::Form;
use crate::template::heap::{ListId, MapId, Shape, is_changeable};
use crate::template::item::{Item, Poison, Tracked};
use crate::template::operators::NODE;
use crate::template::program::Span;
use crate::template::scope::from_helm_spelling;
use crate::value::{Entries, MAX_DEPTH, Step, TooDeep, Value};

/// Data, or the poisoned value in it.
pub(super) type Known = Result<Value, Rc<Poison>>;

impl<'a> Evaluator<'a> {
    /// An item as data.
    pub(super) fn known(&mut self, item: &Item<'a>, span: Span) -> Result<Known, Fault> {
        self.known_below(item, span, Form::Printed, 0)
    }

    /// An item as data, for a function that takes structs in this form.
    pub(super) fn known_as(&mut self, item: &Item<'a>, span: Span, form: Form) -> Result<Known, Fault> {
        self.known_below(item, span, form, 0)
    }

    fn known_below(&mut self, item: &Item<'a>, span: Span, form: Form, depth: u16) -> Result<Known, Fault> {
        if depth > MAX_DEPTH {
            return Err(self.failure(span, None, &Failure::TooDeep(TooDeep)));
        }
        match item {
            Item::Data(value) => Ok(Ok(value.clone())),
            Item::Unset => Ok(Ok(Value::Null)),
            Item::Wide(number) => Ok(Ok(Value::Int(*number))),
            Item::Poison(poison) => Ok(Err(Rc::clone(poison))),
            Item::Map(id) => self.known_map(*id, span, form, depth),
            Item::Slice(ListId::NIL) if form == Form::Encoded => {
                self.heap.structs_written += 1;
                Ok(Ok(Value::Null))
            }
            Item::Slice(id) => {
                let items = self.heap.list(*id);
                self.pay(items.len() as u64 * NODE, span)?;
                let mut values = Vec::with_capacity(items.len());
                for item in items.iter() {
                    self.step(span)?;
                    match self.known_below(item, span, form, depth + 1)? {
                        Ok(value) => values.push(value),
                        Err(poison) => return Ok(Err(poison)),
                    }
                }
                Value::list(values).map(Ok).map_err(|deep| self.failure(span, None, &Failure::from(deep)))
            }
            Item::ChartFiles(set) => {
                let mut entries = BTreeMap::new();
                for path in set.paths() {
                    self.step(span)?;
                    if let Item::Data(content) = self.chart_file(set, &path, span)? {
                        entries.insert(path, content);
                    }
                }
                Value::dict(entries.into()).map(Ok).map_err(|deep| self.failure(span, None, &Failure::from(deep)))
            }
            Item::Bytes(_) => {
                let mut fault = self.fault("file-binary", span, "these bytes are no text");
                fault.help = Some("only `b64enc` takes them".to_owned());
                Err(fault)
            }
            other => self.data(other.clone(), span).map(Ok),
        }
    }

    fn known_map(&mut self, id: MapId, span: Span, form: Form, depth: u16) -> Result<Known, Fault> {
        self.read_whole(id);
        let Some(map) = self.heap.map(id) else { return Ok(Ok(Value::empty_dict())) };
        if map.shape == Shape::Versions {
            let names = map.contents.keys().into_iter().map(Value::Text).collect();
            return Value::list(names).map(Ok).map_err(|deep| self.failure(span, None, &Failure::from(deep)));
        }
        if map.shape.is_struct()
            && let Some(known) = self.struct_as_data(id, form)
        {
            self.heap.structs_written += 1;
            return Ok(known);
        }
        if let Some(dict) = self.heap.known_whole(id) {
            return Ok(Ok(Value::Dict(dict)));
        }
        let items = map.contents.entries();
        let structs_before = self.heap.structs_written;
        self.pay(items.len() as u64 * NODE * 2, span)?;
        let mut entries = Vec::with_capacity(items.len());
        for (key, item) in items {
            self.step(span)?;
            match self.known_below(&item, span, form, depth + 1)? {
                Ok(value) => entries.push((key, value)),
                Err(poison) => return Ok(Err(poison)),
            }
        }
        let value =
            Value::dict(Entries::new(entries)).map_err(|deep| self.failure(span, None, &Failure::from(deep)))?;
        // What holds a struct is other data for another function.
        if let Value::Dict(dict) = &value
            && self.heap.structs_written == structs_before
        {
            self.heap.remember_whole(id, dict);
        }
        Ok(Ok(value))
    }

    /// Data as an item: what Go could change in place becomes a map or list of the heap.
    pub(super) fn opened(&mut self, value: Value, span: Span) -> Result<Item<'a>, Fault> {
        match value {
            Value::Dict(dict) => {
                self.pay(dict.len() as u64 * NODE * 2, span)?;
                Ok(Item::Map(self.heap.open(&dict)))
            }
            Value::List(list) if is_changeable(&Value::List(list.clone())) => {
                self.pay(list.len() as u64 * NODE, span)?;
                let mut items = Vec::with_capacity(list.len());
                for item in list.items() {
                    self.step(span)?;
                    items.push(self.opened(item.clone(), span)?);
                }
                Ok(Item::Slice(self.heap.add_list(items)))
            }
            scalar => Ok(Item::Data(scalar)),
        }
    }

    /// What a map holds under a key.
    pub(super) fn entry(&mut self, id: MapId, key: &str, span: Span) -> Result<Option<Item<'a>>, Fault> {
        let Some(map) = self.heap.map(id) else { return Ok(None) };
        let found = map.contents.get(key);
        if let Some(Item::Data(value)) = &found
            && !is_changeable(value)
            && (map.origin.is_none() || map.recorded.contains(key))
        {
            return Ok(found);
        }
        let Some(origin) = map.origin.clone() else {
            return match found {
                Some(Item::Data(value)) if is_changeable(&value) => {
                    let item = self.opened(value, span)?;
                    self.keep_opened(id, key, &item);
                    Ok(Some(item))
                }
                found => Ok(found),
            };
        };
        self.pay((key.len() + origin.path.len() * 32 + 128) as u64, span)?;
        let path = below(&origin, key);
        match found {
            Some(Item::Data(Value::Dict(dict))) => {
                self.pay(dict.len() as u64 * NODE * 2, span)?;
                let child = self.heap.open(&dict);
                let tracked =
                    Tracked { facts: origin.facts, root: Arc::clone(&origin.root), path, value: Value::Dict(dict) };
                if let Some(map) = self.heap.map_mut(child) {
                    map.origin = Some(Rc::new(tracked));
                }
                self.keep_opened(id, key, &Item::Map(child));
                Ok(Some(Item::Map(child)))
            }
            Some(Item::Data(value)) => {
                record(&origin, &path, Some(&value));
                if let Some(map) = self.heap.map_mut(id) {
                    map.recorded.insert(key.into());
                }
                let item = self.opened(value, span)?;
                self.keep_opened(id, key, &item);
                Ok(Some(item))
            }
            None => {
                record(&origin, &path, None);
                Ok(None)
            }
            found => Ok(found),
        }
    }

    fn keep_opened(&mut self, id: MapId, key: &str, item: &Item<'a>) {
        if !matches!(item, Item::Data(_)) {
            self.heap.replace_opened(id, key, item.clone());
        }
    }

    /// The use of facts as a whole.
    pub(super) fn read_whole(&self, id: MapId) {
        if let Some(origin) = self.heap.map(id).and_then(|map| map.origin.as_ref()) {
            record(origin, &origin.path.clone(), Some(&origin.value));
        }
    }

    pub(super) fn keys_of(&mut self, id: MapId, span: Span) -> Result<Vec<Arc<str>>, Fault> {
        self.read_whole(id);
        let count = self.heap.map(id).map_or(0, |map| map.contents.len());
        self.pay(count as u64 * NODE, span)?;
        self.budget.steps(count as u64 / 8).map_err(|exceeded| self.exceeded(span, exceeded))?;
        Ok(self.heap.map(id).map(|map| map.contents.keys()).unwrap_or_default())
    }

    /// The items of a list; none if it is no list.
    pub(super) fn items_of(&mut self, item: &Item<'a>, span: Span) -> Result<Option<Vec<Item<'a>>>, Fault> {
        match item {
            Item::Slice(id) => {
                let items = self.heap.list(*id);
                self.pay(items.len() as u64 * NODE, span)?;
                Ok(Some(items.to_vec()))
            }
            Item::Data(Value::List(list)) => {
                self.pay(list.len() as u64 * NODE, span)?;
                Ok(Some(list.items().iter().map(|item| Item::Data(item.clone())).collect()))
            }
            _ => Ok(None),
        }
    }

    /// A list of these.
    pub(super) fn list_of(&mut self, items: Vec<Item<'a>>, span: Span) -> Result<Item<'a>, Fault> {
        self.pay(items.len() as u64 * NODE, span)?;
        let plain = items
            .iter()
            .all(|item| matches!(item, Item::Data(value) if !matches!(value, Value::List(_) | Value::Dict(_))));
        if !plain {
            let items =
                items.into_iter().map(|item| if matches!(item, Item::Unset) { Item::Data(Value::Null) } else { item });
            return Ok(Item::Slice(self.heap.add_list(items.collect())));
        }
        let data = |item| match item {
            Item::Data(value) => value,
            _ => Value::Null,
        };
        let list = Value::list(items.into_iter().map(data).collect());
        list.map(Item::Data).map_err(|deep| self.failure(span, None, &Failure::from(deep)))
    }

    /// What `fmt` prints.
    pub(super) fn printed(&mut self, item: &Item<'a>, span: Span) -> Result<Result<Arc<str>, Rc<Poison>>, Fault> {
        let value = match self.known(item, span)? {
            Ok(value) => value,
            Err(poison) => return Ok(Err(poison)),
        };
        let Some(print) = functions::find("print") else { return Ok(Ok("".into())) };
        match (print.call)(self.budget, &[value]) {
            Ok(Value::Text(text)) => Ok(Ok(text)),
            Ok(_) => Ok(Ok("".into())),
            Err(failure) => Err(self.failure(span, None, &failure)),
        }
    }
}

/// The way to a key of facts, in the spelling that facts have.
fn below(origin: &Tracked<'_>, key: &str) -> Vec<Step> {
    let mut path = Vec::with_capacity(origin.path.len() + 1);
    path.extend_from_slice(&origin.path);
    let ours = match (&*origin.root, path.len()) {
        ("Release", 0) | ("Capabilities", 0 | 1) => from_helm_spelling(key),
        _ => None,
    };
    path.push(Step::Key(ours.map_or_else(|| key.into(), Into::into)));
    path
}

/// Records a read, if it is one of facts: what a shape adds to them is none.
fn record(origin: &Tracked<'_>, path: &[Step], value: Option<&Value>) {
    if &*origin.root == "Values" {
        origin.facts.record(path, value);
        return;
    }
    let found = path.iter().try_fold(origin.facts.value(), |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(_) => None,
    });
    if found.is_some() || value.is_none() {
        origin.facts.record(path, found);
    }
}
