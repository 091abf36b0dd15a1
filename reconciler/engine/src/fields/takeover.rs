//! Makes what `kubectl apply`, Helm or an earlier owner has ours, so that what leaves Git leaves the cluster too.
//!
//! A field that another manager owns stays when we stop applying it. Where people used `kubectl apply` or Helm before, or
//! another runtime had the object, every field has such an owner: its set is added to ours once, and from then on a removal is a
//! removal.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::{Value, json};

use super::owners::{Fit, fit};
use super::{LEGACY_MANAGER, Manager, Operation, Path, Paths, Step, is_applied_by, subresource};

/// The annotation in which `kubectl apply` keeps a copy of what it applied.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The annotations by which Helm marks the objects of a release.
pub const RELEASE_NAME: &str = "meta.helm.sh/release-name";
/// The namespace of that release.
pub const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";

/// What Helm's own program calls itself, also where it marks nothing: in `crds/`, and on hooks.
const HELM: &str = "helm";

/// By which managers `kubectl apply` writes: on the client, on the server, for its own annotation, and before any of it.
const KUBECTL_APPLY: [(&str, Operation); 4] = [
    ("kubectl-client-side-apply", Operation::Update),
    ("kubectl", Operation::Apply),
    ("kubectl-last-applied", Operation::Apply),
    BEFORE_FIRST_APPLY,
];

/// What the API server calls everybody who wrote before the first server-side apply, and all the same when somebody
/// cleared who wrote what.
const BEFORE_FIRST_APPLY: (&str, Operation) = ("before-first-apply", Operation::Update);

/// Whether fields of an object that we apply are left from before anybody knew who wrote what.
pub fn has_unknown_writers(managed: &[ManagedFieldsEntry]) -> bool {
    let (name, operation) = BEFORE_FIRST_APPLY;
    let is_it = |entry: &ManagedFieldsEntry| {
        entry.manager.as_deref() == Some(name) && Operation::of(entry) == operation && subresource(entry).is_none()
    };
    managed.iter().any(is_it)
}

/// What to write so that the fields of others are ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Takeover {
    /// The new `metadata.managedFields`.
    pub managed: Vec<ManagedFieldsEntry>,
    /// Whether the annotation [`LAST_APPLIED`] is there and is to be removed.
    pub remove_last_applied: bool,
}

impl Takeover {
    /// The JSON patch that does it, and only if nobody wrote since `resource_version`.
    pub fn patch(&self, resource_version: &str) -> Value {
        let mut steps = vec![
            json!({ "op": "test", "path": "/metadata/resourceVersion", "value": resource_version }),
            json!({ "op": "replace", "path": "/metadata/managedFields", "value": self.managed }),
        ];
        if self.remove_last_applied {
            let pointer = LAST_APPLIED.replace('/', "~1");
            steps.push(json!({ "op": "remove", "path": format!("/metadata/annotations/{pointer}") }));
        }
        Value::Array(steps)
    }

    /// What is left of an object that we applied when we apply it once more after this: without what only others
    /// had. `managed` says whose the fields are before.
    pub fn without_leftovers(&self, applied: &Value, managed: &[ManagedFieldsEntry], us: &Manager) -> Value {
        let of = |entries: &[ManagedFieldsEntry], ours: bool| {
            let chosen = entries.iter().filter(|entry| is_applied_by(entry, us.as_str()) == ours);
            chosen.filter_map(|entry| entry.fields_v1.as_ref()).map(Paths::of).fold(Paths::default(), Paths::union)
        };
        let kept = of(managed, true).union(of(&self.managed, false));
        let mut left = applied.clone();
        // What is inside goes before what is around it.
        for path in of(&self.managed, true).list().iter().rev().filter(|path| !kept.touches(path)) {
            remove(&mut left, &path.0);
        }
        left
    }
}

fn remove(value: &mut Value, steps: &[Step]) {
    let Some((step, below)) = steps.split_first() else { return };
    match (value, step) {
        (Value::Object(fields), Step::Field(name)) if below.is_empty() => drop(fields.remove(name)),
        (Value::Object(fields), Step::Field(name)) => {
            if let Some(inner) = fields.get_mut(name) {
                remove(inner, below);
            }
        }
        (Value::Array(items), step) => {
            let place = match step {
                Step::Index(place) => usize::try_from(*place).ok().filter(|place| *place < items.len()),
                step => items.iter().position(|item| fit(step, item) == Some(Fit::Exact)),
            };
            match place {
                Some(place) if below.is_empty() => drop(items.remove(place)),
                Some(place) => remove(&mut items[place], below),
                None => {}
            }
        }
        _ => {}
    }
}

/// What to write so that the fields of `kubectl apply`, of Helm, of an earlier version of Reeve and of those runtimes that
/// `yields` names by their managers belong to us; nothing if they have none.
pub fn takeover(managed: &[ManagedFieldsEntry], us: &Manager, yields: impl Fn(&str) -> bool) -> Option<Takeover> {
    let is_theirs = |entry: &ManagedFieldsEntry| {
        let name = entry.manager.as_deref().unwrap_or_default();
        let is_runtime = Manager::is_runtime(name) && name != us.as_str() && is_applied_by(entry, name);
        let is_tool = is_kubectl_apply(entry) || is_written_by_helm(entry);
        is_tool || is_applied_by(entry, LEGACY_MANAGER) || (is_runtime && yields(name))
    };
    let is_ours = |entry: &ManagedFieldsEntry| is_applied_by(entry, us.as_str());
    let theirs: Vec<&ManagedFieldsEntry> = managed.iter().filter(|entry| is_theirs(entry)).collect();
    let newest = *theirs.iter().max_by_key(|entry| entry.time.clone())?;
    let taken = theirs.iter().filter_map(|entry| entry.fields_v1.as_ref()).map(Paths::of);
    let taken = taken.fold(Paths::default(), Paths::union);
    let annotation = Path::of_fields(["metadata", "annotations", LAST_APPLIED]);
    let remove_last_applied = taken.names(&annotation);

    let mut ours = managed.iter().find(|entry| is_ours(entry)).cloned().unwrap_or_else(|| ManagedFieldsEntry {
        manager: Some(us.as_str().to_owned()),
        operation: Some("Apply".to_owned()),
        fields_v1: None,
        ..newest.clone()
    });
    let before = ours.fields_v1.as_ref().map(Paths::of).unwrap_or_default();
    ours.fields_v1 = Some(before.union(taken).fields());
    let kept = managed.iter().filter(|entry| !is_theirs(entry) && !is_ours(entry)).cloned();
    Some(Takeover { managed: std::iter::once(ours).chain(kept).collect(), remove_last_applied })
}

fn is_kubectl_apply(entry: &ManagedFieldsEntry) -> bool {
    let manager = entry.manager.as_deref().unwrap_or_default();
    subresource(entry).is_none() && KUBECTL_APPLY.contains(&(manager, Operation::of(entry)))
}

/// Whether Helm wrote these fields, in whichever program it was: its own, or one that set the marks of a release, such as
/// Flux' controller.
pub fn is_written_by_helm(entry: &ManagedFieldsEntry) -> bool {
    let manager = entry.manager.as_deref().unwrap_or_default();
    let mark = Path::of_fields(["metadata", "annotations", RELEASE_NAME]);
    let sets_mark = || entry.fields_v1.as_ref().is_some_and(|fields| Paths::of(fields).names(&mark));
    subresource(entry).is_none() && !Manager::is_reeve(manager) && (manager == HELM || sets_mark())
}
