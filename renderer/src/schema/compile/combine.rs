//! References, and schemas made of schemas.

use super::super::rule::Demand;
use super::Reader;

impl Reader<'_, '_> {
    pub(super) fn references(&mut self) {
        if let Some((entry, reference)) = self.text("$ref")
            && let Some(target) = self.catalog.follow(self.location, entry, reference)
        {
            self.rule(entry, Demand::Reference(target.location));
        }
        for keyword in ["$dynamicRef", "$recursiveRef"] {
            let Some((entry, reference)) = self.text(keyword) else { continue };
            let Some(target) = self.catalog.follow(self.location, entry, reference) else { continue };
            let dynamic = self.catalog.resources.get(target.resource).map(|resource| &resource.dynamic);
            let name = match keyword {
                "$recursiveRef" => "",
                _ => reference.split_once('#').map_or("", |(_, name)| name),
            };
            let looked_for = (keyword == "$recursiveRef" || target.by_anchor)
                && dynamic.and_then(|dynamic| dynamic.get(name)) == Some(&target.location);
            let otherwise = target.location;
            let demand = if looked_for {
                Demand::Dynamic { name: name.into(), otherwise }
            } else {
                Demand::Reference(otherwise)
            };
            self.rule(entry, demand);
        }
    }

    pub(super) fn combinations(&mut self) {
        for (keyword, demand) in
            [("allOf", Demand::All as fn(_) -> _), ("anyOf", Demand::Any as fn(_) -> _), ("oneOf", Demand::One)]
        {
            if let Some((entry, ids)) = self.schemas(keyword) {
                self.rule(entry, demand(ids));
            }
        }
        if let Some((entry, id)) = self.schema("not") {
            self.rule(entry, Demand::Not(id));
        }
        if let Some((entry, test)) = self.schema("if") {
            let then = self.schema("then").map(|(_, id)| id);
            let otherwise = self.schema("else").map(|(_, id)| id);
            self.rule(entry, Demand::Condition { test, then, otherwise });
        }
    }

    pub(super) fn unevaluated(&mut self) {
        if let Some((entry, id)) = self.schema("unevaluatedItems") {
            self.rule(entry, Demand::UnevaluatedItems(id));
        }
        if let Some((entry, id)) = self.schema("unevaluatedProperties") {
            self.rule(entry, Demand::UnevaluatedProperties(id));
        }
    }
}
