//! The API server's audit log, for tests that count requests.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The requests that an API server has answered, oldest first.
#[derive(Clone, Debug)]
pub struct AuditLog {
    file: PathBuf,
}

/// One answered request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEvent {
    pub verb: String,
    pub user: String,
    pub user_agent: String,
    pub uri: String,
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
    pub code: i32,
    /// When it arrived, with microseconds: RFC 3339, so that order of text is order of time.
    pub received: String,
}

impl AuditEvent {
    /// Whether it changed something, or tried to.
    pub fn is_write(&self) -> bool {
        matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
    }
}

impl AuditLog {
    pub(crate) fn new(file: &Path) -> Self {
        Self { file: file.to_owned() }
    }

    /// All requests so far. Watches appear when they end.
    pub fn events(&self) -> Vec<AuditEvent> {
        let mut events = Vec::new();
        for file in self.rotated().into_iter().chain([self.file.clone()]) {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            // The last line may be half written.
            let read = text.lines().filter_map(|line| serde_json::from_str::<Raw>(line).ok());
            events.extend(read.map(AuditEvent::from));
        }
        events
    }

    /// What the API server has put aside because it had grown large: `audit-<time>.log`, oldest first.
    fn rotated(&self) -> Vec<PathBuf> {
        let folder = self.file.parent().and_then(|folder| std::fs::read_dir(folder).ok());
        let stem = self.file.file_stem().and_then(OsStr::to_str).unwrap_or_default();
        let is_rotated = |path: &PathBuf| {
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            name.strip_prefix(stem).is_some_and(|rest| {
                rest.starts_with("-2") && Path::new(rest).extension().is_some_and(|end| end == "log")
            })
        };
        let mut files: Vec<PathBuf> =
            folder.into_iter().flatten().flatten().map(|entry| entry.path()).filter(is_rotated).collect();
        files.sort();
        files
    }

    /// The requests that `wanted` says yes to.
    pub fn matching(&self, wanted: impl Fn(&AuditEvent) -> bool) -> Vec<AuditEvent> {
        self.events().into_iter().filter(|event| wanted(event)).collect()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    user: User,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: ResponseStatus,
    request_received_timestamp: String,
}

#[derive(Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ObjectRef {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseStatus {
    code: i32,
}

impl From<Raw> for AuditEvent {
    fn from(raw: Raw) -> Self {
        Self {
            verb: raw.verb,
            user: raw.user.username,
            user_agent: raw.user_agent,
            uri: raw.request_uri,
            resource: raw.object_ref.resource,
            subresource: raw.object_ref.subresource,
            namespace: raw.object_ref.namespace,
            name: raw.object_ref.name,
            code: raw.response_status.code,
            received: raw.request_received_timestamp,
        }
    }
}
