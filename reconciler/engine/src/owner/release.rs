//! Which Helm release an object belongs to. Helm marks every object that it installs but those of `crds/` and hooks, and
//! takes no object that bears the marks of another release; neither do we.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::fields::{RELEASE_NAME, RELEASE_NAMESPACE};

/// A release of Helm: the namespace that its record is in, and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    namespace: Arc<str>,
    name: Arc<str>,
}

impl Release {
    /// The release of this name in this namespace.
    pub fn new(namespace: Arc<str>, name: Arc<str>) -> Self {
        Self { namespace, name }
    }

    /// The namespace that its record is in.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Selects the record of what is installed.
    pub fn record(&self) -> String {
        format!("owner=helm,name={},status=deployed", self.name)
    }

    /// The one whose marks an object bears. The label that Helm sets too is not asked for: charts write it themselves. A
    /// mark without a namespace is one of a release that nobody has.
    pub fn of(metadata: &ObjectMeta) -> Option<Self> {
        let annotation = |name: &str| metadata.annotations.as_ref()?.get(name);
        let name = annotation(RELEASE_NAME)?;
        let namespace = annotation(RELEASE_NAMESPACE).map(String::as_str).unwrap_or_default();
        Some(Self::new(namespace.into(), name.as_str().into()))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
