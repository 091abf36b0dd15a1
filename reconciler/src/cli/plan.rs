//! `reeve plan`: what `reeve run` would do, by the very same function, without doing it.
//!
//! Against a cluster it reads the inventory and the objects there; between two revisions it needs no cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::sync::Arc;

use reeve_crds::runtime::policy::DeletionPolicy;
use reeve_reconciler::source::spec;
use reeve_reconciler_engine::admission::Allowed;
use reeve_reconciler_engine::owner::Owner;
use reeve_reconciler_engine::preview::{Model, ending, jobs, preview};
use reeve_renderer::cache::MemoryCache;
use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::findings::Findings;
use reeve_renderer::fleet::{Fleet, Loader};
use reeve_renderer::resolve::resolve;

use super::args::plan::{PlanArgs, PlanFormat};
use super::desired_runtime::{self, DesiredRuntime, load};
use super::failure::Failure;
use super::report::{self, Reporter};
use super::source::{Source, select_runtimes};
use super::{Status, Terminal, bundles};

mod moves;
mod online;
mod runtime_plan;
mod text;

use runtime_plan::{RuntimePlan, Seen, SkipReason};

/// What would be done to runtimes that get the same.
pub(super) struct Group {
    runtimes: Vec<Arc<str>>,
    runtime_plan: RuntimePlan,
}

pub(super) fn run(args: &PlanArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    let range = args.revision.rev.as_deref().and_then(|rev| rev.split_once(".."));
    let (source, outcome) = if let Some((before, after)) = range {
        let named = |name| Source::beside(name, &args.path, &args.revision);
        let (before, after) = (named(before)?, named(after)?);
        let outcome = between(&before, &after, args)?;
        (after, outcome)
    } else {
        let source = Source::open(&args.path, &args.revision)?;
        let outcome = online::plan(&source, args, terminal)?;
        (source, outcome)
    };
    let groups = match outcome {
        Ok(mut plans) => {
            moves::mark(&mut plans);
            group(plans)
        }
        Err(findings) => return refuse(&source, &findings, terminal),
    };
    match args.output {
        PlanFormat::Text => text::write(&groups, terminal.style, &mut terminal.out)?,
        PlanFormat::Json => writeln!(terminal.out, "{:#}", text::document(&groups))?,
    }
    Ok(if groups.iter().all(|group| group.runtime_plan.is_empty()) { Status::Fine } else { Status::Findings })
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
type Outcome = Result<Vec<(Arc<str>, RuntimePlan)>, Vec<Diagnostic>>;

/// Which kinds the control plane may have, if the arguments say so.
fn allowed(args: &PlanArgs) -> Allowed<'_> {
    if args.control_plane_kinds.is_empty() { Allowed::Unknown } else { Allowed::Kinds(&args.control_plane_kinds) }
}

/// What these runtimes should be, or all that is wrong with the repository, as `reeve validate` tells it: whoever mends
/// the first finding should not have to come back for the next.
fn all_wanted(
    source: &Source,
    fleet: &Fleet,
    mut findings: Findings,
    names: &[Arc<str>],
    cache: &MemoryCache,
) -> Result<Vec<DesiredRuntime>, Vec<Diagnostic>> {
    let mut all = Vec::with_capacity(names.len());
    let mut make =
        |name: &Arc<str>, findings: &mut Findings| match desired_runtime::one(fleet, cache, name, &source.shown, "") {
            Some(Ok(wanted)) => {
                findings.add_for(name, wanted.warnings.clone());
                all.push(wanted);
            }
            Some(Err(said)) => findings.add_for(name, said),
            None => {}
        };
    for name in names {
        make(name, &mut findings);
    }
    if !findings.has_errors() {
        return Ok(all);
    }
    let done: BTreeSet<&Arc<str>> = names.iter().collect();
    for name in fleet.runtimes.keys().filter(|name| !done.contains(name)) {
        make(name, &mut findings);
    }
    Err(findings.into_sorted())
}

/// The plan that takes a cluster from one revision to another.
fn between(before: &Source, after: &Source, args: &PlanArgs) -> Result<Outcome, Failure> {
    let loader = Loader::new();
    let (old, wrong) = load(before, &loader)?;
    // What cannot be rendered was never applied.
    let old = if wrong.has_errors() { Fleet::default() } else { old };
    let (new, findings) = load(after, &loader)?;
    let all = old.runtimes.keys().chain(new.runtimes.keys().filter(|name| !old.runtimes.contains_key(*name)));
    // What is wrong with the repository says more than that a runtime of it cannot be used.
    let names = if findings.has_errors() { Vec::new() } else { select_runtimes(&args.runtimes, all)? };
    let affected = reeve_renderer::affected::affected(&old, &new).into_iter().map(|(name, _)| name);
    let affected: Vec<Arc<str>> = affected.filter(|name| names.contains(name)).collect();
    let (concerned, ended): (Vec<_>, Vec<_>) = affected.into_iter().partition(|name| new.runtimes.contains_key(name));
    let cache = bundles::cache();
    let plans = all_wanted(after, &new, findings, &concerned, &cache).map(|now| {
        let both: Vec<Arc<str>> = concerned.iter().chain(&ended).cloned().collect();
        let was: BTreeMap<Arc<str>, DesiredRuntime> = both
            .iter()
            .filter_map(|name| Some((name.clone(), desired_runtime::one(&old, &cache, name, &before.shown, "")?.ok()?)))
            .collect();
        let kept = now.iter().map(|now| (now.runtime.clone(), change(was.get(&now.runtime), now, args)));
        let over_budget = over_budget(&old, &new);
        let gone = ended.iter().map(|name| (name.clone(), end(name, was.get(name), over_budget.as_deref())));
        let plans: BTreeMap<Arc<str>, RuntimePlan> = kept.chain(gone).collect();
        plans.into_iter().collect()
    });
    Ok(plans)
}

/// What takes a runtime from what it was to what it is.
fn change(was: Option<&DesiredRuntime>, now: &DesiredRuntime, args: &PlanArgs) -> RuntimePlan {
    if let Some(runtime_plan) = RuntimePlan::unsupported(&now.spec) {
        return runtime_plan;
    }
    let owner = Owner::new("", &now.runtime);
    let was = was.map(|was| &was.desired);
    let model = Model::of(&now.runtime, &owner, was);
    let plan = preview(&now.desired, &model.inventory, &|key| model.live(key), &now.rules(owner));
    let due = now.desired.components.iter().map(|component| {
        let good = was.and_then(|was| was.component(&component.name));
        (component.name.clone(), jobs(component, good.map(|good| &*good.digest), &[], false))
    });
    let mut seen = Seen { jobs: due.collect(), ..Seen::default() };
    RuntimePlan::of(&now.desired.components, &now.spec, plan, &mut seen, allowed(args))
}

/// Why no runtime is removed whose objects would go with it, if too many would be.
fn over_budget(old: &Fleet, new: &Fleet) -> Option<String> {
    let deletes = |name: &&Arc<str>| {
        let spec = resolve(old, name).and_then(Result::ok).and_then(|resolved| spec(&resolved).ok());
        spec.is_some_and(|spec| spec.deletion_policy == DeletionPolicy::Delete)
    };
    if old.runtimes.keys().all(|name| new.runtimes.contains_key(name)) {
        return None;
    }
    let all: Vec<&Arc<str>> = old.runtimes.keys().filter(deletes).collect();
    let removed = all.iter().filter(|name| !new.runtimes.contains_key(**name)).count();
    let (limit, all) = (old.settings.removals, all.len());
    (!limit.allows(removed, all)).then(|| {
        format!(
            "its file left Git with those of {removed} of {all} runtimes with deletionPolicy Delete, and limits.removals \
             allows {limit}: none of them is removed"
        )
    })
}

/// What becomes of a runtime whose file is gone. What could not be rendered was never applied.
fn end(runtime: &Arc<str>, was: Option<&DesiredRuntime>, over_budget: Option<&str>) -> RuntimePlan {
    let Some(was) = was else {
        return RuntimePlan { ended: Some(DeletionPolicy::default()), ..RuntimePlan::default() };
    };
    if let Some(message) = over_budget.filter(|_| was.spec.deletion_policy == DeletionPolicy::Delete) {
        return RuntimePlan::skipped(SkipReason::Refused(message.to_owned()));
    }
    let owner = Owner::new("", runtime);
    let model = Model::of(runtime, &owner, Some(&was.desired));
    let policy = was.spec.deletion_policy;
    let plan = ending(&model.inventory, &|key| model.live(key), &was.rules(owner), policy);
    RuntimePlan::ended(plan, policy, &Seen::default())
}

/// Runtimes that get the same are shown together.
fn group(plans: Vec<(Arc<str>, RuntimePlan)>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (runtime, runtime_plan) in plans {
        match groups.iter_mut().find(|group| group.runtime_plan == runtime_plan) {
            Some(group) => group.runtimes.push(runtime),
            None => groups.push(Group { runtimes: vec![runtime], runtime_plan }),
        }
    }
    groups
}
