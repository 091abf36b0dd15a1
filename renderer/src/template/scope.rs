//! What templates see: roots such as `Values`, facts whose reads are recorded, and the files of the chart.
//!
//! Owns the record of what was read. It reads no file itself: [`ChartFiles`] hands them in.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::value::{Dict, KeyPath, Step, Value};

/// What the templates of one render see.
#[derive(Default)]
pub struct Scope<'a> {
    roots: Vec<(&'static str, Root<'a>)>,
    files: Option<&'a dyn ChartFiles>,
    advice: Vec<(&'static str, String)>,
}

/// One name of the scope.
pub(super) enum Root<'a> {
    Data(Value),
    Facts(&'a Facts),
}

/// The root whose keys belong to the chart's author: no other spelling of a key is tried there.
const VALUES: &str = "Values";
/// The root whose maps are Helm's too: `Capabilities.KubeVersion.Major`.
const CAPABILITIES: &str = "Capabilities";

impl<'a> Scope<'a> {
    /// An empty scope.
    pub fn new() -> Self {
        Self::default()
    }

    /// With data under this name.
    #[must_use]
    pub fn data(mut self, name: &'static str, value: Value) -> Self {
        self.roots.push((name, Root::Data(value)));
        self
    }

    /// With facts under this name.
    #[must_use]
    pub fn facts(mut self, name: &'static str, facts: &'a Facts) -> Self {
        self.roots.push((name, Root::Facts(facts)));
        self
    }

    /// With the files of the chart, as `Files`.
    #[must_use]
    pub fn files(mut self, files: &'a dyn ChartFiles) -> Self {
        self.files = Some(files);
        self
    }

    /// What to tell about a key that is missing below this root.
    #[must_use]
    pub fn advice(mut self, root: &'static str, where_it_could_be_set: String) -> Self {
        self.advice.push((root, where_it_could_be_set));
        self
    }

    pub(super) fn find(&self, name: &str) -> Option<&Root<'a>> {
        self.roots.iter().rev().find(|(root, _)| *root == name).map(|(_, root)| root)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.roots.iter().map(|(name, _)| *name).chain(self.files.is_some().then_some("Files"))
    }

    pub(super) fn chart_files(&self) -> Option<&'a dyn ChartFiles> {
        self.files
    }

    pub(super) fn advice_for(&self, root: &str) -> Option<&str> {
        self.advice.iter().rev().find(|(name, _)| *name == root).map(|(_, advice)| &**advice)
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// Whether Helm's spelling of a key is tried below this root, at this depth (0: directly below it).
pub(super) fn is_helm_spelling_tried(root: &str, depth: usize) -> bool {
    match depth {
        0 => root != VALUES,
        1 => root == CAPABILITIES,
        _ => false,
    }
}

/// Helm's spelling of a key in ours: `AppVersion` is `appVersion`, `APIVersions` is `apiVersions`.
pub(super) fn from_helm_spelling(key: &str) -> Option<String> {
    if !key.starts_with(|c: char| c.is_ascii_uppercase()) {
        return None;
    }
    let run = key.bytes().take_while(u8::is_ascii_uppercase).count();
    let lowered = if run == key.len() || run == 1 { run } else { run - 1 };
    let mut spelling = key.to_owned();
    spelling[..lowered].make_ascii_lowercase();
    Some(spelling)
}

/// The files of a chart, by their path in it.
pub trait ChartFiles {
    /// The bytes of one file.
    fn get(&self, path: &str) -> Option<Arc<[u8]>>;

    /// The paths of all files, in order.
    fn paths(&self) -> Vec<Arc<str>>;
}

/// A dict whose reads are recorded, so that a change elsewhere in it need not render anew. For one render on one thread.
#[derive(Debug)]
pub struct Facts {
    value: Value,
    touched: RefCell<BTreeMap<Vec<Step>, Option<Value>>>,
}

impl Facts {
    /// Facts of which none was read yet.
    pub fn new(dict: Dict) -> Self {
        Self { value: Value::Dict(dict), touched: RefCell::default() }
    }

    /// What was read: the path and what was there, or that nothing was. What lies below a path that was read as a whole is
    /// not named again.
    pub fn touched(&self) -> BTreeMap<KeyPath, Option<Value>> {
        let all = self.touched.borrow();
        let mut kept: BTreeMap<KeyPath, Option<Value>> = BTreeMap::new();
        let mut whole: Option<&[Step]> = None;
        // In this order a path comes right before those below it.
        for (path, value) in all.iter() {
            if whole.is_some_and(|whole| path.starts_with(whole)) {
                continue;
            }
            if value.is_some() {
                whole = Some(path);
            }
            kept.insert(KeyPath(path.clone()), value.clone());
        }
        kept
    }

    pub(super) fn value(&self) -> &Value {
        &self.value
    }

    pub(super) fn record(&self, path: &[Step], value: Option<&Value>) {
        let mut touched = self.touched.borrow_mut();
        if !touched.contains_key(path) {
            touched.insert(path.to_vec(), value.cloned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spelling_of_helm_is_known() {
        for (helm, ours) in
            [("AppVersion", "appVersion"), ("KubeVersion", "kubeVersion"), ("APIVersions", "apiVersions")]
        {
            assert_eq!(from_helm_spelling(helm).as_deref(), Some(ours));
        }
        assert_eq!(from_helm_spelling("ID").as_deref(), Some("id"));
        assert_eq!(from_helm_spelling("name"), None);
    }

    #[test]
    fn what_lies_below_a_whole_is_not_named_again() {
        let facts = Facts::new(Dict::default());
        let labels = Step::Key("labels".into());
        facts.record(&[labels.clone(), Step::Key("region".into())], Some(&Value::from("eu")));
        facts.record(std::slice::from_ref(&labels), Some(&Value::empty_dict()));
        facts.record(&[labels, Step::Key("zone".into())], None);
        let paths: Vec<String> = facts.touched().keys().map(ToString::to_string).collect();
        assert_eq!(paths, ["labels"]);
    }
}
