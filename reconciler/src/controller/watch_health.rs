//! Tells when Reeve's own kinds cannot be followed, and when they can be again: once for each changed failure, not for
//! each try.

use kube::runtime::watcher::{self, Event};
use reeve_crds::Reason;
use reeve_reconciler_engine::live;
use tracing::{info, warn};

use crate::metrics::Metrics;

/// How often an API server may ask for some time, as right after an installation, without a word.
const PATIENCE: u32 = 10;

/// Listens to one watch.
#[derive(Debug)]
pub(super) struct WatchHealth {
    kind: String,
    metrics: Metrics,
    told: Option<String>,
    /// How often in a row the API server asked for some time.
    asked: u32,
}

impl WatchHealth {
    pub(super) fn new(kind: impl Into<String>, metrics: Metrics) -> Self {
        Self { kind: kind.into(), metrics, told: None, asked: 0 }
    }

    pub(super) fn on_event<K>(&mut self, event: &watcher::Result<Event<K>>) {
        match event {
            Err(error) => {
                self.metrics.watch_failed();
                let api_error = live::watch_error(error);
                let is_throttled = api_error.as_ref().is_some_and(|api_error| api_error.reason == Reason::Throttled);
                self.asked = if is_throttled { self.asked + 1 } else { 0 };
                if is_throttled && self.asked <= PATIENCE {
                    return;
                }
                let why = api_error.map_or_else(|| reeve_process::error_chain(error), |api_error| api_error.message);
                if self.told.as_ref() != Some(&why) {
                    warn!(kind = self.kind, "cannot follow: {why}");
                    self.told = Some(why);
                }
            }
            // The intention to list says nothing of whether it can be done.
            Ok(Event::Init) => {}
            Ok(Event::InitApply(_) | Event::InitDone | Event::Apply(_) | Event::Delete(_)) => {
                self.asked = 0;
                if self.told.take().is_some() {
                    info!(kind = self.kind, "followed again");
                }
            }
        }
    }
}
