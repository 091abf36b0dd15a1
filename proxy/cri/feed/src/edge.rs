//! Writes to the API server, as the machine says.

use std::path::PathBuf;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{Patch, PatchParams};
use kube::runtime::events::{Event as Notice, EventType, Recorder, Reporter};
use kube::{Api, Client, Error, Resource, ResourceExt};
use reeve_crds::node_hook_status::NodeHookStatusStatus;
use reeve_crds::{NodeHook, NodeHookStatus, Reason};
use serde_json::json;

use crate::node::NodeFacts;

/// Under which name the feed writes fields.
const MANAGER: &str = "reeve-cri-feed";
/// Keeps pods off a node whose hooks are not live.
pub(crate) const TAINT: &str = "reeve.dev/hooks-not-live";
const NO_SCHEDULE: &str = "NoSchedule";
/// The condition of the Node.
pub(crate) const CONDITION: &str = "HooksLive";

/// What writes need.
pub(crate) struct Edge {
    pub(crate) client: Client,
    pub(crate) node: String,
    pub(crate) hook_set: PathBuf,
    pub(crate) recorder: Recorder,
}

pub(crate) fn reporter(node: &str) -> Reporter {
    Reporter { controller: MANAGER.to_owned(), instance: Some(node.to_owned()) }
}

/// What is of interest of a Node.
pub(crate) fn facts(node: &Node) -> NodeFacts {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let live = conditions.into_iter().flatten().find(|condition| condition.type_ == CONDITION);
    NodeFacts {
        uid: node.uid().unwrap_or_default(),
        labels: node.labels().clone(),
        is_tainted: taints.into_iter().flatten().any(is_ours),
        says_live: live.map(|condition| condition.status == "True"),
    }
}

fn is_ours(taint: &Taint) -> bool {
    taint.key == TAINT && taint.effect == NO_SCHEDULE
}

impl Edge {
    /// The status as it is, so that a feed that starts does not write what is there.
    pub(crate) async fn read_status(&self) -> Option<NodeHookStatusStatus> {
        let statuses: Api<NodeHookStatus> = Api::all(self.client.clone());
        statuses.get_opt(&self.node).await.ok().flatten()?.status
    }

    /// Writes the status, and creates its object if there is none. Returns the object's generation.
    pub(crate) async fn write_status(
        &self,
        status: &NodeHookStatusStatus,
        node_uid: &str,
    ) -> Result<Option<i64>, Error> {
        let statuses: Api<NodeHookStatus> = Api::all(self.client.clone());
        let params = PatchParams::apply(MANAGER).force();
        let kind = NodeHookStatus::kind(&());
        let version = NodeHookStatus::api_version(&());
        let applied =
            json!({ "apiVersion": version, "kind": kind, "metadata": { "name": self.node }, "status": status });
        let written = match statuses.patch_status(&self.node, &params, &Patch::Apply(&applied)).await {
            Err(Error::Api(refusal)) if refusal.code == 404 => {
                let object = json!({
                    "apiVersion": version,
                    "kind": kind,
                    // It goes with its node.
                    "metadata": { "name": self.node, "ownerReferences": [
                        { "apiVersion": "v1", "kind": "Node", "name": self.node, "uid": node_uid }
                    ] },
                    "spec": { "node": self.node },
                });
                statuses.patch(&self.node, &params, &Patch::Apply(&object)).await?;
                statuses.patch_status(&self.node, &params, &Patch::Apply(&applied)).await
            }
            written => written,
        };
        written.map(|object| object.metadata.generation)
    }

    /// Sets taint and condition of the node. Returns how it is then.
    pub(crate) async fn patch_node(
        &self,
        taint: Option<bool>,
        live: Option<bool>,
        message: &str,
    ) -> Result<NodeFacts, Error> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let mut node = nodes.get(&self.node).await?;
        if let Some(is_wanted) = taint {
            let taints = node.spec.clone().unwrap_or_default().taints.unwrap_or_default();
            let mut taints: Vec<Taint> = taints.into_iter().filter(|taint| !is_ours(taint)).collect();
            if is_wanted {
                let (key, effect) = (TAINT.to_owned(), NO_SCHEDULE.to_owned());
                taints.push(Taint { key, effect, ..Taint::default() });
            }
            // The list is one field to the API server: whoever changes it at the same time must be noticed.
            let version = node.resource_version();
            let patch = json!({ "metadata": { "resourceVersion": version }, "spec": { "taints": taints } });
            node = nodes.patch(&self.node, &PatchParams::default(), &Patch::Merge(&patch)).await?;
        }
        if let Some(is_live) = live {
            let now = Time(Timestamp::now());
            let (status, reason) = if is_live { ("True", "HooksLive") } else { ("False", "HooksNotLive") };
            let patch = json!({ "status": { "conditions": [{
                "type": CONDITION, "status": status, "reason": reason, "message": message,
                "lastHeartbeatTime": now, "lastTransitionTime": now,
            }] } });
            node = nodes.patch_status(&self.node, &PatchParams::default(), &Patch::Strategic(&patch)).await?;
        }
        Ok(facts(&node))
    }

    /// Tells an event about a NodeHook.
    pub(crate) async fn publish(
        &self,
        hook: &NodeHook,
        reason: Reason,
        is_warning: bool,
        note: String,
    ) -> Result<(), Error> {
        let notice = Notice {
            type_: if is_warning { EventType::Warning } else { EventType::Normal },
            reason: reason.as_str().to_owned(),
            note: Some(format!("node {}: {note}", self.node).chars().take(1024).collect()),
            action: "Feed".to_owned(),
            secondary: None,
        };
        self.recorder.publish(&notice, &hook.object_ref(&())).await
    }
}
