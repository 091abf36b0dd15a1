//! `reeve plan`: what `reeve run` would do, by the very same function, without doing it.
//!
//! Against a cluster it reads the inventory and the objects there; between two revisions it needs no cluster.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::sync::Arc;

use reeve_crds::runtime::policy::DriftMode;
use reeve_reconciler::desired::{Desired, Revision};
use reeve_reconciler::plan::Rules;
use reeve_reconciler::preview::{Model, Preview, preview};
use reeve_renderer::cache::MemoryCache;
use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::findings::Findings;
use reeve_renderer::fleet::policy;
use reeve_renderer::fleet::{Fleet, Loader};
use reeve_renderer::render::Renderer;
use reeve_renderer::resolve;

use super::args::plan::{PlanArgs, PlanFormat};
use super::failure::Failure;
use super::report::{self, Reporter};
use super::source::{Source, select_runtimes};
use super::{Status, Terminal, bundles};

mod online;
mod text;

/// What would be done to runtimes that get the same.
pub(super) struct Group {
    runtimes: Vec<Arc<str>>,
    preview: Preview,
}

pub(super) fn run(args: &PlanArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    let range = args.revision.rev.as_deref().and_then(|rev| rev.split_once(".."));
    let (source, outcome) = if let Some((before, after)) = range {
        let (before, after) = (Source::named(before, &args.path)?, Source::named(after, &args.path)?);
        let outcome = between(&before, &after, args)?;
        (after, outcome)
    } else {
        let source = Source::open(&args.path, &args.revision)?;
        let outcome = online::plan(&source, args)?;
        (source, outcome)
    };
    let groups = match outcome {
        Ok(plans) => group(plans),
        Err(findings) => return refuse(&source, &findings, terminal),
    };
    match args.output {
        PlanFormat::Text => text::write(&groups, terminal.style, &mut terminal.out)?,
        PlanFormat::Json => writeln!(terminal.out, "{:#}", text::document(&groups))?,
    }
    Ok(if groups.iter().all(|group| group.preview.is_empty()) { Status::Fine } else { Status::Findings })
}

/// A repository that cannot be used has no plan: the last good revision would stay in force.
fn refuse(source: &Source, findings: &[Diagnostic], terminal: &Terminal) -> Result<Status, Failure> {
    let mut said = Vec::new();
    Reporter::new(&*source.tree, terminal.error_style).write(findings, &mut said)?;
    writeln!(said, "{} in {}: it would be refused, and what is in force stays", report::tally(findings), source.shown)?;
    // Whoever closed standard error does not want to know.
    let _ = io::stderr().write_all(&said);
    Ok(Status::Incomplete)
}

/// The plans of runtimes, or what is wrong with the repository.
type Outcome = Result<Vec<(Arc<str>, Preview)>, Vec<Diagnostic>>;

/// What a runtime should be, and by which rules it is made so.
struct Wanted {
    desired: Desired,
    rules: Rules,
}

/// What the runtimes of a fleet should be.
fn wanted(
    fleet: &Fleet,
    names: &[Arc<str>],
    cache: &MemoryCache,
    shown: &str,
) -> Result<BTreeMap<Arc<str>, Wanted>, Vec<Diagnostic>> {
    let mut findings = Findings::new();
    let mut all = BTreeMap::new();
    let revision = Revision { shown: shown.into(), commit: "".into() };
    for name in names {
        let Some(resolved) = resolve::resolve(fleet, name) else { continue };
        let made = resolved.and_then(|resolved| {
            let bundle = Renderer::new(&fleet.settings, cache).runtime(&resolved)?;
            let rules = Rules {
                runtime: name.clone(),
                drift: match resolved.policy.drift.mode {
                    Some(policy::DriftMode::Report) => DriftMode::Report,
                    Some(policy::DriftMode::Ignore) => DriftMode::Ignore,
                    Some(policy::DriftMode::Repair) | None => DriftMode::Repair,
                },
                prune: resolved.policy.prune.unwrap_or(true),
            };
            Ok(Wanted { desired: Desired::new(&bundle, revision.clone(), None)?, rules })
        });
        match made {
            Ok(wanted) => drop(all.insert(name.clone(), wanted)),
            Err(said) => findings.add_for(name, said),
        }
    }
    if findings.has_errors() { Err(findings.into_sorted()) } else { Ok(all) }
}

/// The fleet of a source, or what is wrong with it.
fn load(source: &Source, loader: &Loader) -> Result<Result<Fleet, Vec<Diagnostic>>, Failure> {
    let (fleet, said) = source.load(loader)?;
    let mut findings = Findings::new();
    findings.extend(said);
    findings.extend(resolve::check(&fleet));
    Ok(if findings.has_errors() { Err(findings.into_sorted()) } else { Ok(fleet) })
}

/// The plan that takes a cluster from one revision to another.
fn between(before: &Source, after: &Source, args: &PlanArgs) -> Result<Outcome, Failure> {
    let loader = Loader::new();
    let (old, new) = match (load(before, &loader)?, load(after, &loader)?) {
        (Ok(old), Ok(new)) => (old, new),
        (_, Err(findings)) => return Ok(Err(findings)),
        // What cannot be rendered was never applied.
        (Err(_), Ok(new)) => (Fleet::default(), new),
    };
    let all = old.runtimes.keys().chain(new.runtimes.keys().filter(|name| !old.runtimes.contains_key(*name)));
    let names = select_runtimes(&args.runtimes, all)?;
    let cache = bundles::cache();
    let concerned: Vec<Arc<str>> = reeve_renderer::affected::affected(&old, &new)
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| names.contains(name) && new.runtimes.contains_key(name))
        .collect();
    let was = wanted(&old, &concerned, &cache, &before.shown).unwrap_or_default();
    let plans = wanted(&new, &concerned, &cache, &after.shown).map(|now| {
        now.into_iter()
            .map(|(name, now)| {
                let model = Model::of(&name, was.get(&name).map(|was| &was.desired));
                let plan = preview(&now.desired, &model.ledger, &|key| model.live(key), &now.rules);
                (name, plan)
            })
            .collect()
    });
    Ok(plans)
}

/// Runtimes that get the same are shown together.
fn group(plans: Vec<(Arc<str>, Preview)>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (runtime, preview) in plans {
        match groups.iter_mut().find(|group| group.preview == preview) {
            Some(group) => group.runtimes.push(runtime),
            None => groups.push(Group { runtimes: vec![runtime], preview }),
        }
    }
    groups
}
