//! Names that are agreed on with Dapr, and those of what the agent writes.

use std::collections::BTreeMap;

use reeve_agent_dapr::fingerprint::Hash;
use reeve_agent_dapr::world::WorkloadId;

/// Under which name the agent writes fields: of pod templates it has one annotation, and no other part of Reeve takes it.
pub(super) const FIELD_MANAGER: &str = "reeve-agent";

/// The name of the sidecar's container.
pub(super) const DAPRD: &str = "daprd";

/// Annotations of a pod template.
pub(super) const ENABLED: &str = "dapr.io/enabled";
pub(super) const APP_ID: &str = "dapr.io/app-id";
pub(super) const CONFIGURATION: &str = "dapr.io/config";
pub(super) const SIDECAR_IMAGE: &str = "dapr.io/sidecar-image";
pub(super) const INJECTS_CONTAINERS: &str = "dapr.io/inject-pluggable-components";
pub(super) const LOG_LEVEL: &str = "dapr.io/log-level";

/// Values of the label `app` of Dapr's control plane.
pub(super) const INJECTOR: &str = "dapr-sidecar-injector";
pub(super) const OPERATOR: &str = "dapr-operator";
pub(super) const CONTROL_PLANE: [&str; 5] =
    [OPERATOR, INJECTOR, "dapr-sentry", "dapr-placement-server", "dapr-scheduler-server"];
/// The variable of the injector that has the image of sidecars.
pub(super) const INJECTED_IMAGE: &str = "SIDECAR_IMAGE";

/// Longest name of an object.
const OBJECT_NAME: usize = 253;
/// Longest app-id.
const LONGEST_APP_ID: usize = 58;

/// Whether an object with these labels is of Dapr's control plane, if it is in its namespace.
pub(super) fn is_of_control_plane(labels: &BTreeMap<String, String>) -> bool {
    labels.get("app").is_some_and(|app| CONTROL_PLANE.contains(&app.as_str()))
}

/// What Dapr takes for yes.
pub(super) fn is_truthy(text: &str) -> bool {
    matches!(text.trim().to_ascii_lowercase().as_str(), "y" | "yes" | "true" | "t" | "on" | "1")
}

/// The name of a workload's `DaprWorkload`: no two workloads of a namespace have the same.
pub(super) fn record(id: &WorkloadId) -> String {
    let name = format!("{}-{}", id.kind.as_str().to_ascii_lowercase(), id.name);
    if name.len() <= OBJECT_NAME {
        return name;
    }
    let hash = Hash::of(name.as_bytes());
    let head: String = name.chars().take(OBJECT_NAME - 17).collect();
    format!("{}-{hash}", head.trim_end_matches(['-', '.']))
}

/// An app-id as Dapr takes it, of a name that may have dots or be longer.
pub(super) fn app_id(name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let plain: String = name.chars().map(plain).take(LONGEST_APP_ID).collect();
    plain.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use reeve_agent_dapr::world::OwnerKind;

    use super::*;

    #[test]
    fn yes_is_what_dapr_takes_for_yes() {
        assert!(["true", "True", " yes ", "1", "on", "t"].iter().all(|text| is_truthy(text)));
        assert!(!["false", "", "0", "no", "enabled"].iter().any(|text| is_truthy(text)));
    }

    #[test]
    fn a_record_is_named_for_kind_and_name_and_is_never_too_long() {
        let id = |name: &str| WorkloadId {
            namespace: "shop".to_owned(),
            kind: OwnerKind::StatefulSet,
            name: name.to_owned(),
        };
        assert_eq!(record(&id("web")), "statefulset-web");
        let (one, other) = (record(&id(&"a".repeat(252))), record(&id(&"a".repeat(253))));
        assert!(one.len() <= OBJECT_NAME && other.len() <= OBJECT_NAME);
        assert_ne!(one, other);
    }

    #[test]
    fn any_name_gives_an_app_id_that_dapr_takes() {
        assert_eq!(app_id("web"), "web");
        assert_eq!(app_id("Web.v1"), "web-v1");
        assert_eq!(app_id(&format!("{}.{}", "a".repeat(57), "b")), "a".repeat(57));
    }
}
