//! Wakes targets: writes the scale of one that is wanted and stands at zero, at once and without asking anybody.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::{Api, Client, discovery};
use reeve_crds::WorkloadRef;
use serde_json::json;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tracing::{info, warn};

use super::plane::Plane;
use super::rule::Rule;
use super::settings::WakeSettings;
use crate::report::RuleKey;

/// Who writes a scale: its own name, so that a person sees who it was.
const FIELD_MANAGER: &str = "reeve-resolver-wake";
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// When which rule is looked at next. Pure.
#[derive(Debug, Default)]
pub(crate) struct WakePlan {
    wanted: BTreeMap<RuleKey, Attempt>,
}

#[derive(Debug)]
struct Attempt {
    at: Instant,
    pause: Duration,
    under_way: bool,
}

impl WakePlan {
    /// These rules are wanted, and no others. Returns those whose turn it is.
    pub(crate) fn step(&mut self, wanted: &BTreeSet<RuleKey>, now: Instant) -> Vec<RuleKey> {
        self.wanted.retain(|key, attempt| attempt.under_way || wanted.contains(key));
        let mut due = Vec::new();
        for key in wanted {
            let attempt = self.wanted.entry(key.clone()).or_insert_with(|| Attempt {
                at: now,
                pause: FIRST_PAUSE,
                under_way: false,
            });
            if !attempt.under_way && attempt.at <= now {
                attempt.under_way = true;
                due.push(key.clone());
            }
        }
        due
    }

    /// An attempt is over. If the rule is wanted still it is looked at again: the write may have failed, or somebody may
    /// have put the target back to zero.
    pub(crate) fn ended(&mut self, key: &RuleKey, now: Instant) {
        if let Some(attempt) = self.wanted.get_mut(key) {
            attempt.under_way = false;
            attempt.at = now + attempt.pause;
            attempt.pause = (attempt.pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// When the next turn is, if nothing happens before.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.wanted.values().filter(|attempt| !attempt.under_way).map(|attempt| attempt.at).min()
    }
}

/// A target cannot be woken.
#[derive(Debug, thiserror::Error)]
enum WakeError {
    #[error("cannot find what {kind} of {version} is")]
    Kind {
        kind: String,
        version: String,
        #[source]
        cause: Box<kube::Error>,
    },
    #[error("the API version {0} cannot be read")]
    Version(String),
    #[error("cannot read the scale of {0}")]
    Read(String, #[source] Box<kube::Error>),
    #[error("cannot write the scale of {0}")]
    Write(String, #[source] Box<kube::Error>),
}

/// Wakes for ever what is wanted.
pub(crate) async fn wake(client: Client, plane: Plane) {
    let scales = Arc::new(Scales { client, kinds: Mutex::default() });
    let mut plan = WakePlan::default();
    let mut attempts = JoinSet::new();
    loop {
        // Before the look, so that what comes in between is not missed.
        let signalled = plane.signals().wake.notified();
        let rules: BTreeMap<RuleKey, Arc<Rule>> = plane
            .signals()
            .take_wanted()
            .into_iter()
            .chain(plan.wanted.keys().cloned())
            .filter_map(|key| plane.find(&key).map(|rule| (key, rule)))
            .collect();
        let wanted = rules.iter().filter(|(_, rule)| rule.wants_wake()).map(|(key, _)| key.clone()).collect();
        for key in plan.step(&wanted, Instant::now()) {
            if let Some(rule) = rules.get(&key) {
                let (rule, scales) = (Arc::clone(rule), Arc::clone(&scales));
                attempts.spawn(async move {
                    scales.wake(&rule).await;
                    rule.key.clone()
                });
            }
        }
        let next = plan.next();
        tokio::select! {
            () = signalled => {}
            Some(Ok(key)) = attempts.join_next() => plan.ended(&key, Instant::now()),
            () = async { sleep_until(next.unwrap_or_else(Instant::now)).await }, if next.is_some() => {}
        }
    }
}

struct Scales {
    client: Client,
    /// What kinds are called in the paths of the API.
    kinds: Mutex<BTreeMap<(String, String), ApiResource>>,
}

impl Scales {
    async fn wake(&self, rule: &Rule) {
        let Some(settings) = rule.settings().wake.clone() else { return };
        match self.raise(rule, &settings).await {
            Ok(Some(replicas)) => {
                info!(rule = %rule.key, target = settings.target.name, replicas, "woken");
                rule.note_scaled(replicas);
            }
            Ok(None) => {}
            Err(error) => {
                warn!(rule = %rule.key, error = %reeve_process::error_chain(&error), "cannot wake the target");
            }
        }
    }

    /// Raises the scale from zero, if it is there. Somebody who writes at the same time wins: the next look decides.
    async fn raise(&self, rule: &Rule, settings: &WakeSettings) -> Result<Option<i32>, WakeError> {
        let (target, name) = (&settings.target, &settings.target.name);
        let kind = self.kind(target).await?;
        let api = Api::<DynamicObject>::namespaced_with(self.client.clone(), &rule.key.namespace, &kind);
        let scale = api.get_scale(name).await.map_err(|cause| WakeError::Read(name.clone(), Box::new(cause)))?;
        let standing = scale.spec.and_then(|spec| spec.replicas).unwrap_or_default();
        // It does not stand at zero: it is left alone.
        if standing != 0 {
            return Ok(None);
        }
        let replicas = settings.size.replicas(rule.room.held());
        // Refused if anything was written since it was read.
        let patch = json!({
            "metadata": { "resourceVersion": scale.metadata.resource_version },
            "spec": { "replicas": replicas },
        });
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let written = api.patch_scale(name, &params, &Patch::Merge(&patch)).await;
        written.map_err(|cause| WakeError::Write(name.clone(), Box::new(cause)))?;
        Ok(Some(replicas))
    }

    async fn kind(&self, target: &WorkloadRef) -> Result<ApiResource, WakeError> {
        let (version, kind) = (&target.api_version, &target.kind);
        let gvk: GroupVersionKind = match version.split_once('/') {
            Some((group, version)) => GroupVersionKind::gvk(group, version, kind),
            None if version.is_empty() => return Err(WakeError::Version(version.clone())),
            None => GroupVersionKind::gvk("", version, kind),
        };
        if gvk.group == "apps" {
            // The usual case costs no request.
            return Ok(ApiResource::from_gvk(&gvk));
        }
        let mut kinds = self.kinds.lock().await;
        if let Some(known) = kinds.get(&(version.clone(), kind.clone())) {
            return Ok(known.clone());
        }
        let found = discovery::pinned_kind(&self.client, &gvk).await.map_err(|cause| WakeError::Kind {
            kind: kind.clone(),
            version: version.clone(),
            cause: Box::new(cause),
        })?;
        kinds.insert((version.clone(), kind.clone()), found.0.clone());
        Ok(found.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_attempt_at_a_time_and_fewer_of_them_the_longer_it_takes() {
        let key = RuleKey::new("web", "shop");
        let wanted = BTreeSet::from([key.clone()]);
        let mut plan = WakePlan::default();
        let mut now = Instant::now();
        assert_eq!(plan.step(&wanted, now), std::slice::from_ref(&key));
        assert!(plan.step(&wanted, now + LONGEST_PAUSE).is_empty(), "one is under way");
        let mut pauses = Vec::new();
        for _ in 0..8 {
            plan.ended(&key, now);
            let next = plan.next().expect("another turn");
            pauses.push((next - now).as_millis());
            assert!(plan.step(&wanted, next - Duration::from_millis(1)).is_empty(), "before its turn");
            assert_eq!(plan.step(&wanted, next), std::slice::from_ref(&key));
            now = next;
        }
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        plan.ended(&key, now);
        assert!(plan.step(&BTreeSet::new(), now).is_empty());
        assert_eq!(plan.next(), None, "nobody wants it any more");
    }
}
