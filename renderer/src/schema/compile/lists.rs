//! The rules for lists.

use crate::value::Value;
use crate::yaml::{Content, Entry};

use super::super::rule::{Counted, Demand, Id};
use super::Reader;

impl<'n> Reader<'_, 'n> {
    pub(super) fn lists(&mut self) {
        self.count("minItems", |count| Demand::Least(Counted::Items, count));
        self.count("maxItems", |count| Demand::Most(Counted::Items, count));
        if let Some(entry) = self.entry("uniqueItems") {
            match &entry.value.content {
                Content::Scalar(Value::Bool(true)) => self.rule(entry, Demand::Unique),
                Content::Scalar(Value::Bool(false)) => {}
                _ => {
                    self.must_be(entry, "true or false");
                }
            }
        }
        self.items();
        self.contains();
    }

    /// What the first items must be, and the others.
    fn items(&mut self) {
        let prefix = self.schemas("prefixItems");
        let items = self.entry("items");
        let listed = items.is_some_and(|entry| matches!(entry.value.content, Content::List(_)));
        if listed && (!self.draft.items_may_be_list() || prefix.is_some()) {
            if let Some(entry) = items {
                let finding = self.must_be(entry, "a schema");
                finding.help =
                    Some("write the list under `prefixItems`, and under `items` what comes after".to_owned());
            }
            return;
        }
        let (first, prefix, rest): (Option<&'n Entry>, Vec<Id>, Option<(&'n Entry, Id)>) = if listed {
            let prefix: Vec<Id> = match items.map(|entry| &entry.value.content) {
                Some(Content::List(nodes)) => nodes.iter().filter_map(|node| self.catalog.at(node)).collect(),
                _ => Vec::new(),
            };
            (items, prefix, self.schema("additionalItems"))
        } else {
            let (entry, prefix) = prefix.unzip();
            (entry, prefix.unwrap_or_default(), self.schema("items"))
        };
        if let Some(entry) = rest.map(|(entry, _)| entry).or(first) {
            self.rule(entry, Demand::Items { prefix, rest: rest.map(|(_, id)| id) });
        }
    }

    fn contains(&mut self) {
        let least = self.counted("minContains");
        let most = self.counted("maxContains");
        let Some((entry, item)) = self.schema("contains") else { return };
        let evaluates = self.draft.contains_evaluates();
        let least = least.map_or(1, |(_, least)| least);
        self.rule(entry, Demand::Contains { item, least, most: most.map(|(_, most)| most), evaluates });
    }
}
