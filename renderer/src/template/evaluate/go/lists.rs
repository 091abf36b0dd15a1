//! Functions on lists that pass their items on.

use super::functions::Given;
use crate::template::evaluate::Evaluator;
use crate::template::fault::Fault;
use crate::template::go::functions::{Native, name_of};
use crate::template::heap::ListId;
use crate::template::item::Item;
use crate::template::operators::NODE;
use crate::template::program::Span;
use crate::value::Value;

impl<'a> Evaluator<'a> {
    pub(super) fn list_function(&mut self, given: &Given<'a, '_>) -> Result<Item<'a>, Fault> {
        if let Some(Item::Poison(poison)) = given.items.first().filter(|_| given.native != Native::List) {
            return Ok(Item::Poison(poison.clone()));
        }
        match given.native {
            Native::List => self.list_of(given.items.clone(), given.span),
            Native::Len => self.length(&given.at(0), given.span_of(0)),
            Native::Index => self.index(given),
            Native::Concat => {
                let mut all = Vec::new();
                for at in 0..given.items.len() {
                    all.append(&mut self.list_at(given, at)?);
                    self.pay(all.len() as u64 * NODE, given.span)?;
                }
                if all.is_empty() {
                    return Ok(Item::Slice(ListId::NIL));
                }
                self.list_of(all, given.span)
            }
            native => {
                let mut items = self.list_at(given, 0)?;
                match native {
                    Native::Rest | Native::Initial if items.is_empty() => Ok(Item::Slice(ListId::NIL)),
                    Native::First => Ok(items.into_iter().next().unwrap_or(Item::Unset)),
                    Native::Last => Ok(items.pop().unwrap_or(Item::Unset)),
                    Native::Rest => {
                        let rest = items.into_iter().skip(1).collect();
                        self.list_of(rest, given.span)
                    }
                    Native::Initial => {
                        items.pop();
                        self.list_of(items, given.span)
                    }
                    Native::Append => {
                        items.push(given.at(1));
                        self.list_of(items, given.span)
                    }
                    _ => {
                        items.insert(0, given.at(1));
                        self.list_of(items, given.span)
                    }
                }
            }
        }
    }

    fn list_at(&mut self, given: &Given<'a, '_>, at: usize) -> Result<Vec<Item<'a>>, Fault> {
        let item = given.at(at);
        if let Some(items) = self.items_of(&item, given.span)? {
            return Ok(items);
        }
        let wanted = format!("a list for `{}`", name_of(given.native));
        Err(self.wrong_type(&item, &wanted, given.span_of(at)))
    }

    fn length(&mut self, item: &Item<'a>, span: Span) -> Result<Item<'a>, Fault> {
        let length = match item {
            Item::Data(Value::Text(text)) => text.len(),
            Item::Data(Value::List(list)) => list.len(),
            Item::Bytes(bytes) => bytes.len(),
            Item::Slice(id) => self.heap.list(*id).len(),
            Item::Map(id) => {
                self.not_a_struct(item, "text, a list or a map to have a length", span)?;
                self.read_whole(*id);
                self.heap.map(*id).map_or(0, |map| map.contents.len())
            }
            Item::ChartFiles(set) => set.paths().len(),
            other => return Err(self.wrong_type(other, "text, a list or a map to have a length", span)),
        };
        Ok(Item::Data(Value::Int(i64::try_from(length).unwrap_or(i64::MAX))))
    }

    fn index(&mut self, given: &Given<'a, '_>) -> Result<Item<'a>, Fault> {
        let mut item = given.at(0);
        if matches!(item, Item::Unset | Item::Data(Value::Null)) {
            return Err(self.fault("undefined", given.span_of(0), "`index` of nil"));
        }
        for at in 1..given.items.len() {
            let span = given.span_of(at);
            let key = given.at(at);
            item = match (&item, &key) {
                (Item::Map(id), Item::Data(Value::Text(key))) => {
                    self.not_a_struct(&item, "a list or a map for `index`", given.span_of(0))?;
                    self.entry(*id, key, span)?.unwrap_or(Item::Data(Value::Null))
                }
                (Item::ChartFiles(set), Item::Data(Value::Text(path))) => {
                    let set = set.clone();
                    self.chart_file(&set, path, span)?
                }
                (Item::Data(Value::Text(text)), Item::Data(Value::Int(number))) => {
                    let byte = usize::try_from(*number).ok().and_then(|at| text.as_bytes().get(at).copied());
                    match byte {
                        Some(byte) => Item::Data(Value::Int(i64::from(byte))),
                        None => return Err(self.out_of_range(*number, span)),
                    }
                }
                (Item::Unset | Item::Data(Value::Null), _) => {
                    return Err(self.fault("undefined", span, "`index` of nil"));
                }
                (Item::Poison(_), _) => item,
                (list @ (Item::Slice(_) | Item::Data(Value::List(_))), Item::Data(Value::Int(number))) => {
                    let items = self.items_of(list, span)?.unwrap_or_default();
                    let found = usize::try_from(*number).ok().and_then(|at| items.get(at).cloned());
                    match found {
                        Some(found) => found,
                        None => return Err(self.out_of_range(*number, span)),
                    }
                }
                (Item::Map(_), other) => return Err(self.wrong_type(other, "text to be a key", span)),
                (Item::Slice(_) | Item::Data(Value::List(_)), other) => {
                    return Err(self.wrong_type(other, "a whole number to be a position", span));
                }
                (other, _) => return Err(self.wrong_type(other, "a list or a map for `index`", given.span_of(0))),
            };
        }
        Ok(item)
    }

    fn out_of_range(&self, number: i64, span: Span) -> Fault {
        self.fault("template-type", span, format!("the list has no position {number}"))
    }
}
