//! What is done here for a Runtime: by its target, and by whether it goes.

use reeve_crds::annotation;
use reeve_crds::runtime::target::{KubeConfigRef, TargetType};

use super::Message;

/// What a worker does for its runtime. A worker never changes its role: it ends, and another one begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Keeps the runtime to Git, and takes it away when it goes.
    Reconcile {
        /// The source that says what Git wants.
        source: Option<String>,
        /// The way to its cluster, if that is not the one its Runtime is in.
        cluster: Option<KubeConfigRef>,
    },
    /// Its target is out of reach from here: applies nothing, and takes away what was applied while it was in reach.
    Dissolve,
    /// Its target is out of reach from here: leaves everything as it is.
    Leave,
}

impl Role {
    /// The role that fits what is told; none as long as there is no Runtime.
    pub fn of(message: &Message) -> Option<Self> {
        let object = message.object.as_ref()?;
        let source = object.spec.source_ref.as_ref().map(|source| source.name.clone());
        let target = &object.spec.target;
        let cluster = target.kube_config_secret_ref.as_ref().filter(|_| target.kind == TargetType::KubeConfig);
        let forgotten = object.metadata.annotations.as_ref().and_then(|all| all.get(annotation::FORGET_CLUSTER));
        let had = object.status.as_ref().and_then(|status| status.cluster.as_ref());
        let had = had.filter(|had| forgotten != Some(&had.uid));
        let had = had.and_then(|had| had.kube_config_secret_ref.as_ref());
        let is_going = object.metadata.deletion_timestamp.is_some() || message.desired.is_absent();
        // What goes goes from where it is, and nothing is applied there if Git wants it again, but somewhere else.
        Some(match (target.kind, is_going) {
            (TargetType::Agent, false) => Self::Leave,
            (TargetType::Agent, true) => Self::Dissolve,
            (TargetType::InCluster | TargetType::KubeConfig, true) if had != cluster => Self::Dissolve,
            (TargetType::InCluster | TargetType::KubeConfig, _) => {
                Self::Reconcile { source, cluster: cluster.cloned() }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use reeve_crds::Runtime;
    use reeve_crds::runtime::RuntimeCluster;
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
    fn what_has_its_target_out_of_reach_is_left_until_it_goes() {
        assert_eq!(Role::of(&Message::default()), None);
        let mut message = message_for("Agent");
        assert_eq!(Role::of(&message), Some(Role::Leave));
        message.desired = DesiredState::Absent { keeps_objects: false };
        assert_eq!(Role::of(&message), Some(Role::Dissolve));
        message.desired = DesiredState::Unknown;
        let mut object = Runtime::clone(message.object.as_ref().unwrap());
        object.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::UNIX_EPOCH));
        message.object = Some(Arc::new(object));
        assert_eq!(Role::of(&message), Some(Role::Dissolve));
    }

    #[test]
    fn what_goes_from_another_cluster_than_git_wants_it_in_is_only_taken_away() {
        let mut message = message_for("KubeConfig");
        let mut object = Runtime::clone(message.object.as_ref().unwrap());
        object.spec.target.kube_config_secret_ref =
            Some(KubeConfigRef { name: "eu".to_owned(), key: "value".to_owned() });
        message.object = Some(Arc::new(object.clone()));
        message.desired = DesiredState::Absent { keeps_objects: false };
        assert_eq!(Role::of(&message), Some(Role::Dissolve), "it was never applied there");
        object.status.get_or_insert_default().cluster = Some(RuntimeCluster {
            uid: "1".to_owned(),
            kube_config_secret_ref: object.spec.target.kube_config_secret_ref.clone(),
        });
        message.object = Some(Arc::new(object.clone()));
        assert!(matches!(Role::of(&message), Some(Role::Reconcile { .. })), "Git may want it again");
        let forgotten = [(annotation::FORGET_CLUSTER.to_owned(), "1".to_owned())];
        object.metadata.annotations = Some(forgotten.into());
        message.object = Some(Arc::new(object));
        assert_eq!(Role::of(&message), Some(Role::Dissolve), "nothing is looked for there any more");
    }

    #[test]
    fn another_way_to_its_cluster_is_another_role() {
        let by = |name: &str| {
            let mut object = Runtime::clone(message_for("KubeConfig").object.as_ref().unwrap());
            let secret = KubeConfigRef { name: name.to_owned(), key: "value".to_owned() };
            object.spec.target.kube_config_secret_ref = Some(secret);
            Role::of(&Message { object: Some(Arc::new(object)), ..Message::default() })
        };
        assert_eq!(by("one"), by("one"));
        assert_ne!(by("one"), by("other"));
        assert_ne!(by("one"), Role::of(&message_for("InCluster")));
    }

    #[test]
    fn another_source_is_another_role() {
        let mut message = message_for("InCluster");
        let role = Role::of(&message);
        assert_eq!(role, Some(Role::Reconcile { source: Some("fleet".to_owned()), cluster: None }));
        message.desired = DesiredState::Absent { keeps_objects: false };
        assert_eq!(Role::of(&message), role, "whoever keeps a runtime takes it away");
        let mut object = Runtime::clone(message.object.as_ref().unwrap());
        object.spec.source_ref = None;
        message.object = Some(Arc::new(object));
        assert_ne!(Role::of(&message), role);
    }
}
