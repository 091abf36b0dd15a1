//! When objects of a kind are healthy that report their health in a way of their own.
//!
//! The expressions are CEL. They stay text here; the engine evaluates them.

use std::sync::Arc;

use crate::diagnostic::Location;

/// When objects of one kind are healthy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthRule {
    /// Group and version of the objects.
    pub api_version: Arc<str>,
    /// Their kind.
    pub kind: Arc<str>,
    /// True when an object is healthy.
    pub current: Arc<str>,
    /// True while it is on its way.
    pub in_progress: Option<Arc<str>>,
    /// True when it will not get there by itself.
    pub failed: Option<Arc<str>>,
    /// Where the rule is written.
    pub location: Location,
}
