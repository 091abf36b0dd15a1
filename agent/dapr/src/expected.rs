//! What the sidecars of a workload should run: every resource, Secret and image that counts for them, with its hash.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::entry::{Entries, Entry, EntryKey, EntryKind};
use crate::fingerprint::{Fingerprint, Hash, hash_of};
use crate::kind::Kind;
use crate::resource::{Class, Resource, ResourceId};
use crate::world::{Role, SourceId, SourceKind, Workload, World};

/// The Configuration of Dapr's own control plane.
const SYSTEM: &str = "daprsystem";

/// What the sidecars of a workload should run.
pub fn expected(namespace: &str, workload: &Workload, world: &World) -> Entries {
    let mut entries = Entries::new();
    if let Some(system) = world.resources.get(&system_id(world)) {
        entries.insert(
            EntryKey { kind: EntryKind::System, name: SYSTEM.to_owned() },
            entry(system, false, &world.control_plane.namespace, world),
        );
    }
    if workload.role == Role::ControlPlane {
        return entries;
    }
    for resource in visible(namespace, workload, world) {
        let value = entry(resource, workload.injects_containers, namespace, world);
        entries.insert(EntryKey::of(&resource.id), value);
    }
    entries.extend(start_values(namespace, workload, world));
    if let (Role::Sidecar, false, Some(image)) =
        (workload.role, workload.names_image, world.control_plane.sidecar_image.as_deref())
    {
        let fingerprint = Fingerprint::plain(Hash::of(image.as_bytes()));
        entries.insert(
            EntryKey { kind: EntryKind::Image, name: "daprd".to_owned() },
            Entry { fingerprint, class: Class::Plain },
        );
    }
    entries
}

/// Secrets that are needed by what the sidecars should run, and are not there; each with what needs it.
pub fn missing_secrets(namespace: &str, workload: &Workload, world: &World) -> BTreeMap<String, String> {
    let is_missing = |name: &str, key: Option<&str>| {
        let values = world.sources.get(&source_id(SourceKind::Secret, namespace, name));
        values.is_none_or(|values| key.is_some_and(|key| !values.contains_key(key)))
    };
    let resources = visible(namespace, workload, world).into_iter().flat_map(|resource| {
        resource.secret_keys().into_iter().map(|key| (key.name, Some(key.key), resource.id.to_string()))
    });
    let start = workload.start_values.iter().filter(|value| value.kind == SourceKind::Secret);
    let start = start.map(|value| (value.name.clone(), value.key.clone(), "the sidecar".to_owned()));
    resources
        .chain(start)
        .filter(|(name, key, _)| is_missing(name, key.as_deref()))
        .map(|(name, _, of)| (name, of))
        .collect()
}

/// The resources that an app sees, its Configuration, and the secret stores that any of them reads from (R5).
fn visible<'a>(namespace: &str, workload: &Workload, world: &'a World) -> Vec<&'a Resource> {
    if workload.role == Role::ControlPlane {
        return Vec::new();
    }
    let in_namespace = || world.resources.values().filter(|resource| resource.id.namespace == namespace);
    let is_seen = |resource: &&Resource| match resource.id.kind {
        Kind::Configuration => workload.configuration.as_deref() == Some(&*resource.id.name),
        Kind::Component
        | Kind::HttpEndpoint
        | Kind::McpServer
        | Kind::Resiliency
        | Kind::Subscription
        | Kind::WorkflowAccessPolicy => resource.is_visible_to(&workload.app_id),
    };
    let seen: Vec<&Resource> = in_namespace().filter(is_seen).collect();
    let stores: BTreeSet<&str> = seen.iter().filter_map(|resource| resource.secret_store.as_deref()).collect();
    let is_store = |resource: &&Resource| {
        resource.class() == Class::SecretStore && stores.contains(&*resource.id.name) && !seen.contains(resource)
    };
    let unseen: Vec<&Resource> = in_namespace().filter(is_store).collect();
    seen.into_iter().chain(unseen).collect()
}

fn entry(resource: &Resource, injects_containers: bool, namespace: &str, world: &World) -> Entry {
    let fingerprint = Fingerprint::of(resource, injects_containers, |key| {
        world.sources.get(&source_id(SourceKind::Secret, namespace, &key.name))?.get(&key.key).copied()
    });
    Entry { fingerprint, class: resource.class() }
}

fn start_values(namespace: &str, workload: &Workload, world: &World) -> Entries {
    let mut values: BTreeMap<EntryKey, Vec<serde_json::Value>> = BTreeMap::new();
    for value in &workload.start_values {
        let key = EntryKey { kind: EntryKind::Source(value.kind), name: value.name.clone() };
        let source = world.sources.get(&source_id(value.kind, namespace, &value.name));
        let read =
            source.into_iter().flatten().filter(|(key, _)| value.key.as_ref().is_none_or(|wanted| *key == wanted));
        values.entry(key).or_default().extend(read.map(|(key, hash)| json!([key, hash.to_string()])));
    }
    let entry =
        |values: Vec<_>| Entry { fingerprint: Fingerprint::plain(hash_of(&json!(values))), class: Class::Plain };
    values.into_iter().map(|(key, values)| (key, entry(values))).collect()
}

fn system_id(world: &World) -> ResourceId {
    ResourceId { namespace: world.control_plane.namespace.clone(), kind: Kind::Configuration, name: SYSTEM.to_owned() }
}

fn source_id(kind: SourceKind, namespace: &str, name: &str) -> SourceId {
    SourceId { kind, namespace: namespace.to_owned(), name: name.to_owned() }
}
