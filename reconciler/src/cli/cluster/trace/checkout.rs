//! What a checkout of the fleet repository knows of an object: the commit that is applied, its template, and who changed
//! that last.

use std::path::Path;

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use reeve_reconciler_git::{CommitSummary, GitRepository};
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

/// What the current folder knows.
#[derive(Clone, Debug, Default)]
pub(super) struct Checkout {
    /// The commit that is applied, if it is there.
    pub(super) commit: Option<CommitSummary>,
    pub(super) template: Option<Template>,
}

/// Looks into the current folder. If nobody said that it is a checkout, it is one only if it has the commit that is
/// applied: another fleet would tell of other objects.
pub(super) fn find_checkout(
    owned: &Owned,
    traced: Option<&(Kind, DynamicObject)>,
    is_named: bool,
) -> Result<Checkout, Failure> {
    let here = Path::new(".");
    let applied = owned.applied_commit();
    let commit = applied.and_then(|applied| GitRepository::discover(here).and_then(|git| git.commit(applied)).ok());
    let template = match &commit {
        _ if is_named => Some(find(owned, traced, commit.as_ref())?),
        Some(_) if here.join("fleet.yaml").is_file() => find(owned, traced, commit.as_ref()).ok(),
        Some(_) | None => None,
    };
    Ok(Checkout { commit, template })
}

/// Looks at the commit that is applied if the checkout has it, else at the files as they are.
fn find(
    owned: &Owned,
    traced: Option<&(Kind, DynamicObject)>,
    applied: Option<&CommitSummary>,
) -> Result<Template, Failure> {
    let here = Path::new(".");
    let revision = applied.map(|commit| commit.id.clone());
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
