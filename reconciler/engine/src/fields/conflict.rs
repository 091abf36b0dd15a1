//! What the API server says when others own what is applied.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::core::Status;

use super::{Manager, Operation};

/// The reason of a cause that names a field's owner.
const CAUSE: &str = "FieldManagerConflict";

/// A line of all conflicts of a large object would help nobody.
const MOST_SHOWN: usize = 5;

/// A field that somebody else owns with another value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Conflict {
    pub manager: String,
    pub operation: Operation,
    /// The field as the API server prints it, without the dot in front.
    pub path: String,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.operation {
            Operation::Apply => "applied",
            Operation::Update => "written",
        };
        write!(f, "{} is {verb} by {}", self.path, self.manager)
    }
}

/// All conflicts of one request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Conflicts(Vec<Conflict>);

impl Conflicts {
    /// Reads the causes; nothing if the status is not about field managers.
    pub fn of(status: &Status) -> Option<Self> {
        let causes = &status.details.as_ref()?.causes;
        let conflicts: Vec<Conflict> = causes
            .iter()
            .filter(|cause| cause.reason == CAUSE)
            .map(|cause| {
                let (manager, operation) = manager(&cause.message);
                Conflict { manager, operation, path: cause.field.trim_start_matches('.').to_owned() }
            })
            .collect();
        (!conflicts.is_empty()).then_some(Self(conflicts))
    }

    /// Everybody but `us` who applies something of an object, as if all of it were in the way. None if nobody does.
    pub fn of_appliers(managed: &[ManagedFieldsEntry], us: &Manager) -> Self {
        let appliers = managed.iter().filter(|entry| Operation::of(entry) == Operation::Apply);
        let others = appliers.filter_map(|entry| entry.manager.clone()).filter(|manager| manager != us.as_str());
        Self(others.map(|manager| Conflict { manager, operation: Operation::Apply, path: "it".to_owned() }).collect())
    }

    /// Whether nobody means to keep these fields: each was written once, by other means than server-side apply.
    pub fn all_updates(&self) -> bool {
        self.0.iter().all(|conflict| conflict.operation == Operation::Update)
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Conflict> {
        self.0.iter()
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().take(MOST_SHOWN).map(ToString::to_string).collect();
        f.write_str(&all.join(", "))?;
        match self.0.len().saturating_sub(MOST_SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl<'a> IntoIterator for &'a Conflicts {
    type Item = &'a Conflict;
    type IntoIter = std::slice::Iter<'a, Conflict>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// `conflict with "kubectl" with subresource "scale" using apps/v1 at 2026-01-01T00:00:00Z`: only of an Update does the
/// API server say which version it used. A text that is not understood counts as Apply, which is never overruled.
fn manager(message: &str) -> (String, Operation) {
    let Some(quoted) = message.strip_prefix("conflict with ") else {
        return (message.to_owned(), Operation::Apply);
    };
    // Go quotes nearly as JSON does; what JSON cannot read is cut at the next quote.
    let mut read = serde_json::Deserializer::from_str(quoted).into_iter::<String>();
    let (name, rest) = if let Some(Ok(name)) = read.next() {
        (name, quoted.get(read.byte_offset()..).unwrap_or_default())
    } else {
        let bare = quoted.trim_start_matches('"');
        let (name, rest) = bare.split_once('"').unwrap_or((bare, ""));
        (name.to_owned(), rest)
    };
    let operation = if rest.contains(" using ") { Operation::Update } else { Operation::Apply };
    (name, operation)
}
