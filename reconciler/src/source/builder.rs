//! From a revision to what each runtime should be: read, check, render. Blocking, and without a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reeve_reconciler_engine::desired::{Desired, Revision};
use reeve_renderer::affected::{Affected, affected};
use reeve_renderer::cache::MemoryCache;
use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::findings::Findings;
use reeve_renderer::fleet::{Fleet, Loader, RemovalLimit};
use reeve_renderer::render::Renderer;
use reeve_renderer::tree::{Tree, TreeError};
use reeve_renderer::{released, resolve};
use serde_json::Value;

use super::object;

/// What is kept of components that many runtimes have alike.
const CACHE: u64 = 8 << 20;

/// Reads and renders the revisions of one source.
#[derive(Debug)]
pub(super) struct RevisionBuilder {
    loader: Loader,
    cache: MemoryCache,
    active: Mutex<ActiveRevision>,
}

#[derive(Debug, Default)]
struct ActiveRevision {
    fleet: Option<Arc<Fleet>>,
    runtimes: BTreeMap<Arc<str>, Changed>,
}

/// A runtime, what it should be, and its object.
pub(super) type Changed = (Arc<str>, Arc<Desired>, Value);

/// What a revision asks for.
#[derive(Debug)]
pub(super) struct RenderedRevision {
    fleet: Arc<Fleet>,
    /// Runtimes whose inputs differ from what is in force, each with its object.
    pub(super) changed: Vec<Changed>,
    /// All runtimes.
    pub(super) runtimes: BTreeSet<Arc<str>>,
}

impl RenderedRevision {
    /// How many runtimes the next revision may remove.
    pub(super) fn removals(&self) -> RemovalLimit {
        self.fleet.settings.removals
    }
}

/// What a revision leaves behind that another one replaces.
#[derive(Debug)]
pub(super) struct Before {
    /// How many runtimes the next one may remove.
    pub(super) removals: RemovalLimit,
    /// The runtimes that the next one does not have.
    pub(super) left: Vec<Changed>,
}

/// A revision cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum BuildError {
    /// It cannot be read.
    #[error("cannot read the repository")]
    Read(#[from] TreeError),
    /// Something is wrong with it.
    #[error("{}", first(.findings))]
    Refused {
        /// All of it, errors first.
        findings: Vec<Diagnostic>,
    },
}

/// The first error with its place, as a line.
fn first(findings: &[Diagnostic]) -> String {
    let Some(error) = findings.first() else { return "something is wrong with the repository".to_owned() };
    let place = error.location.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
    let help = error.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    format!("{place}{}{help}", error.message)
}

/// The runtimes that have to be told of a revision: their inputs differ, or their file has moved, which their objects name.
fn concerned(old: &Fleet, new: &Fleet) -> Vec<Arc<str>> {
    let there = affected(old, new).into_iter().filter(|(_, how)| *how != Affected::Removed).map(|(name, _)| name);
    let mut names: BTreeSet<Arc<str>> = there.collect();
    let moved = new
        .runtimes
        .iter()
        .filter(|(name, runtime)| old.runtimes.get(*name).is_some_and(|before| before.file != runtime.file));
    names.extend(moved.map(|(name, _)| name.clone()));
    names.into_iter().collect()
}

impl RevisionBuilder {
    pub(super) fn new() -> Self {
        Self { loader: Loader::new(), cache: MemoryCache::new(CACHE), active: Mutex::default() }
    }

    /// Whether a revision is in force.
    pub(super) fn has_any(&self) -> bool {
        self.lock().fleet.is_some()
    }

    /// Reads a revision and renders what differs from the one in force. `before` is the tree in force, whose released
    /// charts must not change.
    pub(super) fn build(
        &self,
        tree: &dyn Tree,
        before: Option<&dyn Tree>,
        revision: &Revision,
        (namespace, source): (&str, &str),
    ) -> Result<RenderedRevision, BuildError> {
        let (fleet, said) = self.loader.load(tree)?;
        let mut findings = Findings::new();
        findings.extend(said);
        findings.extend(resolve::check(&fleet));
        if let Some(before) = before {
            findings.extend(released::check(before, tree, &fleet)?);
        }
        let (old, kept) = {
            let active = self.lock();
            (active.fleet.clone(), active.runtimes.clone())
        };
        let concerned: Vec<Arc<str>> = match &old {
            Some(old) => concerned(old, &fleet),
            None => fleet.runtimes.keys().cloned().collect(),
        };
        let renderer = Renderer::new(&fleet.settings, &self.cache);
        let mut changed = Vec::with_capacity(concerned.len());
        for name in concerned {
            let Some(resolved) = resolve::resolve(&fleet, &name) else { continue };
            let made = resolved.and_then(|resolved| {
                let bundle = renderer.runtime(&resolved)?;
                let ignored = object::spec(&resolved).map(|spec| spec.drift.ignore).unwrap_or_default();
                let desired = Desired::new(
                    &bundle,
                    namespace,
                    &ignored,
                    revision.clone(),
                    kept.get(&name).map(|(_, desired, _)| &**desired),
                )?;
                Ok((desired, object::runtime(&resolved, source), bundle.warnings))
            });
            match made {
                Ok((desired, object, warnings)) => {
                    findings.add_for(&name, warnings);
                    changed.push((name, Arc::new(desired), object));
                }
                Err(said) => findings.add_for(&name, said),
            }
        }
        if findings.has_errors() {
            let mut findings = findings.into_sorted();
            findings.sort_by_key(|error| !error.is_error());
            return Err(BuildError::Refused { findings });
        }
        let runtimes = fleet.runtimes.keys().cloned().collect();
        Ok(RenderedRevision { fleet: Arc::new(fleet), changed, runtimes })
    }

    /// Puts a revision in force, and gives back what was.
    pub(super) fn accept(&self, rendered: &RenderedRevision) -> Before {
        let mut active = self.lock();
        let before = Before {
            removals: active.fleet.as_ref().map(|fleet| fleet.settings.removals).unwrap_or_default(),
            left: active.runtimes.values().filter(|(name, ..)| !rendered.runtimes.contains(name)).cloned().collect(),
        };
        active.fleet = Some(rendered.fleet.clone());
        active.runtimes.retain(|name, _| rendered.runtimes.contains(name));
        active.runtimes.extend(rendered.changed.iter().map(|changed| (changed.0.clone(), changed.clone())));
        before
    }

    /// What is in force for a runtime.
    pub(super) fn get(&self, name: &str) -> Option<Changed> {
        self.lock().runtimes.get(name).cloned()
    }

    /// The names of all runtimes in force.
    pub(super) fn names(&self) -> BTreeSet<Arc<str>> {
        self.lock().runtimes.keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, ActiveRevision> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
