//! What is told of hooks: a line for each change, and metrics.

use jiff::Timestamp;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use reeve_process::metrics::Metrics;
use std::time::Duration;
use tracing::{info, warn};

use super::Active;
use crate::chain::{Answer, Note};
use crate::field::{Field, Value};
use crate::hook::Hook;
use crate::registration::Origin;
use crate::state::{Decision, Outcome};
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

/// What became of a call's answers, for the log of decisions.
pub(super) fn decisions(
    hook: Hook,
    pod: &Pod,
    container: Option<&Container>,
    notes: &[Note],
    plugins: &[Active],
    now: Timestamp,
) -> Vec<Decision> {
    let of_note = |note: &Note| {
        let told = Told::of(note);
        let asked = plugins.iter().find(|active| active.plugin.registration.name == told.plugin);
        let revision = match asked.map(|active| &active.plugin.registration.origin) {
            Some(Origin::NodeHook { revision, .. }) => revision.clone(),
            Some(Origin::File(_)) | None => String::new(),
        };
        let print = |value: Option<&Value>| told.field.map_or_else(String::new, |field| print(field, value));
        let has_values = matches!(told.outcome, Outcome::Changed | Outcome::Audited);
        Decision {
            time: now,
            namespace: pod.metadata.namespace.clone(),
            pod: pod.metadata.name.clone(),
            container: container.map(|container| container.metadata.name.clone()).unwrap_or_default(),
            hook,
            plugin: told.plugin.to_owned(),
            revision,
            commit: asked.and_then(|active| active.commit.as_deref()).unwrap_or_default().to_owned(),
            outcome: told.outcome,
            field: told.field.map(ToString::to_string).unwrap_or_default(),
            old: if has_values { print(told.old) } else { String::new() },
            new: if has_values { print(told.new) } else { String::new() },
            detail: cut(told.detail),
        }
    };
    notes.iter().map(of_note).collect()
}

/// A note, whichever it is.
struct Told<'n> {
    outcome: Outcome,
    plugin: &'n str,
    field: Option<&'n Field>,
    old: Option<&'n Value>,
    new: Option<&'n Value>,
    detail: &'n str,
}

impl<'n> Told<'n> {
    fn of(note: &'n Note) -> Self {
        let of_field =
            |outcome, plugin, field, detail| Self { outcome, plugin, field: Some(field), old: None, new: None, detail };
        let of_answer = |outcome, plugin, detail| Self { outcome, plugin, field: None, old: None, new: None, detail };
        match note {
            Note::Changed { plugin, field, old, new } => {
                Self { old: old.as_ref(), new: new.as_ref(), ..of_field(Outcome::Changed, plugin, field, "") }
            }
            Note::Audited { plugin, field, old, new } => {
                Self { old: old.as_ref(), new: new.as_ref(), ..of_field(Outcome::Audited, plugin, field, "") }
            }
            Note::NotAllowed { plugin, field } => of_field(Outcome::NotAllowed, plugin, field, ""),
            Note::Kept { plugin, field, owner } => of_field(Outcome::Kept, plugin, field, owner),
            Note::Overruled { plugin, field, owner } => of_field(Outcome::Overruled, plugin, field, owner),
            Note::Failed { plugin, reason } => of_answer(Outcome::Failed, plugin, reason),
            Note::Denied { plugin, reason } => of_answer(Outcome::Refused, plugin, reason),
        }
    }
}

/// Values of variables may be secrets.
pub(super) fn print(field: &Field, value: Option<&Value>) -> String {
    match (field, value) {
        (_, None) => "unset".to_owned(),
        (Field::Env(_), Some(_)) => "hidden".to_owned(),
        (_, Some(Value::Text(text))) => cut(text),
        (_, Some(Value::Number(number))) => number.to_string(),
        (_, Some(Value::Size(size))) => size.to_string(),
    }
}

/// An annotation may have a quarter of a megabyte, and thousands of decisions are kept.
fn cut(text: &str) -> String {
    const MOST: usize = 512;
    if text.len() <= MOST {
        return text.to_owned();
    }
    format!("{}...", text.chars().take(MOST).collect::<String>())
}
