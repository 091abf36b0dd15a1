//! What a checkout of the fleet repository knows of an object: its template, and who changed that last.

use std::path::Path;

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use reeve_reconciler::tree::{CommitSummary, GitRepository};
use reeve_renderer::fleet::Loader;

use super::super::kinds::Kind;
use super::answer::Owned;
use crate::cli::args::RevisionArgs;
use crate::cli::bundles;
use crate::cli::failure::Failure;
use crate::cli::source::Source;

/// Where an object is written.
#[derive(Clone, Debug)]
pub(super) struct Template {
    /// The file, from the root of the fleet; `None` if nothing there makes the object.
    pub(super) file: Option<String>,
    /// The revision that was looked at; `None` for the files as they are.
    pub(super) revision: Option<String>,
    pub(super) change: Option<CommitSummary>,
}

/// Looks at the commit that is applied if the checkout has it, else at the files as they are.
pub(super) fn find(owned: &Owned, traced: Option<&(Kind, DynamicObject)>) -> Result<Template, Failure> {
    let here = Path::new(".");
    let applied = owned.applied_commit();
    let has = |commit: &&str| GitRepository::discover(here).and_then(|git| git.tree(commit, "")).is_ok();
    let revision = applied.filter(has).map(str::to_owned);
    let source = Source::open(here, &RevisionArgs { rev: revision.clone(), ..RevisionArgs::default() })?;
    let (fleet, _findings) = source.load(&Loader::new())?;
    let rendered = bundles::one(&fleet, &bundles::cache(), &owned.runtime);
    let bundle = rendered.and_then(Result::ok);
    let file = traced.and_then(|(kind, object)| {
        let component = bundle.as_ref()?.components.iter().find(|component| *component.name == *owned.component)?;
        let is_it = |key: &reeve_renderer::object::ObjectKey| {
            *key.group == *kind.resource.group
                && *key.kind == *kind.resource.kind
                && *key.name == *object.name_any()
                && key.namespace.as_deref() == object.namespace().as_deref()
        };
        component.objects.iter().find(|object| is_it(&object.key)).map(|object| object.origin.file.to_string())
    });
    let change = match (&file, GitRepository::discover(here)) {
        (Some(file), Ok(git)) => {
            let below = git.below(here).filter(|below| !below.is_empty());
            let path = below.map_or_else(|| file.clone(), |below| format!("{below}/{file}"));
            git.last_change(revision.as_deref().unwrap_or("HEAD"), &path)?
        }
        _ => None,
    };
    Ok(Template { file, revision, change })
}
