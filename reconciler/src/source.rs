//! Follows one repository: fetches, checks, renders, and tells the runtimes what they should be.
//!
//! A revision that cannot be had or used changes nothing: the last good one stays in force, and what is wrong is told.
//! What is in force is published in small batches. Between two of them the source looks whether it is suspended or
//! deleted, and whether there is a newer commit. `machine` decides all of it; this is the shell around it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use reeve_crds::{GitSource, Runtime};
use reeve_reconciler_engine::event::EventDraft;
use reeve_reconciler_engine::rollup::{Rollup, RuntimeSummary};
use reeve_reconciler_engine::runtime::{Message, SeenStatuses, Setup};
use reeve_reconciler_git::{Hooks, Mirrors};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::Instrument as _;

use crate::metrics::{Metrics, SourceGauge};

mod builder;
mod context;
mod fetching;
mod finalizer;
mod hooks;
mod machine;
mod object;
mod publication;
mod report;
mod revision;
mod status;
mod trust;
mod write;

pub use object::spec;

use builder::RevisionBuilder;
use context::Context;
use hooks::WebhookRegistration;
use machine::{Count, Effect, Event, Machine, Observed, ROLLUP};
use report::Reporter;

/// Where runtimes are found by their name, and what a source may do to them.
pub trait Runtimes: Send + Sync {
    /// Tells a runtime's worker something, be it there yet or not. The change says whether it is news.
    fn update_message(&self, namespace: &str, name: &str, change: &mut dyn FnMut(&mut Message) -> bool);

    /// The Runtime as the cluster has it.
    fn object(&self, namespace: &str, name: &str) -> Option<Arc<Runtime>>;

    /// The names of those that come from a source.
    fn of_source(&self, namespace: &str, source: &str) -> Vec<Arc<str>>;
}

/// What a source works with.
#[derive(Clone)]
pub struct SourceSetup {
    /// What its runtimes are kept with.
    pub engine: Setup,
    /// What is counted.
    pub metrics: Metrics,
    /// Where repositories are mirrored.
    pub mirrors: Mirrors,
    /// Where webhooks are registered.
    pub hooks: Hooks,
    /// Whom to tell.
    pub runtimes: Arc<dyn Runtimes>,
}

impl std::fmt::Debug for SourceSetup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SourceSetup")
            .field("engine", &self.engine)
            .field("mirrors", &self.mirrors)
            .finish_non_exhaustive()
    }
}

/// Follows one source.
#[derive(Debug)]
pub struct Source {
    ctx: Context,
    objects: watch::Receiver<Arc<GitSource>>,
    machine: Machine,
    builder: Arc<RevisionBuilder>,
    webhook: WebhookRegistration,
    reporter: Reporter,
    gauge: SourceGauge,
    /// The one that is under way, if there is one.
    task: JoinSet<Event>,
}

/// What is known of the Runtimes of a source.
struct View<'a>(&'a Context);

impl Observed for View<'_> {
    fn object(&self, name: &str) -> Option<Arc<Runtime>> {
        self.0.setup.runtimes.object(&self.0.namespace, name)
    }

    fn runtimes(&self) -> Vec<Arc<str>> {
        self.0.setup.runtimes.of_source(&self.0.namespace, &self.0.name)
    }

    fn summaries(&self) -> BTreeMap<Arc<str>, RuntimeSummary> {
        self.0.rollup.all()
    }

    fn summary(&self, name: &str) -> Option<RuntimeSummary> {
        self.0.rollup.get(name)
    }

    fn is_read(&self) -> bool {
        self.0.rollup.is_read()
    }
}

impl Source {
    /// Follows what this object says, which may change.
    pub fn new(
        setup: SourceSetup,
        mut objects: watch::Receiver<Arc<GitSource>>,
        rollup: Rollup,
        statuses: SeenStatuses,
    ) -> Self {
        let object = objects.borrow_and_update().clone();
        let ctx = Context {
            namespace: object.metadata.namespace.as_deref().unwrap_or_default().into(),
            name: object.metadata.name.as_deref().unwrap_or_default().into(),
            rollup,
            setup,
        };
        Self {
            reporter: Reporter::start(&ctx, &object, statuses),
            machine: Machine::new(object, ctx.setup.engine.clock.now()),
            builder: Arc::new(RevisionBuilder::new()),
            webhook: WebhookRegistration::new(ctx.setup.hooks.clone()),
            gauge: ctx.setup.metrics.observe_source(),
            task: JoinSet::new(),
            objects,
            ctx,
        }
    }

    /// Follows it until the work is stopped or the source is gone.
    pub async fn run(mut self) {
        let stop = self.ctx.setup.engine.stop.clone();
        let mut event = Event::Started;
        loop {
            let effects = self.machine.step(event, &View(&self.ctx), self.ctx.setup.engine.clock.now());
            for effect in effects {
                if self.execute(effect).await.is_break() {
                    return;
                }
            }
            event = tokio::select! {
                () = stop.cancelled() => return,
                event = self.next_event() => match event {
                    Some(event) => event,
                    None => return,
                },
            };
        }
    }

    /// What happens next; nothing more if the source is gone. While a task is under way, only its end counts.
    async fn next_event(&mut self) -> Option<Event> {
        if !self.task.is_empty() {
            return Some(self.task.join_next().await?.unwrap_or(Event::BrokeOff));
        }
        let clock = self.ctx.setup.engine.clock.clone();
        let (wake, rollup) = (self.webhook.wake(), self.ctx.rollup.clone());
        tokio::select! {
            biased;
            changed = self.objects.changed() => {
                changed.ok()?;
                Some(Event::Object(self.objects.borrow_and_update().clone()))
            }
            () = wake.notified() => Some(Event::Push),
            () = std::future::ready(()), if self.machine.has_more() => Some(Event::Timer),
            () = clock.sleep_until(self.machine.next_timer()) => Some(Event::Timer),
            () = async {
                rollup.changed().await;
                clock.sleep(ROLLUP).await;
            } => Some(Event::Timer),
        }
    }

    /// Does what the machine says. Breaks when the source is let go.
    async fn execute(&mut self, effect: Effect) -> ControlFlow<()> {
        let ctx = self.ctx.clone();
        match effect {
            Effect::RegisterWebhook => {
                let registered = self.webhook.register(&ctx, self.machine.object()).await;
                self.machine.set_webhook(registered);
            }
            Effect::Fetch(order) => {
                self.spawn(async move { Event::Fetched(Box::new(fetching::fetch(ctx, order).await)) });
            }
            Effect::Build(order) => {
                let builder = self.builder.clone();
                self.spawn(async move { Event::Built(Box::new(revision::build(ctx, builder, order).await)) });
            }
            Effect::Write(changed) => self.spawn(async move { Event::Written(write::write(ctx, changed).await) }),
            Effect::KeepCommit(active) => revision::keep_commit(&ctx, active).await,
            Effect::SetPublishing(publishing) => ctx.rollup.set_publishing(publishing),
            Effect::SendRemoval(names) => {
                for (name, keeps) in &names {
                    write::send_removal(&ctx, name, *keeps);
                }
            }
            Effect::HoldRemoval(names) => names.iter().for_each(|name| write::hold_removal(&ctx, name)),
            Effect::SendSuspend { runtimes, suspended } => {
                for name in &runtimes {
                    write::send_suspend(&ctx, name, suspended);
                }
            }
            Effect::DeleteRuntimes(names) => write::delete_runtimes(&ctx, &names).await,
            Effect::EnsureFinalizer => finalizer::ensure_finalizer(&ctx).await,
            Effect::RemoveFinalizer => {
                if finalizer::remove_finalizer(&ctx, self.machine.object()).await {
                    return ControlFlow::Break(());
                }
            }
            Effect::PatchStatus(status, facts) => {
                self.gauge.set(facts);
                self.reporter.patch_status(*status);
            }
            Effect::EmitEvent { warning, reason, note } => {
                let at = ctx.setup.engine.clock.now();
                self.reporter.emit(EventDraft { warning, reason, note, at });
            }
            Effect::Notify(body) => ctx.setup.engine.notifications.send_of_source(&ctx.namespace, &ctx.name, body),
            Effect::Count(Count::Accepted) => ctx.setup.metrics.revision("accepted"),
            Effect::Count(Count::Rejected) => ctx.setup.metrics.revision("rejected"),
        }
        ControlFlow::Continue(())
    }

    fn spawn(&mut self, task: impl Future<Output = Event> + Send + 'static) {
        self.task.spawn(task.in_current_span());
    }
}
