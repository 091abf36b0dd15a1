//! What is read of the words of a CRI proxy. A newer proxy may say more, and an older one less.

use serde::{Deserialize, Serialize};

/// Hooks and plugins in force.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ProxyState {
    pub(super) version: String,
    pub(super) runtime: Option<String>,
    pub(super) digest: String,
    pub(super) bad_set: Option<String>,
    pub(super) hooks: Vec<Hook>,
    pub(super) plugins: Vec<PluginState>,
    pub(super) files: Vec<File>,
}

impl ProxyState {
    /// Whether nothing is wrong.
    pub(super) fn is_well(&self) -> bool {
        self.bad_set.is_none()
            && self.hooks.iter().all(|hook| hook.returned.is_none())
            && self.plugins.iter().all(|plugin| plugin.circuit == "Closed")
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Hook {
    pub(super) name: String,
    pub(super) generation: i64,
    pub(super) revision: String,
    pub(super) percent: u8,
    pub(super) commit: Option<String>,
    pub(super) returned: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PluginState {
    pub(super) source: String,
    pub(super) plugin: String,
    pub(super) mode: String,
    pub(super) circuit: String,
    pub(super) hooks: Vec<String>,
    pub(super) calls: Counts,
    pub(super) last_error: Option<LastError>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Counts {
    pub(super) calls: u64,
    pub(super) failures: u64,
    pub(super) refusals: u64,
    pub(super) changes: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LastError {
    pub(super) message: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct File {
    pub(super) message: String,
}

/// What became of a field of a plugin's answer, or of the whole answer.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Decision {
    pub(super) time: String,
    pub(super) namespace: String,
    pub(super) pod: String,
    pub(super) container: String,
    pub(super) hook: String,
    pub(super) plugin: String,
    pub(super) revision: String,
    pub(super) commit: String,
    pub(super) outcome: Outcome,
    pub(super) field: String,
    pub(super) old: String,
    pub(super) new: String,
    pub(super) detail: String,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) enum Outcome {
    Changed,
    Audited,
    NotAllowed,
    Kept,
    Overruled,
    Failed,
    Refused,
    /// Of a newer proxy.
    #[default]
    #[serde(other)]
    Other,
}

impl Decision {
    /// In a few words.
    pub(super) fn what(&self) -> String {
        let Self { field, old, new, detail, .. } = self;
        match self.outcome {
            Outcome::Changed => format!("{field}: {old} -> {new}"),
            Outcome::Audited => format!("{field}: {old} -> {new} (audited, not made)"),
            Outcome::NotAllowed => format!("{field}: not changed, its mask does not allow it"),
            Outcome::Kept => format!("{field}: not changed, {detail} set it before"),
            Outcome::Overruled => format!("{field}: taken over from {detail}"),
            Outcome::Failed => format!("failed: {detail}"),
            Outcome::Refused => format!("refused: {detail}"),
            Outcome::Other => format!("{field} {detail}"),
        }
    }
}
