//! Hooked calls as they were: what was asked about, what each plugin said, and what came of it.
//!
//! Nothing is recorded unless a reader of the local socket asks for it, and then it goes to that reader alone. Values of
//! variables are left out.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::broadcast;
use tonic::Status;

use crate::chain::Answer;
use crate::field::{Changes, Field, Fields, Value};
use crate::hook::Hook;
use crate::registration::Registration;
use crate::subject::{Container, Pod};

/// Calls that a slow reader may be behind; it is told how many it missed beyond that.
const BEHIND: usize = 1024;

/// One line of a recording.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Line {
    Call(Box<RecordedCall>),
    /// So many calls are not in it: the reader was too slow.
    Missed(u64),
}

/// A hooked call.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RecordedCall {
    pub(crate) time: Timestamp,
    pub(crate) hook: Hook,
    pub(crate) pod: RecordedPod,
    /// Empty if it is about the pod itself.
    pub(crate) container: String,
    /// The cgroup parent that kubelet chose.
    pub(crate) cgroup_parent: String,
    /// What it set before the first plugin was asked.
    pub(crate) fields: Vec<(Field, Value)>,
    pub(crate) asked: Vec<RecordedAnswer>,
    pub(crate) outcome: RecordedOutcome,
}

/// The pod of a call.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RecordedPod {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
}

/// What one plugin said.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RecordedAnswer {
    pub(crate) plugin: String,
    pub(crate) endpoint: PathBuf,
    /// Digest of the fields that it was shown.
    pub(crate) shown: String,
    pub(crate) said: Said,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Said {
    Changes(Vec<(Field, Option<Value>)>),
    Refused(i32, String),
    Failed(String),
    TimedOut(String),
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum RecordedOutcome {
    /// It went on, with these changes of all plugins.
    Forwarded(Vec<(Field, Option<Value>)>),
    Refused(String),
}

/// Tells readers of hooked calls.
#[derive(Debug)]
pub(crate) struct Recorder {
    lines: broadcast::Sender<Bytes>,
}

impl Default for Recorder {
    fn default() -> Self {
        Self { lines: broadcast::Sender::new(BEHIND) }
    }
}

impl Recorder {
    /// Every call from now on, one JSON document a line.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Bytes> {
        self.lines.subscribe()
    }

    /// Begins to record a call, if anybody reads.
    pub(crate) fn begin(
        &self,
        hook: Hook,
        pod: &Pod,
        container: Option<&Container>,
        fields: &Fields,
        cgroup_parent: &str,
    ) -> Option<RecordedCall> {
        (self.lines.receiver_count() > 0).then(|| RecordedCall {
            time: Timestamp::now(),
            hook,
            pod: RecordedPod::of(pod),
            container: container.map(|container| container.metadata.name.clone()).unwrap_or_default(),
            cgroup_parent: cgroup_parent.to_owned(),
            fields: hidden(fields).into_iter().collect(),
            asked: Vec::new(),
            outcome: RecordedOutcome::Forwarded(Vec::new()),
        })
    }

    /// Tells of a call that is decided.
    pub(crate) fn end(&self, mut call: RecordedCall, outcome: Result<&Changes, &Status>) {
        call.outcome = RecordedOutcome::of(outcome);
        // Who stopped reading meanwhile does not want it.
        let _ = self.lines.send(Line::Call(Box::new(call)).to_text());
    }
}

impl Line {
    pub(crate) fn to_text(&self) -> Bytes {
        let mut text = serde_json::to_vec(self).unwrap_or_default();
        text.push(b'\n');
        text.into()
    }
}

impl RecordedCall {
    pub(crate) fn answered(&mut self, plugin: &Registration, shown: &Fields, answer: &Answer) {
        let said = match answer {
            Answer::Changes(changes) => Said::Changes(without_values(changes)),
            Answer::Denied(status) => Said::Refused(status.code().into(), status.message().to_owned()),
            Answer::Failed(reason) => Said::Failed(reason.clone()),
            Answer::TimedOut(reason) => Said::TimedOut(reason.clone()),
        };
        let (plugin, endpoint) = (plugin.name.clone(), plugin.endpoint.clone());
        self.asked.push(RecordedAnswer { plugin, endpoint, shown: digest(shown), said });
    }
}

impl RecordedPod {
    fn of(pod: &Pod) -> Self {
        let sorted = |map: &std::collections::HashMap<String, String>| {
            map.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        Self {
            namespace: pod.metadata.namespace.clone(),
            name: pod.metadata.name.clone(),
            uid: pod.metadata.uid.clone(),
            labels: sorted(&pod.labels),
            annotations: sorted(&pod.annotations),
        }
    }
}

impl RecordedOutcome {
    pub(crate) fn of(outcome: Result<&Changes, &Status>) -> Self {
        match outcome {
            Ok(changes) => Self::Forwarded(without_values(changes)),
            Err(status) => Self::Refused(status.message().to_owned()),
        }
    }
}

/// Names what a plugin was shown, so that a replay can tell whether it would be shown the same.
pub(crate) fn digest(shown: &Fields) -> String {
    let shown: Vec<_> = hidden(shown).into_iter().collect();
    let text = serde_json::to_vec(&shown).unwrap_or_default();
    HEXLOWER.encode(&Sha256::digest(text)[..8])
}

/// The fields without the values of variables, which may be secrets.
fn hidden(fields: &Fields) -> Fields {
    fields.iter().map(|(field, value)| (field.clone(), hide(field, value))).collect()
}

fn without_values(changes: &Changes) -> Vec<(Field, Option<Value>)> {
    changes.iter().map(|(field, value)| (field.clone(), value.as_ref().map(|value| hide(field, value)))).collect()
}

fn hide(field: &Field, value: &Value) -> Value {
    match field {
        Field::Env(_) => Value::Text("hidden".to_owned()),
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_recorded_unless_somebody_reads_and_no_value_of_a_variable_ever() {
        let recorder = Recorder::default();
        let fields: Fields = [(Field::Env("TOKEN".to_owned()), Value::Text("secret".to_owned()))].into();
        let begin = || recorder.begin(Hook::PreCreateContainer, &Pod::default(), None, &fields, "");
        assert_eq!(begin(), None);
        let mut reader = recorder.subscribe();
        let mut call = begin().unwrap();
        let plugin = crate::registration::parse(
            "a.json",
            br#"{"remote-endpoint": "/run/a.sock", "runtime-hooks": ["PreCreateContainer"]}"#,
        );
        let changes: Changes = [(Field::Env("KEY".to_owned()), Some(Value::Text("secret".to_owned())))].into();
        call.answered(&plugin.unwrap().0, &fields, &Answer::Changes(changes.clone()));
        recorder.end(call.clone(), Ok(&changes));
        let text = reader.try_recv().unwrap();
        assert!(!String::from_utf8_lossy(&text).contains("secret"), "{text:?}");
        let Ok(Line::Call(read)) = serde_json::from_slice(&text) else { panic!("{text:?} is no call") };
        assert_eq!(read.fields, call.fields);
        assert_eq!(read.asked, call.asked);
    }
}
