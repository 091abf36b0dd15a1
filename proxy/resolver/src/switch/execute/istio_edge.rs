//! Leads routes of Istio to the resolver and back.

use jiff::Timestamp;
use kube::Api;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use tracing::info;

use super::{Edge, SwitchError, failed, params};
use crate::switch::istio::{self, Routes, VirtualService};
use crate::switch::names;
use crate::switch::snapshot::Snapshot;

/// Whether proxies have had the time to follow the rule's routes.
pub(super) fn are_settled(snapshot: &Snapshot, now: Timestamp) -> bool {
    let Some(routes) = snapshot.routes() else { return true };
    // Written in whole seconds, rounded down.
    let second = jiff::SignedDuration::from_secs(1);
    let settle = jiff::SignedDuration::try_from(istio::settle(routes.switch)).unwrap_or(jiff::SignedDuration::MAX);
    snapshot.captured_at().is_some_and(|since| now.duration_since(since) >= settle.saturating_add(second))
}

impl Edge {
    fn virtual_services(&self, snapshot: &Snapshot) -> Api<VirtualService> {
        self.api(snapshot)
    }

    /// Makes what captured routes name, and the delegate if the rule asks for it.
    pub(super) async fn ensure_doors(&self, snapshot: &Snapshot) -> Result<(), SwitchError> {
        for door in snapshot.wanted_doors() {
            self.apply_service(snapshot, "apply the door", &door).await?;
        }
        if let Some(delegate) = snapshot.routes().and_then(|routes| routes.delegate()) {
            let created = self.virtual_services(snapshot).create(&params(), &delegate).await;
            created.map_err(failed("create the VirtualService", delegate.name_any()))?;
            info!(rule = %snapshot.key(), name = delegate.name_any(), "made a VirtualService for a delegate");
        }
        Ok(())
    }

    /// Leads the rule's routes to the doors, if it says since when, or back.
    pub(super) async fn lead_routes(
        &self,
        snapshot: &Snapshot,
        captured: Option<Timestamp>,
    ) -> Result<(), SwitchError> {
        let Some(routes) = snapshot.routes() else { return Ok(()) };
        let (api, name) = (self.virtual_services(snapshot), &routes.switch.name);
        // Read right before: what is changed is what stands there now.
        let live = api.get_opt(name).await.map_err(failed("read the VirtualService", name))?;
        let routes = Routes { object: live.as_ref(), ..routes };
        let change = match captured {
            Some(since) => routes.capture(since),
            None => routes.release(),
        };
        let Some(Ok(patch)) = change.map(serde_json::from_value) else { return Ok(()) };
        let params = PatchParams { field_manager: Some(names::FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let patched = api.patch(name, &params, &Patch::<VirtualService>::Json(patch)).await;
        patched.map(drop).map_err(failed("lead routes of the VirtualService", name))
    }
}
