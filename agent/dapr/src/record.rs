//! What is on record of a workload: what its sidecars run, what they should, and the change between the two.
//!
//! The record is written before anything is done, so that an agent that was killed goes on where it was. A workload
//! without a record is taken to run what it should: nothing restarts because Reeve has just arrived.

use jiff::Timestamp;
use reeve_crds::dapr_workload::{Method, Proof};

use crate::entry::{Entries, Entry, EntryKey, EntryKind, target_hash};
use crate::fingerprint::Hash;
use crate::kind::Kind;
use crate::rule::Rule;
use crate::version::Sidecar;

/// How many restarts are remembered: as many as a policy may allow within an hour.
pub const REMEMBERED_RESTARTS: usize = 60;

/// What is on record.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What every sidecar is known to run.
    pub running: Entries,
    /// What the last change was for. The same as `running` when it is done.
    pub applied: Entries,
    /// The app-id of the template that the sidecars were started with.
    pub app_id: String,
    /// The Configuration that this template names.
    pub configuration: Option<String>,
    /// The sidecar as it was when the record last agreed with it.
    pub sidecar: Sidecar,
    /// Names the key that hashes of Secrets were made with.
    pub hash_key: Hash,
    /// The last change.
    pub change: Option<Change>,
    /// The last restarts, the newest first.
    pub restarts: Vec<Restart>,
}

/// A change on its way into the sidecars, or the last one that got there.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// How it gets there.
    pub method: Method,
    /// The rule that chose the method.
    pub rule: Rule,
    /// Why, in a sentence.
    pub why: String,
    /// Whether it is known that it arrived.
    pub proof: Proof,
    /// When it was seen.
    pub since: Timestamp,
    /// When its restart was begun.
    pub started_at: Option<Timestamp>,
    /// The token in the template of pods that have it.
    pub token: Option<String>,
    /// When every sidecar had it.
    pub finished_at: Option<Timestamp>,
}

/// A restart that was begun.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Restart {
    /// When.
    pub at: Timestamp,
    /// The token that it put into the template; once per token.
    pub token: String,
    /// Why.
    pub why: String,
}

/// How far a change is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Phase {
    /// There is none, or it is done.
    Settled,
    /// The sidecars are expected to reload.
    Reloading,
    /// A restart is wanted and not begun.
    Waiting,
    /// A restart was begun.
    Restarting,
}

/// What a template says of its sidecar.
#[derive(Clone, Copy, Debug)]
pub struct Template<'a> {
    /// Dapr's app-id.
    pub app_id: &'a str,
    /// The Configuration that it names.
    pub configuration: Option<&'a str>,
}

impl Record {
    /// The record of a workload that is met for the first time.
    pub fn adopt(template: Template<'_>, sidecar: Sidecar, expected: &Entries, hash_key: Hash) -> Self {
        Self {
            running: expected.clone(),
            applied: expected.clone(),
            app_id: template.app_id.to_owned(),
            configuration: template.configuration.map(str::to_owned),
            sidecar,
            hash_key,
            change: None,
            restarts: Vec::new(),
        }
    }

    /// Takes over the hashes of Secrets when their key was lost: under another key nothing is known of what they were.
    pub(crate) fn rekey(&mut self, expected: &Entries, hash_key: Hash) {
        if self.hash_key == hash_key {
            return;
        }
        let known = |key: &EntryKey, entry: &mut Entry| match (key.kind, expected.get(key)) {
            (EntryKind::Source(_), Some(now)) => *entry = *now,
            (_, Some(now)) => entry.fingerprint.secrets = now.fingerprint.secrets,
            (_, None) => {}
        };
        for entries in [&mut self.running, &mut self.applied] {
            for (key, entry) in entries.iter_mut() {
                known(key, entry);
            }
        }
        self.hash_key = hash_key;
    }

    /// How far the change is.
    pub fn phase(&self) -> Phase {
        match &self.change {
            Some(change) if change.finished_at.is_none() => match (change.method, change.started_at) {
                (Method::Restart, Some(_)) => Phase::Restarting,
                (Method::Restart, None) => Phase::Waiting,
                (Method::HotReload, _) => Phase::Reloading,
                (Method::None | Method::Manual, _) => Phase::Settled,
            },
            Some(_) | None => Phase::Settled,
        }
    }

    /// What the sidecars have or are about to have without any further act: a change that is under way cannot be taken
    /// back by comparing with what they ran before it.
    pub fn base(&self) -> &Entries {
        match self.phase() {
            Phase::Reloading | Phase::Restarting => &self.applied,
            Phase::Settled | Phase::Waiting => &self.running,
        }
    }

    /// Takes over what differs and concerns no sidecar, on top of the change that may be under way.
    pub(crate) fn adopt_unchanged(&mut self, expected: &Entries) {
        if self.base() == expected {
            return;
        }
        self.applied.clone_from(expected);
        match self.phase() {
            Phase::Reloading | Phase::Restarting => {}
            Phase::Settled | Phase::Waiting => self.running.clone_from(expected),
        }
    }

    /// Notes that every sidecar has what was applied.
    pub(crate) fn finish(&mut self, proof: Proof, sidecar: Sidecar, now: Timestamp) {
        self.running = self.applied.clone();
        self.sidecar = sidecar;
        if let Some(change) = &mut self.change {
            change.proof = proof;
            change.finished_at = Some(now);
        }
    }

    /// Begins a change, or replaces the one before it. Changes that come while one waits join it. The token of a restart
    /// that was begun stays on record until the next begins: see [`Self::is_mixed`].
    pub(crate) fn plan(&mut self, method: Method, (rule, why): (Rule, &str), expected: &Entries, now: Timestamp) {
        let since = match (self.phase(), &self.change) {
            (Phase::Waiting | Phase::Restarting, Some(change)) => change.since,
            (Phase::Settled | Phase::Reloading, _) | (_, None) => now,
        };
        let token = self.change.take().filter(|change| change.finished_at.is_none()).and_then(|change| change.token);
        self.applied = expected.clone();
        self.change = Some(Change {
            method,
            rule,
            why: why.to_owned(),
            proof: Proof::Pending,
            since,
            started_at: None,
            token,
            finished_at: None,
        });
    }

    /// Whether a restart waits after one that was begun and is not known to have ended: some pods may have started with
    /// what was applied in between. Only a restart of all makes them equal, whatever is taken back meanwhile.
    pub(crate) fn is_mixed(&self) -> bool {
        self.phase() == Phase::Waiting && self.change.as_ref().is_some_and(|change| change.token.is_some())
    }

    /// Notes that the restart begins, with a token that none of these is: a pod that has it already may have started with
    /// something that was applied in between.
    pub(crate) fn begin<'a>(&mut self, used: impl Iterator<Item = &'a str>, now: Timestamp) {
        let token = fresh_token(&target_hash(&self.applied).to_string(), used);
        let Some(change) = &mut self.change else { return };
        change.started_at = Some(now);
        change.token = Some(token.clone());
        let why = change.why.clone();
        self.remember(Restart { at: now, token, why });
    }

    /// Remembers a restart.
    pub(crate) fn remember(&mut self, restart: Restart) {
        self.restarts.insert(0, restart);
        self.restarts.truncate(REMEMBERED_RESTARTS);
    }

    /// Takes over a template that names another app-id or Configuration: its own rollout brings that (R16).
    pub(crate) fn rebind(&mut self, template: Template<'_>, expected: &Entries) {
        let is_new_app = self.app_id != template.app_id;
        let is_new_configuration = self.configuration.as_deref() != template.configuration;
        let is_bound = |key: &EntryKey| match key.kind {
            EntryKind::Resource(Kind::Configuration) => is_new_configuration,
            EntryKind::Resource(_) => is_new_app,
            EntryKind::Source(_) | EntryKind::Image | EntryKind::System => false,
        };
        for entries in [&mut self.running, &mut self.applied] {
            entries.retain(|key, _| !is_bound(key));
            entries.extend(expected.iter().filter(|(key, _)| is_bound(key)).map(|(key, entry)| (key.clone(), *entry)));
        }
        template.app_id.clone_into(&mut self.app_id);
        self.configuration = template.configuration.map(str::to_owned);
    }
}

/// The hash of the target, or, if that was used already, the same with the next number.
fn fresh_token<'a>(target: &str, used: impl Iterator<Item = &'a str>) -> String {
    let numbered = used.map(|token| token.split_once('-').unwrap_or((token, "1")));
    let numbers = numbered.filter(|(hash, _)| *hash == target).map(|(_, number)| number.parse::<u32>().unwrap_or(1));
    match numbers.max() {
        Some(number) => format!("{target}-{}", number.saturating_add(1)),
        None => target.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::fresh_token;

    #[test]
    fn a_token_that_a_pod_has_is_not_given_again() {
        let fresh = |used: &[&str]| fresh_token("aa", used.iter().copied());
        assert_eq!(fresh(&[]), "aa");
        assert_eq!(fresh(&["bb", "bb-2"]), "aa");
        assert_eq!(fresh(&["aa"]), "aa-2");
        assert_eq!(fresh(&["bb-7", "aa-2", "aa"]), "aa-3");
    }
}
