//! Writes to the API server, as it was decided. Each may be repeated at any time.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ObjectReference, Pod};
use kube::api::{DeleteParams, DynamicObject, EvictParams, Patch, PatchParams, Preconditions};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Api, Client, Resource, ResourceExt};
use reeve_agent_dapr::decide::Means;
use reeve_agent_dapr::world::{Workload, WorkloadId};
use reeve_crds::{DaprWorkload, DaprWorkloadSpec, DaprWorkloadStatus, annotation};
use serde_json::{Value, json};
use tracing::{debug, info, warn};

use super::kinds;
use super::names::{self, FIELD_MANAGER};
use super::snapshot::{Owner, Subject};
use super::status::Notice;

/// Something could not be written; it is tried again.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} {object}")]
pub(super) struct WriteError {
    doing: &'static str,
    object: String,
    #[source]
    cause: Box<kube::Error>,
}

impl WriteError {
    /// Whether somebody else wrote first, so that the next look decides again.
    pub(super) fn is_stale(&self) -> bool {
        matches!(&*self.cause, kube::Error::Api(status) if status.code == 409 || status.code == 404)
    }
}

fn failed(doing: &'static str, object: &impl ToString) -> impl FnOnce(kube::Error) -> WriteError {
    let object = object.to_string();
    move |cause| WriteError { doing, object, cause: Box::new(cause) }
}

/// A template that was written: the version that has it, and its token.
pub(super) type Written = Option<(String, String)>;

/// What writes need.
pub(super) struct Edge {
    client: Client,
    recorder: Recorder,
}

impl Edge {
    pub(super) fn new(client: Client) -> Self {
        let reporter = Reporter { controller: FIELD_MANAGER.to_owned(), instance: None };
        Self { recorder: Recorder::new(client.clone(), reporter), client }
    }

    /// Makes the object of a record be there, owned by its workload and saying which it is.
    pub(super) async fn ensure_record(
        &self,
        id: &WorkloadId,
        subject: &Subject,
        spec: &DaprWorkloadSpec,
    ) -> Result<Arc<DaprWorkload>, WriteError> {
        if let Some(record) = subject.record.as_ref().filter(|record| record.spec == *spec) {
            return Ok(Arc::clone(record));
        }
        let owner = &subject.owner;
        let name = names::record(id);
        let object = json!({
            "apiVersion": DaprWorkload::api_version(&()),
            "kind": DaprWorkload::kind(&()),
            "metadata": { "name": name, "ownerReferences": [
                { "apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid }
            ] },
            "spec": spec,
        });
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let written = self.records(id).patch(&name, &params, &Patch::Apply(&object)).await;
        written.map(Arc::new).map_err(failed("write the record of", id))
    }

    /// Writes a status over the one that was read; an error if there is another by now.
    pub(super) async fn write_status(
        &self,
        id: &WorkloadId,
        record: &DaprWorkload,
        status: &DaprWorkloadStatus,
    ) -> Result<Arc<DaprWorkload>, WriteError> {
        let name = record.name_any();
        let object = json!({
            "apiVersion": DaprWorkload::api_version(&()),
            "kind": DaprWorkload::kind(&()),
            "metadata": { "name": name, "resourceVersion": record.resource_version() },
            "status": status,
        });
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let written = self.records(id).patch_status(&name, &params, &Patch::Apply(&object)).await;
        written.map(Arc::new).map_err(failed("write the status of", id))
    }

    /// Removes the record of a workload that has no sidecar any more.
    pub(super) async fn delete_record(&self, record: &DaprWorkload) -> Result<(), WriteError> {
        let api: Api<DaprWorkload> = Api::namespaced(self.client.clone(), &record.namespace().unwrap_or_default());
        let params = DeleteParams {
            preconditions: Some(Preconditions { uid: record.uid(), resource_version: None }),
            ..DeleteParams::default()
        };
        match api.delete(&record.name_any(), &params).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            deleted => deleted.map(drop).map_err(failed("delete the record", &record.name_any())),
        }
    }

    /// Restarts a workload, or goes on with it.
    pub(super) async fn restart(
        &self,
        id: &WorkloadId,
        owner: &Owner,
        workload: &Workload,
        means: &Means,
    ) -> Result<Written, WriteError> {
        match means {
            Means::Template(token) => self.write_token(id, owner, workload, token).await,
            Means::RestartAt(at) if owner.restart_at == Some(*at) => Ok(None),
            Means::RestartAt(at) => self.write_restart_at(id, owner, *at).await.map(|()| None),
            Means::Evict(token, pods) => {
                let written = match token {
                    Some(token) => self.write_token(id, owner, workload, token).await?,
                    None => None,
                };
                for (name, uid) in pods {
                    self.evict(&id.namespace, name, uid).await?;
                }
                Ok(written)
            }
        }
    }

    async fn write_token(
        &self,
        id: &WorkloadId,
        owner: &Owner,
        workload: &Workload,
        token: &str,
    ) -> Result<Written, WriteError> {
        if workload.token.as_deref() == Some(token) {
            return Ok(None);
        }
        let template = json!({ "metadata": { "annotations": { annotation::DAPR_RESTART: token } } });
        let version = self.apply(id, owner, json!({ "template": template })).await?;
        info!(workload = %id, token, "restarting");
        Ok(version.map(|version| (version, token.to_owned())))
    }

    async fn write_restart_at(&self, id: &WorkloadId, owner: &Owner, at: Timestamp) -> Result<(), WriteError> {
        self.apply(id, owner, json!({ "restartAt": at.to_string() })).await?;
        info!(workload = %id, %at, "restarting");
        Ok(())
    }

    /// Writes these fields of a spec and no other, of this very object: one that is gone is not made again.
    async fn apply(&self, id: &WorkloadId, owner: &Owner, spec: Value) -> Result<Option<String>, WriteError> {
        let Some(kind) = kinds::owner(id.kind) else { return Ok(None) };
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &id.namespace, &kind);
        let object = json!({
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": { "name": owner.name, "uid": owner.uid },
            "spec": spec,
        });
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let written = api.patch(&owner.name, &params, &Patch::Apply(&object)).await;
        written.map(|object| object.resource_version()).map_err(failed("restart", id))
    }

    /// Asks for a pod to be taken away. A disruption budget may refuse for now, and then it is asked again.
    async fn evict(&self, namespace: &str, name: &str, uid: &str) -> Result<(), WriteError> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let delete_options = DeleteParams {
            preconditions: Some(Preconditions { uid: Some(uid.to_owned()), resource_version: None }),
            ..DeleteParams::default()
        };
        let params = EvictParams { delete_options: Some(delete_options), ..EvictParams::default() };
        match pods.evict(name, &params).await {
            Ok(_) => {
                info!(pod = %format!("{namespace}/{name}"), "evicted");
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => {
                debug!(pod = %format!("{namespace}/{name}"), "is gone already");
                Ok(())
            }
            Err(cause) => Err(failed("evict the pod", &format!("{namespace}/{name}"))(cause)),
        }
    }

    /// Tells events of a workload. If one cannot be written, the status says the same.
    pub(super) async fn publish(&self, id: &WorkloadId, subject: &Subject, notices: Vec<Notice>) {
        let owner = &subject.owner;
        let regarding = ObjectReference {
            api_version: Some(owner.api_version.clone()),
            kind: Some(owner.kind.clone()),
            name: Some(owner.name.clone()),
            namespace: Some(id.namespace.clone()),
            uid: Some(owner.uid.clone()),
            ..ObjectReference::default()
        };
        for notice in notices {
            let event = Event {
                type_: if notice.is_warning { EventType::Warning } else { EventType::Normal },
                reason: notice.reason.as_str().to_owned(),
                note: Some(notice.note),
                action: "Reload".to_owned(),
                secondary: None,
            };
            if let Err(error) = self.recorder.publish(&event, &regarding).await {
                warn!(workload = %id, error = %reeve_process::error_chain(&error), "cannot write an event");
            }
        }
    }

    fn records(&self, id: &WorkloadId) -> Api<DaprWorkload> {
        Api::namespaced(self.client.clone(), &id.namespace)
    }
}
