//! Stores that watches keep up to date.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use futures::{Stream, StreamExt};
use k8s_openapi::NamespaceResourceScope;
use kube::api::{ApiResource, DynamicObject};
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt;
use kube::runtime::reflector::{self, Lookup, ObjectRef, Store};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tracing::warn;

use super::Scope;

/// All objects of a kind, from as many watches as there are namespaces.
pub(super) struct Watched<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Hash + Eq + Clone,
{
    stores: Vec<Store<K>>,
}

impl<K> Watched<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Hash + Eq + Clone,
{
    pub(super) fn all(&self) -> Vec<Arc<K>> {
        self.stores.iter().flat_map(Store::state).collect()
    }

    /// The version of an object, if it is there.
    pub(super) fn version(&self, namespace: &str, name: &str) -> Option<String>
    where
        K: Resource,
        <K as Lookup>::DynamicType: Default,
    {
        let object = ObjectRef::new(name).within(namespace);
        let found = self.stores.iter().find_map(|store| store.get(&object))?;
        ResourceExt::resource_version(&*found)
    }

    /// Waits until all is known.
    pub(super) async fn ready(&self) {
        for store in &self.stores {
            // An error says that the watch is gone for good, and then so is the term.
            let _ = store.wait_until_ready().await;
        }
    }
}

/// Starts watches. They end when this is dropped.
pub(super) struct Watches {
    client: Client,
    /// Is notified of every change.
    changed: Arc<Notify>,
    tasks: JoinSet<()>,
}

impl Watches {
    pub(super) fn new(client: Client) -> Self {
        Self { client, changed: Arc::default(), tasks: JoinSet::new() }
    }

    pub(super) fn changed(&self) -> Arc<Notify> {
        Arc::clone(&self.changed)
    }

    /// Watches whole objects, of which `strip` may take away what nobody looks at.
    pub(super) fn typed<K>(&mut self, scope: &Scope, strip: fn(&mut K)) -> Watched<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Object,
    {
        let apis = namespaces(scope).map(|namespace| match namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        });
        self.follow(apis.collect(), &(), &watcher::Config::default(), strip)
    }

    /// Watches one object.
    pub(super) fn named<K>(&mut self, namespace: &str, name: &str) -> Watched<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Object,
    {
        let api = Api::namespaced(self.client.clone(), namespace);
        let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
        self.follow(vec![api], &(), &config, |_| {})
    }

    /// Watches objects of a kind that is known by name.
    pub(super) fn dynamic(
        &mut self,
        kind: &ApiResource,
        scope: &Scope,
        strip: fn(&mut DynamicObject),
    ) -> Watched<DynamicObject> {
        let apis = namespaces(scope).map(|namespace| match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, kind),
            None => Api::all_with(self.client.clone(), kind),
        });
        self.follow(apis.collect(), kind, &watcher::Config::default(), strip)
    }

    /// Watches names and versions alone.
    pub(super) fn metadata<K>(&mut self, scope: &Scope) -> Watched<PartialObjectMeta<K>>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Object,
    {
        self.typed(scope, |object: &mut PartialObjectMeta<K>| {
            object.annotations_mut().clear();
            object.labels_mut().clear();
        })
    }

    fn follow<K>(
        &mut self,
        apis: Vec<Api<K>>,
        kind: &K::DynamicType,
        config: &watcher::Config,
        strip: fn(&mut K),
    ) -> Watched<K>
    where
        K: Resource + Object,
        K::DynamicType: Hash + Eq + Clone + Send + Sync,
    {
        let stores = apis.into_iter().map(|api| {
            let writer = reflector::store::Writer::new(kind.clone());
            let store = writer.as_reader();
            let events = watcher::watcher(api, config.clone()).default_backoff().modify(move |object| {
                object.managed_fields_mut().clear();
                strip(object);
            });
            self.tasks.spawn(drive(reflector::reflector(writer, events), Arc::clone(&self.changed)));
            store
        });
        Watched { stores: stores.collect() }
    }
}

/// What an object must be to be watched.
pub(super) trait Object: Clone + Debug + DeserializeOwned + Send + Sync + 'static {}

impl<K: Clone + Debug + DeserializeOwned + Send + Sync + 'static> Object for K {}

fn namespaces(scope: &Scope) -> Box<dyn Iterator<Item = Option<&str>> + '_> {
    match scope {
        Scope::Everywhere => Box::new(std::iter::once(None)),
        Scope::Namespaces(names) => Box::new(names.iter().map(|name| Some(name.as_str()))),
    }
}

async fn drive<K>(events: impl Stream<Item = Result<Event<K>, watcher::Error>>, changed: Arc<Notify>) {
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        match event {
            Ok(_) => changed.notify_one(),
            Err(error) => warn!(error = %reeve_process::error_chain(&error), "cannot watch"),
        }
    }
}
