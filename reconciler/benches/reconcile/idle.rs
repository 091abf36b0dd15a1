//! An hour in which nothing happens, by a clock that is turned by hand.
//!
//! The controller runs in this process, since only here its clock can be turned; all else is as in `reeve run`. Watches
//! are renewed by the API server's clock, so that those of the real process are counted and their renewals added.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use jiff::Timestamp;
use reeve_process::Gate;
use reeve_reconciler::controller::{Controller, Registry};
use reeve_reconciler::metrics::Metrics;
use reeve_reconciler::source::SourceSetup;
use reeve_reconciler_engine::clock::{Clock, ManualClock};
use reeve_reconciler_engine::cluster::{Account, Cluster};
use reeve_reconciler_engine::notification::NotificationSender;
use reeve_reconciler_engine::runtime::{ControlPlaneRules, Setup};
use reeve_reconciler_engine::target::{Target, Targets};
use reeve_reconciler_git::{Hooks, Mirrors};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::fixture::PATIENCE;
use crate::ours::{Converged, NAMESPACE, program};
use crate::outcome::{of, promise};
use crate::requests::{Counter, Requests};
use crate::workload::Size;

const HOUR: Duration = Duration::from_hours(1);
/// As far as the clock is turned at once: nothing of ours has a shorter interval.
const STEP: Duration = Duration::from_secs(30);
/// What the other side is given as its interval: the longest that its own benchmark uses.
const INTERVAL: Duration = HOUR;
/// After this long a client asks for a watch anew.
const WATCH: Duration = Duration::from_secs(290);

/// Stops the real process, takes over in its place and turns the clock.
pub(crate) async fn run(size: Size, mut converged: Converged) -> Result<()> {
    println!("\n  An hour of nothing, with {} components of 4 objects", size.components);
    let counter = &mut converged.fixture.counter;
    counter.take();
    converged.process.terminate()?;
    let gone = || async { if converged.process.check().is_err() { Ok(()) } else { Err("it runs") } };
    reeve_tests::within(PATIENCE, "reeve ends", gone).await?;
    let watches = counter.take().of_verb("watch");

    let clock = ManualClock::new(Timestamp::now());
    let stop = CancellationToken::new();
    let cluster = Cluster::new(Gate::always_open().term()?, converged.fixture.control_plane.config()?)?;
    let own = cluster.own()?;
    let controller = controller(size, &converged.data, cluster, Clock::new(clock.clone()), stop.clone());
    let turning = async {
        let begin = Instant::now();
        let mut restart = settled(counter).await;
        // What is written a little later by its own clock belongs to the restart too.
        clock.advance(Duration::from_mins(1));
        restart.add(settled(counter).await);
        println!("    after a restart: {restart}; quiet after {:.1} s", begin.elapsed().as_secs_f64());
        for _ in 0..HOUR.as_secs() / STEP.as_secs() {
            clock.advance(STEP);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let idle = settled(counter).await;
        stop.cancel();
        idle
    };
    let idle = tokio::join!(controller.run(own), turning).1;
    tell(size, watches, &idle);
    Ok(())
}

fn tell(size: Size, watches: usize, idle: &Requests) {
    let renewals = watches * usize::try_from(HOUR.as_secs().div_ceil(WATCH.as_secs())).unwrap_or(1);
    let peer = 2 * size.objects() * usize::try_from(HOUR.as_secs() / INTERVAL.as_secs()).unwrap_or(1);
    let (all, writes) = (idle.total() + renewals, idle.writes());
    println!("    in the hour: {idle}");
    println!("    {watches} watches, renewed every {} s: {renewals} requests", WATCH.as_secs());
    println!("    Flux: 2 requests per object and interval of {} min: {peer}", INTERVAL.as_secs() / 60);
    promise("idle: writes other than of Leases, none", Some(of(writes, 1)), |writes| writes == 0.0);
    promise("idle: Flux / Reeve, at least 20", Some(of(peer, all.max(1))), |ratio| ratio >= 20.0);
}

/// Waits until nobody asks for anything any more; what was asked since the last time.
async fn settled(counter: &mut Counter) -> Requests {
    let mut requests = Requests::default();
    let (begin, mut quiet) = (Instant::now(), 0);
    while quiet < 3 && begin.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let taken = counter.take();
        quiet = if taken.total() == 0 { quiet + 1 } else { 0 };
        requests.add(taken);
    }
    requests
}

fn controller(size: Size, data: &Path, cluster: Cluster, clock: Clock, stop: CancellationToken) -> Controller {
    let registry = Registry::default();
    let account = Account::Service { namespace: NAMESPACE.into(), name: "reeve-control-plane".into() };
    let metrics = Metrics::default();
    let engine = Setup {
        targets: Targets::one(Target::new(cluster, clock.clone())),
        clock,
        writes: Arc::new(Semaphore::new(size.concurrency)),
        control_plane: Arc::new(ControlPlaneRules { account, kinds: Vec::new() }),
        identity: "bench".to_owned(),
        notifications: NotificationSender::channel().0,
        metrics: metrics.engine.clone(),
        stop,
    };
    let setup = SourceSetup {
        engine,
        metrics,
        mirrors: Mirrors::new(data.to_owned(), program().to_owned()),
        hooks: Hooks::default(),
        runtimes: Arc::new(registry.clone()),
    };
    Controller::new(setup, registry, None)
}
