//! What the proxy of the node says of its plugins, as metrics: the proxy serves its own on loopback, where nothing that scrapes
//! reaches them.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use reeve_process::metrics::Metrics;
use reeve_proxy_cri::state::{Calls, Circuit, PluginState, State};

type Labels = Vec<(&'static str, String)>;

/// What was said last; nothing while the proxy says nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProxyMetrics {
    said: Arc<Mutex<Option<State>>>,
}

impl ProxyMetrics {
    pub(crate) fn register(metrics: &Metrics) -> Self {
        let this = Self::default();
        metrics.register_collector(this.clone());
        this
    }

    pub(crate) fn set(&self, said: Option<State>) {
        *self.said.lock() = said;
    }
}

impl Collector for ProxyMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let said = self.said.lock().clone();
        let up = ConstGauge::new(i64::from(said.is_some()));
        up.encode(encoder.encode_descriptor(
            "cri_proxy_up",
            "Whether the proxy of the node answers",
            None,
            MetricType::Gauge,
        )?)?;
        let Some(state) = said else { return Ok(()) };
        for (name, help, count) in COUNTS {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for plugin in &state.plugins {
                ConstCounter::new(count(&plugin.calls)).encode(family.encode_family(&labels(plugin))?)?;
            }
        }
        let (name, help) = ("cri_plugin_circuit_open", "Whether the plugin is not asked because it keeps failing");
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for plugin in &state.plugins {
            let is_open = i64::from(plugin.circuit != Circuit::Closed);
            ConstGauge::new(is_open).encode(family.encode_family(&labels(plugin))?)?;
        }
        let (name, help) = ("cri_plugin_seconds", "Time that so many in a hundred calls of the plugin stay within");
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for plugin in &state.plugins {
            for (quantile, time) in [("0.5", plugin.calls.p50), ("0.99", plugin.calls.p99)] {
                let mut labels = labels(plugin);
                labels.push(("quantile", quantile.to_owned()));
                let seconds = time.map_or(0.0, |time| time.as_secs_f64());
                ConstGauge::new(seconds).encode(family.encode_family(&labels)?)?;
            }
        }
        let (name, help) = ("cri_hook_returned", "Whether the node returned to the NodeHook's last good revision");
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for hook in &state.hooks {
            let labels: Labels = vec![("hook", hook.name.clone())];
            let is_returned = i64::from(hook.returned.is_some());
            ConstGauge::new(is_returned).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

type Count = (&'static str, &'static str, fn(&Calls) -> u64);

const COUNTS: [Count; 7] = [
    ("cri_plugin_calls", "How often the plugin was asked", |calls| calls.calls),
    ("cri_plugin_failures", "How often it failed", |calls| calls.failures),
    ("cri_plugin_timeouts", "How often it did not answer in time", |calls| calls.timeouts),
    ("cri_plugin_refusals", "How often it refused a call", |calls| calls.refusals),
    ("cri_plugin_changes", "How many calls it changed", |calls| calls.changes),
    ("cri_plugin_forbidden_changes", "How many fields it may not change it wanted to", |calls| calls.forbidden_changes),
    ("cri_plugin_conflicts", "How many fields it wanted that another plugin had set", |calls| calls.conflicts),
];

fn labels(plugin: &PluginState) -> Labels {
    vec![("source", plugin.source.clone()), ("plugin", plugin.plugin.clone())]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use jiff::Timestamp;
    use reeve_proxy_cri::hook_set::HookSet;
    use reeve_proxy_cri::settings::Mode;

    use super::*;
    use crate::selection::tests::proxy_state;

    /// The words that begin as our metrics do.
    fn names(text: &str) -> BTreeSet<String> {
        let words = text.split(|char: char| !(char.is_ascii_alphanumeric() || char == '_'));
        words.filter(|word| word.starts_with("reeve_cri_")).map(str::to_owned).collect()
    }

    #[test]
    fn every_metric_that_the_dashboard_asks_for_is_on_the_page() {
        let metrics = Metrics::new("reeve-cri-feed");
        let proxy = ProxyMetrics::register(&metrics);
        assert!(metrics.encode().unwrap().contains("reeve_cri_proxy_up 0"));
        let mut state = proxy_state(&HookSet::default(), true, None);
        state.plugins.push(PluginState {
            source: "hook".to_owned(),
            plugin: "p".to_owned(),
            revision: String::new(),
            endpoint: "/run/p.sock".into(),
            mode: Mode::Enforce,
            hooks: Vec::new(),
            circuit: Circuit::Open,
            circuit_since: Timestamp::UNIX_EPOCH,
            calls: Calls { calls: 7, ..Calls::default() },
            last_error: None,
        });
        proxy.set(Some(state));
        let page = metrics.encode().unwrap();
        assert!(page.contains("reeve_cri_plugin_calls_total{source=\"hook\",plugin=\"p\"} 7"), "{page}");
        assert!(page.contains("reeve_cri_plugin_circuit_open{source=\"hook\",plugin=\"p\"} 1"), "{page}");
        let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../charts/reeve-cri");
        let asked = names(&std::fs::read_to_string(chart.join("files/dashboard.json")).unwrap());
        let shown = names(&page);
        assert!(asked.len() > 6, "{asked:?}");
        assert_eq!(asked.difference(&shown).collect::<Vec<_>>(), Vec::<&String>::new());
        let docs = std::fs::read_to_string(chart.join("../../docs/node-hooks.md")).unwrap();
        assert_eq!(names(&docs).difference(&shown).collect::<Vec<_>>(), Vec::<&String>::new(), "named in the docs");
    }
}
