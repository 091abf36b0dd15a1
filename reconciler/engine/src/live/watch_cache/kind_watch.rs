//! One watch, from its first listing on: takes in what it sees and mends itself.

use std::sync::{Arc, Weak};

use futures::{Stream, StreamExt as _};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DynamicObject, ListParams};
use kube::core::{ApiResource, DynamicResourceScope, PartialObjectMeta};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use parking_lot::Mutex;
use reeve_crds::Reason;
use reeve_renderer_objects::bundle::MANAGED_BY;
use reeve_renderer_objects::key::ObjectKey;
use tokio::sync::watch;

use super::{Running, Scope, Shared, UNUSED_AT_MOST, WatchCache, WatchFailure, covers};
use crate::api_error::ApiError;
use crate::clock::since;
use crate::cluster::Kind;
use crate::health::{self, Health};
use crate::live::backoff::{self, WatchBackoff};
use crate::live::index::Listing;
use crate::live::{Live, WatchState};

const PAGE: u32 = 500;

/// What is ours.
fn selector() -> String {
    format!("{MANAGED_BY}=reeve")
}

/// One watch.
pub(super) struct KindWatch {
    watch_cache: WatchCache,
    scope: Scope,
    kind: Kind,
    shared: Shared,
    /// Why changes are no longer seen, as it was told last.
    told: Mutex<Option<String>>,
}

impl KindWatch {
    pub(super) fn new(watch_cache: WatchCache, scope: Scope, kind: Kind) -> Self {
        Self {
            watch_cache,
            scope,
            kind,
            shared: Shared {
                state: Arc::new(watch::Sender::new(WatchState::Listing)),
                held: Arc::new(watch::Sender::new(())),
            },
            told: Mutex::default(),
        }
    }

    pub(super) fn shared(&self) -> Shared {
        self.shared.clone()
    }

    /// What it watches.
    pub(super) fn at(&self) -> (Scope, Kind) {
        (self.scope.clone(), self.kind.clone())
    }

    pub(super) fn is_held(&self) -> bool {
        self.shared.held.receiver_count() > 0
    }

    /// Watches for as long as somebody has need of it.
    pub(super) async fn run(self, client: Client, running: Weak<Running>) {
        tokio::select! {
            () = self.watch(client) => {}
            () = self.until_unused(&running) => {}
        }
    }

    /// Resolves when nobody has held it for a while, and it is taken out.
    async fn until_unused(&self, running: &Weak<Running>) {
        loop {
            self.shared.held.closed().await;
            self.watch_cache.clock.sleep(UNUSED_AT_MOST).await;
            let ended = running.upgrade().is_none_or(|running| self.watch_cache.end(&running, self));
            if ended {
                return;
            }
        }
    }

    async fn watch(&self, client: Client) {
        let mut backoff = WatchBackoff::default();
        loop {
            let config = watcher::Config::default().labels(&selector());
            if self.is_whole() {
                let whole = kube::runtime::watcher(self.api(client.clone()), config);
                let read = |object: DynamicObject| self.read(object);
                self.follow(whole, read, &mut backoff).await;
            } else {
                let partial = kube::runtime::watcher(self.api(client.clone()), config);
                let read = |object: PartialObjectMeta<DynamicObject>| (object.metadata, None);
                self.follow(partial, read, &mut backoff).await;
            }
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

    /// The metadata of an object that came whole, and how it is doing.
    fn read(&self, object: DynamicObject) -> (ObjectMeta, Option<Health>) {
        let DynamicObject { mut metadata, data: mut value, .. } = object;
        // Who owns which field says nothing about health, and is most of what there is to copy.
        let managed = metadata.managed_fields.take();
        let copied = serde_json::to_value(&metadata);
        metadata.managed_fields = managed;
        let Ok(copied) = copied else { return (metadata, None) };
        // In a list, what they are is said once for all.
        value["apiVersion"] = self.kind.resource.api_version.as_str().into();
        value["kind"] = self.kind.resource.kind.as_str().into();
        value["metadata"] = copied;
        let health = self.watch_cache.assess(&value, &metadata);
        (metadata, Some(health))
    }

    /// Everything that there is, once.
    pub(super) async fn list(&self, client: Client) -> Result<(), kube::Error> {
        let api: Api<DynamicObject> = self.api(client);
        let mut listing = self.watch_cache.index.begin_listing();
        let mut params = ListParams::default().labels(&selector()).limit(PAGE);
        loop {
            let next = if self.is_whole() {
                let page = api.list(&params).await?;
                for object in page.items {
                    listing.mark_seen(self.on_object(self.read(object)));
                }
                page.metadata.continue_
            } else {
                let page = api.list_metadata(&params).await?;
                for object in page.items {
                    listing.mark_seen(self.on_object((object.metadata, None)));
                }
                page.metadata.continue_
            };
            match next.filter(|next| !next.is_empty()) {
                Some(next) => params.continue_token = Some(next),
                None => break,
            }
        }
        self.watch_cache.index.end_listing(&listing, |key| self.covers(key));
        Ok(())
    }

    /// Takes in what happens until all has to be listed anew.
    async fn follow<K>(
        &self,
        events: impl Stream<Item = watcher::Result<Event<K>>>,
        read: impl Fn(K) -> (ObjectMeta, Option<Health>),
        backoff: &mut WatchBackoff,
    ) {
        let mut events = std::pin::pin!(events);
        let mut began = self.watch_cache.clock.now();
        let mut listing: Option<Listing> = None;
        loop {
            let event = tokio::select! {
                () = self.outdated(), if listing.is_none() => return self.turn(WatchState::Listing),
                event = events.next() => event,
            };
            match event {
                Some(Ok(Event::Init)) => listing = Some(self.watch_cache.index.begin_listing()),
                Some(Ok(Event::InitApply(object))) => {
                    let key = self.on_object(read(object));
                    if let Some(listing) = &mut listing {
                        listing.mark_seen(key);
                    }
                }
                Some(Ok(Event::InitDone)) => {
                    if let Some(listing) = listing.take() {
                        self.watch_cache.index.end_listing(&listing, |key| self.covers(key));
                    }
                    if self.told.lock().take().is_some() {
                        tracing::info!(kind = %self.kind.resource.kind, "changes are seen again");
                    }
                    self.turn(WatchState::Watching);
                }
                Some(Ok(Event::Apply(object))) => drop(self.on_object(read(object))),
                Some(Ok(Event::Delete(object))) => {
                    let (metadata, _) = read(object);
                    self.watch_cache.index.gone(&self.key(&metadata), metadata.uid.as_deref());
                }
                Some(Err(error)) => {
                    let api_error = backoff::watch_error(&error);
                    let is_told = match &api_error {
                        Some(api_error) => self.fail(api_error, began).await,
                        None => false,
                    };
                    let rest = backoff.delay(api_error.as_ref(), self.watch_cache.clock.now());
                    tokio::select! {
                        () = self.watch_cache.clock.sleep(rest) => {}
                        () = self.asked(), if is_told => began = self.watch_cache.clock.now(),
                    }
                }
                None => return,
            }
        }
    }

    /// Resolves when objects were judged by rules that changed since.
    async fn outdated(&self) {
        // The sender is our own.
        let _ = self.shared.state.subscribe().wait_for(|state| matches!(state, WatchState::Outdated)).await;
    }

    /// Resolves when somebody asks for what was told to fail.
    async fn asked(&self) {
        // The sender is our own.
        let _ = self.shared.state.subscribe().wait_for(|state| !matches!(state, WatchState::Failing(_))).await;
    }

    /// Goes on, unless what was seen so far is outdated: only a listing that begins later makes up for that.
    fn turn(&self, next: WatchState) {
        self.shared.state.send_if_modified(|state| {
            let is_outdated = matches!(state, WatchState::Outdated) && matches!(next, WatchState::Watching);
            if !is_outdated {
                *state = next;
            }
            !is_outdated
        });
    }

    fn on_object(&self, (metadata, health): (ObjectMeta, Option<Health>)) -> ObjectKey {
        let key = self.key(&metadata);
        self.watch_cache.index.seen(key.clone(), Live::of(&metadata, health));
        key
    }

    /// Before the first listing a failure is told to whoever waits, unless it passes soon; later ones mend themselves by
    /// listing again. True if it was told.
    async fn fail(&self, api_error: &ApiError, began: Timestamp) -> bool {
        tracing::debug!(kind = %self.kind.resource.kind, reason = api_error.reason.as_str(), "watch broke off: {}", api_error.message);
        let passes = match *self.shared.state.borrow() {
            WatchState::Listing | WatchState::Outdated => true,
            WatchState::Failing(_) => false,
            WatchState::Watching => {
                self.warn(api_error);
                return false;
            }
        };
        let passes = passes && {
            let waited = since(self.watch_cache.clock.now(), began);
            let is_discovered = api_error.reason != Reason::MissingKind || self.is_discovered().await;
            backoff::waits(api_error, is_discovered, waited)
        };
        if !passes {
            self.report_failure(api_error);
        }
        !passes
    }

    /// Says once for each changed refusal, and not of what passes by itself, that changes are no longer seen.
    fn warn(&self, api_error: &ApiError) {
        if api_error.transient {
            return;
        }
        let mut told = self.told.lock();
        if told.as_ref() != Some(&api_error.message) {
            let (kind, account) = (&self.kind.resource.kind, &self.scope.account);
            tracing::warn!(%kind, %account, reason = api_error.reason.as_str(), "changes are no longer seen: {}", api_error.message);
            *told = Some(api_error.message.clone());
        }
    }

    /// Whether the API server says now that it serves the kind.
    async fn is_discovered(&self) -> bool {
        let (kinds, resource) = (self.watch_cache.cluster.kinds(), &self.kind.resource);
        kinds.forget(&resource.api_version);
        kinds.find(&resource.api_version, &resource.kind).await.is_ok()
    }

    fn report_failure(&self, api_error: &ApiError) {
        self.shared.state.send_replace(WatchState::Failing(WatchFailure {
            kind: self.kind.resource.kind.clone(),
            account: self.scope.account.clone(),
            reason: api_error.reason,
            message: backoff::message(api_error, self.kind.namespaced && self.scope.namespace.is_none()),
        }));
    }

    pub(super) fn covers(&self, key: &ObjectKey) -> bool {
        covers(&self.scope, &self.kind, key)
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
