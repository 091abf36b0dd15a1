//! `anyOf`, `oneOf` and `not`: which alternatives fit, and when none does, what to say about it.

use crate::value::Value;

use super::super::rule::{Body, Compiled, Id, Kinds, Rule};
use super::super::wording;
use super::{Checker, Finding, Found, Outcome, Reason, Stop};

/// Alternatives that are put into words.
const EXPLAINED: usize = 8;

/// Alternatives that one message names.
const NAMED: usize = 3;

/// Violations of one alternative.
const KEPT: usize = 20;

impl<'s> Checker<'s> {
    pub(super) fn any<'v>(
        &mut self,
        rule: &'s Rule,
        ids: &'s [Id],
        value: &'v Value,
        outcome: &mut Outcome<'v>,
        found: &mut Found<'s>,
    ) -> Result<(), Stop> {
        let mut fits = false;
        for id in ids {
            let tried = self.visit(*id, value, &mut Found::none())?;
            if tried.valid {
                fits = true;
                self.merge(&mut outcome.seen, tried.seen)?;
                if !self.schema.tracks {
                    break;
                }
            }
        }
        if fits { Ok(()) } else { self.explain(rule, ids, value, outcome, found) }
    }

    pub(super) fn one<'v>(
        &mut self,
        rule: &'s Rule,
        ids: &'s [Id],
        value: &'v Value,
        outcome: &mut Outcome<'v>,
        found: &mut Found<'s>,
    ) -> Result<(), Stop> {
        let mut first: Option<Id> = None;
        for id in ids {
            let tried = self.visit(*id, value, &mut Found::none())?;
            if !tried.valid {
                continue;
            }
            if let Some(first) = first {
                let (first, second) = (self.alternative(ids, first), self.alternative(ids, *id));
                self.refuse(rule.span, outcome, found, |subject| {
                    (format!("{subject} must fit one alternative only, but fits {first} and {second}"), None)
                });
                outcome.seen.all();
                return Ok(());
            }
            first = Some(*id);
            self.merge(&mut outcome.seen, tried.seen)?;
        }
        if first.is_some() { Ok(()) } else { self.explain(rule, ids, value, outcome, found) }
    }

    pub(super) fn not(
        &mut self,
        rule: &'s Rule,
        id: Id,
        value: &Value,
        outcome: &mut Outcome<'_>,
        found: &mut Found<'s>,
    ) -> Result<(), Stop> {
        if !self.visit(id, value, &mut Found::none())?.valid {
            return Ok(());
        }
        let excluded = self.schema.schemas.get(id);
        let help = excluded.and_then(Compiled::description);
        let only = excluded.and_then(|schema| match &schema.body {
            Body::Rules(rules) => match rules.as_slice() {
                [only] => Some(&only.demand),
                _ => None,
            },
            Body::Anything | Body::Nothing => None,
        });
        self.refuse(rule.span, outcome, found, |subject| (wording::excluded(&subject, only), help));
        Ok(())
    }

    /// What a message calls an alternative: its title, or its number.
    fn alternative(&self, ids: &[Id], id: Id) -> String {
        let title = self.schema.schemas.get(id).and_then(|schema| schema.title.as_deref());
        match title {
            Some(title) if !title.is_empty() => format!("\"{}\"", wording::shortened(title, 40)),
            _ => (ids.iter().position(|known| *known == id).unwrap_or(0) + 1).to_string(),
        }
    }

    /// Says why no alternative fits.
    fn explain(
        &mut self,
        rule: &'s Rule,
        ids: &'s [Id],
        value: &Value,
        outcome: &mut Outcome<'_>,
        found: &mut Found<'s>,
    ) -> Result<(), Stop> {
        outcome.valid = false;
        outcome.seen.all();
        if !found.wanted() {
            return Ok(());
        }
        let mut tried: Vec<(Id, Vec<Finding<'s>>)> = Vec::new();
        for id in ids.iter().take(EXPLAINED) {
            let mut inner = Found::up_to(KEPT);
            self.visit(*id, value, &mut inner)?;
            tried.push((*id, inner.list));
        }
        if ids.len() <= EXPLAINED {
            if let Some(kinds) = self.same_kinds(&tried) {
                let words = |subject: String| wording::kinds(&subject, kinds, value);
                self.refuse_for(Reason::Kinds(kinds), rule.span, outcome, found, words);
                return Ok(());
            }
            if let Some(options) = self.same_options(&tried) {
                self.refuse(rule.span, outcome, found, |subject| wording::options(&subject, &options, value));
                return Ok(());
            }
            let mut near = tried.iter_mut().filter(|(_, list)| !list.iter().any(|finding| self.is_other(finding)));
            if let (Some((_, list)), None) = (near.next(), near.next()) {
                let room = found.wanted - found.list.len();
                found.list.extend(list.drain(..).take(room));
                return Ok(());
            }
        }
        self.recount(rule, ids, &tried, outcome, found);
        Ok(())
    }

    /// Lists the alternatives with what is wrong with each.
    fn recount(
        &mut self,
        rule: &'s Rule,
        ids: &[Id],
        tried: &[(Id, Vec<Finding<'s>>)],
        outcome: &mut Outcome<'_>,
        found: &mut Found<'s>,
    ) {
        let mut order: Vec<&(Id, Vec<Finding<'s>>)> = tried.iter().collect();
        // The ones that nearly fit come first.
        order.sort_by_key(|(_, list)| (list.iter().any(|finding| self.is_other(finding)), list.len()));
        let reasons: Vec<String> = order
            .iter()
            .take(NAMED)
            .filter_map(|(id, list)| {
                let first = list.first()?;
                Some(format!("{}: {}", self.alternative(ids, *id), wording::shortened(&first.violation.message, 160)))
            })
            .collect();
        let more = ids.len().saturating_sub(reasons.len());
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        let help = order.first().and_then(|(_, list)| list.first()).and_then(|finding| finding.violation.help.clone());
        self.refuse(rule.span, outcome, found, |subject| {
            let message = format!("{subject} fits none of {} alternatives: {}{more}", ids.len(), reasons.join("; "));
            (message, help)
        });
    }

    /// Whether a violation shows that an alternative was not the one meant: its type is wrong, or its fixed mark.
    fn is_other(&self, finding: &Finding<'_>) -> bool {
        let below = finding.violation.path.0.len().saturating_sub(self.path.len());
        match finding.reason {
            Reason::Kinds(_) => below == 0,
            Reason::Options(options) => below == 0 || (below == 1 && options.len() == 1),
            Reason::Other => false,
        }
    }

    fn same_kinds(&self, tried: &[(Id, Vec<Finding<'s>>)]) -> Option<Kinds> {
        tried.iter().try_fold(Kinds(0), |all, (_, list)| match list.as_slice() {
            [Finding { reason: Reason::Kinds(kinds), violation }] if violation.path.0.len() == self.path.len() => {
                Some(all.or(*kinds))
            }
            _ => None,
        })
    }

    fn same_options(&self, tried: &[(Id, Vec<Finding<'s>>)]) -> Option<Vec<&'s Value>> {
        tried.iter().try_fold(Vec::new(), |mut all, (_, list)| match list.as_slice() {
            [Finding { reason: Reason::Options(options), violation }] if violation.path.0.len() == self.path.len() => {
                all.extend(options.iter());
                Some(all)
            }
            _ => None,
        })
    }
}
