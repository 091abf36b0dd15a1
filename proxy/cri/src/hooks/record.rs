//! What is told of hooks: a line for each change, and metrics.

use jiff::Timestamp;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use reeve_process::metrics::Metrics;
use std::time::Duration;
use tracing::{info, warn};

use crate::chain::{Answer, Note};
use crate::field::{Field, Value};
use crate::hook::Hook;
use crate::registration::{Origin, Registration};
use crate::state::Change;
use crate::subject::{Container, Pod};

type Labels = Vec<(&'static str, String)>;

/// `reeve_cri_hook_calls_total` and `reeve_cri_hook_seconds`.
#[derive(Clone, Debug)]
pub(crate) struct HookMetrics {
    calls: Family<Labels, Counter>,
    seconds: Family<Labels, Histogram, fn() -> Histogram>,
}

impl HookMetrics {
    pub(crate) fn register(metrics: &Metrics) -> Self {
        let histogram: fn() -> Histogram = || Histogram::new(exponential_buckets(0.0001, 2.0, 16));
        Self {
            calls: metrics.register(
                "cri_hook_calls",
                "How often plugins were asked, by plugin, hook and outcome",
                Family::default(),
            ),
            seconds: metrics.register(
                "cri_hook_seconds",
                "How long plugins took to answer",
                Family::new_with_constructor(histogram),
            ),
        }
    }

    pub(super) fn observe(&self, plugin: &str, hook: Hook, answer: &Answer, took: Duration) {
        let outcome = match answer {
            Answer::Changes(changes) if changes.is_empty() => "unchanged",
            Answer::Changes(_) => "changed",
            Answer::Denied(_) => "denied",
            Answer::Failed(_) => "failed",
            Answer::TimedOut(_) => "timed out",
        };
        let mut labels = vec![("plugin", plugin.to_owned()), ("hook", hook.name().to_owned())];
        self.seconds.get_or_create(&labels).observe(took.as_secs_f64());
        labels.push(("outcome", outcome.to_owned()));
        self.calls.get_or_create(&labels).inc();
    }
}

/// Writes what became of a call to the log.
pub(super) fn log(hook: Hook, pod: &Pod, container: Option<&Container>, notes: &[Note]) {
    let (hook, namespace, pod) = (hook.name(), &pod.metadata.namespace, &pod.metadata.name);
    let container = container.map_or("", |container| container.metadata.name.as_str());
    for note in notes {
        match note {
            Note::Changed { plugin, field, old, new } => {
                let (old, new) = (print(field, old.as_ref()), print(field, new.as_ref()));
                info!(plugin, hook, %namespace, %pod, container, %field, old, new, "plugin changed a field");
            }
            Note::Audited { plugin, field, old, new } => {
                let (old, new) = (print(field, old.as_ref()), print(field, new.as_ref()));
                info!(plugin, hook, %namespace, %pod, container, %field, old, new, "plugin would have changed a field");
            }
            Note::NotAllowed { plugin, field } => {
                warn!(plugin, hook, %namespace, %pod, container, %field, "plugin may not change this field");
            }
            Note::Kept { plugin, field, owner } => {
                warn!(plugin, hook, %namespace, %pod, container, %field, owner, "plugin may not change what another set");
            }
            Note::Overruled { plugin, field, owner } => {
                warn!(plugin, hook, %namespace, %pod, container, %field, owner, "plugin changed what another set");
            }
            Note::Failed { plugin, reason } => {
                warn!(plugin, hook, %namespace, %pod, container, reason, "plugin failed");
            }
            Note::Denied { plugin, reason } => {
                warn!(plugin, hook, %namespace, %pod, container, reason, "plugin refused");
            }
        }
    }
}

/// What plugins changed, or would have, for the log of changes.
pub(super) fn changes(
    hook: Hook,
    pod: &Pod,
    container: Option<&Container>,
    notes: &[Note],
    plugins: &[&Registration],
    now: Timestamp,
) -> Vec<Change> {
    let revision = |name: &str| match plugins.iter().find(|plugin| plugin.name == name).map(|plugin| &plugin.origin) {
        Some(Origin::NodeHook { revision, .. }) => revision.clone(),
        Some(Origin::File(_)) | None => String::new(),
    };
    let of_note = |note: &Note| {
        let (Note::Changed { plugin, field, old, new } | Note::Audited { plugin, field, old, new }) = note else {
            return None;
        };
        Some(Change {
            time: now,
            namespace: pod.metadata.namespace.clone(),
            pod: pod.metadata.name.clone(),
            container: container.map(|container| container.metadata.name.clone()).unwrap_or_default(),
            hook,
            plugin: plugin.clone(),
            revision: revision(plugin),
            field: field.to_string(),
            old: print(field, old.as_ref()),
            new: print(field, new.as_ref()),
            audited: matches!(note, Note::Audited { .. }),
        })
    };
    notes.iter().filter_map(of_note).collect()
}

/// Values of variables may be secrets.
fn print(field: &Field, value: Option<&Value>) -> String {
    match (field, value) {
        (_, None) => "unset".to_owned(),
        (Field::Env(_), Some(_)) => "hidden".to_owned(),
        (_, Some(Value::Text(text))) => text.clone(),
        (_, Some(Value::Number(number))) => number.to_string(),
        (_, Some(Value::Size(size))) => size.to_string(),
    }
}
