//! From a revision to what each runtime should be: read, check, render. Blocking, and without a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reeve_reconciler_engine::desired::{Desired, Revision};
use reeve_renderer::affected::{Affected, affected};
use reeve_renderer::cache::MemoryCache;
use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::findings::Findings;
use reeve_renderer::fleet::{Fleet, Loader, RemovalLimit};
use reeve_renderer::render::Renderer;
use reeve_renderer::tree::{Tree, TreeError};
use reeve_renderer::{released, resolve};

use super::object::{self, Manifest};
use crate::dapr;

/// What is kept of components that many runtimes have alike.
const CACHE: u64 = 8 << 20;

/// Reads and renders the revisions of one source.
#[derive(Debug)]
pub(super) struct RevisionBuilder {
    loader: Loader,
    cache: MemoryCache,
}

/// What each runtime should be by the revision in force.
#[derive(Clone, Debug, Default)]
pub(super) struct InForce {
    fleet: Option<Arc<Fleet>>,
    runtimes: BTreeMap<Arc<str>, Changed>,
}

/// A runtime, what it should be, and its object.
pub(super) type Changed = (Arc<str>, Arc<Desired>, Manifest);

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
    /// What a revision asks for that changes these, of all of these.
    #[cfg(test)]
    pub(super) fn of(changed: Vec<Changed>, runtimes: BTreeSet<Arc<str>>) -> Self {
        Self { fleet: Arc::default(), changed, runtimes }
    }

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
        Self { loader: Loader::new(), cache: MemoryCache::new(CACHE) }
    }

    /// Reads a revision and renders what differs from the one in force. `before` is the tree in force, whose released
    /// charts must not change.
    pub(super) fn build(
        &self,
        tree: &dyn Tree,
        before: Option<&dyn Tree>,
        in_force: &InForce,
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
        let concerned: Vec<Arc<str>> = match &in_force.fleet {
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
                    in_force.get(&name).map(|(_, desired, _)| &**desired),
                )?;
                let mut said = dapr::check(&bundle);
                said.extend(bundle.warnings);
                Ok((desired, Manifest::new(&object::runtime(&resolved, source)), said))
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
}

impl InForce {
    /// Puts a revision in force, and gives back what was.
    pub(super) fn accept(&mut self, rendered: &RenderedRevision) -> Before {
        let before = Before {
            removals: self.fleet.as_ref().map(|fleet| fleet.settings.removals).unwrap_or_default(),
            left: self.runtimes.values().filter(|(name, ..)| !rendered.runtimes.contains(name)).cloned().collect(),
        };
        self.fleet = Some(rendered.fleet.clone());
        self.runtimes.retain(|name, _| rendered.runtimes.contains(name));
        self.runtimes.extend(rendered.changed.iter().map(|changed| (changed.0.clone(), changed.clone())));
        before
    }

    /// Whether no revision is in force.
    pub(super) fn is_empty(&self) -> bool {
        self.fleet.is_none()
    }

    /// What is in force for a runtime.
    pub(super) fn get(&self, name: &str) -> Option<&Changed> {
        self.runtimes.get(name)
    }

    /// All runtimes in force.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Changed> {
        self.runtimes.values()
    }

    /// The names of all runtimes in force.
    pub(super) fn names(&self) -> BTreeSet<Arc<str>> {
        self.runtimes.keys().cloned().collect()
    }
}
