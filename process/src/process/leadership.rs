//! How a process contends for a lease.

use kube::Client;

use super::Process;
use crate::gate::Gate;
use crate::lease::{LeaseConfig, contend};

impl Process {
    /// Contends for a lease on a task of its own, renews it until the drain is over, then gives it up. `client` must
    /// not be behind a gate.
    pub fn contend(&self, client: Client, config: LeaseConfig) -> Gate {
        self.contend_until(client, config, std::future::pending())
    }

    /// As [`Process::contend`], but gives the lease up when `stop` resolves, if that is earlier.
    pub fn contend_until(
        &self,
        client: Client,
        config: LeaseConfig,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Gate {
        let name = format!("lease {}/{}", config.namespace, config.name);
        let (gate, contender) = contend(client, config, &self.leases);
        let shutdown = self.shutdown.clone();
        let guard = self.shutdown.closing_guard(&name);
        self.tasks.spawn(&name, guard, async move {
            let stop = async {
                tokio::select! { () = stop => {}, () = shutdown.closing() => {} }
            };
            contender.run(stop).await;
        });
        gate.with_request_metrics(&self.request_metrics)
    }
}
