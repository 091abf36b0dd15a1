//! What objects are called, and where they come from.

use std::fmt;
use std::sync::Arc;

use crate::diagnostic::Location;

/// Names an object within a runtime. The version is not part of it: `apps/v1` and `apps/v1beta1` are one object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// The API group; empty for the core.
    pub group: Arc<str>,
    /// The kind.
    pub kind: Arc<str>,
    /// The namespace, unless the kind has none.
    pub namespace: Option<Arc<str>>,
    /// The name.
    pub name: Arc<str>,
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " {namespace}/{}", self.name),
            None => write!(f, " {}", self.name),
        }
    }
}

/// Where an object comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The template, or the file that passed as it is.
    pub file: Arc<str>,
    /// Which document of it, from 1.
    pub document: usize,
    /// The line where the document begins: in the file itself, or the line of the template that began to write it.
    pub line: u32,
}

impl Origin {
    /// The location for a finding.
    pub fn location(&self) -> Location {
        Location::new(self.file.clone(), self.line.max(1), 1)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.document > 1 { write!(f, " (document {})", self.document) } else { Ok(()) }
    }
}
