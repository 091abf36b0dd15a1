//! Dapr's control plane, as its Deployments say.

use kube::api::DynamicObject;
use reeve_agent_dapr::world::{ControlPlane, OwnerKind};
use serde_json::Value;

use super::owner::Owners;
use crate::sidecars::names;

pub(super) fn read(owners: &Owners<'_>) -> ControlPlane {
    let injector = owners.of_control_plane(OwnerKind::Deployment, names::INJECTOR);
    let is_ready = |object: Option<&DynamicObject>| {
        let ready = object.and_then(|object| object.data.pointer("/status/readyReplicas")).and_then(Value::as_u64);
        ready.unwrap_or_default() > 0
    };
    ControlPlane {
        namespace: owners.dapr_namespace.to_owned(),
        injector_ready: is_ready(injector),
        operator_ready: is_ready(owners.of_control_plane(OwnerKind::Deployment, names::OPERATOR)),
        sidecar_image: injector.and_then(injected_image),
    }
}

fn injected_image(injector: &DynamicObject) -> Option<String> {
    let containers = injector.data.pointer("/spec/template/spec/containers")?.as_array()?;
    let variables = containers.iter().filter_map(|container| container.get("env")?.as_array()).flatten();
    let image =
        variables.filter(|variable| variable["name"] == names::INJECTED_IMAGE).find_map(|found| found.get("value"));
    image?.as_str().map(str::to_owned)
}
