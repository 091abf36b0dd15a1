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
use crate::desired::{Stage, Want};
use crate::error::ReconcileError;
use crate::inventory::{Change, Entry};
use crate::live::Live;
use crate::owner::Owner;
use crate::plan::{Removal, removal_of, removal_of_live};

/// How long a try to delete an object waits for another runtime that wants to take it over.
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
        let work: Vec<_> = of_stage
            .map(|(key, ..)| async move {
                let removed = remove_one(ctx, applier, target, key, timeout).await?;
                Ok::<_, ReconcileError>((key.clone(), removed))
            })
            .collect();
        let mut results = stream::iter(work).buffer_unordered(STEPS_IN_FLIGHT);
        let mut errors = Vec::new();
        while let Some(result) = results.next().await {
            match result {
                Ok((key, Removed::Deleted)) => {
                    report.changes += 1;
                    report.removed.push(key);
                }
                Ok((key, Removed::Left)) => report.left.push(key),
                Ok((_, Removed::Gone)) => {}
                Err(error) => errors.push(error),
            }
        }
        worst(errors)?;
    }
    Ok(())
}

/// What became of an object that left Git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Removed {
    /// We deleted it, with this try or with an earlier one.
    Deleted,
    /// It is there and stays: it is another object of its name than the one that was applied.
    Left,
    /// It was gone, another runtime has it, or it stays because its kind, an annotation or the policy says so.
    Gone,
}

/// Takes one object away. Its entry goes when the object has.
async fn remove_one(
    ctx: &Context,
    applier: &Applier,
    target: ComponentTarget,
    key: &ObjectKey,
    timeout: Duration,
) -> Result<Removed, ReconcileError> {
    // Another runtime that wants it gets it as it is.
    ctx.budget.wait(hand_over(ctx, applier, key)).await.ok_or_else(stopped)?;
    let Some(entry) = ctx.inventory.read(|inventory| inventory.get(key).cloned()) else { return Ok(Removed::Gone) };
    // A write that was under way when the plan was made may have made it since.
    let removal = removal_of(key, &entry, ctx, &ctx.rules());
    let forget = || ctx.inventory.note([Change::Drop(key.clone())]);
    let seen = applier.watch_cache.get(key);
    // What is not seen may have lost the label by which it is watched: before it is forgotten, it is asked for.
    let is_known = removal == Removal::Forget && seen.is_some() && !applier.is_under_way(key);
    if is_known || removal == Removal::Release {
        forget();
        // What another runtime has is where Git wants it.
        let is_left = |live: &Live| live.owner.as_ref().is_none_or(|owner| *owner == ctx.owner);
        return Ok(if is_known && seen.is_some_and(|live| is_left(&live)) { Removed::Left } else { Removed::Gone });
    }
    let Some(kind) = served(ctx, key, &entry).await? else {
        if applier.is_defined(key).await? {
            return Err(unserved(key));
        }
        // Its kind went, and all objects of it.
        forget();
        return Ok(removed(&entry, Gone::Before));
    };
    let scope = ctx.scope(&applier.account, target, key);
    ctx.watch(target, scope, &kind).await?;
    let live = match removal {
        Removal::Settle | Removal::Forget => {
            let there = applier.settled(key, &kind).await;
            forget_unserved(applier, &kind, &there);
            let there = there?;
            let goes = |live: &Live| removal_of_live(key, &entry, live, &ctx.rules()) == Removal::Delete;
            let Some(live) = there.filter(goes) else {
                forget();
                return Ok(removed(&entry, Gone::Before));
            };
            Some(live)
        }
        Removal::Delete | Removal::Release => seen,
    };
    if live.as_ref().is_some_and(|live| live.deleting.is_none()) {
        match kept_for(&ctx.owner, applier.watch_cache.wanted_by_another(key, &ctx.owner)) {
            None => {}
            Some((_, Want::Leaves | Want::Remakes)) => {
                forget();
                return Ok(Removed::Gone);
            }
            Some((other, Want::TakesOver)) => return Err(awaits(key, &other)),
        }
    }
    let uid = live.map(|live| live.uid).or(entry.uid.clone());
    let gone = delete(ctx, applier, key, &kind, uid.as_deref()).await?;
    if gone == Gone::Deleting {
        ctx.inventory.note([Change::Put(key.clone(), Entry { state: EntryState::Deleting, ..entry.clone() })]);
        ctx.budget.wait(applier.until_gone(key, &kind, uid.as_deref(), timeout)).await.ok_or_else(stopped)??;
    }
    forget();
    Ok(removed(&entry, gone))
}

/// Waits until the runtime that wants an object has it, if there is one, but not for ever. That is known when all runtimes
/// know what Git wants.
async fn hand_over(ctx: &Context, applier: &Applier, key: &ObjectKey) {
    tokio::select! {
        () = ctx.rollup.until_settled() => {}
        () = ctx.clock.sleep(PUBLISHED_WITHIN) => {}
    }
    tokio::select! {
        () = applier.watch_cache.until_handed_over(key, &ctx.owner) => {}
        () = ctx.clock.sleep(HAND_OVER_WITHIN) => {}
    }
}

/// Asks for the deletion of an object, within the budgets.
async fn delete(
    ctx: &Context,
    applier: &Applier,
    key: &ObjectKey,
    kind: &Kind,
    uid: Option<&str>,
) -> Result<Gone, ReconcileError> {
    applier.cluster.breaker().pass(&ctx.clock).await;
    let _slot = ctx.metrics.waiting(ctx.budget.slot()).await.ok_or_else(stopped)?;
    let deleted = applier.delete(key, kind, uid).await;
    forget_unserved(applier, kind, &deleted);
    ctx.metrics.written("delete", deleted.as_ref().map_or_else(ApplyError::reason, |_| Reason::Succeeded));
    Ok(deleted?)
}

/// A version that is served no more is looked for again with the next try: another one may be.
fn forget_unserved<T>(applier: &Applier, kind: &Kind, asked: &Result<T, ApplyError>) {
    if matches!(asked, Err(ApplyError::Refused { api_error, .. }) if api_error.reason == Reason::MissingKind) {
        applier.cluster.kinds().forget(&kind.resource.api_version);
    }
}

/// The other runtime for which an object that left this one stays, and how that wants it. A Job is made for each run; and
/// nobody keeps an object of another team's runtime from being deleted by wanting it.
pub(super) fn kept_for(owner: &Owner, wanted: Option<(Owner, Want)>) -> Option<(Owner, Want)> {
    wanted.filter(|(other, want)| *want != Want::Remakes && other.namespace() == owner.namespace())
}

/// An object whose kind is defined and not served is there, and nobody can reach it.
fn unserved(key: &ObjectKey) -> ReconcileError {
    let message = format!("{key} left Git, and no version of its kind is served: it is deleted when one is again");
    ReconcileError::transient(Reason::MissingKind, message).about(key)
}

/// An object that left this runtime is not deleted before the other one has it.
pub(super) fn awaits(key: &ObjectKey, other: &Owner) -> ReconcileError {
    let message = format!("{key} moves to runtime {other}, which has not taken it over yet: it stays until then");
    ReconcileError::transient(Reason::TimedOut, message).about(key)
}

/// Whether an object went because we deleted it, with this try or with an earlier one that did not see it go.
fn removed(entry: &Entry, gone: Gone) -> Removed {
    match gone {
        Gone::Yes | Gone::Deleting => Removed::Deleted,
        Gone::Before if entry.state == EntryState::Deleting => Removed::Deleted,
        Gone::Before => Removed::Gone,
    }
}

/// Takes a whole component away.
pub(super) async fn dissolve(
    ctx: &Context,
    component: &str,
    named: Option<&str>,
    report: &mut Report,
) -> Result<(), ReconcileError> {
    for &target in ComponentTarget::ALL {
        let entries = ctx.inventory.entries_of(component);
        let entries: Vec<_> = entries.into_iter().filter(|(_, entry)| entry.target == target).collect();
        if entries.is_empty() {
            continue;
        }
        let account = ctx.account_of(target, named.map(Arc::from).as_ref());
        watch_entries(ctx, &account, &entries).await?;
        let plan = crate::plan::removal(entries, ctx, &ctx.rules(), &|key| ctx.wanted.has(key));
        let applier = ctx.applier(target, account, None);
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
            let watched = ctx.watch(entry.target, scope, &kind).await;
            watched.map_err(|failure| ReconcileError::from(failure).about(key))?;
        }
    }
    Ok(())
}

/// The kind of an entry's object; `None` if it is not served in any version.
async fn served(ctx: &Context, key: &ObjectKey, entry: &Entry) -> Result<Option<Kind>, ReconcileError> {
    match ctx.targets.of(entry.target).cluster.kinds().find_in_any(&api_version(key, entry), &key.kind).await {
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
