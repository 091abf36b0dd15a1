//! Which runtime an object belongs to. Its labels say so: the name, which comes with the rendered object, and the namespace
//! that the Runtime lives in, since two namespaces may have runtimes of one name.

use std::fmt;
use std::sync::Arc;

use reeve_renderer::bundle::RUNTIME_LABEL;
use serde_json::Value;

/// The namespace of the Runtime that an object belongs to.
pub const NAMESPACE_LABEL: &str = "reeve.dev/runtime-namespace";

/// A runtime among those of all namespaces.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner(Arc<str>);

impl Owner {
    /// The runtime of this name in this namespace.
    pub fn new(namespace: &str, runtime: &str) -> Self {
        Self(format!("{namespace}/{runtime}").into())
    }

    /// The namespace that its Runtime lives in.
    pub fn namespace(&self) -> &str {
        self.0.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// Its name there.
    pub fn runtime(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, runtime)| runtime)
    }

    /// The one that labels name, if they name one completely.
    pub fn of<'a>(label: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        Some(Self::new(label(NAMESPACE_LABEL)?, label(RUNTIME_LABEL)?))
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Has an object say in which namespace its Runtime lives.
pub fn mark(object: &mut Value, namespace: &str) {
    if let Some(Value::Object(labels)) = object.pointer_mut("/metadata/labels") {
        labels.insert(NAMESPACE_LABEL.to_owned(), namespace.into());
    }
}
