//! What is in the cluster, as far as a plan needs it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::{StreamExt as _, stream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use reeve_crds::runtime::policy::Recreate;
use reeve_crds::{Runtime, RuntimeSpec};
use reeve_reconciler_engine::apply::{Applier, ApplyError, DryRun, dry_run};
use reeve_reconciler_engine::clock::Clock;
use reeve_reconciler_engine::cluster::{Account, KindsError};
use reeve_reconciler_engine::desired::{DesiredComponent, DesiredJob, DesiredObject};
use reeve_reconciler_engine::fields::{Manager, is_written_by_helm};
use reeve_reconciler_engine::inventory::Inventory;
use reeve_reconciler_engine::live::{Live, Scope};
use reeve_reconciler_engine::owner::{Owner, Release};
use reeve_reconciler_engine::plan::{Action, Rules};
use reeve_reconciler_engine::preview::{Preview, ending, is_drifted, jobs, preview};
use reeve_renderer::findings::Findings;
use reeve_renderer::fleet::{Fleet, Loader};
use reeve_renderer_objects::key::ObjectKey;
use serde::Deserialize as _;
use serde_json::Value;

use super::runtime_plan::{RuntimePlan, Seen, SkipReason, Stranger};
use super::{Outcome, all_wanted, allowed};
use crate::cli::args::plan::PlanArgs;
use crate::cli::cluster::{ClusterAccess, ClusterError};
use crate::cli::desired_runtime::{DesiredRuntime, load};
use crate::cli::failure::Failure;
use crate::cli::following::Following;
use crate::cli::source::{Source, runtimes_of, select_runtimes};
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
        let access = ClusterAccess::open(&args.connection).await?;
        let following = Following::read(&access, source, &fleet, terminal).await?;
        let ended = following.ended(&fleet);
        let known = fleet.runtimes.keys().chain(ended.iter().map(|(name, _)| name));
        let names = select_runtimes(&args.runtimes, known)?;
        let mut plans = Vec::with_capacity(names.len());
        for wanted in wanted {
            let plan = plan_one(&access, &following, &wanted, args).await?;
            plans.push((wanted.runtime, plan));
        }
        for (name, object) in ended.iter().filter(|(name, _)| names.contains(name)) {
            plans.push((name.clone(), end_one(&access, &following, name, object).await?));
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

async fn plan_one(
    access: &ClusterAccess,
    following: &Following,
    wanted: &DesiredRuntime,
    args: &PlanArgs,
) -> Result<RuntimePlan, Failure> {
    let runtime = &wanted.runtime;
    if let Some(message) = following.taken(runtime) {
        return Ok(RuntimePlan::skipped(SkipReason::Refused(message)));
    }
    if let Some(runtime_plan) = RuntimePlan::elsewhere(&wanted.spec) {
        return Ok(runtime_plan);
    }
    if let Some(what) = following.suspended(runtime) {
        return Ok(RuntimePlan::skipped(SkipReason::Suspended(what)));
    }
    let inventory = access.inventory(runtime).await?;
    let components = &wanted.desired.components;
    let objects = components.iter().flat_map(|component| &component.objects);
    watch(access, objects.map(|object| (object.api_version.clone(), object.key.kind.clone())), &inventory).await?;
    let rules = wanted.rules(access.owner(runtime));
    let live = |key: &ObjectKey| access.watch_cache.get(key);
    let mut plan = preview(&wanted.desired, &inventory, &live, &rules);
    let free = let_go(access, &plan).await?;
    if !free.is_empty() {
        let unmarked = |key: &ObjectKey| {
            live(key).map(|live| if free.contains(key) { Live { owner: None, ..live } } else { live })
        };
        plan = preview(&wanted.desired, &inventory, &unmarked, &rules);
    }
    let mut seen = seen(following, runtime, &plan);
    for component in components {
        let status = following.component(runtime, &component.name).and_then(|there| there.status.as_ref());
        let good = status.and_then(|status| status.last_good.as_ref()).map(|good| good.digest.as_str());
        let is_new = good.is_none() && component.jobs.iter().any(DesiredJob::is_for_install_alone);
        let is_installed = is_new && is_installed_by_helm(access, wanted, component).await?;
        let due = jobs(component, good, status.map(|status| &status.jobs[..]).unwrap_or_default(), is_installed);
        seen.jobs.insert(component.name.clone(), due);
    }
    seen.known = inventory.iter().filter(|(_, entry)| entry.uid.is_some()).map(|(key, _)| key.clone()).collect();
    read_live(access, wanted, &plan, &mut seen).await?;
    Ok(RuntimePlan::of(components, &wanted.spec, plan, &mut seen, allowed(args)))
}

/// Objects that bear the marks of a runtime which has them no more: whoever wants one may have it.
async fn let_go(access: &ClusterAccess, plan: &Preview) -> Result<BTreeSet<ObjectKey>, Failure> {
    let mut claimed: BTreeMap<Owner, Vec<&ObjectKey>> = BTreeMap::new();
    for (key, _) in plan.components.iter().flat_map(|(_, plan)| &plan.claimed) {
        let owner = access.watch_cache.get(key).and_then(|live| live.owner);
        if let Some(owner) = owner.filter(|owner| !owner.namespace().is_empty()) {
            claimed.entry(owner).or_default().push(key);
        }
    }
    let mut free = BTreeSet::new();
    for (owner, keys) in claimed {
        // From one that cannot be read nothing is taken.
        if let Ok(inventory) = access.inventory_of(&owner).await? {
            free.extend(keys.into_iter().filter(|key| inventory.get(key).is_none()).cloned());
        }
    }
    Ok(free)
}

/// What becomes of a runtime whose file left Git.
async fn end_one(
    access: &ClusterAccess,
    following: &Following,
    name: &Arc<str>,
    object: &Runtime,
) -> Result<RuntimePlan, Failure> {
    let RuntimeSpec { deletion_policy, drift, prune, .. } = &object.spec;
    if let Some(what) = following.suspended(name) {
        return Ok(RuntimePlan::skipped(SkipReason::Suspended(what)));
    }
    let is_elsewhere = object.status.as_ref().is_some_and(|status| status.cluster.is_some());
    if is_elsewhere {
        return Ok(RuntimePlan { ended: Some(*deletion_policy), ..RuntimePlan::skipped(SkipReason::Elsewhere) });
    }
    let inventory = access.inventory(name).await?;
    watch(access, [], &inventory).await?;
    let rules = Rules { owner: access.owner(name), drift: drift.mode, prune: *prune };
    let plan = ending(&inventory, &|key| access.watch_cache.get(key), &rules, *deletion_policy);
    let seen = seen(following, name, &plan);
    Ok(RuntimePlan::ended(plan, *deletion_policy, &seen))
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
    access: &ClusterAccess,
    kinds: impl IntoIterator<Item = (Arc<str>, Arc<str>)>,
    inventory: &Inventory,
) -> Result<(), Failure> {
    const DOING: &str = "look at the cluster";
    let mut kinds: BTreeSet<(Arc<str>, Arc<str>)> = kinds.into_iter().collect();
    kinds.extend(inventory.iter().map(|(key, entry)| (entry.api_version(key).into(), key.kind.clone())));
    let scope = Scope { account: Account::Own, namespace: None };
    for (api_version, kind) in kinds {
        match access.in_time(DOING, access.cluster.kinds().find(&api_version, &kind)).await? {
            Ok(found) => {
                let seen = access.in_time(DOING, access.watch_cache.watch(&scope, &found)).await?;
                access.hold(found, seen.map_err(|failure| access.blind(failure.reason.as_str(), &failure.message))?);
            }
            Err(KindsError::Missing { .. }) => {}
            Err(error) => return Err(access.without_kinds(&error)),
        }
    }
    Ok(())
}

/// Looks at the objects of which a watch does not say enough: whether one that is not ours is there all the same,
/// whether what somebody changed matters, and whether it is made anew.
async fn read_live(
    access: &ClusterAccess,
    wanted: &DesiredRuntime,
    plan: &Preview,
    seen: &mut Seen,
) -> Result<(), Failure> {
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
    let applier = applier(access, wanted, None);
    let reads: Vec<_> = asked.iter().map(|object| read(access, &applier, object)).collect();
    let mut reads = stream::iter(reads).buffered(AT_ONCE).zip(stream::iter(&asked));
    while let Some((live, object)) = reads.next().await {
        let Some(live) = live? else { continue };
        let key = &object.key;
        if access.watch_cache.get(key).is_none() {
            seen.strangers.insert(key.clone(), stranger(&live));
            continue;
        }
        if !is_drifted(object, &live, &applier.owner) {
            seen.fine.insert(key.clone());
        }
        if anew {
            let known = seen.known.contains(key);
            let doing = format!("ask about {key}");
            // Whoever may not ask is told of a change, which it is.
            let foreseen = access.in_time(&doing, dry_run(&applier, object, Some(&live), known)).await?;
            if matches!(foreseen, Ok(DryRun::Anew(_))) {
                seen.anew.insert(key.clone());
            }
        }
    }
    Ok(())
}

fn applier(access: &ClusterAccess, wanted: &DesiredRuntime, release: Option<Release>) -> Applier {
    Applier {
        cluster: access.cluster.clone(),
        watch_cache: access.watch_cache.clone(),
        account: Account::Own,
        owner: access.owner(&wanted.runtime),
        release,
        adoption: wanted.spec.adoption,
        recreate: wanted.spec.recreate,
        clock: Clock::system(),
    }
}

/// Whether Helm has a record of the release that a component takes the place of.
async fn is_installed_by_helm(
    access: &ClusterAccess,
    wanted: &DesiredRuntime,
    component: &DesiredComponent,
) -> Result<bool, Failure> {
    let applier = applier(access, wanted, Some(component.release.clone()));
    let found = access.in_time("look for releases of Helm", applier.is_installed_by_helm()).await?;
    found.map_err(|error| access.blind(error.reason().as_str(), &error.to_string()))
}

/// An object as it is; nothing, if it or its kind is not there.
async fn read(access: &ClusterAccess, applier: &Applier, object: &DesiredObject) -> Result<Option<Value>, Failure> {
    let doing = format!("read {}", object.key);
    // A kind that could not be asked for was told of when its watch began.
    let Ok(kind) = access.in_time(&doing, applier.kind(object)).await? else { return Ok(None) };
    let get = async || applier.get(&object.key, &kind).await;
    match access.patiently(&doing, get, ApplyError::retry_after).await? {
        Ok(live) => Ok(live),
        Err(ApplyError::Refused { api_error, .. }) => Err(access.blind(api_error.reason.as_str(), &api_error.message)),
        Err(other) => Err(access.blind(other.reason().as_str(), &reeve_process::error_chain(&other))),
    }
}

/// Whose an object is, and who applies fields of it, and so may keep them. Helm's go with its release.
fn stranger(live: &Value) -> Stranger {
    let metadata = ObjectMeta::deserialize(&live["metadata"]).unwrap_or_default();
    let managed = metadata.managed_fields.iter().flatten();
    let applied = managed.filter(|entry| entry.operation.as_deref() == Some("Apply") && !is_written_by_helm(entry));
    let names: BTreeSet<&str> = applied.filter_map(|entry| entry.manager.as_deref()).collect();
    let appliers = names.into_iter().filter(|name| !Manager::is_reeve(name)).map(str::to_owned).collect();
    Stranger { appliers, release: Release::of(&metadata) }
}
