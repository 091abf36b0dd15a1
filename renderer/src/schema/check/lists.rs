//! Rules that look at the items of a list.

use crate::value::{Step, Value};

use super::super::number;
use super::super::rule::{Compiled, Demand, Id, Rule};
use super::{Checker, Found, Outcome, Stop};

impl<'s> Checker<'s> {
    pub(super) fn unique(
        &mut self,
        rule: &'s Rule,
        value: &Value,
        outcome: &mut Outcome<'_>,
        found: &mut Found<'s>,
    ) -> Result<(), Stop> {
        let Some(list) = value.as_list() else { return Ok(()) };
        let rounds = u64::from(list.len().checked_ilog2().unwrap_or(0)) + 1;
        self.pay(value.size().saturating_mul(rounds) / 8)?;
        let mut sorted: Vec<(usize, &Value)> = list.items().iter().enumerate().collect();
        sorted.sort_by(|left, right| number::order(left.1, right.1));
        let twice = sorted.windows(2).find_map(|pair| match pair {
            [left, right] if number::order(left.1, right.1).is_eq() => Some((left.0, right.0)),
            _ => None,
        });
        if let Some((first, second)) = twice {
            self.refuse(rule.span, outcome, found, |subject| {
                (format!("{subject} must not hold the same item twice: [{first}] and [{second}] are equal"), None)
            });
        }
        Ok(())
    }

    pub(super) fn items(
        &mut self,
        prefix: &[Id],
        rest: Option<Id>,
        value: &Value,
        outcome: &mut Outcome<'_>,
        found: &mut Found<'s>,
    ) -> Result<(), Stop> {
        let Some(list) = value.as_list() else { return Ok(()) };
        for (at, item) in list.items().iter().enumerate() {
            let Some(id) = prefix.get(at).copied().or(rest) else { break };
            self.part(Step::Index(at), id, item, outcome, found)?;
            if !outcome.valid && !found.wanted() {
                return Ok(());
            }
        }
        if self.schema.tracks {
            outcome.seen.every_item |= rest.is_some();
            let first = prefix.len().min(list.len());
            self.pay(first as u64)?;
            outcome.seen.items.extend(0..first);
        }
        Ok(())
    }

    pub(super) fn contains(
        &mut self,
        rule: &'s Rule,
        value: &Value,
        outcome: &mut Outcome<'_>,
        found: &mut Found<'s>,
    ) -> Result<(), Stop> {
        let Demand::Contains { item, least, most, evaluates } = &rule.demand else { return Ok(()) };
        let Some(list) = value.as_list() else { return Ok(()) };
        let mut count: u64 = 0;
        for (at, part) in list.items().iter().enumerate() {
            if !self.visit(*item, part, &mut Found::none())?.valid {
                continue;
            }
            count += 1;
            if self.schema.tracks && *evaluates {
                outcome.seen.items.insert(at);
            }
        }
        let form = "of the required form";
        let said = match (*least, *most) {
            (1, _) if count == 0 => format!("has no item {form}"),
            (least, _) if count < least => format!("must have at least {least} items {form}, not {count}"),
            (_, Some(1)) if count > 1 => format!("must have at most 1 item {form}, not {count}"),
            (_, Some(most)) if count > most => format!("must have at most {most} items {form}, not {count}"),
            _ => return Ok(()),
        };
        let help = self.schema.schemas.get(*item).and_then(Compiled::description);
        self.refuse(rule.span, outcome, found, |subject| (format!("{subject} {said}"), help));
        Ok(())
    }

    pub(super) fn unevaluated_items(
        &mut self,
        id: Id,
        value: &Value,
        outcome: &mut Outcome<'_>,
        found: &mut Found<'s>,
    ) -> Result<(), Stop> {
        let Some(list) = value.as_list() else { return Ok(()) };
        if outcome.seen.every_item {
            return Ok(());
        }
        for (at, item) in list.items().iter().enumerate() {
            self.pay(1)?;
            if !outcome.seen.items.contains(&at) {
                self.part(Step::Index(at), id, item, outcome, found)?;
            }
        }
        outcome.seen.every_item = true;
        Ok(())
    }
}
