//! A small world for tests: one namespace `shop`, apps with a Deployment each, and a Redis state store.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use reeve_crds::runtime::policy::DaprPolicy;
use serde_json::{Value, json};

use crate::decide::{Decision, Means, Verdict, decide};
use crate::fingerprint::{Hash, secret_hash};
use crate::resource::Resource;
use crate::version::{Sidecar, version_of_image};
use crate::world::{ControlPlane, OwnerKind, Pod, SourceId, SourceKind, Workload, WorkloadId, World};

pub(crate) const NAMESPACE: &str = "shop";

/// A moment, some seconds after an arbitrary first one.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_800_000_000 + seconds)
}

pub(crate) fn id(name: &str) -> WorkloadId {
    id_of(OwnerKind::Deployment, name)
}

pub(crate) fn id_of(kind: OwnerKind, name: &str) -> WorkloadId {
    WorkloadId { namespace: NAMESPACE.to_owned(), kind, name: name.to_owned() }
}

pub(crate) fn image(version: &str) -> String {
    format!("daprio/daprd:{version}")
}

/// A pod with a sidecar of this version.
pub(crate) fn pod(name: &str, version: &str, feature: Option<bool>) -> Pod {
    Pod {
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        token: None,
        sidecar: Some(Sidecar::new(version_of_image(&image(version)), feature)),
        image: Some(image(version)),
        ready: true,
    }
}

pub(crate) fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "dapr.io/v1alpha1", "kind": kind, "metadata": { "name": name, "namespace": NAMESPACE }, "spec": spec })
}

/// A state store on this host, with more fields merged in at the top.
pub(crate) fn store(host: &str, more: &Value) -> Value {
    let metadata = json!([{ "name": "redisHost", "value": host }]);
    let mut object =
        object("Component", "statestore", &json!({ "type": "state.redis", "version": "v1", "metadata": metadata }));
    object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    object
}

/// A world of which every decision is taken and stored, as an agent would.
pub(crate) struct Shop {
    pub(crate) world: World,
    pub(crate) now: i64,
}

impl Shop {
    /// Apps `a`, `b` and `c` with one pod each, whose sidecars have this version.
    pub(crate) fn new(version: &str) -> Self {
        Self::with_feature(version, None)
    }

    pub(crate) fn with_feature(version: &str, feature: Option<bool>) -> Self {
        let control_plane = ControlPlane {
            namespace: "dapr-system".to_owned(),
            injector_ready: true,
            operator_ready: true,
            sidecar_image: Some(image(version)),
        };
        let policy = DaprPolicy { max_concurrent_restarts: 100, ..DaprPolicy::default() };
        let mut shop = Self { world: World { control_plane, policy, ..World::default() }, now: 0 };
        for app in ["a", "b", "c"] {
            let mut workload = Workload::new(app, 1);
            workload.pods = vec![pod(app, version, feature)];
            shop.world.workloads.insert(id(app), workload);
        }
        shop
    }

    pub(crate) fn apply(&mut self, object: &Value) {
        let resource = Resource::read(object).unwrap().unwrap();
        self.world.resources.insert(resource.id.clone(), resource);
    }

    pub(crate) fn delete(&mut self, name: &str) {
        self.world.resources.retain(|id, _| id.name != name);
    }

    pub(crate) fn secret(&mut self, name: &str, key: &str, value: &str) {
        let id = SourceId { kind: SourceKind::Secret, namespace: NAMESPACE.to_owned(), name: name.to_owned() };
        let hash: Hash = secret_hash(b"key of the test", value.as_bytes());
        self.world.sources.entry(id).or_default().insert(key.to_owned(), hash);
    }

    pub(crate) fn workload(&mut self, app: &str) -> &mut Workload {
        self.world.workloads.get_mut(&id(app)).unwrap()
    }

    /// Decides and stores the records, but does nothing.
    pub(crate) fn decide(&mut self) -> BTreeMap<WorkloadId, Decision> {
        let decisions = decide(&self.world, at(self.now));
        for (id, decision) in &decisions {
            self.world.records.insert(id.clone(), decision.record.clone());
        }
        decisions
    }

    /// Lets the settle time pass.
    pub(crate) fn settle(&mut self) -> BTreeMap<WorkloadId, Decision> {
        self.decide();
        self.now += 10;
        self.decide()
    }

    /// What is decided of each app after the settle time: a word and the rule.
    pub(crate) fn outcome(&mut self) -> String {
        let decisions = self.settle();
        let words: Vec<String> =
            decisions.iter().map(|(id, decision)| format!("{}:{}", id.name, word(decision))).collect();
        words.join(" ")
    }

    /// What is decided of one app.
    pub(crate) fn of(&mut self, app: &str) -> String {
        word(&self.settle()[&id(app)])
    }

    /// Every workload that was given a token gets it into its pods.
    pub(crate) fn roll(&mut self) {
        for (id, decision) in self.decide() {
            let workload = self.world.workloads.get_mut(&id).unwrap();
            if let Verdict::Restart(Means::Template(token)) = decision.verdict {
                workload.token = Some(token.clone());
                for pod in &mut workload.pods {
                    pod.token = Some(token.clone());
                    pod.sidecar = Some(pod.sidecar.clone().unwrap_or(Sidecar::UNKNOWN));
                }
            }
        }
    }
}

pub(crate) fn word(decision: &Decision) -> String {
    let verdict = match &decision.verdict {
        Verdict::Nothing => "nothing".to_owned(),
        Verdict::HotReload => "hot".to_owned(),
        Verdict::Restart(_) => "restart".to_owned(),
        Verdict::Blocked(block) => format!("{:?}", block.reason),
        Verdict::Report => "report".to_owned(),
    };
    decision.rule.map_or(verdict.clone(), |rule| format!("{verdict}/{rule}"))
}
