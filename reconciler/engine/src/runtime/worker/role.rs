//! What is done here for a Runtime: by its target, and by whether it goes.

use reeve_crds::runtime::target::TargetType;

use super::Message;

/// What a worker does for its runtime. A worker never changes its role: it ends, and another one begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Keeps the runtime to Git, and takes it away when it goes.
    Reconcile {
        /// The source that says what Git wants.
        source: Option<String>,
    },
    /// Its target is elsewhere: applies nothing, and takes away what was applied here while the target was this cluster.
    Dissolve,
    /// Its target is elsewhere: leaves everything as it is.
    Leave,
}

impl Role {
    /// The role that fits what is told; none as long as there is no Runtime.
    pub fn of(message: &Message) -> Option<Self> {
        let object = message.object.as_ref()?;
        let source = object.spec.source_ref.as_ref().map(|source| source.name.clone());
        Some(match object.spec.target.kind {
            TargetType::InCluster => Self::Reconcile { source },
            TargetType::Agent | TargetType::KubeConfig => {
                if object.metadata.deletion_timestamp.is_some() || message.desired.is_absent() {
                    Self::Dissolve
                } else {
                    Self::Leave
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use reeve_crds::Runtime;
    use serde_json::json;

    use super::*;
    use crate::runtime::DesiredState;

    fn message_for(target: &str) -> Message {
        let object = json!({
            "apiVersion": "reeve.dev/v1alpha1", "kind": "Runtime", "metadata": { "name": "eu" },
            "spec": { "sourceRef": { "name": "fleet" }, "target": { "type": target } },
        });
        let object: Runtime = serde_json::from_value(object).unwrap();
        Message { object: Some(Arc::new(object)), ..Message::default() }
    }

    #[test]
    fn what_has_its_target_elsewhere_is_left_until_it_goes() {
        assert_eq!(Role::of(&Message::default()), None);
        for target in ["Agent", "KubeConfig"] {
            let mut message = message_for(target);
            assert_eq!(Role::of(&message), Some(Role::Leave));
            message.desired = DesiredState::Absent { keeps_objects: false };
            assert_eq!(Role::of(&message), Some(Role::Dissolve));
            message.desired = DesiredState::Unknown;
            let mut object = Runtime::clone(message.object.as_ref().unwrap());
            object.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::UNIX_EPOCH));
            message.object = Some(Arc::new(object));
            assert_eq!(Role::of(&message), Some(Role::Dissolve));
        }
    }

    #[test]
    fn another_source_is_another_role() {
        let mut message = message_for("InCluster");
        let role = Role::of(&message);
        assert_eq!(role, Some(Role::Reconcile { source: Some("fleet".to_owned()) }));
        message.desired = DesiredState::Absent { keeps_objects: false };
        assert_eq!(Role::of(&message), role, "whoever keeps a runtime takes it away");
        let mut object = Runtime::clone(message.object.as_ref().unwrap());
        object.spec.source_ref = None;
        message.object = Some(Arc::new(object));
        assert_ne!(Role::of(&message), role);
    }
}
