//! Holds running containers to a NodeHook that changed, as far as it asks for that: plugins with
//! `PreUpdateContainerResources` are asked about each, and what they change is updated, so many a minute.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tonic::Status;
use tracing::{info, warn};

use super::Hooks;
use super::ask::Asked;
use crate::backend::Backend;
use crate::field::{self, Changes, Fields};
use crate::grpc::unary;
use crate::hook::Hook;
use crate::hook_set::HookSet;
use crate::message::cri::{
    ContainerFilter, Empty, ListContainersResponse, ListRunningRequest, StateValue, UpdateContainerResourcesRequest,
};
use crate::registration::Origin;
use crate::subject::{Container, Pod, resources};

const SERVICE: &str = "/runtime.v1.RuntimeService/";
const CALL_WITHIN: Duration = Duration::from_secs(10);
const LONGEST_LIST: usize = 32 << 20;
const MINUTE: Duration = Duration::from_mins(1);

/// What running containers are to be held to, by name of NodeHook: which revision, and how many updates a minute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted(BTreeMap<String, (String, u32)>);

impl Wanted {
    pub(super) fn of(set: &HookSet) -> Self {
        let in_force = |hook: &crate::hook_set::NodeHook| match (&hook.returned, &hook.last_good) {
            (None, _) => Some(hook.current.digest()),
            (Some(_), last_good) => last_good.as_ref().map(crate::hook_set::Revision::digest),
        };
        let of_hook = |hook: &crate::hook_set::NodeHook| {
            Some((hook.name.clone(), (in_force(hook)?, hook.updates_per_minute.filter(|pace| *pace > 0)?)))
        };
        Self(set.hooks.iter().filter_map(of_hook).collect())
    }

    /// Takes the place of what was wanted. True if a NodeHook is there in another revision than before.
    pub(super) fn replace(self, known: &mut Self) -> bool {
        let is_new =
            self.0.iter().any(|(name, (revision, _))| known.0.get(name).map(|known| &known.0) != Some(revision));
        *known = self;
        is_new
    }
}

/// A runtime, as far as its running containers are concerned.
pub(crate) trait RunningContainers {
    /// Their ids.
    async fn list(&self) -> Result<Vec<String>, Status>;

    /// The container and its pod, from the store or the runtime. `None` if it is gone, or not of Kubernetes.
    async fn find(&self, hooks: &Hooks, id: &str) -> Result<Option<(Arc<Pod>, Arc<Container>)>, Status>;

    /// Changes resources of a container.
    async fn update(&self, id: &str, changes: &Changes) -> Result<(), Status>;
}

/// Updates running containers whenever that is wanted. Never returns.
pub(crate) async fn update_running(hooks: Arc<Hooks>, runtime: Arc<impl RunningContainers>) {
    let mut wanted = hooks.running.subscribe();
    let mut done = wanted.borrow_and_update().clone();
    loop {
        if wanted.changed().await.is_err() {
            return std::future::pending().await;
        }
        loop {
            let now = wanted.borrow_and_update().clone();
            let due: BTreeMap<String, u32> = now
                .0
                .iter()
                .filter(|(name, (revision, _))| done.0.get(*name).map(|done| &done.0) != Some(revision))
                .map(|(name, (_, pace))| (name.clone(), *pace))
                .collect();
            // A newer change is begun at once, with all containers.
            tokio::select! {
                () = hooks.update_all(&*runtime, &due) => { done = now; break }
                Ok(()) = wanted.changed() => {}
            }
        }
    }
}

impl Hooks {
    async fn update_all(&self, runtime: &impl RunningContainers, due: &BTreeMap<String, u32>) {
        let Some(pace) = due.values().min().copied() else { return };
        let running = match runtime.list().await {
            Ok(running) => running,
            Err(status) => return warn!(%status, "cannot list running containers; they stay as they are"),
        };
        let mut updated = 0;
        for id in &running {
            match self.update_one(runtime, id, due).await {
                Ok(true) => {
                    updated += 1;
                    tokio::time::sleep(MINUTE / pace).await;
                }
                Ok(false) => {}
                Err(status) => warn!(container = id, %status, "cannot update a running container"),
            }
        }
        info!(hooks = ?due.keys().collect::<Vec<_>>(), running = running.len(), updated, "running containers are updated");
    }

    /// Asks about one container. True if it was updated.
    async fn update_one(
        &self,
        runtime: &impl RunningContainers,
        id: &str,
        due: &BTreeMap<String, u32>,
    ) -> Result<bool, Status> {
        let hook = Hook::PreUpdateContainerResources;
        let Some((pod, container)) = runtime.find(self, id).await? else { return Ok(false) };
        let is_concerned = self.asked_at(hook, &pod).iter().any(|active| {
            matches!(&active.plugin.registration.origin, Origin::NodeHook { hook, .. } if due.contains_key(hook))
        });
        if !is_concerned {
            return Ok(false);
        }
        let (fields, cgroup_parent) = (container.fields(&pod.cgroup_parent), pod.cgroup_parent.as_str());
        let asked = Asked { hook, pod: &pod, container: Some(&container), fields, cgroup_parent };
        let chain = self.ask_within(asked, None).await?;
        if chain.changes().is_empty() {
            return Ok(false);
        }
        runtime.update(&container.id, chain.changes()).await?;
        let mut updated = (*container).clone();
        updated.resources = resources(chain.fields());
        self.store.insert_container(updated);
        Ok(true)
    }
}

impl RunningContainers for Backend {
    async fn list(&self) -> Result<Vec<String>, Status> {
        /// `CONTAINER_RUNNING`
        const RUNNING: i32 = 1;
        let filter = ContainerFilter { state: Some(StateValue { state: RUNNING }) };
        let request = ListRunningRequest { filter: Some(filter) };
        let path = format!("{SERVICE}ListContainers");
        let listed: ListContainersResponse = unary(self, &path, &request, CALL_WITHIN, LONGEST_LIST).await?;
        Ok(listed.containers.into_iter().map(|container| container.id).collect())
    }

    async fn find(&self, hooks: &Hooks, id: &str) -> Result<Option<(Arc<Pod>, Arc<Container>)>, Status> {
        let Some(container) = hooks.store.get_container(self, SERVICE, id).await? else { return Ok(None) };
        let pod = hooks.store.get_pod(self, SERVICE, &container.pod_id).await?;
        Ok(pod.map(|pod| (pod, container)))
    }

    async fn update(&self, id: &str, changes: &Changes) -> Result<(), Status> {
        let mut wanted = Fields::new();
        field::apply(&mut wanted, changes);
        let update = UpdateContainerResourcesRequest {
            container_id: id.to_owned(),
            linux: field::to_resources(&wanted),
            ..Default::default()
        };
        let path = format!("{SERVICE}UpdateContainerResources");
        unary::<Empty>(self, &path, &update, CALL_WITHIN, 1 << 20).await.map(|Empty {}| ())
    }
}
