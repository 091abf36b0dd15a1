//! The versions of Secrets, by a watch of their metadata in each namespace that somebody asks about. Their content is read
//! where it is needed.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Secret;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, Event};
use kube::{Api, ResourceExt as _};
use parking_lot::Mutex;
use reeve_reconciler_engine::clock::Clock;
use reeve_reconciler_engine::cluster::Cluster;
use reeve_reconciler_engine::live::{WatchBackoff, watch_error};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Versions by name, once all are known.
type Versions = Option<HashMap<String, String>>;

/// The versions of Secrets. A namespace is watched for as long as somebody waits for one of its Secrets.
#[derive(Debug)]
pub(super) struct Secrets {
    cluster: Cluster,
    clock: Clock,
    namespaces: Mutex<HashMap<Arc<str>, Weak<Watch>>>,
}

#[derive(Debug)]
struct Watch {
    versions: watch::Receiver<Versions>,
    /// Ends with it.
    _task: JoinSet<()>,
}

impl Secrets {
    pub(super) fn new(cluster: Cluster, clock: Clock) -> Self {
        Self { cluster, clock, namespaces: Mutex::default() }
    }

    /// Resolves when a Secret has another version than this one. Without one there was no Secret.
    pub(super) async fn changed(&self, namespace: &str, name: &str, version: &str) {
        let Some(watch) = self.watch(namespace) else { return std::future::pending().await };
        let mut versions = watch.versions.clone();
        let is_other = |versions: &Versions| {
            versions.as_ref().is_some_and(|versions| versions.get(name).map_or("", String::as_str) != version)
        };
        if versions.wait_for(is_other).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    fn watch(&self, namespace: &str) -> Option<Arc<Watch>> {
        let mut namespaces = self.namespaces.lock();
        if let Some(watch) = namespaces.get(namespace).and_then(Weak::upgrade) {
            return Some(watch);
        }
        namespaces.retain(|_, watch| watch.strong_count() > 0);
        let api: Api<PartialObjectMeta<Secret>> = Api::namespaced(self.cluster.own().ok()?, namespace);
        let (sender, versions) = watch::channel(None);
        let mut task = JoinSet::new();
        task.spawn(follow(api, sender, self.clock.clone()));
        let watch = Arc::new(Watch { versions, _task: task });
        namespaces.insert(namespace.into(), Arc::downgrade(&watch));
        Some(watch)
    }
}

async fn follow(api: Api<PartialObjectMeta<Secret>>, sender: watch::Sender<Versions>, clock: Clock) {
    let mut events = kube::runtime::watcher(api, watcher::Config::default()).boxed();
    let (mut backoff, mut listed) = (WatchBackoff::default(), HashMap::new());
    let version = |secret: &PartialObjectMeta<Secret>| secret.resource_version().unwrap_or_default();
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(secret)) => drop(listed.insert(secret.name_any(), version(&secret))),
            Ok(Event::InitDone) => drop(sender.send_replace(Some(std::mem::take(&mut listed)))),
            Ok(Event::Apply(secret)) => sender.send_modify(|versions| {
                versions.get_or_insert_default().insert(secret.name_any(), version(&secret));
            }),
            Ok(Event::Delete(secret)) => sender.send_modify(|versions| {
                versions.get_or_insert_default().remove(&secret.name_any());
            }),
            Err(error) => clock.sleep(backoff.delay(watch_error(&error).as_ref(), clock.now())).await,
        }
    }
}
