//! What Git says in a simulation: random components with random objects, from a pool small enough that runtimes meet.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reeve_crds::inventory::InventorySpec;
use reeve_crds::runtime_component::ComponentTarget;
use reeve_crds::{Runtime, RuntimeComponent};
use reeve_renderer_objects::key::{ObjectKey, Origin};
use serde_json::json;

use super::random::Random;
use crate::desired::{Desired, DesiredComponent, DesiredObject, Revision, Stage};
use crate::owner::Release;
use crate::payload::{Options, Prune};
use crate::runtime::worker::{DesiredState, Message};

/// The namespace of Runtimes.
pub(super) const NAMESPACE: &str = "fleet";
const COMPONENTS: [&str; 3] = ["base", "web", "jobs"];
const KINDS: [(&str, &str); 3] = [("", "ConfigMap"), ("apps", "Deployment"), ("", "Namespace")];

/// A commit's word on a runtime.
pub(super) fn desired(runtime: &str, revision: usize, random: &mut Random) -> Desired {
    let mut taken = Vec::new();
    let mut components: Vec<Arc<DesiredComponent>> = Vec::new();
    for name in COMPONENTS {
        if random.percent(30) {
            continue;
        }
        let depends_on = components.iter().filter(|_| random.percent(30)).map(|before| before.name.clone()).collect();
        components.push(Arc::new(component(runtime, name, depends_on, &mut taken, random)));
    }
    let digest = components.iter().fold(String::new(), |all, component| format!("{all}{};", component.digest));
    let revision = Revision { shown: format!("main@{revision}").into(), commit: revision.to_string().into() };
    Desired { revision, digest: digest.into(), components }
}

fn component(
    runtime: &str,
    name: &str,
    depends_on: Vec<Arc<str>>,
    taken: &mut Vec<ObjectKey>,
    random: &mut Random,
) -> DesiredComponent {
    let mut objects: Vec<DesiredObject> = Vec::new();
    for _ in 0..=random.below(3) {
        let object = object(runtime, random);
        if !taken.contains(&object.key) {
            taken.push(object.key.clone());
            objects.push(object);
        }
    }
    objects.sort_by(|a, b| (a.stage, &a.key).cmp(&(b.stage, &b.key)));
    let digest = objects.iter().fold(name.to_owned(), |all, object| format!("{all},{}={}", object.key, object.content));
    DesiredComponent {
        name: name.into(),
        chart: name.into(),
        version: "1.0.0".into(),
        channel: None,
        namespace: "shop".into(),
        release: Release::new("shop".into(), name.into()),
        target: ComponentTarget::Runtime,
        depends_on,
        service_account: None,
        timeout: Some(Duration::from_mins(1)),
        origin: String::new(),
        digest: digest.into(),
        objects,
        jobs: Vec::new(),
        health: Vec::new().into(),
        health_rules: Vec::new().into(),
    }
}

fn object(runtime: &str, random: &mut Random) -> DesiredObject {
    let (group, kind) = KINDS[if random.percent(10) { 2 } else { random.below(2) }];
    // Most objects are a runtime's own; some are wanted by several.
    let owner = if random.percent(15) { "shared" } else { runtime };
    let name = format!("{owner}-{}", random.below(4));
    let namespace = (kind != "Namespace").then(|| "shop".into());
    let key = ObjectKey { group: group.into(), kind: kind.into(), namespace, name: name.into() };
    let prune = if random.percent(5) { Prune::Never } else { Prune::Default };
    DesiredObject {
        stage: Stage::of(&key.group, &key.kind),
        api_version: if group.is_empty() { "v1".into() } else { format!("{group}/v1").into() },
        content: format!("{}{prune:?}", random.below(3)).into(),
        payload: b"{}".to_vec().into(),
        options: Options { prune, ..Options::default() },
        ignored: Vec::new(),
        keep: false,
        origin: Origin { file: "a.yaml".into(), document: 1, line: 1 },
        key,
    }
}

/// A Runtime as a source makes it.
pub(super) fn runtime(name: &str, uid: usize, delete: bool) -> Runtime {
    let policy = if delete { "Delete" } else { "Orphan" };
    let object = json!({
        "apiVersion": "reeve.dev/v1alpha1", "kind": "Runtime",
        "metadata": { "name": name, "namespace": NAMESPACE, "uid": uid.to_string(), "generation": 1 },
        "spec": { "sourceRef": { "name": "fleet" }, "target": { "type": "InCluster" }, "deletionPolicy": policy },
    });
    serde_json::from_value(object).unwrap()
}

/// One runtime in Git and in Reeve's own kinds.
#[derive(Debug, Default)]
pub(super) struct Home {
    /// What Git wants of it.
    pub(super) desired: DesiredState,
    /// Whether its source has read Git since the process started.
    pub(super) source_is_ready: bool,
    pub(super) source_suspended: bool,
    pub(super) object: Option<Arc<Runtime>>,
    pub(super) components: BTreeMap<Arc<str>, RuntimeComponent>,
    pub(super) pages: BTreeMap<String, (InventorySpec, u64)>,
    /// Whether what its file says next asks to delete its objects with it.
    pub(super) deletes: bool,
}

impl Home {
    /// What a worker is told, without what people ask of components.
    pub(super) fn brief(&self) -> Message {
        Message {
            object: self.object.clone(),
            desired: if self.source_is_ready { self.desired.clone() } else { DesiredState::Unknown },
            source_suspended: self.source_suspended,
            ..Message::default()
        }
    }
}
