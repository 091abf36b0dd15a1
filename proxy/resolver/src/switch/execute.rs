//! Carries effects out. It decides nothing; every write may be repeated.

use std::net::{IpAddr, SocketAddr};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt};
use reeve_crds::{Reason, ScalingRule, WorkloadRef};
use serde_json::{Value, json};
use tracing::{debug, info};

use super::objects::{self, Resolver};
use super::quiet::{self, Sample};
use super::snapshot::Snapshot;
use super::{names, probe};
use crate::scaler::is_scaled_job;

mod istio_edge;

/// Something could not be done; it is tried again.
#[derive(Debug, thiserror::Error)]
pub(super) enum SwitchError {
    #[error("cannot {doing} {object}")]
    Api {
        doing: &'static str,
        object: String,
        #[source]
        cause: Box<kube::Error>,
    },
    #[error("cannot find the kind {kind} of {api_version}")]
    Kind {
        api_version: String,
        kind: String,
        #[source]
        cause: Box<kube::Error>,
    },
    #[error("there is no free port for the rule {rule}")]
    Ports { rule: String },
}

impl SwitchError {
    /// Whether somebody else wrote first, so that the objects must be read again.
    pub(super) fn is_conflict(&self) -> bool {
        matches!(self.code(), Some(409 | 422))
    }

    /// Whether the object is not what was read any more.
    pub(super) fn is_conflict_of_versions(&self) -> bool {
        self.code() == Some(409)
    }

    /// Why, in one word for a condition.
    pub(super) fn reason(&self) -> Reason {
        match self.code() {
            Some(403) if self.is_by_webhook() => Reason::RefusedByWebhook,
            Some(403) => Reason::Forbidden,
            Some(404) => Reason::MissingKind,
            Some(400..=499) if self.is_by_webhook() => Reason::RefusedByWebhook,
            Some(422) => Reason::Invalid,
            _ => Reason::Failed,
        }
    }

    fn is_by_webhook(&self) -> bool {
        matches!(self, Self::Api { cause, .. } if matches!(&**cause, kube::Error::Api(status) if status.message.contains("admission webhook")))
    }

    fn code(&self) -> Option<u16> {
        match self {
            Self::Api { cause, .. } | Self::Kind { cause, .. } => match &**cause {
                kube::Error::Api(status) => Some(status.code),
                _ => None,
            },
            Self::Ports { .. } => None,
        }
    }
}

pub(super) fn failed(doing: &'static str, object: impl Into<String>) -> impl FnOnce(kube::Error) -> SwitchError {
    let object = object.into();
    move |cause| SwitchError::Api { doing, object, cause: Box::new(cause) }
}

pub(super) fn is_missing<T>(result: &Result<T, kube::Error>) -> bool {
    matches!(result, Err(kube::Error::Api(status)) if status.code == 404)
}

/// Writes to the cluster of one term.
#[derive(Clone)]
pub(super) struct Edge {
    pub(super) client: Client,
}

impl Edge {
    fn api<K>(&self, snapshot: &Snapshot) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), &snapshot.key().namespace)
    }

    pub(super) async fn ensure_shadows(&self, snapshot: &Snapshot) -> Result<(), SwitchError> {
        for service in &snapshot.services {
            let shadow = objects::shadow(service, &snapshot.rule.name_any(), &snapshot.owner());
            self.apply_service(snapshot, "apply the shadow Service", &shadow).await?;
        }
        self.ensure_doors(snapshot).await
    }

    async fn apply_service(
        &self,
        snapshot: &Snapshot,
        doing: &'static str,
        service: &Service,
    ) -> Result<(), SwitchError> {
        let api: Api<Service> = self.api(snapshot);
        let mut object = serde_json::to_value(service).unwrap_or_default();
        object["apiVersion"] = json!("v1");
        object["kind"] = json!("Service");
        let params = PatchParams::apply(names::FIELD_MANAGER).force();
        let applied = api.patch(&service.name_any(), &params, &Patch::Apply(&object)).await;
        applied.map(drop).map_err(failed(doing, service.name_any()))
    }

    pub(super) async fn write_slices(&self, snapshot: &Snapshot, resolvers: &[Resolver]) -> Result<(), SwitchError> {
        let api: Api<EndpointSlice> = self.api(snapshot);
        for slice in snapshot.wanted_slices(resolvers) {
            let name = slice.name_any();
            let found = snapshot.our_slices().into_iter().find(|found| found.name_any() == name);
            if found.is_some_and(|found| objects::is_slice(found, &slice)) {
                continue;
            }
            // Replaced whole: a merge could keep an address that is gone.
            let replaced = match api.get_opt(&name).await.map_err(failed("read the slice", &name))? {
                Some(live) => {
                    let mut slice = slice.clone();
                    slice.metadata.resource_version = live.resource_version();
                    api.replace(&name, &params(), &slice).await
                }
                None => api.create(&params(), &slice).await,
            };
            replaced.map_err(failed("write the slice", &name))?;
        }
        Ok(())
    }

    pub(super) async fn delete_slices(&self, snapshot: &Snapshot) -> Result<(), SwitchError> {
        let api: Api<EndpointSlice> = self.api(snapshot);
        for slice in snapshot.our_slices() {
            let deleted = api.delete(&slice.name_any(), &DeleteParams::default()).await;
            if !is_missing(&deleted) {
                deleted.map_err(failed("delete the slice", slice.name_any()))?;
            }
        }
        Ok(())
    }

    /// Each Service is read right before: a key is added to the selector that stands there now.
    pub(super) async fn capture(&self, snapshot: &Snapshot, now: Timestamp) -> Result<(), SwitchError> {
        if snapshot.routes().is_some() {
            return self.lead_routes(snapshot, Some(now)).await;
        }
        let rule = snapshot.rule.name_any();
        self.patch_services(snapshot, "capture the Service", |service| {
            let free = objects::captured_by(service).is_none();
            free.then(|| objects::capture(service, &rule, now))
        })
        .await
    }

    pub(super) async fn release(&self, snapshot: &Snapshot) -> Result<(), SwitchError> {
        if snapshot.routes().is_some() {
            return self.lead_routes(snapshot, None).await;
        }
        let rule = snapshot.rule.name_any();
        self.patch_services(snapshot, "release the Service", |service| {
            let ours = objects::captured_by(service) == Some(rule.as_str());
            ours.then(|| objects::release(service))
        })
        .await
    }

    async fn patch_services(
        &self,
        snapshot: &Snapshot,
        doing: &'static str,
        change: impl Fn(&Service) -> Option<Value>,
    ) -> Result<(), SwitchError> {
        let api: Api<Service> = self.api(snapshot);
        for service in &snapshot.services {
            let name = service.name_any();
            let Some(live) = api.get_opt(&name).await.map_err(failed(doing, &name))? else { continue };
            let Some(patch) = change(&live) else { continue };
            let patch: Patch<Service> = match serde_json::from_value(patch) {
                Ok(patch) => Patch::Json(patch),
                Err(_) => continue,
            };
            let params = PatchParams { field_manager: Some(names::FIELD_MANAGER.to_owned()), ..PatchParams::default() };
            api.patch(&name, &params, &patch).await.map_err(failed(doing, &name))?;
        }
        Ok(())
    }

    /// Whether fresh connections to the Services' addresses all reach the resolver. Where routes lead there these are the
    /// doors' addresses, and the time that proxies take to follow a route must be over.
    pub(super) async fn probe(&self, snapshot: &Snapshot, nonce: u64) -> bool {
        let fronts = if snapshot.routes().is_some() { &snapshot.doors } else { &snapshot.services };
        if !istio_edge::are_settled(snapshot, Timestamp::now()) {
            return false;
        }
        let addresses: Vec<SocketAddr> = fronts.iter().flat_map(|service| addresses(service)).collect();
        probe::is_captured(&addresses, nonce).await
    }

    /// Writes the scale. A scale to zero is written only over the scale that was decided about.
    pub(super) async fn scale(&self, snapshot: &Snapshot, replicas: i32) -> Result<(), SwitchError> {
        let Some(target) = snapshot.target.reference.as_ref().filter(|target| !is_scaled_job(target)) else {
            return Ok(());
        };
        let name = format!("{} {}", target.kind, target.name);
        let api = self.scalable(snapshot, target).await?;
        let live = api.get_scale(&target.name).await.map_err(failed("read the scale of", &name))?;
        let had = live.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or_default();
        // Somebody was faster: a wake must not shrink, a sleep must not repeat.
        if (replicas == 0) == (had == 0) {
            return Ok(());
        }
        let patch = json!({
            "metadata": { "resourceVersion": live.metadata.resource_version }, "spec": { "replicas": replicas },
        });
        let params = PatchParams { field_manager: Some(names::FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let written = api.patch_scale(&target.name, &params, &Patch::Merge(&patch)).await;
        written.map_err(failed("scale", &name))?;
        info!(rule = %snapshot.key(), target = name, replicas, "scaled");
        Ok(())
    }

    /// Replicas of a target that is not watched.
    pub(super) async fn replicas(&self, snapshot: &Snapshot, target: &WorkloadRef) -> Result<Option<i32>, SwitchError> {
        let api = self.scalable(snapshot, target).await?;
        let scale = api.get_scale(&target.name).await;
        if is_missing(&scale) {
            return Ok(None);
        }
        let scale = scale.map_err(failed("read the scale of", &target.name))?;
        Ok(scale.spec.and_then(|spec| spec.replicas).or(Some(0)))
    }

    async fn scalable(&self, snapshot: &Snapshot, target: &WorkloadRef) -> Result<Api<DynamicObject>, SwitchError> {
        let (group, version) = target.api_version.split_once('/').unwrap_or(("", &target.api_version));
        let kind = GroupVersionKind::gvk(group, version, &target.kind);
        let (resource, _) = kube::discovery::pinned_kind(&self.client, &kind).await.map_err(|cause| {
            let (api_version, kind) = (target.api_version.clone(), target.kind.clone());
            SwitchError::Kind { api_version, kind, cause: Box::new(cause) }
        })?;
        Ok(Api::namespaced_with(self.client.clone(), &snapshot.key().namespace, &resource))
    }

    /// All pods of the rule's Services.
    pub(super) async fn pods(&self, snapshot: &Snapshot) -> Result<Vec<Pod>, SwitchError> {
        let api: Api<Pod> = self.api(snapshot);
        let mut pods = Vec::new();
        for service in &snapshot.services {
            let selector = objects::selector(service);
            let labels: Vec<String> = selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
            let listed = api.list(&ListParams::default().labels(&labels.join(","))).await;
            pods.extend(listed.map_err(failed("list the pods of", service.name_any()))?.items);
        }
        Ok(pods)
    }

    /// What a pod's kubelet counted; nothing if it does not tell.
    pub(super) async fn network(&self, pod: &Pod) -> Option<Sample> {
        let node = pod.spec.as_ref()?.node_name.as_ref()?;
        let ask = |page: &str| http::Request::get(format!("/api/v1/nodes/{node}/proxy/{page}")).body(Vec::new()).ok();
        if let Ok(summary) = self.client.request::<Value>(ask("stats/summary")?).await
            && let Some(sample) = quiet::sample(&summary, pod)
        {
            return Some(sample);
        }
        match self.client.request_text(ask("metrics/cadvisor")?).await {
            Ok(page) => {
                let sample = quiet::sample_of_metrics(&page, pod);
                debug!(node, pod = pod.name_any(), ?sample, bytes = page.len(), "read the counters of a pod");
                sample
            }
            Err(error) => {
                debug!(node, error = %reeve_process::error_chain(&error), "the kubelet does not say what its pods send");
                None
            }
        }
    }

    /// Nothing of ours remains; only then may the rule go.
    pub(super) async fn finish(&self, snapshot: &Snapshot) -> Result<(), SwitchError> {
        let api: Api<Service> = self.api(snapshot);
        for ours in snapshot.shadows.iter().chain(&snapshot.doors) {
            let deleted = api.delete(&ours.name_any(), &DeleteParams::default()).await;
            if !is_missing(&deleted) {
                deleted.map_err(failed("delete the Service", ours.name_any()))?;
            }
        }
        self.delete_slices(snapshot).await?;
        self.set_finalizer(snapshot, false).await
    }

    pub(super) async fn set_finalizer(&self, snapshot: &Snapshot, there: bool) -> Result<(), SwitchError> {
        let api: Api<ScalingRule> = self.api(snapshot);
        let name = snapshot.rule.name_any();
        let mut finalizers = snapshot.rule.finalizers().to_vec();
        finalizers.retain(|finalizer| finalizer != names::FINALIZER);
        if there {
            finalizers.push(names::FINALIZER.to_owned());
        }
        let patch = json!({
            "metadata": { "resourceVersion": snapshot.rule.resource_version(), "finalizers": finalizers },
        });
        let patched = api.patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await;
        if !is_missing(&patched) {
            patched.map_err(failed("write the finalizers of", &name))?;
        }
        Ok(())
    }

    /// Writes what differs in the status, over the rule as it was read.
    pub(super) async fn write_status(&self, snapshot: &Snapshot, patch: &Value) -> Result<ScalingRule, SwitchError> {
        let api: Api<ScalingRule> = self.api(snapshot);
        let name = snapshot.rule.name_any();
        let patch = json!({ "metadata": { "resourceVersion": snapshot.rule.resource_version() }, "status": patch });
        let params = PatchParams { field_manager: Some(names::FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let written = api.patch_status(&name, &params, &Patch::Merge(&patch)).await;
        written.map_err(failed("write the status of", &name))
    }
}

pub(super) fn params() -> PostParams {
    PostParams { field_manager: Some(names::FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

/// Where clients find a Service.
fn addresses(service: &Service) -> Vec<SocketAddr> {
    let Some(spec) = &service.spec else { return Vec::new() };
    let addresses = spec.cluster_ips.iter().flatten().filter_map(|address| address.parse::<IpAddr>().ok());
    let ports: Vec<u16> = objects::ports(service).iter().filter_map(|port| u16::try_from(port.port).ok()).collect();
    addresses.flat_map(|address| ports.clone().into_iter().map(move |port| SocketAddr::new(address, port))).collect()
}
