//! All objects of one runtime, as they are applied.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Location};
use crate::health::HealthRule;
use crate::hook::Hook;
use crate::key::{ObjectKey, Origin};
use crate::value::{Dict, Digest};

/// Who keeps an object to Git.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The runtime an object belongs to.
pub const RUNTIME_LABEL: &str = "reeve.dev/runtime";
/// The component an object belongs to.
pub const COMPONENT_LABEL: &str = "reeve.dev/component";

/// All objects of one runtime.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// The runtime.
    pub runtime: Arc<str>,
    /// Its components, each after those that it depends on.
    pub components: Vec<BundleComponent>,
    /// Names the content.
    pub digest: Digest,
    /// What someone should look at.
    pub warnings: Vec<Diagnostic>,
}

/// The objects of one component.
#[derive(Clone, Debug)]
pub struct BundleComponent {
    /// Its name.
    pub name: Arc<str>,
    /// Its chart.
    pub chart: Arc<str>,
    /// The chart's version.
    pub version: Arc<str>,
    /// The namespace of its objects that named none.
    pub namespace: Arc<str>,
    /// What its templates took for the name of the release.
    pub release_name: Arc<str>,
    /// Where its objects go.
    pub target: ComponentTarget,
    /// Components that must be ready first.
    pub depends_on: Vec<Arc<str>>,
    /// The account its objects are applied as, if not that of the runtime.
    pub service_account: Option<Arc<str>>,
    /// How long it may take to become healthy, if not as long as the runtime says.
    pub timeout: Option<Arc<str>>,
    /// The channel that gave the version, unless a file named it.
    pub channel: Option<Arc<str>>,
    /// Where it was put into the runtime.
    pub origin: Location,
    /// When its objects are healthy, where its chart has a say.
    pub health: Arc<[HealthRule]>,
    /// Its objects, in the order of their keys.
    pub objects: Vec<Object>,
    /// Names its objects.
    pub digest: Digest,
}

/// An object as it is applied.
#[derive(Clone, Debug)]
pub struct Object {
    /// What it is called.
    pub key: ObjectKey,
    /// Group and version.
    pub api_version: Arc<str>,
    /// The whole of it, with our labels.
    pub value: Dict,
    /// Where it comes from.
    pub origin: Origin,
    /// When it runs, if it is a hook.
    pub hook: Option<Hook>,
    /// Whether it stays when it leaves the repository.
    pub keep: bool,
}

/// Where a component's objects go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ComponentTarget {
    /// Into the runtime.
    #[default]
    Runtime,
    /// Into the control plane.
    ControlPlane,
}

impl ComponentTarget {
    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Runtime => "Runtime",
            Self::ControlPlane => "ControlPlane",
        }
    }
}
