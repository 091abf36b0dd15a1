//! Checks of the Dapr resources of a bundle: what Dapr itself finds only in a sidecar that does not start.
//!
//! The rules are those of `reeve-agent-dapr`; this knows where in the repository each resource comes from.

use std::collections::BTreeMap;

use reeve_agent_dapr::kind::GROUP;
use reeve_agent_dapr::preflight::{self, Severity};
use reeve_agent_dapr::resource::{Resource, ResourceId};
use reeve_renderer::bundle::{Bundle, Object};
use reeve_renderer::diagnostic::{Diagnostic, Location};
use reeve_renderer::fleet::ComponentTarget;
use reeve_renderer::value::Value;

/// Everything that is wrong with them. What goes into the control plane is another cluster's and is looked at by itself.
pub fn check(bundle: &Bundle) -> Vec<Diagnostic> {
    let of_target = |target| {
        let components = bundle.components.iter().filter(move |component| component.target == target);
        let objects = components.flat_map(|component| &component.objects);
        check_objects(objects.filter(|object| &*object.key.group == GROUP))
    };
    let mut findings = of_target(ComponentTarget::Runtime);
    findings.extend(of_target(ComponentTarget::ControlPlane));
    findings
}

fn check_objects<'a>(objects: impl Iterator<Item = &'a Object>) -> Vec<Diagnostic> {
    let (mut findings, mut resources) = (Vec::new(), Vec::new());
    let mut locations: BTreeMap<ResourceId, Location> = BTreeMap::new();
    for object in objects {
        let location = object.origin.location();
        match Resource::read(&serde_json::Value::from(&Value::Dict(object.value.clone()))) {
            Ok(Some(resource)) => {
                locations.insert(resource.id.clone(), location);
                resources.push(resource);
            }
            Ok(None) => {}
            Err(error) => findings.push(Diagnostic::error("dapr-resource", error.to_string()).at(location)),
        }
    }
    findings.extend(preflight::check(&resources).into_iter().map(|found| {
        let said = match found.severity {
            Severity::Error => Diagnostic::error(found.code, found.to_string()),
            Severity::Warning => Diagnostic::warning(found.code, found.to_string()),
        };
        match locations.get(&found.resource) {
            Some(location) => said.at(location.clone()).key(&found.field),
            None => said.key(&found.field),
        }
    }));
    findings
}
