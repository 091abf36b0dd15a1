//! The objects that Helm gives to templates beside values, charts and files: `.Release` and `.Capabilities`.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use super::{root, set_shape};
use crate::template::heap::{Heap, MapId, Shape};
use crate::template::item::{Item, Tracked};
use crate::template::scope::Scope;
use crate::value::{Dict, Step, Value};

/// The groups and versions that Helm takes for served when it asks no cluster, one a line.
const API_VERSIONS: &str = include_str!("api-versions.txt");

/// As a map, so that a template which asks for one of them depends on that one only.
static SERVED: LazyLock<Dict> = LazyLock::new(|| {
    let all = API_VERSIONS.lines().map(|version| (Arc::from(version), Value::Bool(true)));
    Dict::new(all.collect()).unwrap_or_default()
});

/// What `.Capabilities.APIVersions` has: what Helm takes for served, and what is declared beyond.
pub fn api_versions(declared: &[Arc<str>]) -> Dict {
    if declared.is_empty() {
        return SERVED.clone();
    }
    let mut all = SERVED.entries().to_map();
    all.extend(declared.iter().map(|version| (Arc::clone(version), Value::Bool(true))));
    Dict::new(all.into()).unwrap_or_default()
}

pub(super) fn release<'a>(heap: &mut Heap<'a>, scope: &Scope<'a>) -> MapId {
    let (dict, origin) = root(scope, "Release");
    let text = |key: &str| Item::Data(dict.get(key).cloned().unwrap_or_else(|| Value::from("")));
    let constant = |value: Value| Item::Data(value);
    let id = heap.add_map(BTreeMap::from([
        (Arc::from("Name"), text("name")),
        (Arc::from("Namespace"), text("namespace")),
        (Arc::from("IsInstall"), constant(Value::Bool(true))),
        (Arc::from("IsUpgrade"), constant(Value::Bool(false))),
        (Arc::from("Revision"), constant(Value::Int(1))),
        (Arc::from("Service"), constant(Value::from("Helm"))),
    ]));
    if let Some(map) = heap.map_mut(id) {
        map.origin = origin.map(Rc::new);
    }
    id
}

/// Our name of a field in Helm's spelling.
fn helm_name(key: &str) -> Arc<str> {
    let mut letters = key.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect::<String>().into()
}

/// The version of Helm that templates are told.
const HELM: &str = "v3.22.0";

pub(super) fn capabilities<'a>(heap: &mut Heap<'a>, scope: &Scope<'a>) -> MapId {
    let (dict, origin) = root(scope, "Capabilities");
    let part = |heap: &mut Heap<'a>, key: &str, shape: Shape| {
        let found = dict.get(key)?.as_dict()?;
        let id = match shape {
            Shape::KubeVersion => {
                // `GitVersion` is a method there.
                let entries = found.entries().iter().filter(|(key, _)| &***key != "gitVersion");
                let named = entries.map(|(key, value)| (helm_name(key), Item::Data(value.clone())));
                heap.add_map(named.collect())
            }
            _ => heap.open(found),
        };
        set_shape(heap, id, shape);
        if let (Some(origin), Some(map)) = (&origin, heap.map_mut(id)) {
            let path = vec![Step::Key(key.into())];
            let (facts, root, value) = (origin.facts, Arc::clone(&origin.root), Value::Dict(found.clone()));
            map.origin = Some(Rc::new(Tracked { facts, root, path, value }));
        }
        Some(id)
    };
    let mut entries = BTreeMap::new();
    if let Some(id) = part(heap, "kubeVersion", Shape::KubeVersion) {
        entries.insert(Arc::from("KubeVersion"), Item::Map(id));
    }
    let versions = part(heap, "helmApiVersions", Shape::Versions).unwrap_or_else(|| {
        let served = heap.open(&SERVED);
        set_shape(heap, served, Shape::Versions);
        served
    });
    entries.insert(Arc::from("APIVersions"), Item::Map(versions));
    let about_helm = [("Version", HELM), ("GitCommit", ""), ("GitTreeState", ""), ("GoVersion", "")];
    let about_helm = about_helm.map(|(key, value)| (Arc::from(key), Item::Data(Value::from(value))));
    let about_helm = heap.add_shaped(BTreeMap::from(about_helm), Shape::Struct("helmversion.BuildInfo"));
    entries.insert(Arc::from("HelmVersion"), Item::Map(about_helm));
    let id = heap.add_shaped(entries, Shape::Capabilities);
    if let Some(map) = heap.map_mut(id) {
        map.origin = origin.map(Rc::new);
    }
    id
}
