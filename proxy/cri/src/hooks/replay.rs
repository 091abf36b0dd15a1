//! Recorded calls once more, with other registrations: what would have come of them. Asks nobody.
//!
//! A plugin is taken to say what it said then. Where it would be shown something else now, its answer is assumed; where it was
//! not asked then, it is not known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tonic::{Code, Status};

use super::{Scope, record};
use crate::chain::{self, Answer, Chain, Effect};
use crate::field::{Field, Value};
use crate::message::cri::PodSandboxMetadata;
use crate::recording::{RecordedAnswer, RecordedCall, RecordedOutcome, RecordedPod, Said, digest};
use crate::registration::Registration;
use crate::registry::Registry;
use crate::share::Share;
use crate::subject::Pod;

/// No recorded answer comes too late.
const UNHURRIED: Duration = Duration::from_hours(1);

/// Registrations against which calls are replayed.
#[derive(Debug)]
pub(crate) struct Replay {
    plugins: Vec<(Arc<Registration>, Share)>,
    scope: Scope,
}

/// What would be otherwise about one call.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Difference {
    /// One line for each field, or one for a refusal that is new or gone.
    pub(crate) lines: Vec<String>,
    pub(crate) is_newly_refused: bool,
    /// Plugins that would be asked and have no answer in the recording.
    pub(crate) unanswered: Vec<String>,
    /// Plugins that would be shown something else than then.
    pub(crate) assumed: Vec<String>,
}

impl Replay {
    pub(crate) fn new(registry: &Registry, scope: Scope) -> Self {
        let members = registry.members().into_iter();
        Self { plugins: members.map(|member| (Arc::new(member.registration), member.share)).collect(), scope }
    }

    /// What would be otherwise.
    pub(crate) fn compare(&self, call: &RecordedCall) -> Difference {
        let mut difference = Difference::default();
        let outcome = self.replay(call, &mut difference);
        difference.lines = lines(call, &outcome);
        difference.is_newly_refused =
            matches!((&call.outcome, &outcome), (RecordedOutcome::Forwarded(_), RecordedOutcome::Refused(_)));
        difference
    }

    fn replay(&self, call: &RecordedCall, difference: &mut Difference) -> RecordedOutcome {
        let pod = pod_of(&call.pod);
        let is_asked =
            |(plugin, share): &&(Arc<Registration>, Share)| self.scope.is_asked(plugin, *share, call.hook, &pod);
        let plugins: Vec<_> = self.plugins.iter().filter(is_asked).map(|(plugin, _)| Arc::clone(plugin)).collect();
        let now = Instant::now();
        let asked = chain::Call {
            hook: call.hook,
            fields: call.fields.iter().cloned().collect(),
            cgroup_parent: call.cgroup_parent.clone(),
            exempt: self.scope.exempting(plugins.iter().map(|plugin| &**plugin), &pod),
            deadline: now + UNHURRIED,
        };
        let mut chain = Chain::new(asked, plugins.clone());
        let mut effect = chain.begin(now);
        loop {
            let (plugin, shown) = match effect {
                Effect::Forward => return RecordedOutcome::of(Ok(chain.changes())),
                Effect::Refuse(status) => return RecordedOutcome::of(Err(&status)),
                Effect::Ask { plugin, shown, .. } => (&plugins[plugin], shown),
            };
            let recorded = find(&call.asked, plugin);
            match recorded {
                None => difference.unanswered.push(plugin.name.clone()),
                Some(recorded) if recorded.shown != digest(&shown) => difference.assumed.push(plugin.name.clone()),
                Some(_) => {}
            }
            effect = chain.step(recorded.map_or_else(|| Answer::Changes(BTreeMap::new()), answer), now);
        }
    }
}

/// What the plugin said then: by its name, or by its socket if it was renamed.
fn find<'c>(asked: &'c [RecordedAnswer], plugin: &Registration) -> Option<&'c RecordedAnswer> {
    let by_name = asked.iter().find(|answer| answer.plugin == plugin.name && answer.endpoint == plugin.endpoint);
    by_name.or_else(|| asked.iter().find(|answer| answer.endpoint == plugin.endpoint))
}

fn answer(recorded: &RecordedAnswer) -> Answer {
    match &recorded.said {
        Said::Changes(changes) => Answer::Changes(changes.iter().cloned().collect()),
        Said::Refused(code, message) => Answer::Denied(Status::new(Code::from_i32(*code), message.clone())),
        Said::Failed(reason) => Answer::Failed(reason.clone()),
        Said::TimedOut(reason) => Answer::TimedOut(reason.clone()),
    }
}

fn pod_of(pod: &RecordedPod) -> Pod {
    let RecordedPod { namespace, name, uid, labels, annotations } = pod.clone();
    Pod {
        metadata: PodSandboxMetadata { name, uid, namespace, ..PodSandboxMetadata::default() },
        labels: labels.into_iter().collect(),
        annotations: annotations.into_iter().collect(),
        ..Pod::default()
    }
}

fn lines(call: &RecordedCall, outcome: &RecordedOutcome) -> Vec<String> {
    let place = if call.container.is_empty() { String::new() } else { format!(" {}", call.container) };
    let head = format!("{} {}/{}{place}", call.hook.name(), call.pod.namespace, call.pod.name);
    match (&call.outcome, outcome) {
        (RecordedOutcome::Refused(old), RecordedOutcome::Refused(new)) if old == new => Vec::new(),
        (RecordedOutcome::Refused(old), RecordedOutcome::Refused(new)) => {
            vec![format!("{head}: refused with {new:?}, then with {old:?}")]
        }
        (RecordedOutcome::Forwarded(_), RecordedOutcome::Refused(new)) => {
            vec![format!("{head}: refused with {new:?}, then it went on")]
        }
        (RecordedOutcome::Refused(old), RecordedOutcome::Forwarded(_)) => {
            vec![format!("{head}: goes on, then it was refused with {old:?}")]
        }
        (RecordedOutcome::Forwarded(old), RecordedOutcome::Forwarded(new)) => changed_fields(call, old, new)
            .into_iter()
            .map(|(field, now, then)| format!("{head} {field}: {now}, then {then}"))
            .collect(),
    }
}

type Changed = (Field, Option<Value>);

/// Fields that end otherwise: how they end now, and how they ended then.
fn changed_fields(call: &RecordedCall, old: &[Changed], new: &[Changed]) -> Vec<(Field, String, String)> {
    let end = |changes: &[Changed], field: &Field| {
        let changed = changes.iter().find(|(changed, _)| changed == field).map(|(_, value)| value.clone());
        let unchanged = || call.fields.iter().find(|(set, _)| set == field).map(|(_, value)| value.clone());
        changed.unwrap_or_else(unchanged)
    };
    let fields: BTreeSet<&Field> = old.iter().chain(new).map(|(field, _)| field).collect();
    let differing = fields.into_iter().filter_map(|field| {
        let (now, then) = (end(new, field), end(old, field));
        let print = |value: Option<Value>| record::print(field, value.as_ref());
        (now != then).then(|| (field.clone(), print(now), print(then)))
    });
    differing.collect()
}

#[cfg(test)]
mod tests;
