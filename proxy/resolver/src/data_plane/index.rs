//! What is known of rules and slices, and which rules a change concerns. Pure.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt};
use reeve_crds::ScalingRule;

use super::table::{RuleTable, compile};
use crate::report::{RULE_LABEL, RuleKey};

/// Rules and the slices of their shadow Services.
#[derive(Debug, Default)]
pub(crate) struct Index {
    rules: BTreeMap<RuleKey, ScalingRule>,
    /// By rule, then by name of the slice.
    slices: BTreeMap<RuleKey, BTreeMap<String, EndpointSlice>>,
    /// What a list that is being read has shown so far; what it does not show is gone.
    listed_rules: Option<BTreeSet<RuleKey>>,
    listed_slices: Option<BTreeSet<(RuleKey, String)>>,
}

impl Index {
    /// All rules.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &RuleKey> {
        self.rules.keys()
    }

    /// What a replica does for a rule now; `None` if there is no such rule.
    pub(crate) fn table(&self, key: &RuleKey) -> Option<RuleTable> {
        let slices: Vec<&EndpointSlice> = self.slices.get(key).into_iter().flat_map(BTreeMap::values).collect();
        self.rules.get(key).map(|rule| compile(rule, &slices))
    }

    /// Takes in what the watch of rules says, and tells which rules it concerns.
    pub(crate) fn note_rule(&mut self, event: Event<ScalingRule>) -> BTreeSet<RuleKey> {
        match event {
            Event::Init => {
                self.listed_rules = Some(BTreeSet::new());
                BTreeSet::new()
            }
            Event::InitApply(rule) => {
                let key = key_of(&rule, rule.name_any());
                if let Some(listed) = &mut self.listed_rules {
                    listed.insert(key.clone());
                }
                self.put_rule(key, rule)
            }
            Event::Apply(rule) => self.put_rule(key_of(&rule, rule.name_any()), rule),
            Event::Delete(rule) => self.remove_rule(key_of(&rule, rule.name_any())),
            Event::InitDone => {
                let listed = self.listed_rules.take().unwrap_or_default();
                let gone: Vec<RuleKey> = self.rules.keys().filter(|key| !listed.contains(*key)).cloned().collect();
                gone.into_iter().flat_map(|key| self.remove_rule(key)).collect()
            }
        }
    }

    /// Takes in what the watch of slices says, and tells which rules it concerns.
    pub(crate) fn note_slice(&mut self, event: Event<EndpointSlice>) -> BTreeSet<RuleKey> {
        match event {
            Event::Init => {
                self.listed_slices = Some(BTreeSet::new());
                BTreeSet::new()
            }
            Event::InitApply(slice) => {
                let Some(key) = rule_of(&slice) else { return BTreeSet::new() };
                if let Some(listed) = &mut self.listed_slices {
                    listed.insert((key.clone(), slice.name_any()));
                }
                self.put_slice(key, slice)
            }
            Event::Apply(slice) => rule_of(&slice).map(|key| self.put_slice(key, slice)).unwrap_or_default(),
            Event::Delete(slice) => {
                let Some(key) = rule_of(&slice) else { return BTreeSet::new() };
                self.remove_slice(&key, &slice.name_any())
            }
            Event::InitDone => {
                let listed = self.listed_slices.take().unwrap_or_default();
                let known =
                    self.slices.iter().flat_map(|(key, slices)| slices.keys().map(|name| (key.clone(), name.clone())));
                let gone: Vec<_> = known.filter(|slice| !listed.contains(slice)).collect();
                gone.into_iter().flat_map(|(key, name)| self.remove_slice(&key, &name)).collect()
            }
        }
    }

    fn put_rule(&mut self, key: RuleKey, rule: ScalingRule) -> BTreeSet<RuleKey> {
        self.rules.insert(key.clone(), rule);
        BTreeSet::from([key])
    }

    fn remove_rule(&mut self, key: RuleKey) -> BTreeSet<RuleKey> {
        self.rules.remove(&key);
        BTreeSet::from([key])
    }

    fn put_slice(&mut self, key: RuleKey, slice: EndpointSlice) -> BTreeSet<RuleKey> {
        self.slices.entry(key.clone()).or_default().insert(slice.name_any(), slice);
        BTreeSet::from([key])
    }

    fn remove_slice(&mut self, key: &RuleKey, name: &str) -> BTreeSet<RuleKey> {
        if let Some(slices) = self.slices.get_mut(key) {
            slices.remove(name);
            if slices.is_empty() {
                self.slices.remove(key);
            }
        }
        BTreeSet::from([key.clone()])
    }
}

fn key_of(object: &impl Resource, name: String) -> RuleKey {
    RuleKey::new(object.meta().namespace.clone().unwrap_or_default(), name)
}

fn rule_of(slice: &EndpointSlice) -> Option<RuleKey> {
    let name = slice.labels().get(RULE_LABEL)?.clone();
    Some(key_of(slice, name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(name: &str) -> ScalingRule {
        let rule = json!({
            "metadata": { "name": name, "namespace": "web" },
            "spec": { "services": [{ "name": name }] },
            "status": { "ports": [{ "service": name, "port": 80, "resolverPort": 20001 }] },
        });
        let mut rule: serde_json::Value = rule;
        rule["apiVersion"] = json!("reeve.dev/v1alpha1");
        rule["kind"] = json!("ScalingRule");
        serde_json::from_value(rule).expect("a rule")
    }

    fn slice(name: &str, of: &str) -> EndpointSlice {
        let slice = json!({
            "metadata": { "name": name, "namespace": "web", "labels": { RULE_LABEL: of, "reeve.dev/service": of } },
            "addressType": "IPv4",
            "ports": [{ "port": 80 }],
            "endpoints": [{ "addresses": ["10.0.0.1"] }],
        });
        serde_json::from_value(slice).expect("a slice")
    }

    fn key(name: &str) -> RuleKey {
        RuleKey::new("web", name)
    }

    #[test]
    fn a_slice_concerns_the_rule_that_its_label_names_even_if_that_comes_later() {
        let mut index = Index::default();
        assert_eq!(index.note_slice(Event::Apply(slice("a", "shop"))), [key("shop")].into());
        assert!(index.table(&key("shop")).is_none());
        assert_eq!(index.note_rule(Event::Apply(rule("shop"))), [key("shop")].into());
        assert_eq!(index.table(&key("shop")).expect("a table").lanes[&20001].pods.len(), 1);
        index.note_slice(Event::Delete(slice("a", "shop")));
        assert!(index.table(&key("shop")).expect("a table").lanes[&20001].pods.is_empty());
    }

    #[test]
    fn what_a_new_list_does_not_show_is_gone_and_not_before_its_end() {
        let mut index = Index::default();
        index.note_rule(Event::Apply(rule("shop")));
        index.note_rule(Event::Apply(rule("cart")));
        index.note_slice(Event::Apply(slice("a", "shop")));
        assert!(index.note_rule(Event::Init).is_empty());
        index.note_rule(Event::InitApply(rule("shop")));
        assert!(index.table(&key("cart")).is_some(), "the list is not over");
        assert_eq!(index.note_rule(Event::InitDone), [key("cart")].into());
        assert!(index.table(&key("cart")).is_none());
        index.note_slice(Event::Init);
        assert_eq!(index.note_slice(Event::InitDone), [key("shop")].into());
        assert!(index.table(&key("shop")).expect("a table").lanes[&20001].pods.is_empty());
    }
}
