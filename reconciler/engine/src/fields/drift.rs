//! Which fields of what we want are no longer ours, and whose they are now.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::{Map, Value};

use super::owners::{Owners, Sets};
use super::{Manager, Operation, Path, Paths, Step, subresource};

/// A field that we want and no longer own.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DriftedField {
    pub path: Path,
    /// Who has it now; of a field that was removed, who is suspected.
    pub manager: Option<String>,
    /// How that manager wrote.
    pub operation: Option<Operation>,
    /// When that manager last wrote. The API server keeps no time of writes to the scale subresource, since it takes over
    /// the times that there were before.
    pub time: Option<Timestamp>,
    /// Nobody owns it: it was removed, and the manager is but the last who wrote since we applied.
    pub removed: bool,
}

/// Compares what was sent with who owns what now. `desired` is the object as we sent it to the API server.
///
/// A field that the API server never kept, such as one that its schema does not know, looks as if it was removed.
pub fn drifted(desired: &Value, managed: &[ManagedFieldsEntry], us: &Manager) -> Vec<DriftedField> {
    let ours = managed.iter().find(|entry| us.applied(entry));
    let sets = Sets::of(managed, us);
    let mut search = Search { suspect: suspect(managed, ours), path: Path::default(), found: Vec::new() };
    search.top(desired, &sets.owners());
    search.found
}

/// Who may have removed a field: it has no entry for what is gone, so it is the last who wrote after us. Status cannot
/// remove what we want.
fn suspect<'a>(managed: &'a [ManagedFieldsEntry], ours: Option<&ManagedFieldsEntry>) -> Option<&'a ManagedFieldsEntry> {
    let since = ours.and_then(|entry| entry.time.as_ref());
    managed
        .iter()
        .filter(|entry| Operation::of(entry) == Operation::Update && subresource(entry) != Some("status"))
        .filter(|entry| entry.time.is_some() && entry.time.as_ref() >= since)
        .max_by_key(|entry| entry.time.clone())
}

struct Search<'a> {
    suspect: Option<&'a ManagedFieldsEntry>,
    path: Path,
    found: Vec<DriftedField>,
}

impl Search<'_> {
    /// Identity is nobody's field, and status is not ours.
    fn top(&mut self, desired: &Value, owners: &Owners<'_>) {
        const IDENTITY: [&str; 6] = ["name", "namespace", "generateName", "uid", "resourceVersion", "managedFields"];
        for (name, wanted) in desired.as_object().into_iter().flatten() {
            match name.as_str() {
                "apiVersion" | "kind" | "status" => {}
                "metadata" => {
                    let step = Step::Field(name.clone());
                    let owners = owners.below(&step);
                    let fields = wanted.as_object().into_iter().flatten();
                    self.path.0.push(step);
                    for (name, wanted) in fields.filter(|(name, _)| !IDENTITY.contains(&name.as_str())) {
                        self.step(Step::Field(name.clone()), wanted, &owners);
                    }
                    self.path.0.pop();
                }
                _ => self.step(Step::Field(name.clone()), wanted, owners),
            }
        }
    }

    fn step(&mut self, step: Step, wanted: &Value, owners: &Owners<'_>) {
        let below = owners.below(&step);
        self.path.0.push(step);
        self.walk(wanted, &below);
        self.path.0.pop();
    }

    fn walk(&mut self, wanted: &Value, owners: &Owners<'_>) {
        // An item with keys is never owned whole: an empty set of it says that all its fields were lost.
        let is_keyed = matches!(self.path.0.last(), Some(Step::Key(_)));
        if wanted.is_null() || (!is_keyed && owners.ours.is_some_and(Paths::is_whole)) {
            return;
        }
        match wanted {
            Value::Object(fields) if !fields.is_empty() => self.walk_fields(fields, owners),
            Value::Array(items) if !items.is_empty() => self.walk_items(items, owners),
            // An empty map or list to which others added something stays ours without being whole.
            Value::Object(_) | Value::Array(_) if owners.ours.is_some() => {}
            _ if owners.ours.is_some_and(Paths::is_member) => {}
            _ => self.report(owners),
        }
    }

    fn walk_fields(&mut self, fields: &Map<String, Value>, owners: &Owners<'_>) {
        if owners.lost_whole() {
            return self.report(owners);
        }
        for (name, wanted) in fields {
            self.step(Step::Field(name.clone()), wanted, owners);
        }
    }

    fn walk_items(&mut self, items: &[Value], owners: &Owners<'_>) {
        if owners.lost_whole() {
            return self.report(owners);
        }
        for item in items {
            match owners.step_of(item).or_else(|| owners.step_like_others(item)) {
                Some(step) => self.step(step, item, owners),
                // The set names none of its items by content: all that can be said is said of the list.
                None => return self.report(owners),
            }
        }
    }

    fn report(&mut self, owners: &Owners<'_>) {
        let holder = owners
            .others
            .iter()
            .filter(|holder| holder.paths.is_member())
            .max_by_key(|holder| holder.entry.time.clone())
            .map(|holder| holder.entry);
        let entry = holder.or(self.suspect);
        self.found.push(DriftedField {
            path: self.path.clone(),
            manager: entry.and_then(|entry| entry.manager.clone()),
            operation: entry.map(Operation::of),
            time: entry.and_then(|entry| entry.time.as_ref()).map(|time| time.0),
            removed: holder.is_none(),
        });
    }
}
