//! What is in the cluster, as far as a plan needs it.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::Client;
use reeve_process::Gate;
use reeve_reconciler::clock::Clock;
use reeve_reconciler::cluster::{Account, Cluster, KindsError};
use reeve_reconciler::ledger::{Keeper, Ledger};
use reeve_reconciler::live::{Hub, Scope};
use reeve_reconciler::preview::{Preview, preview};
use reeve_renderer::fleet::Loader;

use super::{Outcome, Wanted, load, wanted};
use crate::cli::args::plan::PlanArgs;
use crate::cli::bundles;
use crate::cli::cluster::{ClusterError, configure, refused};
use crate::cli::failure::Failure;
use crate::cli::source::{Source, runtimes_of};

pub(super) fn plan(source: &Source, args: &PlanArgs) -> Result<Outcome, Failure> {
    let fleet = match load(source, &Loader::new())? {
        Ok(fleet) => fleet,
        Err(findings) => return Ok(Err(findings)),
    };
    let names = runtimes_of(&fleet, &args.runtimes)?;
    let wanted = match wanted(&fleet, &names, &bundles::cache(), &source.shown) {
        Ok(wanted) => wanted,
        Err(findings) => return Ok(Err(findings)),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ClusterError::Start)?;
    runtime.block_on(async {
        let looking = Looking::open(args).await?;
        let mut plans = Vec::with_capacity(wanted.len());
        for (name, wanted) in wanted {
            let plan = looking.plan(&name, &wanted).await?;
            plans.push((name, plan));
        }
        Ok(Ok(plans))
    })
}

struct Looking {
    client: Client,
    namespace: String,
    cluster: Cluster,
    hub: Hub,
}

impl Looking {
    async fn open(args: &PlanArgs) -> Result<Self, Failure> {
        let mut config = configure(&args.connection).await?;
        config.connect_timeout = Some(args.connection.request_timeout);
        let namespace = args.connection.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        let term = Gate::always_open().term().map_err(|error| refused("begin", &error))?;
        let cluster = Cluster::new(term, config).map_err(|error| refused("make a client", &error))?;
        let client = cluster.own().map_err(|error| refused("make a client", &error))?;
        let hub = Hub::new(cluster.clone(), Clock::system());
        Ok(Self { client, namespace, cluster, hub })
    }

    async fn plan(&self, name: &Arc<str>, wanted: &Wanted) -> Result<Preview, Failure> {
        let keeper = Keeper::load(&self.client, &self.namespace, name.clone()).await;
        let ledger = keeper.map_err(|error| refused("read the inventory", &error))?.read(Ledger::clone);
        self.watch(wanted, &ledger).await?;
        Ok(preview(&wanted.desired, &ledger, &|key| self.hub.get(key), &wanted.rules))
    }

    /// Sees everything of the kinds that matter. What is not served does not exist.
    async fn watch(&self, wanted: &Wanted, ledger: &Ledger) -> Result<(), Failure> {
        let objects = wanted.desired.components.iter().flat_map(|component| &component.objects);
        let mut kinds: BTreeSet<(String, String)> =
            objects.map(|object| (object.api_version.to_string(), object.key.kind.to_string())).collect();
        kinds.extend(ledger.iter().map(|(key, entry)| match &*key.group {
            "" => (entry.version.to_string(), key.kind.to_string()),
            group => (format!("{group}/{}", entry.version), key.kind.to_string()),
        }));
        let scope = Scope { account: Account::Own, namespace: None };
        for (api_version, kind) in kinds {
            match self.cluster.kinds().find(&api_version, &kind).await {
                Ok(found) => {
                    self.hub.watch(&scope, &found).await.map_err(|error| refused("look at the cluster", &error))?;
                }
                Err(KindsError::Missing { .. }) => {}
                Err(error) => return Err(refused("look at the cluster", &error)),
            }
        }
        Ok(())
    }
}
