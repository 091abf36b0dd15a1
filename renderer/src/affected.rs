//! Which runtimes a change concerns, without rendering any.
//!
//! A runtime is affected when what decides its bundle differs: its resolved components, their charts' content, their
//! merged values, its facts. Files that stayed the same are known by their ids and cost nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::fleet::{Fleet, Runtime};
use crate::resolve;

/// How a runtime is affected.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Affected {
    /// It is new.
    Added,
    /// What it gets may differ.
    Changed,
    /// It is gone.
    Removed,
}

/// The runtimes whose inputs differ between two revisions, by name. One that cannot be resolved in the later revision
/// counts as changed, so that its findings are seen. Both must come from one [`Loader`](crate::fleet::Loader), which
/// gives equal files as the same thing in memory.
pub fn affected(before: &Fleet, after: &Fleet) -> Vec<(Arc<str>, Affected)> {
    let comparison = Comparison::new(before, after);
    let names: BTreeSet<&Arc<str>> = before.runtimes.keys().chain(after.runtimes.keys()).collect();
    names
        .into_iter()
        .filter_map(|name| {
            let how = match (before.runtimes.get(name), after.runtimes.get(name)) {
                (Some(_), None) => Affected::Removed,
                (None, _) => Affected::Added,
                (Some(old), Some(new)) if comparison.is_same(old, new) => return None,
                (Some(_), Some(_)) if inputs_are_equal(before, after, name) => return None,
                (Some(_), Some(_)) => Affected::Changed,
            };
            Some((name.clone(), how))
        })
        .collect()
}

fn inputs_are_equal(before: &Fleet, after: &Fleet, name: &str) -> bool {
    match (resolve::resolve(before, name), resolve::resolve(after, name)) {
        (Some(Ok(before)), Some(Ok(after))) => before.inputs() == after.inputs(),
        _ => false,
    }
}

/// What is the very same in both revisions, so that most runtimes need no second look.
struct Comparison<'a> {
    before: &'a Fleet,
    after: &'a Fleet,
    settings: bool,
    charts: bool,
}

impl<'a> Comparison<'a> {
    fn new(before: &'a Fleet, after: &'a Fleet) -> Self {
        let settings = Arc::ptr_eq(&before.settings, &after.settings);
        let ids = |fleet: &Fleet| -> Vec<_> {
            fleet
                .charts
                .values()
                .flat_map(|versions| versions.values().map(|chart| (chart.folder.clone(), chart.id)))
                .collect()
        };
        Self { before, after, settings, charts: ids(before) == ids(after) && before.broken == after.broken }
    }

    fn is_same(&self, old: &Arc<Runtime>, new: &Arc<Runtime>) -> bool {
        if !(self.settings && self.charts && Arc::ptr_eq(old, new)) {
            return false;
        }
        let channel = old.channel.as_ref().or(self.after.settings.channel.as_ref()).map(|channel| &channel.value);
        let same_channel = channel.is_none_or(|name| {
            let (old, new) = (self.before.channels.get(name), self.after.channels.get(name));
            matches!((old, new), (Some(old), Some(new)) if Arc::ptr_eq(old, new))
        });
        let by_label = self.after.settings.layers.iter();
        let by_label = by_label
            .filter(|rule| rule.selector.as_ref().is_none_or(|selector| selector.matches(&new.labels)))
            .map(|rule| &rule.layer.value);
        let mut layers = by_label.chain(new.layers.iter().map(|layer| &layer.value));
        same_channel
            && layers.all(|name| {
                let (old, new) = (self.before.layers.get(name), self.after.layers.get(name));
                matches!((old, new), (Some(old), Some(new)) if Arc::ptr_eq(old, new))
            })
    }
}
