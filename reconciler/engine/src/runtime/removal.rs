//! Takes away what left Git.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use reeve_crds::Reason;
use reeve_crds::inventory::EntryState;
use reeve_crds::runtime_component::ComponentTarget;
use reeve_renderer_objects::key::ObjectKey;

use super::Context;
use super::run::{Report, STEPS_IN_FLIGHT, stopped, worst};
use crate::apply::{Applier, ApplyError, Gone};
use crate::cluster::{Account, Kind, KindsError};
use crate::desired::Stage;
use crate::error::ReconcileError;
use crate::inventory::{Change, Entry};
use crate::plan::{Removal, leave, removal_of};

/// How long another runtime has to take over an object that it wants and that is about to be deleted.
const HAND_OVER_WITHIN: Duration = Duration::from_secs(30);
/// How long a commit may take to reach all runtimes before objects that left Git are deleted all the same.
const PUBLISHED_WITHIN: Duration = Duration::from_mins(10);

/// Takes objects away, those that were applied last first, and waits until each stage is gone.
pub(super) async fn remove(
    ctx: &Context,
    applier: &Applier,
    target: ComponentTarget,
    removals: Vec<(ObjectKey, Stage, Removal)>,
    timeout: Duration,
    report: &mut Report,
) -> Result<(), ReconcileError> {
    for stage in Stage::ALL.into_iter().rev() {
        let of_stage = removals.iter().filter(|(_, at, _)| *at == stage);
        let work: Vec<_> = of_stage.map(|(key, ..)| remove_one(ctx, applier, target, key, timeout)).collect();
        let mut results = stream::iter(work).buffer_unordered(STEPS_IN_FLIGHT);
        let mut errors = Vec::new();
        while let Some(result) = results.next().await {
            match result {
                Ok(deleted) => {
                    report.changes += i32::from(deleted.is_some());
                    report.removed.extend(deleted);
                }
                Err(error) => errors.push(error),
            }
        }
        worst(errors)?;
    }
    Ok(())
}

/// The object if it was deleted. The entry goes when the object has.
async fn remove_one(
    ctx: &Context,
    applier: &Applier,
    target: ComponentTarget,
    key: &ObjectKey,
    timeout: Duration,
) -> Result<Option<ObjectKey>, ReconcileError> {
    // Another runtime that wants it gets it as it is; one that does not come for it in time makes it anew.
    ctx.budget.wait(hand_over(ctx, key)).await.ok_or_else(stopped)?;
    let Some(entry) = ctx.inventory.read(|inventory| inventory.get(key).cloned()) else { return Ok(None) };
    // A write that was under way when the plan was made may have made it since.
    let removal = removal_of(key, &entry, ctx, &ctx.rules());
    let forget = || ctx.inventory.note([Change::Drop(key.clone())]);
    let is_gone = removal == Removal::Forget && !applier.is_under_way(key);
    if is_gone || removal == Removal::Release {
        forget();
        return Ok((ctx.watch_cache.get(key).is_none() && went(&entry, Gone::Before)).then(|| key.clone()));
    }
    let Some(kind) = served(ctx, key, &entry).await? else {
        // Its kind went, and all objects of it.
        forget();
        return Ok(went(&entry, Gone::Before).then(|| key.clone()));
    };
    let scope = ctx.scope(&applier.account, target, key);
    ctx.watch_cache.watch(&scope, &kind).await?;
    let live = match removal {
        Removal::Settle | Removal::Forget => {
            let there = applier.settled(key, &kind).await?;
            let ours = there.filter(|live| live.owner.as_ref() == Some(&ctx.owner));
            let Some(live) = ours.filter(|live| leave(key, live, &ctx.rules()) == Removal::Delete) else {
                forget();
                return Ok(None);
            };
            Some(live)
        }
        Removal::Delete | Removal::Release => ctx.watch_cache.get(key),
    };
    let uid = live.map(|live| live.uid).or(entry.uid.clone());
    ctx.cluster.breaker().pass(&ctx.clock).await;
    let gone = {
        let _slot = ctx.metrics.waiting(ctx.budget.slot()).await.ok_or_else(stopped)?;
        let deleted = applier.delete(key, &kind, uid.as_deref()).await;
        if matches!(&deleted, Err(ApplyError::Refused { api_error, .. }) if api_error.reason == Reason::MissingKind) {
            // Looked for anew with the next try.
            ctx.cluster.kinds().forget(&kind.resource.api_version);
        }
        ctx.metrics.written("delete", deleted.as_ref().map_or_else(ApplyError::reason, |_| Reason::Succeeded));
        deleted?
    };
    if gone == Gone::Deleting {
        ctx.inventory.note([Change::Put(key.clone(), Entry { state: EntryState::Deleting, ..entry.clone() })]);
        ctx.budget.wait(applier.until_gone(key, &kind, uid.as_deref(), timeout)).await.ok_or_else(stopped)??;
    }
    forget();
    Ok(went(&entry, gone).then(|| key.clone()))
}

/// Waits until the runtime that wants an object has it, if there is one, but not for ever. That is known when all runtimes
/// know what Git wants.
async fn hand_over(ctx: &Context, key: &ObjectKey) {
    tokio::select! {
        () = ctx.rollup.until_settled() => {}
        () = ctx.clock.sleep(PUBLISHED_WITHIN) => {}
    }
    tokio::select! {
        () = ctx.watch_cache.until_handed_over(key, &ctx.owner) => {}
        () = ctx.clock.sleep(HAND_OVER_WITHIN) => {}
    }
}

/// Whether an object went because we deleted it, with this try or with an earlier one that did not see it go.
fn went(entry: &Entry, gone: Gone) -> bool {
    match gone {
        Gone::Yes | Gone::Deleting => true,
        Gone::Before => entry.state == EntryState::Deleting,
    }
}

/// Takes a whole component away.
pub(super) async fn dissolve(
    ctx: &Context,
    component: &str,
    named: Option<&str>,
    report: &mut Report,
) -> Result<(), ReconcileError> {
    for target in [ComponentTarget::Runtime, ComponentTarget::ControlPlane] {
        let entries = ctx.inventory.entries_of(component);
        let entries: Vec<_> = entries.into_iter().filter(|(_, entry)| entry.target == target).collect();
        if entries.is_empty() {
            continue;
        }
        let account = ctx.account_of(target, named.map(Arc::from).as_ref());
        watch_entries(ctx, &account, &entries).await?;
        let plan = crate::plan::removal(entries, ctx, &ctx.rules(), &|key| ctx.wanted.has(key));
        let applier = ctx.applier(account, None);
        remove(ctx, &applier, target, plan.removals, ctx.spec.timeout.into(), report).await?;
    }
    // That nothing is left is written down before anyone is told.
    ctx.inventory.flush_last().await?;
    Ok(())
}

/// Watches the kinds of these entries, so that what is there is known. A kind that is not served has no objects.
pub(super) async fn watch_entries(
    ctx: &Context,
    account: &Account,
    entries: &[(ObjectKey, Entry)],
) -> Result<(), ReconcileError> {
    let mut watched = BTreeSet::new();
    for (key, entry) in entries {
        let scope = ctx.scope(account, entry.target, key);
        if !watched.insert((key.group.clone(), key.kind.clone(), entry.version.clone(), scope.namespace.clone())) {
            continue;
        }
        if let Some(kind) = served(ctx, key, entry).await? {
            ctx.watch_cache.watch(&scope, &kind).await.map_err(|failure| ReconcileError::from(failure).about(key))?;
        }
    }
    Ok(())
}

/// The kind of an entry's object; `None` if it is not served in any version.
async fn served(ctx: &Context, key: &ObjectKey, entry: &Entry) -> Result<Option<Kind>, ReconcileError> {
    match ctx.cluster.kinds().find_in_any(&api_version(key, entry), &key.kind).await {
        Ok(kind) => Ok(Some(kind)),
        Err(KindsError::Missing { .. }) => Ok(None),
        Err(cause) => Err(ApplyError::Kind { object: key.clone(), cause }.into()),
    }
}

/// Group and version of an entry's object.
fn api_version(key: &ObjectKey, entry: &Entry) -> String {
    match &*key.group {
        "" => entry.version.to_string(),
        group => format!("{group}/{}", entry.version),
    }
}
