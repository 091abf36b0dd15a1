//! What the runtimes of a fleet should be, and by which rules they are made so: what a cluster is held against.

use std::sync::Arc;

use reeve_crds::RuntimeSpec;
use reeve_reconciler::{dapr, source};
use reeve_reconciler_engine::desired::{Desired, Revision};
use reeve_reconciler_engine::owner::Owner;
use reeve_reconciler_engine::plan::Rules;
use reeve_renderer::cache::MemoryCache;
use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::findings::Findings;
use reeve_renderer::fleet::{Fleet, Loader};
use reeve_renderer::render::Renderer;
use reeve_renderer::resolve;

use super::failure::Failure;
use super::source::Source;

/// What a runtime should be, and by which rules it is made so.
pub(super) struct DesiredRuntime {
    pub(super) runtime: Arc<str>,
    pub(super) desired: Desired,
    pub(super) spec: RuntimeSpec,
    /// What someone should look at.
    pub(super) warnings: Vec<Diagnostic>,
}

impl DesiredRuntime {
    /// What is wanted of a runtime whose file left Git.
    pub(super) fn nothing(runtime: &Arc<str>, spec: RuntimeSpec) -> Self {
        let desired = Desired { revision: Revision::default(), digest: "".into(), components: Vec::new() };
        Self { runtime: runtime.clone(), desired, spec, warnings: Vec::new() }
    }

    /// As `reeve run` has them, for a runtime that its objects call so.
    pub(super) fn rules(&self, owner: Owner) -> Rules {
        Rules { owner, drift: self.spec.drift.mode, prune: self.spec.prune }
    }
}

/// What one runtime should be if it lives in this namespace, or what is in the way of it; `None` if there is no such
/// runtime.
pub(super) fn one(
    fleet: &Fleet,
    cache: &MemoryCache,
    name: &Arc<str>,
    shown: &str,
    namespace: &str,
) -> Option<Result<DesiredRuntime, Vec<Diagnostic>>> {
    let resolved = resolve::resolve(fleet, name)?;
    Some(resolved.and_then(|resolved| {
        let bundle = Renderer::new(&fleet.settings, cache).runtime(&resolved)?;
        let spec = source::spec(&resolved)
            .map_err(|error| vec![Diagnostic::error("runtime", format!("the runtime would be refused: {error}"))])?;
        let revision = Revision { shown: shown.into(), commit: "".into() };
        let desired = Desired::new(&bundle, namespace, &spec.drift.ignore, revision, None)?;
        let mut warnings = bundle.warnings.clone();
        warnings.extend(dapr::check(&bundle));
        if warnings.iter().any(Diagnostic::is_error) {
            return Err(warnings);
        }
        Ok(DesiredRuntime { runtime: name.clone(), desired, spec, warnings })
    }))
}

/// The fleet of a source, and what is wrong with it before anything is rendered.
pub(super) fn load(source: &Source, loader: &Loader) -> Result<(Fleet, Findings), Failure> {
    let (fleet, said) = source.load(loader)?;
    let mut findings = Findings::new();
    findings.extend(said);
    findings.extend(resolve::check(&fleet));
    Ok((fleet, findings))
}
