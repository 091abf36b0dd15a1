//! `reeve diff --live`: what differs between a repository and the objects in a cluster.
//!
//! What is there is read, `plan` says what would be done about it, and the API server what would come of that. Nothing is
//! written.

use std::sync::Arc;

use reeve_crds::runtime::target::TargetType;
use reeve_renderer::diff::{self, ObjectChange};
use reeve_renderer::fleet::Loader;

use super::{Answer, EndedRuntime, Side};
use crate::cli::args::diff::DiffArgs;
use crate::cli::cluster::{ClusterAccess, ClusterError, warn};
use crate::cli::desired_runtime::{self, DesiredRuntime, load};
use crate::cli::failure::Failure;
use crate::cli::following::Following;
use crate::cli::progress::Progress;
use crate::cli::source::{Source, runtimes_of};
use crate::cli::text::in_runtimes;
use crate::cli::{Terminal, bundles};

mod live_diff;
mod live_objects;

use live_diff::LiveDiff;

pub(super) fn compare(source: &Source, args: &DiffArgs, terminal: &Terminal) -> Result<Answer, Failure> {
    let (fleet, mut findings) = load(source, &Loader::new())?;
    let cache = bundles::cache();
    let (mut changes, mut failed, mut elsewhere, mut unknown) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let mut ends = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ClusterError::Start)?;
    runtime.block_on(async {
        let access = ClusterAccess::open(&args.connection).await?;
        let following = Following::read(&access, source, &fleet, terminal).await?;
        // Of a repository that would be refused nothing is taken away.
        let ended = if findings.has_errors() { Vec::new() } else { following.ended(&fleet) };
        let of_fleet: Vec<String> =
            args.runtimes.iter().filter(|name| ended.iter().all(|(gone, _)| **gone != ***name)).cloned().collect();
        let asked = |name: &Arc<str>| args.runtimes.is_empty() || args.runtimes.iter().any(|asked| **asked == **name);
        let names =
            if of_fleet.is_empty() && !args.runtimes.is_empty() { Vec::new() } else { runtimes_of(&fleet, &of_fleet)? };
        let mut progress = Progress::new(names.len());
        for name in &names {
            match desired_runtime::one(&fleet, &cache, name, &source.shown, &access.namespace) {
                None => {}
                Some(Err(said)) => {
                    findings.add_for(name, said);
                    failed.push((name.clone(), Side::After));
                }
                Some(Ok(desired_runtime)) if desired_runtime.spec.target.kind != TargetType::InCluster => {
                    elsewhere.push(name.clone());
                }
                Some(Ok(desired_runtime)) => {
                    findings.add_for(name, desired_runtime.warnings.clone());
                    let looking =
                        LiveDiff { access: &access, desired_runtime: &desired_runtime, impersonate: args.impersonate };
                    let found = looking.changes().await?;
                    unknown += found.unknown;
                    if !found.changes.is_empty() {
                        changes.push((name.clone(), found.changes));
                    }
                }
            }
            progress.step();
        }
        for (name, object) in ended.iter().filter(|(name, _)| asked(name)) {
            let desired_runtime = DesiredRuntime::nothing(name, object.spec.clone());
            let looking =
                LiveDiff { access: &access, desired_runtime: &desired_runtime, impersonate: args.impersonate };
            let (found, stay) = looking.end().await?;
            unknown += found.unknown;
            if !found.changes.is_empty() {
                changes.push((name.clone(), found.changes));
            }
            ends.push(EndedRuntime { runtime: name.clone(), policy: object.spec.deletion_policy, stay });
        }
        Ok::<(), Failure>(())
    })?;
    note(&elsewhere, args, terminal)?;
    Ok(Answer { groups: diff::group(changes), findings: findings.into_sorted(), failed, unknown, ended: ends })
}

/// What was found out about one runtime.
struct Found {
    changes: Vec<ObjectChange>,
    /// How many of them are not known.
    unknown: usize,
}

/// Runtimes of other clusters are no difference to this one; whoever asks for one by name should know.
fn note(elsewhere: &[Arc<str>], args: &DiffArgs, terminal: &Terminal) -> Result<(), Failure> {
    if elsewhere.is_empty() {
        return Ok(());
    }
    let message = format!("{} the target is another cluster", in_runtimes(elsewhere));
    if !args.runtimes.is_empty() {
        return Err(Failure::unknown(message, Some("only runtimes of the cluster itself are compared".to_owned())));
    }
    warn(terminal, &format!("not compared: {message}"));
    Ok(())
}
