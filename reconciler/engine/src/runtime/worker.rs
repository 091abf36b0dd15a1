//! The worker of one runtime: turns what happens into events of its machine, and does what that decides.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::join_all;
use kube::Client;
use reeve_crds::runtime_component::ComponentTarget;
use reeve_crds::{Reason, Runtime, RuntimeComponent};
use reeve_process::error_chain;
use reeve_process::gate::GatedClientError;
use tokio::sync::{Semaphore, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::capabilities::{self, CapabilityReport};
use super::component::ComponentState;
use super::contest::Contests;
use super::machine::{Count, Effect, Event, Machine, Task, TaskEnd, Work};
use super::removal;
use super::run::{ComponentRun, Report};
use super::status_writer::{SeenStatuses, StatusWriter};
use super::{Budget, Changes, Context, ControlPlaneRules, Wanted, Watched};
use crate::clock::Clock;
use crate::cluster::Cluster;
use crate::error::ReconcileError;
use crate::inventory::{Inventory, InventoryWriter, Pages, Store, Stores};
use crate::live::WatchCache;
use crate::metrics::Metrics;
use crate::notification::NotificationSender;
use crate::owner::Owner;
use crate::rollup::Rollup;
use crate::target::{Target, Targets};

mod ending;
mod handle;
mod role;

pub use ending::FINALIZER;
pub use handle::{DesiredState, Handle, Message, UserOverrides};
pub use role::Role;

/// What every worker of the same clusters gets to work with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Where Runtimes are, and where what they want is.
    pub targets: Targets,
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
    /// Nothing is left of the runtime in the cluster that it was in.
    Withdrawn,
    /// The runtime has another target or another source now: nothing of it is under way any more.
    Moved,
    /// It was asked to.
    Stopped,
}

/// What a machine's effects leave to the worker's loop.
enum Verdict {
    /// Nothing is left of the runtime. Its Runtime is deleted if its file left Git.
    Finalize { delete: bool },
    /// The work cannot go on.
    Fail(ReconcileError),
}

struct Worker {
    setup: Setup,
    ctx: Arc<Context>,
    machine: Machine,
    status_writer: StatusWriter,
    rollup: Rollup,
    role: Role,
    changed_keys: Changes,
    tasks: JoinSet<TaskEnd>,
    running: HashMap<Arc<str>, AbortHandle>,
    /// Listings of everything, which may take their time.
    checks: JoinSet<()>,
    capability_checks: JoinSet<Option<CapabilityReport>>,
}

impl Worker {
    async fn load(
        setup: Setup,
        rollup: Rollup,
        role: Role,
        object: &Arc<Runtime>,
        statuses: SeenStatuses,
    ) -> Result<Self, ReconcileError> {
        let own = own_client(&setup.targets.home.cluster)?;
        let name: Arc<str> = object.metadata.name.as_deref().unwrap_or_default().into();
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let inventory = InventoryWriter::load(&stores(&setup.targets, namespace)?, name.clone()).await?;
        let status_writer = StatusWriter::new(own, object, setup.clock.clone(), statuses);
        inventory.disown();
        let now = setup.clock.now();
        let listed = components(&setup.targets.home.cluster, namespace, &name).await?;
        let is_former = setup.targets.is_former();
        let listed = listed.into_iter().filter(|found| !is_former || found.spec.target == ComponentTarget::Runtime);
        let found = listed.map(|mut component| {
            let name: Arc<str> = component.spec.component.as_str().into();
            let mut state = ComponentState::new(name.clone(), component.status.clone().unwrap_or_default(), now);
            state.suspended = component.spec.suspend.take() == Some(true);
            // One that goes with a Runtime that is gone is written again when there is something to say of it.
            state.spec = status_writer.found(&name, &component).then_some(component.spec);
            state
        });
        let machine = Machine::new(object, setup.identity.clone(), found, inventory.read(Inventory::components), now);
        let ctx = Arc::new(context(&setup, name, inventory, object, rollup.clone()));
        Ok(Self {
            changed_keys: ctx.subscribe(),
            machine,
            status_writer,
            rollup,
            role,
            tasks: JoinSet::new(),
            running: HashMap::new(),
            checks: JoinSet::new(),
            capability_checks: JoinSet::new(),
            ctx,
            setup,
        })
    }

    async fn run(mut self, mut messages: watch::Receiver<Message>) -> Result<End, ReconcileError> {
        let (inventory, status_writer) = (self.ctx.inventory.clone(), self.status_writer.clone());
        let (clock, stop) = (self.ctx.clock.clone(), self.setup.stop.clone());
        let pages = self.pages()?;
        let changed_keys = self.changed_keys.clone();
        let mut keeping = std::pin::pin!(inventory.run(pages, &clock));
        let mut reporting = std::pin::pin!(status_writer.run());
        let mut end = End::Stopped;
        loop {
            let next = self.machine.next_timer();
            let event = tokio::select! {
                () = stop.cancelled() => break,
                fenced = &mut keeping => return Err(fenced.into()),
                () = &mut reporting => continue,
                changed = messages.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    let message = messages.borrow_and_update().clone();
                    if Role::of(&message).as_ref() != Some(&self.role) {
                        end = End::Moved;
                        break;
                    }
                    Event::Message(Box::new(self.without_stale_losses(message.in_former(self.setup.targets.is_former()))))
                }
                () = changed_keys.changed() => Event::ObjectsChanged(changed_keys.take_changed()),
                whose = status_writer.overwritten() => Event::StatusesOverwritten(whose),
                Some(ended) = self.tasks.join_next_with_id(), if !self.tasks.is_empty() => match ended {
                    Ok((id, ended)) => self.finished(id, ended),
                    Err(_) => continue,
                },
                Some(_) = self.checks.join_next(), if !self.checks.is_empty() => Event::AllChecked,
                Some(checked) = self.capability_checks.join_next(), if !self.capability_checks.is_empty() => match checked {
                    Ok(Some(report)) => Event::Capabilities(report),
                    Ok(None) | Err(_) => continue,
                },
                () = clock.sleep_until(next) => Event::Timer,
            };
            let knows_git =
                matches!(&event, Event::Message(message) if !matches!(message.desired, DesiredState::Unknown));
            let verdict = self.step(event);
            if knows_git {
                self.rollup.read(&self.ctx.runtime);
            }
            match verdict {
                None => {}
                Some(Verdict::Fail(error)) => return Err(error),
                // Nothing may be pending when the object goes that it belongs to.
                Some(Verdict::Finalize { delete }) => tokio::select! {
                    fenced = &mut keeping => return Err(fenced.into()),
                    () = &mut reporting => {}
                    done = Box::pin(self.finalize(delete)) => return done,
                },
            }
        }
        tokio::select! {
            fenced = &mut keeping => Err(fenced.into()),
            // A status that is being written is written to its end.
            () = &mut reporting => Ok(end),
            () = Box::pin(self.stop()) => Ok(end),
        }
    }

    /// A task ended. A handle keeps the memory of its task, which is large.
    fn finished(&mut self, id: tokio::task::Id, ended: TaskEnd) -> Event {
        self.running.retain(|_, handle| handle.id() != id);
        if self.tasks.is_empty() {
            self.ctx.release_watches();
        }
        Event::TaskFinished(Box::new(ended))
    }

    /// The message without those of its losses that are of objects which we took away ourselves.
    fn without_stale_losses(&self, mut message: Message) -> Message {
        message.lost.retain(|name, uid| self.status_writer.lost(name, uid));
        message
    }

    /// Has the machine decide, and does what it says.
    fn step(&mut self, event: Event) -> Option<Verdict> {
        let ctx = self.ctx.clone();
        let effects = self.machine.step(event, &*ctx, ctx.now());
        let mut verdict = None;
        for effect in effects {
            let reached = self.execute(effect);
            verdict = verdict.or(reached);
        }
        verdict
    }

    fn execute(&mut self, effect: Effect) -> Option<Verdict> {
        match effect {
            Effect::Start { component, task, number, work } => self.spawn(component, task, number, work),
            Effect::Cancel(component) => self.cancel(&component),
            Effect::CancelAll => {
                self.tasks.abort_all();
                self.running.clear();
            }
            Effect::SetSpec(spec) => self.set_spec(spec),
            Effect::SetWanted(desired) => {
                let dropped = self.ctx.wanted.set(&desired);
                self.each_cache(|cache| cache.no_longer_wanted(&self.ctx.owner, &dropped));
            }
            Effect::Offer(keys) => self.each_cache(|cache| cache.offer(&self.ctx.owner, &keys)),
            Effect::SetHealthRules(component, rules) => {
                self.each_cache(|cache| cache.set_rules(&self.ctx.owner, &component, &rules));
            }
            Effect::ForgetContests(desired) => {
                self.ctx.contests.forget(desired.objects.iter().map(|object| &object.key));
            }
            Effect::PatchRuntime(status, urgency) => self.status_writer.runtime(*status, urgency),
            Effect::PatchComponent(written, urgency) => {
                let (spec, status) = *written;
                self.status_writer.component(spec, status, urgency);
            }
            Effect::DeleteComponent(component) => self.status_writer.gone(&component),
            Effect::ObserveComponent { component, generation, spec } => {
                self.status_writer.observe(&component, generation, &spec);
            }
            Effect::RestorePage { page, uid } => self.ctx.inventory.lost(&page, &uid),
            Effect::StoreInventory => self.ctx.inventory.hurry(),
            Effect::EmitEvent { component, warning, reason, note } => {
                self.status_writer.event(component.as_ref(), warning, reason, &note);
            }
            Effect::Notify(body) => {
                let object = self.machine.object();
                let source = object.spec.source_ref.as_ref().map(|source| source.name.as_str());
                self.setup.notifications.send(source, object, body);
            }
            Effect::Summarize(summary) => self.rollup.set(&self.ctx.runtime, summary),
            Effect::Count(Count::Failed(reason)) => self.setup.metrics.failed(reason),
            Effect::Count(Count::Drifted(outcome)) => self.setup.metrics.drifted(outcome),
            Effect::Count(Count::RolledOut(took)) => self.setup.metrics.rolled_out(took),
            Effect::CheckCapabilities(declared) => {
                self.capability_checks.abort_all();
                let (cluster, now) = (self.setup.targets.runtime.cluster.clone(), self.ctx.now());
                self.capability_checks.spawn(async move { capabilities::check(&cluster, &declared, now).await });
            }
            Effect::CheckAll => {
                let (targets, now) = (self.setup.targets.clone(), self.ctx.now());
                self.checks.spawn(async move {
                    join_all(targets.each().map(|(target, _)| target.watch_cache.refresh(now))).await;
                });
            }
            Effect::Finalize { delete } => return Some(Verdict::Finalize { delete }),
            Effect::Fail(error) => return Some(Verdict::Fail(error)),
        }
        None
    }

    fn spawn(&mut self, component: Arc<str>, task: Task, number: u64, work: Work) {
        let ctx = self.ctx.clone();
        let name = component.clone();
        let span =
            tracing::info_span!("component", namespace = %ctx.owner.namespace(), runtime = %ctx.runtime, %component);
        let work = async move {
            let mut report = Report::default();
            let result = match work {
                Work::Remove { account } => removal::dissolve(&ctx, &component, account.as_deref(), &mut report).await,
                Work::Run(spec) => {
                    let run = ComponentRun { ctx, spec: *spec };
                    match task {
                        Task::ApplyDefinitions => run.apply_definitions(&mut report).await,
                        Task::Apply => run.apply(&mut report).await,
                        Task::Finish | Task::Remove => run.finish(&mut report).await,
                    }
                }
            };
            TaskEnd { component, task, number, report, result }
        };
        let handle = self.tasks.spawn(work.instrument(span));
        self.running.insert(name, handle);
    }

    fn each_cache(&self, tell: impl Fn(&WatchCache)) {
        self.setup.targets.each().for_each(|(target, _)| tell(&target.watch_cache));
    }

    fn cancel(&mut self, component: &Arc<str>) {
        if let Some(running) = self.running.remove(component) {
            running.abort();
        }
    }

    fn set_spec(&mut self, spec: Arc<reeve_crds::RuntimeSpec>) {
        let mut ctx = (*self.ctx).clone();
        if spec.concurrency != ctx.spec.concurrency {
            ctx.budget = ctx.budget.with(slots(&spec));
        }
        ctx.spec = spec;
        self.ctx = Arc::new(ctx);
    }

    /// Where the inventory is stored.
    fn pages(&self) -> Result<Pages, ReconcileError> {
        Ok(Pages {
            stores: stores(&self.setup.targets, self.ctx.owner.namespace())?,
            runtime: self.ctx.runtime.clone(),
            writer: self.setup.identity.clone(),
        })
    }
}

/// Where the pages of a runtime's inventory are.
fn stores(targets: &Targets, namespace: &str) -> Result<Stores, ReconcileError> {
    let store = |(target, of): (&Target, &'static [ComponentTarget])| Store::new(&target.cluster, namespace, of);
    targets.each().map(store).collect::<Result<_, _>>().map_err(|error| unreachable(&error))
}

fn own_client(cluster: &Cluster) -> Result<Client, ReconcileError> {
    cluster.own().map_err(|error| unreachable(&error))
}

fn unreachable(error: &GatedClientError) -> ReconcileError {
    ReconcileError::transient(Reason::Unreachable, error_chain(error))
}

fn context(setup: &Setup, runtime: Arc<str>, inventory: InventoryWriter, object: &Runtime, rollup: Rollup) -> Context {
    let spec = Arc::new(object.spec.clone());
    Context {
        owner: Owner::new(object.metadata.namespace.as_deref().unwrap_or_default(), &runtime),
        runtime,
        budget: Budget::new(slots(&spec), setup.writes.clone()),
        targets: setup.targets.clone(),
        inventory,
        clock: setup.clock.clone(),
        control_plane: setup.control_plane.clone(),
        contests: Contests::default(),
        metrics: setup.metrics.clone(),
        wanted: Wanted::default(),
        watched: Watched::default(),
        rollup,
        spec,
    }
}

/// The components of a runtime as the cluster has them.
async fn components(
    cluster: &Cluster,
    namespace: &str,
    name: &Arc<str>,
) -> Result<Vec<RuntimeComponent>, ReconcileError> {
    cluster.components(namespace, name).await.map_err(|api_error| {
        let message = format!("cannot list the components of {name}: {}", api_error.message);
        ReconcileError { transient: true, ..ReconcileError::of_request(message, api_error) }
    })
}

/// How many writes of a runtime may be under way.
fn slots(spec: &reeve_crds::RuntimeSpec) -> usize {
    usize::try_from(spec.concurrency).unwrap_or(1).max(1)
}
