//! Everybody's fields at one place of an object, and how the items of its lists are found in them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::Value;

use super::{Manager, Paths, Step};

/// Everybody's fields of an object.
pub(crate) struct Sets<'a> {
    ours: Paths,
    others: Vec<(&'a ManagedFieldsEntry, Paths)>,
}

impl<'a> Sets<'a> {
    pub(crate) fn of(managed: &'a [ManagedFieldsEntry], us: &Manager) -> Self {
        let read = |entry: &'a ManagedFieldsEntry| Some((entry, Paths::of(entry.fields_v1.as_ref()?)));
        let (ours, others): (Vec<_>, Vec<_>) =
            managed.iter().filter_map(read).partition(|(entry, _)| us.applied(entry));
        Self { ours: ours.into_iter().map(|(_, paths)| paths).fold(Paths::default(), Paths::union), others }
    }

    /// Who owns what at the top of the object.
    pub(crate) fn owners(&self) -> Owners<'_> {
        let others = self.others.iter().map(|(entry, paths)| Holder { entry, paths }).collect();
        Owners { ours: Some(&self.ours), others }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Holder<'a> {
    pub(crate) entry: &'a ManagedFieldsEntry,
    pub(crate) paths: &'a Paths,
}

/// Everybody's set at one place of the object.
pub(crate) struct Owners<'a> {
    pub(crate) ours: Option<&'a Paths>,
    pub(crate) others: Vec<Holder<'a>>,
}

impl<'a> Owners<'a> {
    pub(crate) fn nobody() -> Self {
        Owners { ours: None, others: Vec::new() }
    }

    pub(crate) fn below(&self, step: &Step) -> Owners<'a> {
        let below = |holder: &Holder<'a>| Some(Holder { entry: holder.entry, paths: holder.paths.child(step)? });
        Owners {
            ours: self.ours.and_then(|paths| paths.child(step)),
            others: self.others.iter().filter_map(below).collect(),
        }
    }

    /// Somebody else owns it as a whole, or nobody owns anything of it.
    pub(crate) fn lost_whole(&self) -> bool {
        self.ours.is_none() && (self.others.is_empty() || self.is_whole_by_others())
    }

    pub(crate) fn is_whole_by_others(&self) -> bool {
        self.others.iter().any(|holder| holder.paths.is_whole())
    }

    fn all(&self) -> impl Iterator<Item = &'a Paths> {
        self.ours.into_iter().chain(self.others.iter().map(|holder| holder.paths))
    }

    /// How the item of a list is named in the sets. Ours come first.
    pub(crate) fn step_of(&self, item: &Value) -> Option<Step> {
        let steps = || self.all().flat_map(Paths::steps);
        steps()
            .filter_map(|step| Some((fit(step, item)?, step)))
            // `min_by_key` takes the first of equals.
            .min_by_key(|(fit, _)| *fit)
            .map(|(_, step)| step.clone())
    }

    /// How the item would be named, going by the names of other items.
    pub(crate) fn step_like_others(&self, item: &Value) -> Option<Step> {
        self.all().flat_map(Paths::steps).find_map(|step| match step {
            Step::Key(keys) => {
                let fields = item.as_object()?;
                let known = keys.keys().filter_map(|key| Some((key.clone(), fields.get(key)?.to_string())));
                Some(Step::Key(known.collect()))
            }
            Step::Item(_) => Some(Step::Item(item.to_string())),
            Step::Field(_) | Step::Index(_) | Step::Other(_) => None,
        })
    }
}

/// How well a step names an item; the smaller the better.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Fit {
    Exact,
    /// a key that the item leaves out has the value that the API server fills in.
    Defaulted,
    /// a key that the item leaves out has some value.
    Possible,
}

pub(crate) fn fit(step: &Step, item: &Value) -> Option<Fit> {
    match step {
        Step::Item(value) => is_written(item, value).then_some(Fit::Exact),
        Step::Key(keys) => {
            let fields = item.as_object()?;
            let mut fit = Fit::Exact;
            let mut equal = 0;
            for (key, value) in keys {
                match fields.get(key) {
                    Some(wanted) if is_written(wanted, value) => equal += 1,
                    Some(_) => return None,
                    // The one key of Kubernetes' own lists that has a default.
                    None if key == "protocol" && value == "\"TCP\"" => fit = fit.max(Fit::Defaulted),
                    None => fit = Fit::Possible,
                }
            }
            (equal > 0).then_some(fit)
        }
        Step::Field(_) | Step::Index(_) | Step::Other(_) => None,
    }
}

fn is_written(value: &Value, written: &str) -> bool {
    let text = value.to_string();
    text == written
}
