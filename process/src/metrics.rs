//! Metrics in the `OpenMetrics` text form. Ours begin with `reeve_`; those of the process itself carry the names that
//! every dashboard knows (`process_resident_memory_bytes`).

use std::fmt;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry};

use crate::version;

mod system;
use system::SystemCollector;

/// The content type of [`Metrics::encode`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All metrics of this process. Clones share one registry.
#[derive(Clone)]
pub struct Metrics {
    ours: Arc<Mutex<Registry>>,
    system: Arc<Registry>,
}

impl Metrics {
    /// With `reeve_build_info` of `binary` and the metrics of the process.
    pub fn new(binary: &'static str) -> Self {
        let mut system = Registry::default();
        system.register_collector(Box::new(SystemCollector::start()));
        let mut ours = Registry::with_prefix("reeve");
        let labels = vec![("version", version::VERSION), ("commit", version::COMMIT), ("binary", binary)];
        ours.register("build", "What runs here", Info::new(labels));
        Self { ours: Arc::new(Mutex::new(ours)), system: Arc::new(system) }
    }

    /// Adds `reeve_<name>` and gives the metric back, to be kept by its owner. Once per name and process: a second one
    /// would stand in the same page.
    pub fn register<M: Metric + Clone>(&self, name: &str, help: &str, metric: M) -> M {
        self.lock().register(name, help, metric.clone());
        metric
    }

    /// Adds something that is measured when it is asked for; its names get the prefix too.
    pub fn register_collector(&self, collector: impl Collector) {
        self.lock().register_collector(Box::new(collector));
    }

    /// The page that a scrape gets, of [`CONTENT_TYPE`].
    pub fn encode(&self) -> Result<String, fmt::Error> {
        let mut page = String::new();
        text::encode_registry(&mut page, &self.system)?;
        text::encode_registry(&mut page, &self.lock())?;
        text::encode_eof(&mut page)?;
        Ok(page)
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        // A registry is whole between any two of its calls.
        self.ours.lock()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
