//! What is wrong with a repository, where, and what to do about it.

use std::fmt;
use std::sync::Arc;

/// A stretch of one line of one file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// Path inside the repository.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Characters to mark, at least 1.
    pub length: u32,
}

impl Location {
    /// One character at this line and column.
    pub fn new(file: impl Into<Arc<str>>, line: u32, column: u32) -> Self {
        Self { file: file.into(), line, column, length: 1 }
    }

    /// The start of a file: for what concerns it as a whole.
    pub fn file(file: impl Into<Arc<str>>) -> Self {
        Self::new(file, 1, 1)
    }

    /// The same with more characters marked.
    #[must_use]
    pub fn with_length(mut self, length: usize) -> Self {
        self.length = u32::try_from(length).unwrap_or(u32::MAX).max(1);
        self
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Whether a finding stops the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The repository cannot be used so.
    Error,
    /// It can, but someone should look.
    Warning,
}

/// A second location that belongs to a finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Note {
    /// What is to be seen there.
    pub message: String,
    /// Where, if it is anywhere.
    pub location: Option<Location>,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Diagnostic {
    /// Where it is; the first thing findings are ordered by.
    pub location: Option<Location>,
    /// Whether it stops the commit.
    pub severity: Severity,
    /// Its class, in kebab-case: stable, so that CI can filter by it.
    pub code: &'static str,
    /// What is wrong, in one line.
    pub message: String,
    /// The path of the key it is about.
    pub key: Option<String>,
    /// Other places that belong to it.
    pub notes: Vec<Note>,
    /// What to do.
    pub help: Option<String>,
    /// The runtimes that see it, when it is found while rendering.
    pub runtimes: Vec<Arc<str>>,
}

impl Diagnostic {
    /// An error of this class.
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            location: None,
            severity: Severity::Error,
            code,
            message: message.into(),
            key: None,
            notes: Vec::new(),
            help: None,
            runtimes: Vec::new(),
        }
    }

    /// A warning of this class.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// At this location.
    #[must_use]
    pub fn at(mut self, location: Location) -> Self {
        self.location = Some(location);
        self
    }

    /// About this key.
    #[must_use]
    pub fn key(mut self, key: impl fmt::Display) -> Self {
        self.key = Some(key.to_string()).filter(|key| !key.is_empty());
        self
    }

    /// With this advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With another location.
    #[must_use]
    pub fn note(mut self, message: impl Into<String>, location: Option<Location>) -> Self {
        self.notes.push(Note { message: message.into(), location });
        self
    }

    /// Whether it stops the commit.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(location) = &self.location {
            write!(f, "{location}: ")?;
        }
        f.write_str(&self.message)
    }
}
