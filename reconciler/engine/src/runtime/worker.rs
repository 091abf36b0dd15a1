//! The worker of one runtime: hears what changed, decides what may begin, and tells how it is going.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use kube::api::ListParams;
use kube::{Api, Client};
use reeve_crds::runtime::{Applier, RuntimeStatus};
use reeve_crds::runtime_component::{RuntimeComponent, RuntimeComponentSpec, RuntimeComponentStatus};
use reeve_crds::{Lenient, Runtime, State};
use reeve_process::error_chain;
use reeve_renderer_objects::key::ObjectKey;
use tokio::sync::{Semaphore, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::capabilities::Offer;
use super::contest::Contests;
use super::record::{Phase, Record};
use super::reporter::Outlet;
use super::work::Report;
use super::{Budget, Context, ControlPlaneRules, Trouble, Wanted};
use crate::clock::{Clock, after};
use crate::cluster::Cluster;
use crate::ledger::{Keeper, Ledger, Pages};
use crate::live::{Dirty, Hub};
use crate::metrics::Metrics;
use crate::news::{News, Telling};
use crate::owner::Owner;
use crate::refusal::Refusal;
use crate::rollup::{Rollup, Standing};

mod advance;
mod capable;
mod ending;
mod handle;
mod hearing;
mod outcome;
mod report;
mod role;

pub use ending::FINALIZER;
pub use handle::{Assignment, DesiredState, Handle, Message, Wish};
pub use role::Role;

use ending::Leaving;

/// What every worker of a cluster gets to work with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The cluster.
    pub cluster: Cluster,
    /// What is known of its objects.
    pub hub: Hub,
    /// Time.
    pub clock: Clock,
    /// How many writes may be under way, of all runtimes together.
    pub writes: Arc<Semaphore>,
    /// What components may do in the control plane.
    pub control_plane: Arc<ControlPlaneRules>,
    /// Who works here.
    pub identity: String,
    /// Whom to tell what happens.
    pub telling: Telling,
    /// What is counted.
    pub metrics: Metrics,
    /// Ends the work.
    pub stop: CancellationToken,
}

/// How a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The runtime is gone.
    Gone,
    /// The runtime has another target or another source now: nothing of it is under way any more.
    Moved,
    /// It was asked to.
    Stopped,
}

/// What a task of a component was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Lay,
    Apply,
    Finish,
    Remove,
}

struct TaskEnd {
    component: Arc<str>,
    task: Task,
    number: u64,
    report: Report,
    result: Result<(), Trouble>,
}

/// A change of the whole runtime that is under way.
#[derive(Clone, Copy, Debug)]
struct Rollout {
    began: Timestamp,
    changes: i32,
}

struct Worker {
    setup: Setup,
    ctx: Arc<Context>,
    outlet: Outlet,
    rollup: Rollup,
    role: Role,
    object: Arc<Runtime>,
    /// What Git wants, as it was told.
    assigned: Option<Assignment>,
    /// What is worked towards: what Git wants, or nothing while the Runtime goes.
    desired: Option<Assignment>,
    records: BTreeMap<Arc<str>, Record>,
    /// Components that others build on, by what they provide.
    providers: HashMap<Arc<str>, BTreeSet<Arc<str>>>,
    specs: BTreeMap<Arc<str>, RuntimeComponentSpec>,
    tasks: JoinSet<TaskEnd>,
    running: HashMap<Arc<str>, AbortHandle>,
    /// Listings of everything, which may take their time.
    checks: JoinSet<()>,
    /// What the cluster offers next to what is declared, and who asks for it.
    offer: Option<Offer>,
    offers: JoinSet<Option<Offer>>,
    /// What was said of it, once all was done.
    told_offer: Option<String>,
    dirty: Dirty,
    suspended: bool,
    source_suspended: bool,
    /// Why the runtime goes, if it does.
    leaving: Option<Leaving>,
    status: RuntimeStatus,
    /// When the status of the whole was last put together, and when it has to be again if that was put off.
    told_whole: Timestamp,
    owed_whole: Option<Timestamp>,
    rollout: Option<Rollout>,
    /// Components of whose repeated failure people were told.
    failing: BTreeSet<Arc<str>>,
    next_full_check: Timestamp,
    handled: Option<String>,
    /// Components whose status may have changed.
    touched: BTreeSet<Arc<str>>,
}

impl Worker {
    async fn load(setup: Setup, rollup: Rollup, role: Role, object: &Arc<Runtime>) -> Result<Self, Trouble> {
        let own = setup.cluster.own().map_err(|error| Trouble::passing("Unreachable", error_chain(&error)))?;
        let name: Arc<str> = object.metadata.name.as_deref().unwrap_or_default().into();
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let keeper = Keeper::load(&own, namespace, name.clone()).await?;
        let outlet = Outlet::new(own.clone(), object, setup.clock.clone());
        keeper.belong_to(&outlet.owner().uid);
        let listed = components(own, namespace, &name).await?;
        let now = setup.clock.now();
        let mut records = BTreeMap::new();
        let mut specs = BTreeMap::new();
        for mut component in listed {
            let name: Arc<str> = component.spec.component.as_str().into();
            let mut record = Record::new(name.clone(), component.status.clone().unwrap_or_default(), now);
            record.suspended = component.spec.suspend.take() == Some(true);
            records.insert(name.clone(), record);
            // One that goes with a Runtime that is gone is written again when there is something to say of it.
            if outlet.found(&name, &component) {
                specs.insert(name, component.spec);
            }
        }
        for name in keeper.read(Ledger::components) {
            records.entry(name.clone()).or_insert_with(|| Record::new(name, RuntimeComponentStatus::default(), now));
        }
        let ctx = Arc::new(context(&setup, name, keeper, object));
        Ok(Self {
            dirty: ctx.subscribe(),
            next_full_check: after(now, object.spec.drift.full_check_interval.into()),
            status: object.status.clone().unwrap_or_default(),
            handled: None,
            outlet,
            rollup,
            role,
            object: object.clone(),
            assigned: None,
            desired: None,
            records,
            providers: HashMap::new(),
            specs,
            tasks: JoinSet::new(),
            running: HashMap::new(),
            checks: JoinSet::new(),
            offer: None,
            offers: JoinSet::new(),
            told_offer: object.status.as_ref().and_then(capable::told),
            suspended: false,
            source_suspended: false,
            leaving: None,
            told_whole: Timestamp::default(),
            owed_whole: None,
            rollout: None,
            failing: BTreeSet::new(),
            touched: BTreeSet::new(),
            ctx,
            setup,
        })
    }

    async fn run(mut self, mut messages: watch::Receiver<Message>) -> Result<End, Trouble> {
        let (keeper, outlet, clock) = (self.ctx.keeper.clone(), self.outlet.clone(), self.ctx.clock.clone());
        let pages = self.pages()?;
        let stop = self.setup.stop.clone();
        let dirty = self.dirty.clone();
        let mut keeping = std::pin::pin!(keeper.run(pages, &clock));
        let mut reporting = std::pin::pin!(outlet.run());
        let mut end = End::Stopped;
        loop {
            let next = self.next_timer();
            tokio::select! {
                () = stop.cancelled() => break,
                fenced = &mut keeping => return Err(fenced.into()),
                () = &mut reporting => {}
                changed = messages.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    let message = messages.borrow_and_update().clone();
                    if Role::of(&message).as_ref() != Some(&self.role) {
                        end = End::Moved;
                        break;
                    }
                    self.hear(message);
                }
                () = dirty.changed() => {
                    let keys = dirty.take();
                    self.look_at(&keys);
                }
                Some(ended) = self.tasks.join_next(), if !self.tasks.is_empty() => {
                    if let Ok(ended) = ended {
                        self.take(ended)?;
                    }
                }
                Some(_) = self.checks.join_next(), if !self.checks.is_empty() => self.look_at_all(),
                Some(looked) = self.offers.join_next(), if !self.offers.is_empty() => {
                    if let Ok(Some(offer)) = looked {
                        self.take_offer(offer);
                    }
                }
                () = clock.sleep_until(next) => self.timers(),
            }
            self.advance();
            self.report();
            if self.is_gone() {
                // Nothing may be pending when the object goes that it belongs to.
                tokio::select! {
                    fenced = &mut keeping => return Err(fenced.into()),
                    () = &mut reporting => {}
                    done = self.let_go() => return done.map(|()| End::Gone),
                }
            }
        }
        tokio::select! {
            fenced = &mut keeping => Err(fenced.into()),
            // A status that is being written is written to its end.
            () = &mut reporting => Ok(end),
            () = self.stop() => Ok(end),
        }
    }

    /// Where the inventory is stored.
    fn pages(&self) -> Result<Pages, Trouble> {
        let own = self.setup.cluster.own().map_err(|error| Trouble::passing("Unreachable", error_chain(&error)))?;
        Ok(Pages {
            api: Api::namespaced(own, self.object.metadata.namespace.as_deref().unwrap_or_default()),
            runtime: self.ctx.runtime.clone(),
            owner: self.outlet.owner(),
            writer: self.setup.identity.clone(),
        })
    }

    fn next_timer(&self) -> Timestamp {
        let of_record = |record: &Record| {
            let phase = match &record.phase {
                Phase::Failed { retry_at } => Some(*retry_at),
                // Once it is told to be late there is nothing more to wait for.
                Phase::Settling { deadline } if record.status.state != Some(State::Error) => Some(*deadline),
                _ => None,
            };
            let settles = matches!(record.phase, Phase::Settling { .. });
            let worse_at = record.condition.worse_at.filter(|_| settles);
            phase.into_iter().chain(record.again_at).chain(worse_at)
        };
        let whole = self.owed_whole.into_iter().chain([self.next_full_check]);
        self.records.values().flat_map(of_record).chain(whole).min().unwrap_or(Timestamp::MAX)
    }

    fn look_at_all(&mut self) {
        let keys: BTreeSet<ObjectKey> =
            self.ctx.keeper.read(|ledger| ledger.iter().map(|(key, _)| key.clone()).collect());
        self.look_at(&keys);
    }

    fn timers(&mut self) {
        let now = self.ctx.now();
        let due: Vec<Arc<str>> = self
            .records
            .values()
            .filter(|record| {
                matches!(record.phase, Phase::Failed { retry_at } if retry_at <= now)
                    || record.again_at.is_some_and(|at| at <= now)
            })
            .map(|record| record.name.clone())
            .collect();
        for name in &due {
            if let Some(record) = self.records.get_mut(name) {
                record.again_at = None;
                record.drift.retain(|_, drifted| drifted.repaired);
            }
            self.begin(name);
        }
        self.touched.extend(
            self.records
                .values()
                .filter(|record| matches!(record.phase, Phase::Settling { .. }))
                .map(|record| record.name.clone()),
        );
        if now >= self.next_full_check {
            self.next_full_check = after(now, self.ctx.spec.drift.full_check_interval.into());
            let hub = self.setup.hub.clone();
            self.checks.spawn(async move { hub.refresh(now).await });
            self.look_at_offer();
        }
    }

    fn applier(&self) -> Applier {
        Applier {
            kind: Some(Lenient::Known(self.object.spec.target.kind)),
            identity: Some(self.setup.identity.clone()),
            version: Some(reeve_process::version::VERSION.to_owned()),
            kubernetes_version: self.offer.as_ref().map(|offer| offer.version.clone()),
        }
    }

    fn news(&self, news: News) {
        self.setup.telling.tell(
            self.object.spec.source_ref.as_ref().map(|source| source.name.as_str()),
            &self.object,
            news,
        );
    }
}

fn context(setup: &Setup, runtime: Arc<str>, keeper: Keeper, object: &Runtime) -> Context {
    let spec = Arc::new(object.spec.clone());
    Context {
        owner: Owner::new(object.metadata.namespace.as_deref().unwrap_or_default(), &runtime),
        runtime,
        budget: Budget::new(slots(&spec), setup.writes.clone()),
        cluster: setup.cluster.clone(),
        hub: setup.hub.clone(),
        keeper,
        clock: setup.clock.clone(),
        control_plane: setup.control_plane.clone(),
        contests: Contests::default(),
        metrics: setup.metrics.clone(),
        wanted: Wanted::default(),
        spec,
    }
}

/// The components of a runtime as the cluster has them.
async fn components(own: Client, namespace: &str, name: &str) -> Result<Vec<RuntimeComponent>, Trouble> {
    let api: Api<RuntimeComponent> = Api::namespaced(own, namespace);
    let listed = api.list(&ListParams::default().fields(&format!("spec.runtime={name}"))).await;
    listed.map(|list| list.items).map_err(|error| {
        let refusal = Refusal::of(&error);
        let message = format!("cannot list the components of {name}: {}", refusal.message);
        Trouble::passing(refusal.reason.as_str(), message)
    })
}

/// How many writes of a runtime may be under way.
fn slots(spec: &reeve_crds::RuntimeSpec) -> usize {
    usize::try_from(spec.concurrency).unwrap_or(1).max(1)
}
