//! Walks through the stages. Signals come in by a channel and time is tokio's, so that tests need neither.

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{error, info};

use super::{Duration, Shutdown, Signal, Stage};
use crate::health::Health;

/// How long the stages may take, counted from when the stop was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) drain_delay: Duration,
    pub(crate) deadline: Duration,
}

/// How the way out ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everyone finished.
    Drained,
    /// The deadline passed first.
    Deadline,
    /// A second signal came first.
    Forced(Signal),
}

/// What the walk needs.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) shutdown: Shutdown,
    pub(crate) health: Health,
    pub(crate) limits: Limits,
    pub(crate) signals: mpsc::Receiver<Signal>,
}

impl Stop {
    /// Waits for the first signal or [`Shutdown::begin`], then walks to the end. `on_stop` is called when the way begins.
    pub(crate) async fn run(mut self, on_stop: impl FnOnce()) -> Outcome {
        let signal = tokio::select! {
            () = self.shutdown.requested() => None,
            signal = next(&mut self.signals) => Some(signal),
        };
        // Before the first word: the log may be what is stuck.
        on_stop();
        info!(signal = signal.map(|signal| signal.to_string()), "stopping");
        self.shutdown.begin();
        self.health.drain();
        let now = Instant::now();
        let deadline = now.checked_add(self.limits.deadline).unwrap_or(now + Duration::from_hours(24));
        tokio::select! {
            biased;
            () = run_stages(&self.shutdown, self.limits.drain_delay) => {
                info!("drained");
                Outcome::Drained
            }
            signal = next(&mut self.signals) => {
                error!(%signal, unfinished = ?self.shutdown.unfinished(), "second signal, exiting at once");
                Outcome::Forced(signal)
            }
            () = sleep_until(deadline) => {
                let deadline_s = self.limits.deadline.as_secs_f64();
                error!(deadline_s, unfinished = ?self.shutdown.unfinished(), "not drained in time, exiting");
                Outcome::Deadline
            }
        }
    }
}

async fn run_stages(shutdown: &Shutdown, drain_delay: Duration) {
    sleep(drain_delay).await;
    shutdown.0.draining.cancel();
    shutdown.wait_for_guards(Stage::Draining).await;
    shutdown.0.closing.cancel();
    shutdown.wait_for_guards(Stage::Closing).await;
}

/// The sender may be gone; then no signal comes.
async fn next(signals: &mut mpsc::Receiver<Signal>) -> Signal {
    match signals.recv().await {
        Some(signal) => signal,
        None => std::future::pending().await,
    }
}
