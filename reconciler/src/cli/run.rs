//! `reeve run`: the controller, for as long as it leads.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use kube::{Client, Config};
use reeve_process::health::Check;
use reeve_process::lease::LeaseConfig;
use reeve_process::server::Server;
use reeve_process::{Gate, Process, Term};
use reeve_reconciler::controller::{Controller, Registry};
use reeve_reconciler::metrics::Metrics;
use reeve_reconciler::notification::Notifier;
use reeve_reconciler::source::SourceSetup;
use reeve_reconciler_engine::clock::Clock;
use reeve_reconciler_engine::cluster::{Account, Cluster};
use reeve_reconciler_engine::notification::NotificationSender;
use reeve_reconciler_engine::runtime::{ControlPlaneRules, Setup};
use reeve_reconciler_engine::target::{Target, Targets};
use reeve_reconciler_git::{Hooks, Mirrors};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use super::args::RunArgs;
use super::cluster::configure;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Starts the process; returns when it ends.
pub(super) fn run(args: RunArgs) -> ExitCode {
    reeve_process::heap::use_one_arena();
    let process = args.process.clone();
    reeve_process::run(&process, "reeve", |process| work(args, process))
}

async fn work(args: RunArgs, process: Process) -> Result<(), Failure> {
    let ready = process.health.check("configuration");
    let config = configure(&args.connection).await?;
    let folder = &args.data_folder;
    std::fs::create_dir_all(folder).map_err(|cause| {
        format!("cannot use {} as --data-folder: {cause}; name a folder that can be written to", folder.display())
    })?;
    let program = std::env::current_exe()?;
    let with = App {
        accepted: process.health.check("credentials"),
        mirrors: Mirrors::new(args.data_folder.clone(), program),
        hooks: Hooks::default(),
        identity: reeve_process::lease::identity(),
        metrics: Metrics::default(),
        stop: process.shutdown.draining_token(),
        config,
        args,
    };
    with.metrics.register(&process.metrics);
    with.accepted.pass();
    let server = match with.args.webhook_address {
        Some(address) => Some(Server::bind("webhooks", address).await?),
        None => None,
    };
    let address = server.as_ref().and_then(Server::address);
    let gate = if with.args.no_lease {
        Gate::always_open().with_request_metrics(&process.request_metrics)
    } else {
        let namespace = with.args.lease_namespace.clone().unwrap_or_else(|| with.config.default_namespace.clone());
        let mut lease = LeaseConfig::new(namespace, "reeve");
        lease.identity.clone_from(&with.identity);
        lease.address = with.args.pod_address.zip(address).map(|(pod, bound)| (pod, bound.port()).into());
        process.contend(Client::try_from(with.config.clone())?, lease)
    };
    if let Some(server) = server {
        info!(address = address.map(tracing::field::display), "listening for webhooks");
        let (stop, hooks) = (with.stop.clone(), with.hooks.clone());
        let calls = hooks.serve(server, gate.clone(), with.metrics.git.clone());
        process.spawn("webhooks", async move {
            tokio::select! { () = calls => {}, () = stop.cancelled() => {} }
        });
    }
    let stop = with.stop.clone();
    process.spawn("heap", async move {
        tokio::select! { () = reeve_process::heap::give_back() => {}, () = stop.cancelled() => {} }
    });
    ready.pass();
    with.lead(&gate).await
}

/// How often it is asked whether our credentials are accepted again, if nothing else asks.
const ASK_AGAIN: Duration = Duration::from_secs(5);

struct App {
    args: RunArgs,
    accepted: Check,
    config: Config,
    mirrors: Mirrors,
    hooks: Hooks,
    identity: String,
    metrics: Metrics,
    stop: CancellationToken,
}

impl App {
    /// Term after term, until the process is asked to stop.
    async fn lead(&self, gate: &Gate) -> Result<(), Failure> {
        loop {
            let term = tokio::select! {
                () = self.stop.cancelled() => return Ok(()),
                term = gate.wait_for_term() => term?,
            };
            info!(term = term.number(), "leading");
            // Ends with the term; what was begun in it is dropped there and then.
            let _ = term.run(self.reconcile(&term)).await;
            // Whoever stands by asks nothing and is refused nothing.
            self.accepted.pass();
            if self.stop.is_cancelled() {
                return Ok(());
            }
            info!(term = term.number(), "no longer leading");
        }
    }

    async fn reconcile(&self, term: &Term) -> Result<(), Failure> {
        let clock = Clock::system();
        let cluster = Cluster::new(term.clone(), self.config.clone())?;
        let own = cluster.own()?;
        let (notifications, news) = NotificationSender::channel();
        let registry = Registry::default();
        let writes = Arc::new(Semaphore::new(self.args.concurrency.into()));
        let target = Target::new(cluster.clone(), clock.clone());
        let _followed = self.metrics.engine.observe_term(&target, writes.clone());
        let engine = Setup {
            targets: Targets::one(target),
            clock: clock.clone(),
            writes,
            control_plane: Arc::new(self.control_plane()),
            identity: self.identity.clone(),
            notifications,
            metrics: self.metrics.engine.clone(),
            stop: self.stop.clone(),
        };
        let setup = SourceSetup {
            engine,
            metrics: self.metrics.clone(),
            mirrors: self.mirrors.clone(),
            hooks: self.hooks.clone(),
            runtimes: Arc::new(registry.clone()),
        };
        let notifier = Notifier::new(own.clone(), clock.clone(), self.metrics.clone());
        let controller = Controller::new(setup, registry, self.args.watch_namespace.clone());
        tokio::select! {
            () = controller.run(own) => {}
            // Ends only when nobody is left who could tell anything.
            () = notifier.run(news) => {}
            () = self.watch_credentials(&cluster) => {}
            () = cluster.probe(&clock) => {}
        }
        Ok(())
    }

    /// Says when the API server stops accepting who we are, and when it does again. Without that nothing can be written,
    /// statuses included.
    async fn watch_credentials(&self, cluster: &Cluster) {
        loop {
            cluster.acceptance().wait_for(false).await;
            error!(
                "the API server does not accept our credentials: nothing can be read or written until they are renewed"
            );
            self.accepted.fail("the API server does not accept our credentials");
            let asking = async {
                loop {
                    Clock::system().sleep(ASK_AGAIN).await;
                    if let Ok(own) = cluster.own() {
                        let _ = own.apiserver_version().await;
                    }
                }
            };
            tokio::select! { () = cluster.acceptance().wait_for(true) => {}, () = asking => {} }
            info!("the API server accepts our credentials again");
            self.accepted.pass();
        }
    }

    fn control_plane(&self) -> ControlPlaneRules {
        let (namespace, name) = &self.args.control_plane_account;
        ControlPlaneRules {
            account: Account::Service { namespace: namespace.as_str().into(), name: name.as_str().into() },
            kinds: self.args.control_plane_kinds.clone(),
        }
    }
}
