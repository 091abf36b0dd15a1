//! A fleet repository, read: its files as types, with all that is wrong with them.
//!
//! ```text
//! fleet.yaml                    defaults, layer selection by label, components by label, waves, limits, policy
//! channels/<name>.yaml          component -> version
//! layers/<name>.yaml            values shared by many runtimes
//! charts/<chart>/<version>/     Chart.yaml, values.yaml, values.schema.json, health.yaml, templates/**, files/**
//! runtimes/**/<name>.yaml       a runtime
//! ```
//!
//! Parsing is strict: an unknown key is an error. References between files are checked in `resolve`. It renders nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::budget::Limits;
use crate::diagnostic::Location;
use crate::yaml::Span;

pub mod chart;
mod decode;
mod duration;
mod files;
pub mod health;
pub mod helm;
mod lfs;
mod listing;
mod load;
pub mod policy;
mod removals;
pub mod selector;
pub mod target;
pub mod values;

pub use chart::Chart;
pub use health::HealthRule;
pub use load::Loader;
pub use policy::Policy;
pub use reeve_renderer_objects::bundle::ComponentTarget;
pub use removals::RemovalLimit;
pub use selector::Selector;
pub use target::Target;
pub use values::Values;

/// Something and where it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Located<T> {
    /// The thing.
    pub value: T,
    /// Where.
    pub span: Span,
}

/// A fleet repository at one revision.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    /// `fleet.yaml`.
    pub settings: Arc<Settings>,
    /// `channels/`, by name.
    pub channels: BTreeMap<Arc<str>, Arc<Channel>>,
    /// `layers/`, by name.
    pub layers: BTreeMap<Arc<str>, Arc<Layer>>,
    /// `charts/`, by name and version.
    pub charts: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Arc<Chart>>>,
    /// What is there but cannot be used, as `layers/<name>`, `charts/<chart>/<version>` and so on. What is wrong with it
    /// has been said; that it is missing would only confuse.
    pub broken: BTreeSet<String>,
    /// `runtimes/`, by name.
    pub runtimes: BTreeMap<Arc<str>, Arc<Runtime>>,
}

/// `fleet.yaml`.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its path.
    pub file: Arc<str>,
    /// The channel of runtimes that name none.
    pub channel: Option<Located<Arc<str>>>,
    /// The namespace of objects of components and runtimes that name none.
    pub namespace: Arc<str>,
    /// By which rules runtimes are kept to Git, where they say nothing themselves.
    pub policy: Policy,
    /// Layers by label, in the order in which they are laid on.
    pub layers: Vec<LayerRule>,
    /// Components that runtimes get by their labels.
    pub components: Vec<Component>,
    /// Waves, in order.
    pub waves: Vec<Wave>,
    /// What one component's render may cost.
    pub limits: Limits,
    /// How many objects a runtime may have.
    pub objects: usize,
    /// How many runtimes the next commit may remove.
    pub removals: RemovalLimit,
    /// Whether a change to a released chart is an error.
    pub released_charts: ReleasedCharts,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            file: "fleet.yaml".into(),
            channel: None,
            namespace: "default".into(),
            policy: Policy::default(),
            layers: Vec::new(),
            components: Vec::new(),
            waves: Vec::new(),
            limits: Limits::default(),
            objects: 10_000,
            removals: RemovalLimit::default(),
            released_charts: ReleasedCharts::Error,
        }
    }
}

/// What becomes of a change to a chart version that the previous revision already has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReleasedCharts {
    /// The commit is refused.
    #[default]
    Error,
    /// Someone should look.
    Warning,
}

/// A layer for the runtimes that a selector matches.
#[derive(Clone, Debug)]
pub struct LayerRule {
    /// The layer.
    pub layer: Located<Arc<str>>,
    /// Which runtimes; all if there is none.
    pub selector: Option<Selector>,
}

/// A group of runtimes that gets a change together.
#[derive(Clone, Debug)]
pub struct Wave {
    /// Its name.
    pub name: Located<Arc<str>>,
    /// Which runtimes; all that are left if there is none.
    pub selector: Option<Selector>,
}

/// `channels/<name>.yaml`.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Its path.
    pub file: Arc<str>,
    /// Version by component.
    pub versions: BTreeMap<Arc<str>, Located<Arc<str>>>,
}

/// `layers/<name>.yaml`.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Its path.
    pub file: Arc<str>,
    /// Values for every component.
    pub values: Option<Values>,
    /// Values for single components.
    pub components: BTreeMap<Arc<str>, Located<Values>>,
}

/// What a runtime can do, as its file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Capabilities {
    /// Version of Kubernetes.
    pub kubernetes_version: Option<Arc<str>>,
    /// API versions and kinds beyond those of Kubernetes itself.
    pub api_versions: Vec<Arc<str>>,
}

/// One document of `runtimes/**.yaml`.
#[derive(Clone, Debug)]
pub struct Runtime {
    /// Its path.
    pub file: Arc<str>,
    /// Where the document begins.
    pub span: Span,
    /// Its name.
    pub name: Arc<str>,
    /// Its labels.
    pub labels: BTreeMap<Arc<str>, Arc<str>>,
    /// Where it is.
    pub target: Target,
    /// The channel it follows.
    pub channel: Option<Located<Arc<str>>>,
    /// The wave it is in, if not by label.
    pub wave: Option<Located<Arc<str>>>,
    /// Layers by name, laid on after those by label.
    pub layers: Vec<Located<Arc<str>>>,
    /// The namespace of objects of components that name none.
    pub namespace: Option<Arc<str>>,
    /// What it can do.
    pub capabilities: Capabilities,
    /// By which rules it is kept to Git, where its file says so.
    pub policy: Policy,
    /// Values for every component.
    pub values: Option<Values>,
    /// Its components.
    pub components: Vec<Component>,
}

/// A component as one file describes it.
#[derive(Clone, Debug)]
pub struct Component {
    /// The file that describes it.
    pub file: Arc<str>,
    /// Its name.
    pub name: Located<Arc<str>>,
    /// Its chart, if not called like itself.
    pub chart: Option<Located<Arc<str>>>,
    /// Its version, if not from the channel.
    pub version: Option<Located<Arc<str>>>,
    /// What its templates take for the name of the release, if not its own name.
    pub release_name: Option<Arc<str>>,
    /// Whether it is on, if this file says so.
    pub enabled: Option<bool>,
    /// Which runtimes have it: in `fleet.yaml` only.
    pub selector: Option<Selector>,
    /// The namespace of its objects that name none.
    pub namespace: Option<Arc<str>>,
    /// Where its objects go.
    pub target: Option<ComponentTarget>,
    /// Components that must be ready first, if this file says so: an empty list is an answer too.
    pub depends_on: Option<Vec<Located<Arc<str>>>>,
    /// The account its objects are applied as.
    pub service_account: Option<Arc<str>>,
    /// How long it may take to become healthy.
    pub timeout: Option<Arc<str>>,
    /// Its values.
    pub values: Option<Values>,
}

impl Fleet {
    /// Whether this is there but cannot be used.
    pub fn is_broken(&self, folder: &str, name: &str) -> bool {
        self.broken.contains(&format!("{folder}/{name}"))
    }
}

impl Component {
    /// The name of its chart.
    pub fn chart_name(&self) -> &Arc<str> {
        self.chart.as_ref().map_or(&self.name.value, |chart| &chart.value)
    }

    /// Where it is written.
    pub fn location(&self) -> Location {
        self.name.span.in_file(&self.file)
    }
}
