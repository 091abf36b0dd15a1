//! A cluster as the controller sees it, for commands that say what the controller would do. Nothing is written.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use reeve_crds::runtime_component::ComponentTarget;
use reeve_process::Gate;
use reeve_reconciler_engine::api_error::ApiError;
use reeve_reconciler_engine::clock::Clock;
use reeve_reconciler_engine::cluster::{Cluster, Kind, KindsError};
use reeve_reconciler_engine::inventory::{Inventory, InventoryError, InventoryWriter, Store, Stores, pages_of};
use reeve_reconciler_engine::live::{WatchCache, WatchHold};
use reeve_reconciler_engine::owner::Owner;

use super::connection::configure;
use super::error::ClusterError;
use super::refused;
use crate::cli::args::cluster::ConnectionArgs;
use crate::cli::failure::Failure;

/// A cluster that can be looked at.
pub(in crate::cli) struct ClusterAccess {
    pub(in crate::cli) cluster: Cluster,
    pub(in crate::cli) watch_cache: WatchCache,
    holds: Mutex<HashMap<Kind, WatchHold>>,
    /// Where the Runtimes and their inventories are.
    pub(in crate::cli) namespace: String,
    server: String,
    limit: Duration,
}

impl ClusterAccess {
    pub(in crate::cli) async fn open(args: &ConnectionArgs) -> Result<Self, Failure> {
        let mut config = configure(args).await?;
        config.connect_timeout = Some(args.request_timeout);
        let namespace = args.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let term = Gate::always_open().term().map_err(|error| refused("begin", &error))?;
        let cluster = Cluster::new(term, config).map_err(|error| refused("make a client", &error))?;
        let watch_cache = WatchCache::new(cluster.clone(), Clock::system());
        Ok(Self { cluster, watch_cache, holds: Mutex::default(), namespace, server, limit: args.request_timeout })
    }

    /// What the objects of a runtime call it.
    pub(in crate::cli) fn owner(&self, runtime: &str) -> Owner {
        Owner::new(&self.namespace, runtime)
    }

    /// Goes on watching a kind to the end.
    pub(in crate::cli) fn hold(&self, kind: Kind, hold: WatchHold) {
        self.holds.lock().insert(kind, hold);
    }

    /// What the inventory says of a runtime.
    pub(in crate::cli) async fn inventory(&self, runtime: &Arc<str>) -> Result<Inventory, Failure> {
        const DOING: &str = "read the inventory";
        let store = Store::new(&self.cluster, &self.namespace, ComponentTarget::ALL);
        let stores = Stores::from_iter([store.map_err(|error| refused("make a client", &error))?]);
        let load = async || InventoryWriter::load(&stores, runtime.clone()).await;
        let pause = |error: &InventoryError| match error {
            InventoryError::Read { api_error, .. } => api_error.retry_after,
            _ => None,
        };
        match self.patiently(DOING, load, pause).await? {
            Ok(inventory) => Ok(inventory.read(Inventory::clone)),
            Err(InventoryError::Read { api_error, .. }) => {
                Err(ClusterError::from_api_error(api_error.reason.as_str(), &api_error.message, DOING, &self.server)
                    .into())
            }
            Err(other) => Err(refused(DOING, &other)),
        }
    }

    /// What another runtime says that it has.
    pub(in crate::cli) async fn inventory_of(&self, owner: &Owner) -> Result<Result<Inventory, ApiError>, Failure> {
        Ok(self.in_time("read the inventory of another runtime", pages_of(&self.cluster, owner)).await?)
    }

    /// That the cluster could not be looked at.
    pub(in crate::cli) fn blind(&self, reason: &str, message: &str) -> Failure {
        ClusterError::from_api_error(reason, message, "look at the cluster", &self.server).into()
    }

    /// Likewise, since it does not say which kinds it has.
    pub(in crate::cli) fn without_kinds(&self, error: &KindsError) -> Failure {
        match error {
            KindsError::Ask { cause, .. } => {
                let api_error = ApiError::of(cause);
                self.blind(api_error.reason.as_str(), &api_error.message)
            }
            KindsError::Missing { .. } => refused("look at the cluster", error),
        }
    }

    /// Asks again while the server says when to, and waits for its answer no longer than a request may take.
    pub(in crate::cli) async fn patiently<T, E>(
        &self,
        doing: &str,
        ask: impl AsyncFn() -> Result<T, E>,
        pause: impl Fn(&E) -> Option<Duration>,
    ) -> Result<Result<T, E>, ClusterError> {
        let asking = async {
            loop {
                let answer = ask().await;
                match answer.as_ref().err().and_then(&pause) {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => return answer,
                }
            }
        };
        self.in_time(doing, asking).await
    }

    /// Waits for an answer no longer than a request may take.
    pub(in crate::cli) async fn in_time<T>(
        &self,
        doing: &str,
        answer: impl Future<Output = T>,
    ) -> Result<T, ClusterError> {
        let slow = || ClusterError::Slow { server: self.server.clone(), doing: doing.to_owned(), limit: self.limit };
        tokio::time::timeout(self.limit, answer).await.map_err(|_elapsed| slow())
    }
}
