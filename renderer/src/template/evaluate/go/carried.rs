//! Functions of the library that choose among the items of lists: what they choose stays the very thing, so that a change
//! to it is seen wherever it is known.

use crate::functions::Entry;
use crate::template::evaluate::Evaluator;
use crate::template::fault::Fault;
use crate::template::item::Item;
use crate::template::program::Span;
use crate::value::Value;

impl<'a> Evaluator<'a> {
    /// What a function chooses, if it is one of these and is given maps or lists to choose from.
    ///
    /// The function itself is asked with the positions of the items in place of those, or with what it looks at; so the
    /// rules about its arguments are its own.
    pub(super) fn carried(
        &mut self,
        entry: &'static Entry,
        given: &[Item<'a>],
        span: Span,
    ) -> Result<Option<Item<'a>>, Fault> {
        let name = plain_name(entry.name);
        // Of an empty list Sprig gives nil, whatever slice of it is asked for.
        if name == "slice"
            && let Some(list) = given.first()
            && self.items_of(list, span)?.is_some_and(|items| items.is_empty())
        {
            return Ok(Some(Item::Unset));
        }
        let at = match &*name {
            "pluck" => return self.plucked(given, span),
            "chunk" => 1,
            _ => 0,
        };
        let Some(Item::Slice(id)) = given.get(at) else { return Ok(None) };
        let items = self.heap.list(*id).to_vec();
        match &*name {
            "reverse" | "slice" | "chunk" => {
                let mut arguments = Vec::with_capacity(given.len());
                for (place, item) in given.iter().enumerate() {
                    arguments.push(match (place == at, self.known(item, span)?) {
                        (true, _) => positions(items.len()),
                        (false, Ok(value)) => value,
                        (false, Err(_)) => return Ok(None),
                    });
                }
                let Ok(chosen) = (entry.call)(self.budget, &arguments) else { return Ok(None) };
                self.at_positions(&chosen, &items, span).map(Some)
            }
            _ => self.kept(&name, &items, given.get(1..).unwrap_or_default(), span).map(Some),
        }
    }

    /// The items that a list of positions, or a list of such lists, means.
    fn at_positions(&mut self, chosen: &Value, items: &[Item<'a>], span: Span) -> Result<Item<'a>, Fault> {
        let mut found = Vec::new();
        for one in chosen.as_list().map(|list| list.items().to_vec()).unwrap_or_default() {
            match one {
                Value::Int(at) => found.extend(usize::try_from(at).ok().and_then(|at| items.get(at)).cloned()),
                inner => found.push(self.at_positions(&inner, items, span)?),
            }
        }
        self.list_of(found, span)
    }

    /// The items that `uniq`, `compact` or `without` leaves.
    fn kept(&mut self, name: &str, items: &[Item<'a>], omitted: &[Item<'a>], span: Span) -> Result<Item<'a>, Fault> {
        let mut seen: Vec<Value> = Vec::new();
        for item in omitted {
            match self.known(item, span)? {
                Ok(value) => seen.push(value),
                Err(poison) => return Ok(Item::Poison(poison)),
            }
        }
        let mut kept = Vec::new();
        for item in items {
            if name == "compact" {
                if !self.is_empty_item(item) {
                    kept.push(item.clone());
                }
                continue;
            }
            let value = match self.known(item, span)? {
                Ok(value) => value,
                Err(poison) => return Ok(Item::Poison(poison)),
            };
            self.budget.steps(1 + seen.len() as u64).map_err(|exceeded| self.exceeded(span, exceeded))?;
            if !seen.contains(&value) {
                kept.push(item.clone());
                if name == "uniq" {
                    seen.push(value);
                }
            }
        }
        self.list_of(kept, span)
    }

    fn plucked(&mut self, given: &[Item<'a>], span: Span) -> Result<Option<Item<'a>>, Fault> {
        let Some((Item::Data(Value::Text(key)), maps)) = given.split_first() else { return Ok(None) };
        let mut found = Vec::new();
        for map in maps {
            let Item::Map(id) = map else { return Ok(None) };
            found.extend(self.entry(*id, key, span)?);
        }
        self.list_of(found, span).map(Some)
    }
}

/// The name without `must`.
fn plain_name(name: &str) -> String {
    name.strip_prefix("must").unwrap_or(name).to_ascii_lowercase()
}

fn positions(count: usize) -> Value {
    let all = (0..count).map(|at| Value::Int(i64::try_from(at).unwrap_or(i64::MAX))).collect();
    Value::list(all).unwrap_or_else(|_| Value::empty_list())
}
