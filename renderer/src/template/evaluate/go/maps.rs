//! Functions on maps: they change them in place, as Go does.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::functions::Given;
use crate::failure::Failure;
use crate::template::evaluate::Evaluator;
use crate::template::fault::Fault;
use crate::template::go::functions::{Native, name_of};
use crate::template::heap::{MapId, Shape};
use crate::template::item::Item;
use crate::template::operators::NODE;
use crate::template::program::Span;
use crate::value::{MAX_DEPTH, TooDeep, Value};

impl<'a> Evaluator<'a> {
    pub(super) fn map_function(&mut self, given: &Given<'a, '_>) -> Result<Item<'a>, Fault> {
        if let Some(Item::Poison(poison)) = given.items.first().filter(|_| given.native != Native::Dict) {
            return Ok(Item::Poison(poison.clone()));
        }
        match given.native {
            Native::Dict => self.new_dict(given),
            Native::Get => {
                let key = self.key_at(given, 1)?;
                let Some(id) = self.map_at(given, 0)? else { return Ok(Item::Data(Value::from(""))) };
                Ok(self.entry(id, &key, given.span)?.unwrap_or(Item::Data(Value::from(""))))
            }
            Native::HasKey => {
                let key = self.key_at(given, 1)?;
                let Some(id) = self.map_at(given, 0)? else { return Ok(Item::Data(Value::Bool(false))) };
                let has = self.entry(id, &key, given.span)?.is_some();
                Ok(Item::Data(Value::Bool(has)))
            }
            Native::Set => self.set_entry(given),
            Native::Unset => {
                let key = self.key_at(given, 1)?;
                let Some(id) = self.map_at(given, 0)? else { return Ok(given.at(0)) };
                self.heap.remove(id, &key);
                Ok(given.at(0))
            }
            Native::Keys => {
                let mut all = Vec::new();
                for at in 0..given.items.len() {
                    if let Some(id) = self.map_at(given, at)? {
                        all.extend(self.keys_of(id, given.span)?.iter().map(Self::key_item));
                    }
                }
                self.list_of(all, given.span)
            }
            Native::Values => {
                let mut all = Vec::new();
                if let Some(id) = self.map_at(given, 0)? {
                    for key in self.keys_of(id, given.span)? {
                        all.push(self.entry(id, &key, given.span)?.unwrap_or(Item::Unset));
                    }
                }
                self.list_of(all, given.span)
            }
            Native::Dig => self.dug(given),
            Native::Pick | Native::Omit => self.picked(given),
            Native::DeepCopy => self.copied(&given.at(0), given.span, 0),
            _ => self.merged(given),
        }
    }

    fn map_at(&mut self, given: &Given<'a, '_>, at: usize) -> Result<Option<MapId>, Fault> {
        match given.at(at) {
            Item::Map(id) => match self.heap.map(id).map_or(Shape::Map, |map| map.shape) {
                Shape::Map | Shape::Values => Ok(Some(id)),
                _ => Err(self.wrong_type(&given.at(at), "a map, not a struct of Helm's", given.span_of(at))),
            },
            Item::Unset | Item::Data(Value::Null) => Ok(None),
            other => {
                let wanted = format!("a map for `{}`", name_of(given.native));
                Err(self.wrong_type(&other, &wanted, given.span_of(at)))
            }
        }
    }

    /// What is in maps in maps, itself and no copy of it.
    fn dug(&mut self, given: &Given<'a, '_>) -> Result<Item<'a>, Fault> {
        let last = given.items.len().saturating_sub(1);
        let Some(mut id) = self.map_at(given, last)? else {
            return Err(self.wrong_type(&given.at(last), "a map for `dig`", given.span_of(last)));
        };
        let default = last.saturating_sub(1);
        for at in 0..default {
            let key = self.key_at(given, at)?;
            let Some(found) = self.entry(id, &key, given.span)? else { return Ok(given.at(default)) };
            if at + 1 == default {
                return Ok(found);
            }
            id = match found {
                Item::Map(below) => below,
                other => return Err(self.wrong_type(&other, "a map for `dig`", given.span)),
            };
        }
        Ok(given.at(default))
    }

    fn key_at(&mut self, given: &Given<'a, '_>, at: usize) -> Result<Arc<str>, Fault> {
        match given.at(at) {
            Item::Data(Value::Text(text)) => Ok(text),
            Item::Poison(poison) => Err(self.poisoned_use(&poison, given.span_of(at), "a name")),
            other => Err(self.wrong_type(&other, "text to be a key", given.span_of(at))),
        }
    }

    fn new_dict(&mut self, given: &Given<'a, '_>) -> Result<Item<'a>, Fault> {
        self.pay(given.items.len() as u64 * NODE, given.span)?;
        let mut entries = BTreeMap::new();
        for at in (0..given.items.len()).step_by(2) {
            let key = match given.at(at) {
                Item::Data(Value::Text(key)) => key,
                Item::Poison(poison) => return Err(self.poisoned_use(&poison, given.span_of(at), "a name")),
                // As Sprig: any key is printed.
                other => match self.printed(&other, given.span_of(at))? {
                    Ok(text) => text,
                    Err(poison) => return Err(self.poisoned_use(&poison, given.span_of(at), "a name")),
                },
            };
            let value = if at + 1 < given.items.len() { given.at(at + 1) } else { Item::Data(Value::from("")) };
            entries.insert(key, owned(value));
        }
        Ok(Item::Map(self.heap.add_map(entries)))
    }

    fn set_entry(&mut self, given: &Given<'a, '_>) -> Result<Item<'a>, Fault> {
        let key = self.key_at(given, 1)?;
        let Some(id) = self.map_at(given, 0)? else {
            return Err(self.fault("template-type", given.span, "`set` cannot put a key into nil"));
        };
        self.pay(key.len() as u64 + NODE * 2, given.span)?;
        let value = owned(given.at(2));
        self.heap.insert(id, key, value);
        Ok(given.at(0))
    }

    fn picked(&mut self, given: &Given<'a, '_>) -> Result<Item<'a>, Fault> {
        let mut wanted = Vec::with_capacity(given.items.len());
        for at in 1..given.items.len() {
            wanted.push(self.key_at(given, at)?);
        }
        let mut entries = BTreeMap::new();
        if let Some(id) = self.map_at(given, 0)? {
            for key in self.keys_of(id, given.span)? {
                self.step(given.span)?;
                if wanted.contains(&key) == (given.native == Native::Pick)
                    && let Some(item) = self.entry(id, &key, given.span)?
                {
                    entries.insert(key, item);
                }
            }
        }
        self.pay(entries.len() as u64 * NODE * 2, given.span)?;
        Ok(Item::Map(self.heap.add_map(entries)))
    }

    /// A copy that shares no map with the original.
    fn copied(&mut self, item: &Item<'a>, span: Span, depth: u16) -> Result<Item<'a>, Fault> {
        if depth > MAX_DEPTH {
            return Err(self.failure(span, None, &Failure::TooDeep(TooDeep)));
        }
        self.step(span)?;
        match item {
            Item::Map(id) => {
                self.read_whole(*id);
                let Some(map) = self.heap.map(*id) else { return Ok(Item::Unset) };
                let shape = map.shape;
                let items = map.contents.entries();
                self.pay(items.len() as u64 * NODE * 2, span)?;
                let mut entries = BTreeMap::new();
                for (key, item) in items {
                    let copy = self.copied(&item, span, depth + 1)?;
                    entries.insert(key, copy);
                }
                Ok(Item::Map(self.heap.add_shaped(entries, shape)))
            }
            Item::Slice(id) => {
                let items = self.heap.list(*id);
                self.pay(items.len() as u64 * NODE, span)?;
                let mut copies = Vec::with_capacity(items.len());
                for item in items.iter() {
                    copies.push(self.copied(item, span, depth + 1)?);
                }
                Ok(Item::Slice(self.heap.add_list(copies)))
            }
            other => Ok(other.clone()),
        }
    }

    fn merged(&mut self, given: &Given<'a, '_>) -> Result<Item<'a>, Fault> {
        let into = match self.map_at(given, 0)? {
            Some(into) => into,
            None => self.heap.add_map(BTreeMap::new()),
        };
        let overwrites = given.native == Native::MergeOverwrite;
        for at in 1..given.items.len() {
            if let Some(from) = self.map_at(given, at)? {
                self.merge_maps(into, from, overwrites, given.span, 0)?;
            }
        }
        Ok(Item::Map(into))
    }

    /// What is there wins unless it is empty; or what comes later wins, even if it is empty.
    fn merge_maps(&mut self, into: MapId, from: MapId, overwrites: bool, span: Span, depth: u16) -> Result<(), Fault> {
        if into == from {
            return Ok(());
        }
        if depth > MAX_DEPTH {
            return Err(self.failure(span, None, &Failure::TooDeep(TooDeep)));
        }
        for key in self.keys_of(from, span)? {
            self.step(span)?;
            let value = self.entry(from, &key, span)?.unwrap_or(Item::Unset);
            if !overwrites && matches!(value, Item::Unset | Item::Data(Value::Null)) {
                continue;
            }
            let there = self.entry(into, &key, span)?;
            match (&there, &value) {
                (Some(Item::Map(into)), Item::Map(from)) => {
                    self.merge_maps(*into, *from, overwrites, span, depth + 1)?;
                    continue;
                }
                (Some(there), _) if !overwrites && !self.is_empty_item(there) => continue,
                _ => {}
            }
            self.pay(key.len() as u64 + NODE * 2, span)?;
            self.heap.insert(into, key, value);
        }
        Ok(())
    }
}

/// What a map holds: nil is a value there.
fn owned(item: Item<'_>) -> Item<'_> {
    match item {
        Item::Unset => Item::Data(Value::Null),
        other => other,
    }
}
