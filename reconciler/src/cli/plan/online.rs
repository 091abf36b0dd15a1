//! What is in the cluster, as far as a plan needs it.

use std::collections::BTreeSet;
use std::sync::Arc;

use reeve_reconciler::cluster::{Account, KindsError};
use reeve_reconciler::ledger::Ledger;
use reeve_reconciler::live::Scope;
use reeve_reconciler::preview::{Preview, preview};
use reeve_renderer::fleet::Loader;

use super::{Outcome, all_wanted};
use crate::cli::args::plan::PlanArgs;
use crate::cli::bundles;
use crate::cli::cluster::{ClusterError, Reach};
use crate::cli::failure::Failure;
use crate::cli::source::{Source, runtimes_of};
use crate::cli::wanted::{Wanted, load};

pub(super) fn plan(source: &Source, args: &PlanArgs) -> Result<Outcome, Failure> {
    let (fleet, findings) = load(source, &Loader::new())?;
    // What is wrong with the repository says more than that a runtime of it cannot be used.
    let names = if findings.has_errors() { Vec::new() } else { runtimes_of(&fleet, &args.runtimes)? };
    let wanted = match all_wanted(source, &fleet, findings, &names, &bundles::cache()) {
        Ok(wanted) => wanted,
        Err(findings) => return Ok(Err(findings)),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ClusterError::Start)?;
    runtime.block_on(async {
        let reach = Reach::open(&args.connection).await?;
        let mut plans = Vec::with_capacity(wanted.len());
        for wanted in wanted {
            let plan = plan_one(&reach, &wanted).await?;
            plans.push((wanted.runtime, plan));
        }
        Ok(Ok(plans))
    })
}

async fn plan_one(reach: &Reach, wanted: &Wanted) -> Result<Preview, Failure> {
    let ledger = reach.ledger(&wanted.runtime).await?;
    watch(reach, wanted, &ledger).await?;
    Ok(preview(&wanted.desired, &ledger, &|key| reach.hub.get(key), &wanted.rules(reach.owner(&wanted.runtime))))
}

/// Sees everything of the kinds that matter. What is not served does not exist.
async fn watch(reach: &Reach, wanted: &Wanted, ledger: &Ledger) -> Result<(), Failure> {
    const DOING: &str = "look at the cluster";
    let objects = wanted.desired.components.iter().flat_map(|component| &component.objects);
    let mut kinds: BTreeSet<(Arc<str>, Arc<str>)> =
        objects.map(|object| (object.api_version.clone(), object.key.kind.clone())).collect();
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
