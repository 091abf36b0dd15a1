//! Helm's charts as they are: what is read of them, which charts below one take part, and what values each sees.
//!
//! Follows Helm 3 to the letter, also where it is odd, so that a chart from anywhere gives the objects that Helm gives. It
//! renders nothing: `template` does.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Location};
use crate::fleet::Values;
use crate::fleet::chart::{Files, PlainFile};
use crate::schema::Schema;
use crate::template::{ChartNode, GoTemplates};
use crate::value::{Dict, KeyPath};

pub mod archive;
mod chart_yaml;
mod dependencies;
mod ignore;
mod metadata;
mod read;
mod unhonoured;
mod values;

pub use dependencies::{Enabled, resolve};
pub use metadata::{Requirement, in_go};
pub(crate) use read::{HELM_YAML, is_helm, read};
pub use unhonoured::unhonoured;
pub use values::{ValuesError, merge_files};

/// One chart in Helm's shape, with the charts that are vendored below it.
#[derive(Debug)]
pub struct HelmChart {
    /// Its name.
    pub name: Arc<str>,
    /// Its version, as it is written.
    pub version: Arc<str>,
    /// Its folder or archive.
    pub folder: Arc<str>,
    /// All of `Chart.yaml`, with the requirements of `requirements.yaml`.
    pub metadata: Dict,
    /// The versions of Kubernetes that it is for, and where that is said.
    pub kube_version: Option<(Arc<str>, Location)>,
    /// `values.yaml`.
    pub values: Option<Values>,
    /// `values.schema.json`.
    pub schema: Option<Schema>,
    /// The templates in Helm's syntax.
    pub templates: GoTemplates,
    /// What is wrong with them, if it is a chart below another: Helm reads those of charts that take part, and no others.
    pub mistakes: Vec<Diagnostic>,
    /// The files below `crds/`.
    pub crds: Vec<PlainFile>,
    /// All other files.
    pub files: Files,
    /// What it depends on.
    pub requirements: Vec<Requirement>,
    /// Whether it declares any: Helm looks at conditions only if it does.
    pub declares: bool,
    /// Whether it is a library, of which only named templates count.
    pub is_library: bool,
    /// The charts below `charts/`.
    pub children: Vec<Arc<HelmChart>>,
}

impl HelmChart {
    /// What `values.yaml` says.
    pub fn defaults(&self) -> Dict {
        self.values.as_ref().map(Values::dict).unwrap_or_default()
    }
}

impl Enabled {
    /// The charts as the template engine takes them.
    pub fn node(&self) -> ChartNode<'_> {
        self.node_below(true)
    }

    fn node_below(&self, is_root: bool) -> ChartNode<'_> {
        ChartNode {
            name: Arc::clone(&self.name),
            plain_name: Arc::clone(&self.chart.name),
            is_switched: self.is_switched,
            metadata: in_go(&self.chart.metadata, &self.name, self.is_switched.then_some(&*self.requirements), is_root),
            templates: &self.chart.templates,
            files: &self.chart.files,
            is_library: self.chart.is_library,
            children: self.children.iter().map(|child| child.node_below(false)).collect(),
        }
    }

    /// This chart and all that take part below it, with the way to their values.
    pub fn all(&self) -> Vec<(KeyPath, &Enabled)> {
        let mut all = vec![(KeyPath::root(), self)];
        let mut at = 0;
        while let Some((path, one)) = all.get(at).cloned() {
            all.extend(one.children.iter().map(|child| (path.key(Arc::clone(&child.name)), child)));
            at += 1;
        }
        all
    }
}
