//! Rules that look at the keys of a map.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::suggest;
use crate::value::{Dict, Step, Value};

use super::super::rule::{Body, Compiled, Demand, Id, Members, Rule};
use super::super::wording;
use super::{Checker, Found, Outcome, Stop};

/// Known keys that are looked through for one that may have been meant.
const CANDIDATES: usize = 200;

impl<'s> Checker<'s> {
    pub(super) fn required(
        &mut self,
        compiled: &'s Compiled,
        rule: &'s Rule,
        names: &[Arc<str>],
        value: &Value,
        outcome: &mut Outcome<'_>,
        found: &mut Found<'s>,
    ) -> Result<(), Stop> {
        let Some(dict) = value.as_dict() else { return Ok(()) };
        self.pay(names.len() as u64)?;
        for name in names.iter().filter(|name| dict.get(name).is_none()) {
            let message = |subject| format!("{subject} has no key {}, which is required", wording::key(name));
            let near = self.misspelt(compiled, name, dict, found)?;
            self.refuse(rule.span, outcome, found, |subject| (message(subject), near));
        }
        Ok(())
    }

    pub(super) fn dependent(
        &mut self,
        compiled: &'s Compiled,
        rule: &'s Rule,
        names: &BTreeMap<Arc<str>, Vec<Arc<str>>>,
        value: &Value,
        outcome: &mut Outcome<'_>,
        found: &mut Found<'s>,
    ) -> Result<(), Stop> {
        let Some(dict) = value.as_dict() else { return Ok(()) };
        self.pay(names.len() as u64)?;
        for (present, names) in names.iter().filter(|(present, _)| dict.get(present).is_some()) {
            self.pay(names.len() as u64)?;
            for name in names.iter().filter(|name| dict.get(name).is_none()) {
                let message = |subject| {
                    let (name, present) = (wording::key(name), wording::key(present));
                    format!("{subject} has no key {name}, which {present} requires")
                };
                let near = self.misspelt(compiled, name, dict, found)?;
                self.refuse(rule.span, outcome, found, |subject| (message(subject), near));
            }
        }
        Ok(())
    }

    /// Help for a missing key: a key that is there, that the schema does not know, and that looks like it.
    fn misspelt(
        &mut self,
        compiled: &'s Compiled,
        name: &str,
        dict: &Dict,
        found: &Found<'s>,
    ) -> Result<Option<String>, Stop> {
        // Short names are near to everything.
        if !found.wanted() || name.len() < 3 {
            return Ok(None);
        }
        self.pay(CANDIDATES as u64)?;
        let known = self.known(compiled);
        let keys = dict.entries().keys().map(|key| &**key).take(CANDIDATES);
        let near = suggest::nearest(name, keys.filter(|key| known.binary_search(key).is_err()));
        Ok(near.map(|near| format!("there is a key {}: was {} meant?", wording::key(near), wording::key(name))))
    }

    pub(super) fn members<'v>(
        &mut self,
        rule: &'s Rule,
        members: &'s Members,
        value: &'v Value,
        outcome: &mut Outcome<'v>,
        found: &mut Found<'s>,
    ) -> Result<(), Stop> {
        let Some(dict) = value.as_dict() else { return Ok(()) };
        for (name, part) in dict.entries() {
            self.pay(1)?;
            let mut known = false;
            if let Some(id) = members.named.get(name) {
                known = true;
                self.part(Step::Key(name.clone()), *id, part, outcome, found)?;
            }
            for (pattern, id) in &members.patterns {
                self.pay(pattern.cost(name))?;
                if pattern.matches(name) {
                    known = true;
                    self.part(Step::Key(name.clone()), *id, part, outcome, found)?;
                }
            }
            match members.others {
                Some(id) if !known && self.refuses_all(id) => {
                    self.unknown(rule, name, members.named.keys().map(|name| &**name), outcome, found)?;
                }
                Some(id) if !known => self.part(Step::Key(name.clone()), id, part, outcome, found)?,
                Some(_) | None => {}
            }
            if known && self.schema.tracks {
                outcome.seen.keys.insert(name);
            }
            if !outcome.valid && !found.wanted() {
                return Ok(());
            }
        }
        outcome.seen.every_key |= members.others.is_some();
        Ok(())
    }

    fn refuses_all(&self, id: Id) -> bool {
        self.schema.schemas.get(id).is_some_and(|schema| matches!(schema.body, Body::Nothing))
    }

    /// Records that a key is not known.
    fn unknown(
        &mut self,
        rule: &'s Rule,
        name: &Arc<str>,
        known: impl ExactSizeIterator<Item = &'s str>,
        outcome: &mut Outcome<'_>,
        found: &mut Found<'s>,
    ) -> Result<(), Stop> {
        // A key that is set already may be the one that was meant: a chart's defaults set nearly all of them.
        let mut candidates: Vec<&str> = Vec::new();
        if found.wanted() {
            self.pay(known.len() as u64)?;
            candidates.extend(known.take(CANDIDATES));
        }
        self.path.push(Step::Key(name.clone()));
        self.refuse(rule.span, outcome, found, |subject| wording::unknown(&subject, name, &candidates));
        self.path.pop();
        Ok(())
    }

    pub(super) fn names(
        &mut self,
        id: Id,
        value: &Value,
        outcome: &mut Outcome<'_>,
        found: &mut Found<'s>,
    ) -> Result<(), Stop> {
        let Some(dict) = value.as_dict() else { return Ok(()) };
        for name in dict.entries().keys() {
            let outer = self.name.take();
            if found.wanted() {
                let of = if self.path.is_empty() { String::new() } else { format!(" of {}", self.subject()) };
                self.name = Some(format!("the key {}{of}", wording::key(name)));
            }
            self.part(Step::Key(name.clone()), id, &Value::Text(name.clone()), outcome, found)?;
            self.name = outer;
            if !outcome.valid && !found.wanted() {
                return Ok(());
            }
        }
        Ok(())
    }

    pub(super) fn unevaluated_keys(
        &mut self,
        compiled: &'s Compiled,
        rule: &'s Rule,
        id: Id,
        value: &Value,
        outcome: &mut Outcome<'_>,
        found: &mut Found<'s>,
    ) -> Result<(), Stop> {
        let Some(dict) = value.as_dict() else { return Ok(()) };
        if outcome.seen.every_key {
            return Ok(());
        }
        for (name, part) in dict.entries() {
            self.pay(1)?;
            if outcome.seen.keys.contains(&**name) {
                continue;
            }
            if self.refuses_all(id) {
                let known = if found.wanted() { self.known(compiled) } else { Vec::new() };
                self.unknown(rule, name, known.into_iter(), outcome, found)?;
            } else {
                self.part(Step::Key(name.clone()), id, part, outcome, found)?;
            }
        }
        outcome.seen.every_key = true;
        Ok(())
    }

    /// The keys that a schema, and those for the same value below it, have names for.
    fn known(&self, compiled: &'s Compiled) -> Vec<&'s str> {
        let mut known: Vec<&str> = Vec::new();
        let mut open = vec![compiled];
        let mut looked_at = 0;
        while let Some(compiled) = open.pop() {
            looked_at += 1;
            let Body::Rules(rules) = &compiled.body else { continue };
            for rule in rules {
                if let Demand::Members(members) = &rule.demand {
                    known.extend(members.named.keys().take(CANDIDATES).map(|name| &**name));
                }
                let below = rule.demand.in_place().into_iter().take(CANDIDATES);
                open.extend(below.filter_map(|id| self.schema.schemas.get(id)));
            }
            if looked_at > CANDIDATES || known.len() > CANDIDATES {
                break;
            }
        }
        known.sort_unstable();
        known.dedup();
        known
    }
}
