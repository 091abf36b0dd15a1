//! What is in the cluster, as far as a plan needs it.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::{StreamExt as _, stream};
use reeve_crds::runtime::policy::Recreate;
use reeve_crds::{Runtime, RuntimeSpec};
use reeve_reconciler_engine::apply::{Applier, ApplyError, Foreseen};
use reeve_reconciler_engine::clock::Clock;
use reeve_reconciler_engine::cluster::{Account, KindsError};
use reeve_reconciler_engine::desired::DesiredObject;
use reeve_reconciler_engine::fields::Manager;
use reeve_reconciler_engine::ledger::Ledger;
use reeve_reconciler_engine::live::Scope;
use reeve_reconciler_engine::plan::{Action, Rules};
use reeve_reconciler_engine::preview::{Preview, ending, is_drifted, jobs, preview};
use reeve_renderer::findings::Findings;
use reeve_renderer::fleet::{Fleet, Loader};
use serde_json::Value;

use super::outlook::{Outlook, Seen, Still};
use super::{Outcome, all_wanted, allowed};
use crate::cli::args::plan::PlanArgs;
use crate::cli::cluster::{ClusterError, Reach};
use crate::cli::failure::Failure;
use crate::cli::following::Following;
use crate::cli::source::{Source, runtimes_of, select_runtimes};
use crate::cli::wanted::{Wanted, load};
use crate::cli::{Terminal, bundles};

/// Requests that are under way at once.
const AT_ONCE: usize = 16;

pub(super) fn plan(source: &Source, args: &PlanArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let (fleet, findings) = load(source, &Loader::new())?;
    let names = of_fleet(&fleet, &findings, args)?;
    let wanted = match all_wanted(source, &fleet, findings, &names, &bundles::cache()) {
        Ok(wanted) => wanted,
        Err(findings) => return Ok(Err(findings)),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ClusterError::Start)?;
    runtime.block_on(async {
        let reach = Reach::open(&args.connection).await?;
        let following = Following::read(&reach, source, &fleet, terminal).await?;
        let ended = following.ended(&fleet);
        let known = fleet.runtimes.keys().chain(ended.iter().map(|(name, _)| name));
        let names = select_runtimes(&args.runtimes, known)?;
        let mut plans = Vec::with_capacity(names.len());
        for wanted in wanted {
            let plan = plan_one(&reach, &following, &wanted, args).await?;
            plans.push((wanted.runtime, plan));
        }
        for (name, object) in ended.iter().filter(|(name, _)| names.contains(name)) {
            plans.push((name.clone(), end_one(&reach, &following, name, object).await?));
        }
        Ok(Ok(plans))
    })
}

/// The runtimes of the fleet that are asked for. Others may be in the cluster still.
fn of_fleet(fleet: &Fleet, findings: &Findings, args: &PlanArgs) -> Result<Vec<Arc<str>>, Failure> {
    // What is wrong with the repository says more than that a runtime of it cannot be used.
    if findings.has_errors() {
        return Ok(Vec::new());
    }
    let is_known = |name: &&String| fleet.runtimes.contains_key(name.as_str()) || fleet.is_broken("runtimes", name);
    let known: Vec<String> = args.runtimes.iter().filter(is_known).cloned().collect();
    if known.is_empty() && !args.runtimes.is_empty() { Ok(Vec::new()) } else { runtimes_of(fleet, &known) }
}

async fn plan_one(reach: &Reach, following: &Following, wanted: &Wanted, args: &PlanArgs) -> Result<Outlook, Failure> {
    let runtime = &wanted.runtime;
    if let Some(message) = following.taken(runtime) {
        return Ok(Outlook::still(Still::Refused(message)));
    }
    if let Some(outlook) = Outlook::unsupported(&wanted.spec) {
        return Ok(outlook);
    }
    if let Some(what) = following.suspended(runtime) {
        return Ok(Outlook::still(Still::Suspended(what)));
    }
    let ledger = reach.ledger(runtime).await?;
    let components = &wanted.desired.components;
    let objects = components.iter().flat_map(|component| &component.objects);
    watch(reach, objects.map(|object| (object.api_version.clone(), object.key.kind.clone())), &ledger).await?;
    let plan = preview(&wanted.desired, &ledger, &|key| reach.hub.get(key), &wanted.rules(reach.owner(runtime)));
    let mut seen = seen(following, runtime, &plan);
    for component in components {
        let status = following.component(runtime, &component.name).and_then(|there| there.status.as_ref());
        let good = status.and_then(|status| status.last_good.as_ref()).map(|good| good.digest.as_str());
        let due = jobs(component, good, status.map(|status| &status.jobs[..]).unwrap_or_default());
        seen.jobs.insert(component.name.clone(), due);
    }
    seen.known = ledger.iter().filter(|(_, entry)| entry.uid.is_some()).map(|(key, _)| key.clone()).collect();
    look(reach, wanted, &plan, &mut seen).await?;
    Ok(Outlook::of(components, &wanted.spec, plan, &mut seen, allowed(args)))
}

/// What becomes of a runtime whose file left Git.
async fn end_one(reach: &Reach, following: &Following, name: &Arc<str>, object: &Runtime) -> Result<Outlook, Failure> {
    let RuntimeSpec { deletion_policy, drift, prune, .. } = &object.spec;
    if let Some(what) = following.suspended(name) {
        return Ok(Outlook::still(Still::Suspended(what)));
    }
    let ledger = reach.ledger(name).await?;
    watch(reach, [], &ledger).await?;
    let rules = Rules { owner: reach.owner(name), drift: drift.mode, prune: *prune };
    let plan = ending(&ledger, &|key| reach.hub.get(key), &rules, *deletion_policy);
    let seen = seen(following, name, &plan);
    Ok(Outlook::ended(plan, *deletion_policy, &seen))
}

/// Which components somebody suspended.
fn seen(following: &Following, runtime: &str, plan: &Preview) -> Seen {
    let names = plan.components.iter().chain(&plan.removed).map(|(name, _)| name);
    let is_suspended =
        |name: &&Arc<str>| following.component(runtime, name).is_some_and(|there| there.spec.suspend == Some(true));
    Seen { suspended: names.filter(is_suspended).cloned().collect(), ..Seen::default() }
}

/// Sees everything of the kinds that matter. What is not served does not exist.
async fn watch(
    reach: &Reach,
    kinds: impl IntoIterator<Item = (Arc<str>, Arc<str>)>,
    ledger: &Ledger,
) -> Result<(), Failure> {
    const DOING: &str = "look at the cluster";
    let mut kinds: BTreeSet<(Arc<str>, Arc<str>)> = kinds.into_iter().collect();
    kinds.extend(ledger.iter().map(|(key, entry)| (entry.api_version(key).into(), key.kind.clone())));
    let scope = Scope { account: Account::Own, namespace: None };
    for (api_version, kind) in kinds {
        match reach.in_time(DOING, reach.cluster.kinds().find(&api_version, &kind)).await? {
            Ok(found) => {
                let seen = reach.in_time(DOING, reach.hub.watch(&scope, &found)).await?;
                seen.map_err(|failure| reach.blind(failure.reason, &failure.message))?;
            }
            Err(KindsError::Missing { .. }) => {}
            Err(error) => return Err(reach.without_kinds(&error)),
        }
    }
    Ok(())
}

/// Looks at the objects of which a watch does not say enough: whether one that is not ours is there all the same,
/// whether what somebody changed matters, and whether it is made anew.
async fn look(reach: &Reach, wanted: &Wanted, plan: &Preview, seen: &mut Seen) -> Result<(), Failure> {
    let spec = &wanted.spec;
    let anew = spec.recreate == Recreate::OnImmutable;
    let matters = |action| match action {
        Action::Create | Action::Repair | Action::Report => true,
        Action::Update => anew,
        Action::Verify | Action::Replace | Action::Leave | Action::Keep => false,
    };
    let mut asked = Vec::new();
    for (component, (_, plan)) in wanted.desired.components.iter().zip(&plan.components) {
        let steps = plan.steps.iter().filter(|step| matters(step.action));
        asked.extend(steps.filter_map(|step| component.object(&step.key)));
    }
    let applier = Applier {
        cluster: reach.cluster.clone(),
        hub: reach.hub.clone(),
        account: Account::Own,
        owner: reach.owner(&wanted.runtime),
        adoption: spec.adoption,
        recreate: spec.recreate,
        clock: Clock::system(),
    };
    let reads: Vec<_> = asked.iter().map(|object| read(reach, &applier, object)).collect();
    let mut reads = stream::iter(reads).buffered(AT_ONCE).zip(stream::iter(&asked));
    while let Some((live, object)) = reads.next().await {
        let Some(live) = live? else { continue };
        let key = &object.key;
        if reach.hub.get(key).is_none() {
            seen.strangers.insert(key.clone(), appliers(&live));
            continue;
        }
        if !is_drifted(object, &live, &applier.owner) {
            seen.fine.insert(key.clone());
        }
        if anew {
            let known = seen.known.contains(key);
            let doing = format!("ask about {key}");
            // Whoever may not ask is told of a change, which it is.
            let foreseen = reach.in_time(&doing, applier.foresee(object, Some(&live), known)).await?;
            if matches!(foreseen, Ok(Foreseen::Anew(_))) {
                seen.anew.insert(key.clone());
            }
        }
    }
    Ok(())
}

/// An object as it is; nothing, if it or its kind is not there.
async fn read(reach: &Reach, applier: &Applier, object: &DesiredObject) -> Result<Option<Value>, Failure> {
    let doing = format!("read {}", object.key);
    // A kind that could not be asked for was told of when its watch began.
    let Ok(kind) = reach.in_time(&doing, applier.kind(object)).await? else { return Ok(None) };
    let get = async || applier.get(&object.key, &kind).await;
    match reach.patiently(&doing, get, ApplyError::retry_after).await? {
        Ok(live) => Ok(live),
        Err(ApplyError::Refused { refusal, .. }) => Err(reach.blind(refusal.reason.as_str(), &refusal.message)),
        Err(other) => Err(reach.blind(other.reason(), &reeve_process::error_chain(&other))),
    }
}

/// Who applies fields of an object, and so may keep them.
fn appliers(live: &Value) -> Vec<String> {
    let managed = live.pointer("/metadata/managedFields").and_then(Value::as_array);
    let applied = managed.into_iter().flatten().filter(|entry| entry["operation"] == "Apply");
    let names: BTreeSet<&str> = applied.filter_map(|entry| entry["manager"].as_str()).collect();
    names.into_iter().filter(|name| !Manager::is_reeve(name)).map(str::to_owned).collect()
}
