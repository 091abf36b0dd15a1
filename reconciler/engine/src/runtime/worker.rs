//! The worker of one runtime: hears what changed, decides what may begin, and tells how it is going.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use kube::api::ListParams;
use kube::{Api, Client};
use reeve_crds::Reason;
use reeve_crds::runtime::{Applier, RuntimeStatus};
use reeve_crds::runtime_component::{RuntimeComponent, RuntimeComponentSpec, RuntimeComponentStatus};
use reeve_crds::{Lenient, Runtime, State};
use reeve_process::error_chain;
use reeve_renderer_objects::key::ObjectKey;
use tokio::sync::{Semaphore, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::capabilities::CapabilityReport;
use super::component::{ComponentState, Phase};
use super::contest::Contests;
use super::run::Report;
use super::status_writer::StatusWriter;
use super::{Budget, Context, ControlPlaneRules, Wanted};
use crate::api_error::ApiError;
use crate::clock::{Clock, after};
use crate::cluster::Cluster;
use crate::desired::Desired;
use crate::error::ReconcileError;
use crate::inventory::{Inventory, InventoryWriter, Pages};
use crate::live::{ChangedKeys, WatchCache};
use crate::metrics::Metrics;
use crate::notification::{NotificationBody, NotificationSender};
use crate::owner::Owner;
use crate::rollup::{Rollup, RuntimeSummary};

mod advance;
mod capabilities;
mod ending;
mod handle;
mod message;
mod outcome;
mod report;
mod role;

pub use ending::FINALIZER;
pub use handle::{DesiredState, Handle, Message, UserOverrides};
pub use role::Role;

use ending::Leaving;

/// What every worker of a cluster gets to work with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The cluster.
    pub cluster: Cluster,
    /// What is known of its objects.
    pub watch_cache: WatchCache,
    /// Time.
    pub clock: Clock,
    /// How many writes may be under way, of all runtimes together.
    pub writes: Arc<Semaphore>,
    /// What components may do in the control plane.
    pub control_plane: Arc<ControlPlaneRules>,
    /// Who works here.
    pub identity: String,
    /// Whom to tell what happens.
    pub notifications: NotificationSender,
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
    ApplyDefinitions,
    Apply,
    Finish,
    Remove,
}

struct TaskEnd {
    component: Arc<str>,
    task: Task,
    number: u64,
    report: Report,
    result: Result<(), ReconcileError>,
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
    status_writer: StatusWriter,
    rollup: Rollup,
    role: Role,
    object: Arc<Runtime>,
    /// What Git wants, as it was told.
    assigned: Option<Arc<Desired>>,
    /// What is worked towards: what Git wants, or nothing while the Runtime goes.
    desired: Option<Arc<Desired>>,
    components: BTreeMap<Arc<str>, ComponentState>,
    /// Components that others build on, by what they provide.
    providers: HashMap<Arc<str>, BTreeSet<Arc<str>>>,
    specs: BTreeMap<Arc<str>, RuntimeComponentSpec>,
    tasks: JoinSet<TaskEnd>,
    running: HashMap<Arc<str>, AbortHandle>,
    /// Listings of everything, which may take their time.
    checks: JoinSet<()>,
    /// What the cluster offers next to what is declared, and who asks for it.
    capabilities: Option<CapabilityReport>,
    capability_checks: JoinSet<Option<CapabilityReport>>,
    /// What was said of it, once all was done.
    reported_capabilities: Option<String>,
    changed_keys: ChangedKeys,
    suspended: bool,
    source_suspended: bool,
    /// Why the runtime goes, if it does.
    leaving: Option<Leaving>,
    status: RuntimeStatus,
    /// When the status of the whole was last put together, and when it has to be again if that was put off.
    last_reported: Timestamp,
    report_due: Option<Timestamp>,
    rollout: Option<Rollout>,
    /// Components of whose repeated failure people were told.
    failing: BTreeSet<Arc<str>>,
    next_full_check: Timestamp,
    handled: Option<String>,
    /// Components whose status may have changed.
    touched: BTreeSet<Arc<str>>,
}

impl Worker {
    async fn load(setup: Setup, rollup: Rollup, role: Role, object: &Arc<Runtime>) -> Result<Self, ReconcileError> {
        let own =
            setup.cluster.own().map_err(|error| ReconcileError::transient(Reason::Unreachable, error_chain(&error)))?;
        let name: Arc<str> = object.metadata.name.as_deref().unwrap_or_default().into();
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let inventory = InventoryWriter::load(&own, namespace, name.clone()).await?;
        let status_writer = StatusWriter::new(own.clone(), object, setup.clock.clone());
        inventory.belong_to(&status_writer.owner().uid);
        let listed = components(own, namespace, &name).await?;
        let now = setup.clock.now();
        let mut components = BTreeMap::new();
        let mut specs = BTreeMap::new();
        for mut component in listed {
            let name: Arc<str> = component.spec.component.as_str().into();
            let mut record = ComponentState::new(name.clone(), component.status.clone().unwrap_or_default(), now);
            record.suspended = component.spec.suspend.take() == Some(true);
            components.insert(name.clone(), record);
            // One that goes with a Runtime that is gone is written again when there is something to say of it.
            if status_writer.found(&name, &component) {
                specs.insert(name, component.spec);
            }
        }
        for name in inventory.read(Inventory::components) {
            components
                .entry(name.clone())
                .or_insert_with(|| ComponentState::new(name, RuntimeComponentStatus::default(), now));
        }
        let ctx = Arc::new(context(&setup, name, inventory, object));
        Ok(Self {
            changed_keys: ctx.subscribe(),
            next_full_check: after(now, object.spec.drift.full_check_interval.into()),
            status: object.status.clone().unwrap_or_default(),
            handled: None,
            status_writer,
            rollup,
            role,
            object: object.clone(),
            assigned: None,
            desired: None,
            components,
            providers: HashMap::new(),
            specs,
            tasks: JoinSet::new(),
            running: HashMap::new(),
            checks: JoinSet::new(),
            capabilities: None,
            capability_checks: JoinSet::new(),
            reported_capabilities: object.status.as_ref().and_then(capabilities::reported_message),
            suspended: false,
            source_suspended: false,
            leaving: None,
            last_reported: Timestamp::default(),
            report_due: None,
            rollout: None,
            failing: BTreeSet::new(),
            touched: BTreeSet::new(),
            ctx,
            setup,
        })
    }

    async fn run(mut self, mut messages: watch::Receiver<Message>) -> Result<End, ReconcileError> {
        let (inventory, status_writer, clock) =
            (self.ctx.inventory.clone(), self.status_writer.clone(), self.ctx.clock.clone());
        let pages = self.pages()?;
        let stop = self.setup.stop.clone();
        let changed_keys = self.changed_keys.clone();
        let mut keeping = std::pin::pin!(inventory.run(pages, &clock));
        let mut reporting = std::pin::pin!(status_writer.run());
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
                    self.on_message(message);
                }
                () = changed_keys.changed() => {
                    let keys = changed_keys.take_changed();
                    self.on_objects_changed(&keys);
                }
                Some(ended) = self.tasks.join_next(), if !self.tasks.is_empty() => {
                    if let Ok(ended) = ended {
                        self.on_task_finished(ended)?;
                    }
                }
                Some(_) = self.checks.join_next(), if !self.checks.is_empty() => self.on_all_changed(),
                Some(looked) = self.capability_checks.join_next(), if !self.capability_checks.is_empty() => {
                    if let Ok(Some(capabilities)) = looked {
                        self.on_capabilities(capabilities);
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
                    done = self.finalize() => return done.map(|()| End::Gone),
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
    fn pages(&self) -> Result<Pages, ReconcileError> {
        let own = self
            .setup
            .cluster
            .own()
            .map_err(|error| ReconcileError::transient(Reason::Unreachable, error_chain(&error)))?;
        Ok(Pages {
            api: Api::namespaced(own, self.object.metadata.namespace.as_deref().unwrap_or_default()),
            runtime: self.ctx.runtime.clone(),
            owner: self.status_writer.owner(),
            writer: self.setup.identity.clone(),
        })
    }

    fn next_timer(&self) -> Timestamp {
        let of_record = |record: &ComponentState| {
            let phase = match &record.phase {
                Phase::Failed { retry_at } => Some(*retry_at),
                // Once it is told to be late there is nothing more to wait for.
                Phase::Settling { deadline } if record.status.state != Some(State::Error) => Some(*deadline),
                _ => None,
            };
            let settles = matches!(record.phase, Phase::Settling { .. });
            let worse_at = record.health.worse_at.filter(|_| settles);
            phase.into_iter().chain(record.again_at).chain(worse_at)
        };
        let whole = self.report_due.into_iter().chain([self.next_full_check]);
        self.components.values().flat_map(of_record).chain(whole).min().unwrap_or(Timestamp::MAX)
    }

    fn on_all_changed(&mut self) {
        let keys: BTreeSet<ObjectKey> =
            self.ctx.inventory.read(|inventory| inventory.iter().map(|(key, _)| key.clone()).collect());
        self.on_objects_changed(&keys);
    }

    fn timers(&mut self) {
        let now = self.ctx.now();
        let due: Vec<Arc<str>> = self
            .components
            .values()
            .filter(|record| {
                matches!(record.phase, Phase::Failed { retry_at } if retry_at <= now)
                    || record.again_at.is_some_and(|at| at <= now)
            })
            .map(|record| record.name.clone())
            .collect();
        for name in &due {
            if let Some(record) = self.components.get_mut(name) {
                record.again_at = None;
                record.drift.retain(|_, drifted| drifted.repaired);
            }
            self.begin(name);
        }
        self.touched.extend(
            self.components
                .values()
                .filter(|record| matches!(record.phase, Phase::Settling { .. }))
                .map(|record| record.name.clone()),
        );
        if now >= self.next_full_check {
            self.next_full_check = after(now, self.ctx.spec.drift.full_check_interval.into());
            let watch_cache = self.setup.watch_cache.clone();
            self.checks.spawn(async move { watch_cache.refresh(now).await });
            self.check_capabilities();
        }
    }

    fn applier(&self) -> Applier {
        Applier {
            kind: Some(Lenient::Known(self.object.spec.target.kind)),
            identity: Some(self.setup.identity.clone()),
            version: Some(reeve_process::version::VERSION.to_owned()),
            kubernetes_version: self.capabilities.as_ref().map(|capabilities| capabilities.version.clone()),
        }
    }

    fn notify(&self, news: NotificationBody) {
        self.setup.notifications.send(
            self.object.spec.source_ref.as_ref().map(|source| source.name.as_str()),
            &self.object,
            news,
        );
    }
}

fn context(setup: &Setup, runtime: Arc<str>, inventory: InventoryWriter, object: &Runtime) -> Context {
    let spec = Arc::new(object.spec.clone());
    Context {
        owner: Owner::new(object.metadata.namespace.as_deref().unwrap_or_default(), &runtime),
        runtime,
        budget: Budget::new(slots(&spec), setup.writes.clone()),
        cluster: setup.cluster.clone(),
        watch_cache: setup.watch_cache.clone(),
        inventory,
        clock: setup.clock.clone(),
        control_plane: setup.control_plane.clone(),
        contests: Contests::default(),
        metrics: setup.metrics.clone(),
        wanted: Wanted::default(),
        spec,
    }
}

/// The components of a runtime as the cluster has them.
async fn components(own: Client, namespace: &str, name: &str) -> Result<Vec<RuntimeComponent>, ReconcileError> {
    let api: Api<RuntimeComponent> = Api::namespaced(own, namespace);
    let listed = api.list(&ListParams::default().fields(&format!("spec.runtime={name}"))).await;
    listed.map(|list| list.items).map_err(|error| {
        let api_error = ApiError::of(&error);
        let message = format!("cannot list the components of {name}: {}", api_error.message);
        ReconcileError { transient: true, ..ReconcileError::of_request(message, api_error) }
    })
}

/// How many writes of a runtime may be under way.
fn slots(spec: &reeve_crds::RuntimeSpec) -> usize {
    usize::try_from(spec.concurrency).unwrap_or(1).max(1)
}
