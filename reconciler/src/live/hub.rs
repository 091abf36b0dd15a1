//! Watches: one per account, kind and namespace, for all runtimes of a cluster.
//!
//! Kinds whose health depends on more than their metadata are watched whole, since every change of their status matters;
//! of all others only the metadata is. Nothing is kept of an object but its [`Live`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DynamicObject, ListParams};
use kube::core::{ApiResource, DynamicResourceScope, PartialObjectMeta};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use reeve_renderer::bundle::{COMPONENT_LABEL, MANAGED_BY, RUNTIME_LABEL};
use reeve_renderer::object::ObjectKey;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::index::{Dirty, Index, Listing};
use super::{Live, WatchState};
use crate::clock::{Clock, since};
use crate::cluster::{Account, Cluster, Kind};
use crate::health::{self, Expressions, Health};
use crate::refusal::Refusal;

/// As whom and where something is watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    /// As whom.
    pub account: Account,
    /// In which namespace; everywhere if in none.
    pub namespace: Option<Arc<str>>,
}

/// A kind cannot be watched.
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot watch {kind} as {account}: {message}")]
pub struct WatchFailure {
    /// The kind.
    pub kind: String,
    /// As whom.
    pub account: Account,
    /// Why, in one word.
    pub reason: &'static str,
    /// Why.
    pub message: String,
}

type Rules = Arc<Mutex<HashMap<(Box<str>, Box<str>), Arc<[Expressions]>>>>;
type Watches = HashMap<(Scope, Kind), watch::Receiver<WatchState>>;

/// All watches of one cluster. They end when the last clone goes.
#[derive(Clone, Debug)]
pub struct Hub {
    cluster: Cluster,
    clock: Clock,
    index: Index,
    rules: Rules,
    running: Arc<Mutex<(Watches, JoinSet<()>)>>,
    refreshed: Arc<Mutex<Timestamp>>,
}

/// Runtimes that check everything at about the same time list it once.
const REFRESH_AT_MOST: Duration = Duration::from_secs(30);
const PAGE: u32 = 500;

impl Hub {
    /// No watches yet.
    pub fn new(cluster: Cluster, clock: Clock) -> Self {
        Self {
            cluster,
            clock,
            index: Index::default(),
            rules: Rules::default(),
            running: Arc::default(),
            refreshed: Arc::default(),
        }
    }

    /// An object of ours as it is.
    pub fn get(&self, key: &ObjectKey) -> Option<Live> {
        self.index.get(key)
    }

    /// What changes of a runtime's objects.
    pub fn subscribe(&self, runtime: Arc<str>) -> Dirty {
        self.index.subscribe(runtime)
    }

    /// How the health of a component's own kinds is told.
    pub fn set_rules(&self, runtime: &str, component: &str, rules: Arc<[Expressions]>) {
        let mut all = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        if rules.is_empty() {
            all.remove(&(runtime.into(), component.into()));
        } else {
            all.insert((runtime.into(), component.into()), rules);
        }
    }

    /// Takes in what a write answered, before any watch tells.
    pub fn written(&self, key: ObjectKey, live: Live) {
        self.index.written(key, live);
    }

    /// Takes in that an object is not there.
    pub fn gone(&self, key: &ObjectKey, uid: Option<&str>) {
        self.index.gone(key, uid);
    }

    /// How an object is doing, by the rules of its component.
    pub fn assess(&self, object: &serde_json::Value) -> Health {
        let label = |name: &str| object.pointer("/metadata/labels").and_then(|labels| labels.get(name)?.as_str());
        let rules = label(RUNTIME_LABEL).zip(label(COMPONENT_LABEL)).and_then(|(runtime, component)| {
            let all = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
            all.get(&(runtime.into(), component.into())).cloned()
        });
        health::assess(object, rules.as_deref().unwrap_or_default(), self.clock.now())
    }

    /// Watches a kind, if nobody does yet, and resolves when all that exists was seen.
    pub async fn watch(&self, scope: &Scope, kind: &Kind) -> Result<(), WatchFailure> {
        let mut state = self.start(scope, kind)?;
        let settled = state.wait_for(|state| !matches!(state, WatchState::Listing)).await;
        match settled.map(|state| state.clone()) {
            Ok(WatchState::Failing(failure)) => Err(failure),
            Ok(WatchState::Listing | WatchState::Watching) | Err(_) => Ok(()),
        }
    }

    fn start(&self, scope: &Scope, kind: &Kind) -> Result<watch::Receiver<WatchState>, WatchFailure> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let at = (scope.clone(), kind.clone());
        if let Some(state) = running.0.get(&at) {
            return Ok(state.clone());
        }
        let client = self.cluster.client(&scope.account).map_err(|error| WatchFailure {
            kind: kind.resource.kind.clone(),
            account: scope.account.clone(),
            reason: "Unreachable",
            message: reeve_process::chain(&error),
        })?;
        let (tx, rx) = watch::channel(WatchState::Listing);
        let following = Following { hub: self.clone_for_watch(), scope: scope.clone(), kind: kind.clone(), state: tx };
        running.1.spawn(following.run(client));
        running.0.insert(at, rx.clone());
        Ok(rx)
    }

    /// Lists everything that is watched once more, as a net below the watches. Whoever asks shortly after another shares
    /// what that one found.
    pub async fn refresh(&self, now: Timestamp) {
        {
            let mut last = self.refreshed.lock().unwrap_or_else(PoisonError::into_inner);
            if since(now, *last) < REFRESH_AT_MOST {
                return;
            }
            *last = now;
        }
        let watched: Vec<(Scope, Kind)> = {
            let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            running.0.keys().cloned().collect()
        };
        for (scope, kind) in watched {
            let Ok(client) = self.cluster.client(&scope.account) else { continue };
            let (state, _) = watch::channel(WatchState::Listing);
            let following = Following { hub: self.clone_for_watch(), scope, kind, state };
            if let Err(error) = following.list(client).await {
                tracing::debug!(kind = %following.kind.resource.kind, "cannot list: {}", Refusal::of(&error).message);
            }
        }
    }

    /// A clone that does not keep the watches alive by itself.
    fn clone_for_watch(&self) -> Self {
        Self { running: Arc::default(), ..self.clone() }
    }
}

/// What is ours.
fn selector() -> String {
    format!("{MANAGED_BY}=reeve")
}

/// One watch.
struct Following {
    hub: Hub,
    scope: Scope,
    kind: Kind,
    state: watch::Sender<WatchState>,
}

impl Following {
    async fn run(self, client: Client) {
        let config = watcher::Config::default().labels(&selector());
        if self.is_whole() {
            let whole = kube::runtime::watcher(self.api(client), config).default_backoff();
            self.follow(whole, |object: &DynamicObject| (object.metadata.clone(), self.assess(object))).await;
        } else {
            let partial = kube::runtime::watcher(self.api(client), config).default_backoff();
            self.follow(partial, |object: &PartialObjectMeta<DynamicObject>| (object.metadata.clone(), None)).await;
        }
    }

    fn api<K: kube::Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>>(
        &self,
        client: Client,
    ) -> Api<K> {
        let resource = &self.kind.resource;
        match &self.scope.namespace {
            Some(namespace) if self.kind.namespaced => Api::namespaced_with(client, namespace, resource),
            _ => Api::all_with(client, resource),
        }
    }

    fn is_whole(&self) -> bool {
        health::needs_whole(&self.kind.resource.group, &self.kind.resource.kind)
    }

    fn assess(&self, object: &DynamicObject) -> Option<Health> {
        serde_json::to_value(object).map(|value| self.hub.assess(&value)).ok()
    }

    /// Everything that there is, once.
    async fn list(&self, client: Client) -> Result<(), kube::Error> {
        let api: Api<DynamicObject> = self.api(client);
        let mut listing = self.hub.index.begin_listing();
        let mut params = ListParams::default().labels(&selector()).limit(PAGE);
        loop {
            let next = if self.is_whole() {
                let page = api.list(&params).await?;
                for object in &page.items {
                    listing.saw(self.take((object.metadata.clone(), self.assess(object))));
                }
                page.metadata.continue_
            } else {
                let page = api.list_metadata(&params).await?;
                for object in &page.items {
                    listing.saw(self.take((object.metadata.clone(), None)));
                }
                page.metadata.continue_
            };
            match next.filter(|next| !next.is_empty()) {
                Some(next) => params.continue_token = Some(next),
                None => break,
            }
        }
        self.hub.index.end_listing(&listing, |key| self.covers(key));
        Ok(())
    }

    async fn follow<K>(
        &self,
        events: impl Stream<Item = watcher::Result<Event<K>>>,
        read: impl Fn(&K) -> (ObjectMeta, Option<Health>),
    ) {
        let mut events = std::pin::pin!(events);
        let mut listing: Option<Listing> = None;
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => listing = Some(self.hub.index.begin_listing()),
                Ok(Event::InitApply(object)) => {
                    let key = self.take(read(&object));
                    if let Some(listing) = &mut listing {
                        listing.saw(key);
                    }
                }
                Ok(Event::InitDone) => {
                    if let Some(listing) = listing.take() {
                        self.hub.index.end_listing(&listing, |key| self.covers(key));
                    }
                    self.state.send_replace(WatchState::Watching);
                }
                Ok(Event::Apply(object)) => drop(self.take(read(&object))),
                Ok(Event::Delete(object)) => {
                    let (metadata, _) = read(&object);
                    self.hub.index.gone(&self.key(&metadata), metadata.uid.as_deref());
                }
                Err(error) => self.fail(&error),
            }
        }
    }

    fn take(&self, (metadata, health): (ObjectMeta, Option<Health>)) -> ObjectKey {
        let key = self.key(&metadata);
        self.hub.index.seen(key.clone(), Live::of(&metadata, health));
        key
    }

    /// Before the first listing a failure is told to whoever waits; later ones mend themselves by listing again.
    fn fail(&self, error: &watcher::Error) {
        let cause = match error {
            watcher::Error::InitialListFailed(cause)
            | watcher::Error::WatchStartFailed(cause)
            | watcher::Error::WatchFailed(cause) => Some(cause),
            watcher::Error::WatchError(_) | watcher::Error::NoResourceVersion => None,
        };
        let Some(refusal) = cause.map(Refusal::of) else { return };
        tracing::debug!(kind = %self.kind.resource.kind, reason = refusal.reason.as_str(), "watch broke off: {}", refusal.message);
        self.state.send_if_modified(|state| {
            let first = !matches!(state, WatchState::Watching);
            if first {
                *state = WatchState::Failing(WatchFailure {
                    kind: self.kind.resource.kind.clone(),
                    account: self.scope.account.clone(),
                    reason: refusal.reason.as_str(),
                    message: refusal.message.clone(),
                });
            }
            first
        });
    }

    fn covers(&self, key: &ObjectKey) -> bool {
        *key.group == *self.kind.resource.group
            && *key.kind == *self.kind.resource.kind
            && self.scope.namespace.as_ref().is_none_or(|namespace| key.namespace.as_ref() == Some(namespace))
    }

    fn key(&self, metadata: &ObjectMeta) -> ObjectKey {
        ObjectKey {
            group: self.kind.resource.group.as_str().into(),
            kind: self.kind.resource.kind.as_str().into(),
            namespace: metadata.namespace.as_deref().map(Into::into),
            name: metadata.name.as_deref().unwrap_or_default().into(),
        }
    }
}
