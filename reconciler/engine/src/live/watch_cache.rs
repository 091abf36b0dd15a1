//! Watches: one per account, kind and namespace, for all runtimes of a cluster, as long as one has need of it.
//!
//! Kinds whose health depends on more than their metadata are watched whole, since every change of their status matters;
//! of all others only the metadata is. Nothing is kept of an object but its [`Live`].

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use parking_lot::Mutex;
use reeve_crds::Reason;
use reeve_renderer_objects::bundle::COMPONENT_LABEL;
use reeve_renderer_objects::key::ObjectKey;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::index::{ChangedKeys, Index, Interest};
use super::{Live, WatchState};
use crate::api_error::ApiError;
use crate::clock::{Clock, since};
use crate::cluster::{Account, Cluster, Kind};
use crate::desired::Want;
use crate::health::{self, Expressions, Health};
use crate::owner::{self, Owner};

mod kind_watch;

use kind_watch::KindWatch;

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
    pub reason: Reason,
    /// Why.
    pub message: String,
}

type Rules = Arc<Mutex<HashMap<(Owner, Box<str>), Arc<[Expressions]>>>>;
type Watches = HashMap<(Scope, Kind), Shared>;
type Running = Mutex<(Watches, JoinSet<()>)>;

/// What a watch shares with those who have need of it.
#[derive(Clone, Debug)]
struct Shared {
    state: Arc<watch::Sender<WatchState>>,
    /// Its receivers are the holds.
    held: Arc<watch::Sender<()>>,
}

/// Keeps a watch going. It ends some time after the last of its holds is dropped.
#[derive(Debug)]
pub struct WatchHold {
    _held: watch::Receiver<()>,
}

/// All watches of one cluster. They end when the last clone goes.
#[derive(Clone, Debug)]
pub struct WatchCache {
    cluster: Cluster,
    clock: Clock,
    index: Index,
    rules: Rules,
    running: Arc<Running>,
    refreshed: Arc<Mutex<Timestamp>>,
}

/// Runtimes that check everything at about the same time list it once.
const REFRESH_AT_MOST: Duration = Duration::from_secs(30);
/// How long a watch goes on without a hold: a worker that ends is soon followed by another.
const UNUSED_AT_MOST: Duration = Duration::from_mins(1);

impl WatchCache {
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

    /// What changes of a runtime's objects, and of those that it is interested in.
    pub fn subscribe(&self, owner: Owner, interest: Option<Interest>) -> ChangedKeys {
        self.index.subscribe(owner, interest)
    }

    /// A runtime has these objects, does not want them any more, and lets another have them.
    pub fn offer(&self, owner: &Owner, keys: &BTreeSet<ObjectKey>) {
        self.index.offer(owner, keys);
    }

    /// Whether a runtime lets another have an object.
    pub fn is_offered(&self, owner: &Owner, key: &ObjectKey) -> bool {
        self.index.is_offered(owner, key)
    }

    /// A runtime does not want these objects any more.
    pub fn no_longer_wanted(&self, owner: &Owner, keys: &[ObjectKey]) {
        self.index.no_longer_wanted(owner, keys);
    }

    /// A runtime other than this one that wants an object, and how.
    pub fn wanted_by_another(&self, key: &ObjectKey, owner: &Owner) -> Option<(Owner, Want)> {
        self.index.wanted_by_another(key, owner)
    }

    /// Resolves when an object that a runtime had is another's or gone, or when no other runtime wants it.
    pub async fn until_handed_over(&self, key: &ObjectKey, owner: &Owner) {
        self.index.until_handed_over(key, owner).await;
    }

    /// How the health of a component's own kinds is told. Objects of it that were judged by other rules are read again,
    /// which [`watch`](Self::watch) waits for.
    pub fn set_rules(&self, owner: &Owner, component: &str, rules: &Arc<[Expressions]>) {
        let before = {
            let mut all = self.rules.lock();
            let of = (owner.clone(), component.into());
            if rules.is_empty() { all.remove(&of) } else { all.insert(of, rules.clone()) }
        };
        let changed = Expressions::differing(before.as_deref().unwrap_or_default(), rules);
        if changed.is_empty() {
            return;
        }
        let running = self.running.lock();
        for ((_, Kind { resource, .. }), Shared { state, .. }) in &running.0 {
            let is_judged = changed.iter().any(|rule| rule.is_for(&resource.api_version, &resource.kind));
            if is_judged && self.index.has_any(&resource.group, &resource.kind, owner, component) {
                state.send_if_modified(|state| {
                    let outdated = matches!(state, WatchState::Listing | WatchState::Watching);
                    if outdated {
                        *state = WatchState::Outdated;
                    }
                    outdated
                });
            }
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

    /// How an object is doing, by the rules of its component. `metadata` is its own, with its managers.
    pub fn assess(&self, object: &serde_json::Value, metadata: &ObjectMeta) -> Health {
        let component = metadata.labels.as_ref().and_then(|labels| labels.get(COMPONENT_LABEL));
        let rules = owner::hold(metadata).owner.zip(component).and_then(|(owner, component)| {
            let all = self.rules.lock();
            all.get(&(owner, component.as_str().into())).cloned()
        });
        health::assess(object, rules.as_deref().unwrap_or_default(), self.clock.now())
    }

    /// Watches a kind, if nobody does yet, and resolves when all that exists was seen. A server that asks for some time
    /// gets it; one that refuses for good is told of at once. What failed before is tried now, since it may be outdated
    /// by what a person did about it; all who ask meanwhile share that try. What the watch shows is known as long as the
    /// hold is kept.
    pub async fn watch(&self, scope: &Scope, kind: &Kind) -> Result<WatchHold, WatchFailure> {
        let (mut state, hold) = self.start(scope, kind)?;
        let is_settled = |state: &WatchState| matches!(state, WatchState::Watching | WatchState::Failing(_));
        match state.wait_for(is_settled).await.map(|state| state.clone()) {
            Ok(WatchState::Failing(failure)) => Err(failure),
            Ok(WatchState::Listing | WatchState::Outdated | WatchState::Watching) | Err(_) => Ok(hold),
        }
    }

    /// How many watches there are.
    pub fn watches(&self) -> usize {
        self.running.lock().0.len()
    }

    fn start(&self, scope: &Scope, kind: &Kind) -> Result<(watch::Receiver<WatchState>, WatchHold), WatchFailure> {
        let mut running = self.running.lock();
        // The memory of those that ended.
        while running.1.try_join_next().is_some() {}
        let at = (scope.clone(), kind.clone());
        if let Some(shared) = running.0.get(&at) {
            shared.state.send_if_modified(|state| {
                let failed = matches!(state, WatchState::Failing(_));
                if failed {
                    *state = WatchState::Listing;
                }
                failed
            });
            return Ok(shared.subscribe());
        }
        let client = self.cluster.client(&scope.account).map_err(|error| WatchFailure {
            kind: kind.resource.kind.clone(),
            account: scope.account.clone(),
            reason: Reason::Unreachable,
            message: reeve_process::error_chain(&error),
        })?;
        let following = KindWatch::new(self.clone_for_watch(), scope.clone(), kind.clone());
        let shared = following.shared();
        let subscribed = shared.subscribe();
        running.1.spawn(following.run(client, Arc::downgrade(&self.running)));
        running.0.insert(at, shared);
        Ok(subscribed)
    }

    /// Lists everything that is watched once more, as a net below the watches. Whoever asks shortly after another shares
    /// what that one found.
    pub async fn refresh(&self, now: Timestamp) {
        {
            let mut last = self.refreshed.lock();
            if since(now, *last) < REFRESH_AT_MOST {
                return;
            }
            *last = now;
        }
        let watched: Vec<(Scope, Kind)> = {
            let running = self.running.lock();
            running.0.keys().cloned().collect()
        };
        for (scope, kind) in watched {
            let Ok(client) = self.cluster.client(&scope.account) else { continue };
            let name = kind.resource.kind.clone();
            if let Err(error) = KindWatch::new(self.clone_for_watch(), scope, kind).list(client).await {
                tracing::debug!(kind = %name, "cannot list: {}", ApiError::of(&error).message);
            }
        }
    }

    /// Takes a watch out that nobody holds. What it alone showed is forgotten.
    fn end(&self, running: &Running, watch: &KindWatch) -> bool {
        let mut running = running.lock();
        if watch.is_held() {
            return false;
        }
        running.0.remove(&watch.at());
        let others: Vec<&(Scope, Kind)> = running.0.keys().collect();
        let is_shown = |key: &ObjectKey| others.iter().any(|(scope, kind)| covers(scope, kind, key));
        self.index.forget(|key| watch.covers(key) && !is_shown(key));
        true
    }

    /// A clone that does not keep the watches alive by itself.
    fn clone_for_watch(&self) -> Self {
        Self { running: Arc::default(), ..self.clone() }
    }
}

impl Shared {
    fn subscribe(&self) -> (watch::Receiver<WatchState>, WatchHold) {
        (self.state.subscribe(), WatchHold { _held: self.held.subscribe() })
    }
}

/// Whether a watch shows an object, whichever version it is watched in.
fn covers(scope: &Scope, kind: &Kind, key: &ObjectKey) -> bool {
    *key.group == *kind.resource.group
        && *key.kind == *kind.resource.kind
        && scope.namespace.as_ref().is_none_or(|namespace| key.namespace.as_ref() == Some(namespace))
}
