//! Runs everything for one term of leadership: follows Reeve's own kinds and keeps a worker per source and runtime.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use kube::core::{NamespaceResourceScope, PartialObjectMeta};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, ResourceExt as _};
use parking_lot::{Mutex, MutexGuard};
use reeve_crds::{GitSource, Inventory, Runtime, RuntimeComponent, State};
use reeve_reconciler_engine::live::{WatchBackoff, watch_error};
use reeve_reconciler_engine::rollup::Rollup;
use reeve_reconciler_engine::runtime::{DesiredState, Handle, Message, UserOverrides};
use tokio::task::{AbortHandle, JoinSet};
use tracing::{Instrument as _, error, info, info_span, warn};

use crate::remote::RemoteClusters;
use crate::source::{Runtimes, SourceSetup};

mod not_served;
mod pages;
mod place;
mod sources;
mod supervise;
mod watch_health;

use pages::{Lost, Pages};
use sources::FollowedSource;
use supervise::supervise;
use watch_health::WatchHealth;

type Id = (Arc<str>, Arc<str>);

/// All runtimes that are known, and the way to their workers.
#[derive(Clone, Debug, Default)]
pub struct Registry(Arc<Mutex<HashMap<Id, Known>>>);

#[derive(Debug, Default)]
struct Known {
    handle: Handle,
    object: Option<Arc<Runtime>>,
}

impl Registry {
    /// A Runtime is gone. What Git wants of the next one of its name stays known.
    fn forget(&self, id: &Id) {
        let mut known = self.lock();
        let is_wanted = known.get_mut(id).is_some_and(|known| {
            let Message { desired, source_suspended, .. } = known.handle.message();
            let is_wanted = matches!(desired, DesiredState::Present(_));
            known.object = None;
            known.handle = Handle::new();
            known.handle.send(|message| *message = Message { desired, source_suspended, ..Message::default() });
            is_wanted
        });
        if !is_wanted {
            known.remove(id);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Id, Known>> {
        self.0.lock()
    }
}

impl Runtimes for Registry {
    fn update_message(&self, namespace: &str, name: &str, change: &mut dyn FnMut(&mut Message) -> bool) {
        // Under the lock: what is told must not get lost with a Runtime of the same name that goes at this moment.
        self.lock().entry((namespace.into(), name.into())).or_default().handle.send_if(change);
    }

    fn object(&self, namespace: &str, name: &str) -> Option<Arc<Runtime>> {
        self.lock().get(&(namespace.into(), name.into()))?.object.clone()
    }

    fn of_source(&self, namespace: &str, source: &str) -> Vec<Arc<str>> {
        let known = self.lock();
        let of_source = known.iter().filter(|((of, _), known)| {
            let runtime = known.object.as_ref();
            **of == *namespace && runtime.is_some_and(|runtime| source_of(runtime) == Some(source))
        });
        of_source.map(|((_, name), _)| name.clone()).collect()
    }
}

/// Runs for one term.
pub struct Controller {
    setup: SourceSetup,
    registry: Registry,
    clusters: RemoteClusters,
    /// Only this namespace; all if there is none.
    namespace: Option<String>,
    workers: JoinSet<()>,
    runtimes: HashMap<Id, AbortHandle>,
    sources: HashMap<Id, FollowedSource>,
    rollups: HashMap<Id, Rollup>,
}

impl std::fmt::Debug for Controller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Controller").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl Controller {
    /// For one namespace, or for all of them. The setup's runtimes must be this registry.
    pub fn new(setup: SourceSetup, registry: Registry, namespace: Option<String>) -> Self {
        let clusters = RemoteClusters::new(setup.engine.targets.home.clone(), setup.engine.clock.clone());
        Self {
            setup,
            registry,
            clusters,
            namespace,
            workers: JoinSet::new(),
            runtimes: HashMap::new(),
            sources: HashMap::new(),
            rollups: HashMap::new(),
        }
    }

    /// Runs until the work is stopped; returns when everything that was under way has ended.
    pub async fn run(mut self, client: Client) {
        let stop = self.setup.engine.stop.clone();
        let mut runtimes = self.watch::<Runtime>(&client);
        let mut components = self.watch::<RuntimeComponent>(&client);
        let mut sources = self.watch::<GitSource>(&client);
        let mut pages = self.watch::<PartialObjectMeta<Inventory>>(&client);
        let mut known_pages = Pages::default();
        let mut listed = false;
        let mut early = Vec::new();
        let (mut seen_runtimes, mut seen_sources) = (HashSet::new(), Vec::new());
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                Some(event) = runtimes.next() => match event {
                    Ok(Event::Apply(object)) => self.on_runtime(object),
                    Ok(Event::InitApply(object)) => {
                        seen_runtimes.insert(id_of(&object));
                        self.on_runtime(object);
                    }
                    Ok(Event::Delete(object)) => self.on_runtime_gone(&object),
                    Ok(Event::InitDone) => {
                        self.drop_unlisted_runtimes(&std::mem::take(&mut seen_runtimes));
                        // A source must know which runtimes there are before it says which are too many.
                        listed = true;
                        for source in std::mem::take(&mut early) {
                            self.on_source(source);
                        }
                    }
                    Ok(Event::Init) => seen_runtimes.clear(),
                    Err(_) => {}
                },
                Some(event) = components.next() => match event {
                    Ok(Event::Apply(object) | Event::InitApply(object)) => self.on_component(&object),
                    Ok(Event::Delete(object)) => self.on_component_gone(&object),
                    Ok(Event::Init | Event::InitDone) | Err(_) => {}
                },
                Some(event) = pages.next() => {
                    let lost = event.map(|event| known_pages.on_event(event)).unwrap_or_default();
                    for lost in lost {
                        self.on_page_lost(lost);
                    }
                }
                Some(event) = sources.next() => self.on_source_event(event, listed, &mut early, &mut seen_sources),
                Some(ended) = self.workers.join_next(), if !self.workers.is_empty() => {
                    if let Err(failure) = ended && failure.is_panic() {
                        error!("a worker panicked: {failure}");
                    }
                }
            }
        }
        while self.workers.join_next().await.is_some() {}
    }

    /// Removes the mirrors of repositories that no source follows any more. All sources must be known.
    fn remove_stale_mirrors(&mut self, early: &[GitSource]) {
        let known = self.sources.values().map(|source| source.objects.borrow().spec.url.clone());
        let followed: Vec<String> = known.chain(early.iter().map(|object| object.spec.url.clone())).collect();
        let mirrors = self.setup.mirrors.clone();
        self.workers.spawn_blocking(move || match mirrors.retain(followed.iter().map(String::as_str)) {
            Ok(0) => {}
            Ok(removed) => info!(mirrors = removed, "removed mirrors that no source follows"),
            Err(cause) => warn!("cannot remove mirrors that no source follows: {cause}"),
        });
    }

    /// All that happens to a kind; failures are told of and end with it being followed again.
    fn watch<K>(&self, client: &Client) -> BoxStream<'static, watcher::Result<Event<K>>>
    where
        K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + serde::de::DeserializeOwned
            + Send
            + 'static,
    {
        let api: Api<K> = match &self.namespace {
            Some(namespace) => Api::namespaced(client.clone(), namespace),
            None => Api::all(client.clone()),
        };
        let mut health = WatchHealth::new(K::kind(&()), self.setup.metrics.clone());
        let (mut backoff, clock) = (WatchBackoff::default(), self.setup.engine.clock.clone());
        let events = kube::runtime::watcher(api, watcher::Config::default());
        // Nothing is asked of the watcher while it rests.
        let rested = events.then(move |event| {
            health.on_event(&event);
            let rest = event.as_ref().err().map(|error| backoff.delay(watch_error(error).as_ref(), clock.now()));
            let rest = rest.map(|rest| clock.sleep(rest));
            async move {
                if let Some(rest) = rest {
                    rest.await;
                }
                event
            }
        });
        rested.boxed()
    }

    fn rollup(&mut self, namespace: &Arc<str>, source: Option<&str>) -> Rollup {
        source.map_or_else(Rollup::default, |source| {
            let id = (namespace.clone(), source.into());
            let metrics = &self.setup.metrics;
            let fresh = || {
                let rollup = Rollup::default();
                metrics.engine.observe_runtimes(&rollup);
                rollup
            };
            self.rollups.entry(id).or_insert_with(fresh).clone()
        })
    }

    fn on_runtime(&mut self, mut object: Runtime) {
        // Nobody here asks who wrote what of it, and it is more than all the rest.
        object.metadata.managed_fields = None;
        let id = id_of(&object);
        let object = Arc::new(object);
        let rollup = self.rollup(&id.0, source_of(&object));
        let (before, handle) = {
            let mut known = self.registry.lock();
            let known = known.entry(id.clone()).or_default();
            (known.object.replace(object.clone()), known.handle.clone())
        };
        if let Some(before) = before.filter(|before| source_of(before) != source_of(&object)) {
            // It counts with one source only.
            self.rollup(&id.0, source_of(&before)).remove(&id.1);
        }
        let status = object.status.as_ref();
        let ready = status.and_then(|status| status.conditions.iter().find(|condition| condition.type_ == "Ready"));
        let message = ready.map_or("it was not looked at yet", |ready| &ready.message);
        rollup.add(&id.1, status.and_then(|status| status.state).unwrap_or(State::Processing), message);
        handle.statuses().see(None, &object.metadata, &object.status);
        handle.send(|message| {
            message.set_object(object.clone());
            message.rollup = rollup.clone();
        });
        if self.runtimes.get(&id).is_none_or(AbortHandle::is_finished) {
            let span = info_span!("runtime", namespace = %id.0, runtime = %id.1);
            let supervised = supervise(handle, self.setup.engine.clone(), self.clusters.clone(), id.1.clone());
            let worker = self.workers.spawn(supervised.instrument(span));
            self.runtimes.insert(id, worker);
        }
    }

    fn on_runtime_gone(&mut self, object: &Runtime) {
        let id = id_of(object);
        let source = source_of(object);
        self.rollup(&id.0, source).remove(&id.1);
        if let Some(worker) = self.runtimes.remove(&id) {
            worker.abort();
        }
        self.registry.forget(&id);
        // Deleted by hand although its file is there: the source makes it anew. Or one less is on its way out.
        if let Some(source) = source.and_then(|source| self.sources.get(&(id.0.clone(), source.into()))) {
            source.objects.send_modify(|_| {});
        }
    }

    /// Those that went while nobody looked.
    fn drop_unlisted_runtimes(&mut self, seen: &HashSet<Id>) {
        let known: Vec<Arc<Runtime>> = self.registry.lock().values().filter_map(|known| known.object.clone()).collect();
        for object in known.iter().filter(|object| !seen.contains(&id_of(&***object))) {
            self.on_runtime_gone(object);
        }
    }

    /// Deleted by hand, or by us.
    fn on_component_gone(&self, object: &RuntimeComponent) {
        let component: Arc<str> = object.spec.component.as_str().into();
        let uid = object.metadata.uid.clone().unwrap_or_default();
        let id = (object.namespace().unwrap_or_default().into(), object.spec.runtime.as_str().into());
        let known = self.registry.lock();
        // With its Runtime gone there is nobody to miss it.
        if let Some(known) = known.get(&id) {
            known.handle.send(|message| {
                message.components.remove(&component);
                message.lost.insert(component, uid);
            });
        }
    }

    /// Deleted by hand, or with a Runtime of the same name that is gone.
    fn on_page_lost(&self, lost: Lost) {
        let known = self.registry.lock();
        if let Some(known) = known.get(&(lost.namespace, lost.runtime)) {
            known.handle.send(|message| drop(message.lost_pages.insert(lost.name, lost.uid)));
        }
    }

    fn on_component(&self, object: &RuntimeComponent) {
        let namespace = object.namespace().unwrap_or_default();
        let component: Arc<str> = object.spec.component.as_str().into();
        let wish = UserOverrides::of(object);
        let mut known = self.registry.lock();
        let id = (namespace.into(), object.spec.runtime.as_str().into());
        let handle = &known.entry(id).or_default().handle;
        handle.statuses().see(Some(component.clone()), &object.metadata, &object.status);
        handle.send_if(|message| message.components.insert(component, wish.clone()) != Some(wish));
    }
}

/// The source that a Runtime comes from.
fn source_of(object: &Runtime) -> Option<&str> {
    object.spec.source_ref.as_ref().map(|source| source.name.as_str())
}

fn id_of(object: &impl kube::ResourceExt) -> Id {
    (object.namespace().unwrap_or_default().into(), object.name_any().into())
}
