//! What the routes of one rule say, if it switches by them. Pure.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt;

use super::Snapshot;
use crate::switch::istio::{self, PeerAuthentication, Routes, VirtualService};

/// What of Istio concerns one rule.
#[derive(Clone, Debug, Default)]
pub(in crate::switch) struct IstioObjects {
    /// Whether Istio's kinds are there to look at; nothing while that is not known.
    pub is_installed: Option<bool>,
    pub virtual_service: Option<Arc<VirtualService>>,
    /// Of all namespaces.
    pub peer_authentications: Vec<Arc<PeerAuthentication>>,
}

impl Snapshot {
    /// The routes by which the rule switches, if it does not by slices.
    pub(in crate::switch) fn routes(&self) -> Option<Routes<'_>> {
        let switch = &self.rule.spec.switch.as_ref()?.virtual_service;
        let metadata = &self.rule.metadata;
        Some(Routes {
            switch,
            rule: metadata.name.as_deref().unwrap_or_default(),
            namespace: metadata.namespace.as_deref().unwrap_or_default(),
            services: &self.services,
            object: self.istio.virtual_service.as_deref(),
        })
    }

    pub(super) fn unroutable(&self, routes: &Routes<'_>) -> Option<String> {
        if self.istio.is_installed == Some(false) {
            return Some("the API server does not serve Istio's VirtualServices: Istio is not installed".to_owned());
        }
        let labels = &self.target.labels;
        let refused = istio::plain_refused_by(&self.istio.peer_authentications, routes.namespace, labels);
        if let Some(object) = refused {
            return Some(format!(
                "PeerAuthentication {object} has the pods refuse what the mesh did not encrypt, as the resolver sends it: write the mode PERMISSIVE for them"
            ));
        }
        routes.unsupported().or_else(|| routes.no_delegate())
    }

    /// Whether all that captured routes name is there; without routes nothing is needed.
    pub(super) fn has_doors(&self) -> bool {
        let Some(routes) = self.routes() else { return true };
        let has_door = |wanted: &Service| {
            let found = self.doors.iter().find(|door| door.name_any() == wanted.name_any());
            found.is_some_and(|found| istio::is_door(found, wanted))
        };
        routes.delegate().is_none() && self.wanted_doors().iter().all(has_door)
    }

    /// The doors of the rule's Services as they should be.
    pub(in crate::switch) fn wanted_doors(&self) -> Vec<Service> {
        let (rule, owner) = (self.rule.name_any(), self.owner());
        let services = self.services.iter().filter(|_| self.rule.spec.switch.is_some());
        services.map(|service| istio::door_of(service, &rule, &owner)).collect()
    }
}
