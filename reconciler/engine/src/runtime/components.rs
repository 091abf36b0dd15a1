//! The components of one runtime, and which of them wait for which. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use reeve_crds::RuntimeComponentStatus;

use super::component::{ComponentState, Phase};
use crate::desired::DesiredComponent;

/// The components of a runtime, by name.
#[derive(Debug, Default)]
pub(super) struct Components {
    /// Boxed, since a node of a map has room for eleven, and most of thousands of runtimes have few.
    states: BTreeMap<Arc<str>, Box<ComponentState>>,
    /// Components that others build on, by what builds on them.
    providers: HashMap<Arc<str>, BTreeSet<Arc<str>>>,
}

impl Components {
    pub(super) fn insert(&mut self, state: ComponentState) {
        self.states.insert(state.name.clone(), Box::new(state));
    }

    /// A component; a new one if it is not known.
    pub(super) fn get_or_new(&mut self, name: &Arc<str>, now: Timestamp) -> &mut ComponentState {
        let new = || Box::new(ComponentState::new(name.clone(), RuntimeComponentStatus::default(), now));
        self.states.entry(name.clone()).or_insert_with(new)
    }

    pub(super) fn get(&self, name: &str) -> Option<&ComponentState> {
        self.states.get(name).map(|state| &**state)
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut ComponentState> {
        self.states.get_mut(name).map(|state| &mut **state)
    }

    pub(super) fn on_ready(&mut self, name: &str, now: Timestamp) {
        if let Some(state) = self.get_mut(name) {
            state.on_ready(now);
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.states.remove(name);
    }

    pub(super) fn clear(&mut self) {
        self.states.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    pub(super) fn names(&self) -> Vec<Arc<str>> {
        self.states.keys().cloned().collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ComponentState> {
        self.states.values().map(|state| &**state)
    }

    /// The names of those of which this holds.
    pub(super) fn names_where(&self, holds: impl Fn(&ComponentState) -> bool) -> Vec<Arc<str>> {
        self.iter().filter(|state| holds(state)).map(|state| state.name.clone()).collect()
    }

    /// Which components give a component its namespaces and kinds.
    pub(super) fn set_providers(&mut self, providers: HashMap<Arc<str>, BTreeSet<Arc<str>>>) {
        self.providers = providers;
    }

    /// What a component waits for: components it depends on, and definitions that it builds on.
    pub(super) fn missing(&self, desired: &DesiredComponent) -> Vec<Arc<str>> {
        let not_ready = |name: &&Arc<str>| self.get(name).is_none_or(|state| !state.is_ready());
        let not_defined = |name: &&Arc<str>| self.get(name).is_none_or(|state| !state.has_definitions);
        let built_on = self.providers.get(&desired.name).into_iter().flatten();
        let missing: BTreeSet<Arc<str>> =
            desired.depends_on.iter().filter(not_ready).chain(built_on.filter(not_defined)).cloned().collect();
        missing.into_iter().collect()
    }

    /// Whether another component that is on its way out still builds on this one. Of some that build on each other, as
    /// specs of different commits may, the first by name is needed by none.
    pub(super) fn is_needed(&self, name: &Arc<str>) -> bool {
        let below = self.depends_on(name);
        let needs = |state: &&ComponentState| state.name != *name && spec_depends(state).any(|on| *on == **name);
        let goes = self.iter().filter(|state| state.desired.is_none());
        goes.filter(needs).any(|state| !below.contains(&*state.name) || state.name < *name)
    }

    /// What a component depends on by the specs of those that are on their way out, and what that does.
    fn depends_on(&self, name: &Arc<str>) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&str> = self.get(name).into_iter().flat_map(spec_depends).collect();
        while let Some(on) = open.pop() {
            let goes = self.get(on).filter(|state| state.desired.is_none());
            if let Some(state) = goes
                && found.insert(on)
            {
                open.extend(spec_depends(state));
            }
        }
        found
    }

    /// Those that wait for others.
    pub(super) fn waiting(&self) -> Vec<Arc<str>> {
        self.names_where(|state| matches!(state.phase, Phase::Waiting(_)))
    }
}

fn spec_depends(state: &ComponentState) -> impl Iterator<Item = &str> {
    state.spec.iter().flat_map(|spec| &spec.depends_on).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use reeve_crds::runtime_component::RuntimeComponentSpec;

    use super::*;

    fn leaving(dependencies: &[(&str, &[&str])]) -> Components {
        let mut components = Components::default();
        for (name, depends_on) in dependencies {
            let spec = serde_json::json!({ "runtime": "eu", "component": name, "chart": "c", "version": "1.0.0", "dependsOn": depends_on });
            let spec: RuntimeComponentSpec = serde_json::from_value(spec).unwrap();
            components.get_or_new(&(*name).into(), Timestamp::UNIX_EPOCH).spec = Some(spec);
        }
        components
    }

    fn free(components: &Components) -> Vec<Arc<str>> {
        components.names().into_iter().filter(|name| !components.is_needed(name)).collect()
    }

    #[test]
    fn what_goes_goes_before_what_it_depends_on() {
        let mut components = leaving(&[("app", &["base"]), ("base", &[])]);
        assert_eq!(free(&components), ["app".into()]);
        components.remove("app");
        assert_eq!(free(&components), ["base".into()]);
    }

    #[test]
    fn components_that_depend_on_each_other_go_all_the_same() {
        let mut components = leaving(&[("a", &["b"]), ("b", &["c"]), ("c", &["a"]), ("d", &["a"]), ("e", &["e"])]);
        let mut order = Vec::new();
        while !components.is_empty() {
            let next = free(&components);
            assert!(!next.is_empty(), "{:?} wait for each other", components.names());
            for name in &next {
                components.remove(name);
            }
            order.push(next.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
        }
        assert_eq!(order, ["d e", "a", "b", "c"]);
    }
}
