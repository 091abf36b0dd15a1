//! Tells when Reeve's own kinds cannot be followed, and when they can be again: once for each changed failure, not for
//! each try.

use kube::runtime::watcher::{self, Event};
use tracing::{info, warn};

use crate::metrics::Metrics;

/// Listens to one watch.
#[derive(Debug)]
pub(super) struct Hearing {
    kind: String,
    metrics: Metrics,
    told: Option<String>,
}

impl Hearing {
    pub(super) fn new(kind: impl Into<String>, metrics: Metrics) -> Self {
        Self { kind: kind.into(), metrics, told: None }
    }

    pub(super) fn hear<K>(&mut self, event: &watcher::Result<Event<K>>) {
        match event {
            Err(error) => {
                self.metrics.watch_failed();
                let why = reeve_process::chain(error);
                if self.told.as_ref() != Some(&why) {
                    warn!(kind = self.kind, "cannot follow: {why}");
                    self.told = Some(why);
                }
            }
            // The intention to list says nothing of whether it can be done.
            Ok(Event::Init) => {}
            Ok(Event::InitApply(_) | Event::InitDone | Event::Apply(_) | Event::Delete(_)) => {
                if self.told.take().is_some() {
                    info!(kind = self.kind, "followed again");
                }
            }
        }
    }
}
