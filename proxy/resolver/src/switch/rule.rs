//! One look at a rule: read what there is, ask the machine, do what it says, write the status.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::runtime::events::{Event as Notice, EventType};
use kube::{Resource, ResourceExt};
use reeve_crds::scaling_rule::status::TrafficMode;
use reeve_crds::{ScalingRule, WorkloadRef};
use tracing::{debug, info, warn};

use super::controller::{Controller, Memory};
use super::execute::SwitchError;
use super::keda::Plan;
use super::machine::{Asked, Effect, Event, Intent, Machine, Observed};
use super::observing::Observing;
use super::snapshot::Snapshot;
use super::{names, ports, status, target};
use crate::report::RuleKey;
use crate::scaler::is_scaled_job;

mod keda_steps;

use keda_steps::{keda_state, soon};

/// A look that changes the mode looks again at once; this many times at most.
const ROUNDS: usize = 16;
/// Counters are written no more often.
const STATUS_EVERY: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_millis(200);
const RETRY_AT_MOST: Duration = Duration::from_secs(30);
/// What is not watched is read this often: targets of other kinds, and the network counters of pods.
const POLL: Duration = Duration::from_secs(2);

/// What came of a look.
pub(super) enum Reconciled {
    /// The rule is gone.
    Gone,
    Stays {
        memory: Box<Memory>,
        again_in: Option<Duration>,
    },
}

/// What a round asks for.
enum Next {
    Again,
    At(Option<Timestamp>),
    Gone,
}

impl Controller {
    pub(super) async fn reconcile(&self, key: &RuleKey, mut memory: Memory) -> Reconciled {
        let mut next = Ok(Next::Again);
        for _ in 0..ROUNDS {
            next = self.round(key, &mut memory).await;
            if !matches!(next, Ok(Next::Again)) {
                break;
            }
        }
        let again_in = match next {
            Ok(Next::Gone) => return Reconciled::Gone,
            Ok(Next::Again) => Some(RETRY),
            Ok(Next::At(at)) => {
                memory.failures = 0;
                at.map(|at| at.duration_since(Timestamp::now()).try_into().unwrap_or(Duration::ZERO))
            }
            Err(error) => {
                if !error.is_conflict() {
                    warn!(rule = %key, error = %reeve_process::error_chain(&error), "cannot go on");
                }
                // What was decided may not have been done: the objects tell.
                memory.machine = None;
                memory.failures = memory.failures.saturating_add(1);
                Some(RETRY.saturating_mul(1 << memory.failures.min(8)).min(RETRY_AT_MOST))
            }
        };
        Reconciled::Stays { memory: Box::new(memory), again_in }
    }

    async fn round(&self, key: &RuleKey, memory: &mut Memory) -> Result<Next, SwitchError> {
        let Some(rule) = newest(self.world.rule(key), memory.written.as_ref()) else { return Ok(Next::Gone) };
        let mut snapshot = self.world.snapshot(rule);
        let has_finalizer = snapshot.rule.finalizers().iter().any(|finalizer| finalizer == names::FINALIZER);
        if snapshot.rule.metadata.deletion_timestamp.is_some() && !has_finalizer {
            return Ok(Next::Gone);
        }
        if snapshot.rule.spec.selector.is_some() {
            self.select(&snapshot).await?;
            return Ok(Next::At(None));
        }
        // Not known is not none: what leads here is left as it is.
        if snapshot.rule.spec.switch.is_some() && snapshot.istio.is_installed.is_none() {
            return Ok(Next::At(Some(soon())));
        }
        let is_polled = |named: &WorkloadRef| !target::is_watched(named) && !is_scaled_job(named);
        if let Some(named) = snapshot.target.reference.clone().filter(is_polled) {
            snapshot.target.replicas = self.edge.replicas(&snapshot, &named).await?;
        }
        snapshot.pods_quiet = self.are_pods_quiet(&snapshot, memory).await?;
        // From here on no answer to KEDA overtakes what is decided.
        snapshot.keda_told = self.scaler.offers.withdraw_sleep(key);
        let plan = snapshot.keda_plan(&self.scaler.address);
        snapshot.keda = keda_state(&plan, memory);
        let now = Timestamp::now();
        let Some(observed) = self.reports.with(|replicas| snapshot.observe(replicas, now)) else {
            return Ok(Next::At(None));
        };
        if observed.policy.intent == Intent::Govern && self.prepare(&snapshot, has_finalizer, memory).await? {
            return Ok(Next::Again);
        }
        self.observe_pods(&snapshot, memory, &observed, now).await?;
        let machine = memory.machine.get_or_insert_with(|| recover(&snapshot, &observed, now));
        let effects = machine.step(Event::Observed(Box::new(observed.clone())), now);
        debug!(rule = %key, mode = ?machine.mode(), ?effects, ?observed, "looked");
        let next = self.carry_out(&snapshot, memory, &observed, &effects, &plan).await?;
        self.make_offer(&snapshot, memory, &observed);
        if matches!(next, Next::Again | Next::Gone) {
            return Ok(next);
        }
        let next = self.ask_keda(&snapshot, memory, &plan, next).await;
        self.write_seen(&snapshot, memory, &observed, now).await?;
        Ok(next)
    }

    /// The finalizer and the ports come before all else. True if something was written.
    async fn prepare(
        &self,
        snapshot: &Snapshot,
        has_finalizer: bool,
        memory: &mut Memory,
    ) -> Result<bool, SwitchError> {
        if !has_finalizer {
            self.edge.set_finalizer(snapshot, true).await?;
            // The watch brings the rule back with it.
            return Ok(false);
        }
        let Some(ports) = self.allocate(snapshot) else {
            return Err(SwitchError::Ports { rule: snapshot.rule.name_any() });
        };
        if ports == snapshot.ports() {
            return Ok(false);
        }
        let old = snapshot.rule.status.clone().unwrap_or_default();
        let mut new = old.clone();
        new.ports = ports;
        let Some(patch) = status::difference(&old, &new) else { return Ok(false) };
        memory.written = Some(Arc::new(self.edge.write_status(snapshot, &patch).await?));
        Ok(true)
    }

    /// Ports of this rule, apart from those of all others; given out under one lock.
    fn allocate(&self, snapshot: &Snapshot) -> Option<Vec<reeve_crds::scaling_rule::status::ResolverPort>> {
        let mut given = self.ports_given();
        let key = snapshot.key();
        let mut taken: std::collections::BTreeSet<i32> =
            given.iter().filter(|(rule, _)| **rule != key).flat_map(|(_, ports)| ports.iter().copied()).collect();
        for rule in self.world.rules.state().iter().filter(|rule| super::snapshot::key(rule) != key) {
            let ports = rule.status.iter().flat_map(|status| &status.ports);
            taken.extend(ports.map(|port| port.resolver_port));
        }
        let services: Vec<_> = snapshot.services.iter().map(|service| &**service).collect();
        let ports = ports::allocate(&services, snapshot.ports(), &taken)?;
        given.insert(key, ports.iter().map(|port| port.resolver_port).collect());
        Some(ports)
    }

    async fn carry_out(
        &self,
        snapshot: &Snapshot,
        memory: &mut Memory,
        observed: &Observed,
        effects: &[Effect],
        plan: &Plan,
    ) -> Result<Next, SwitchError> {
        let mut at = None;
        for effect in effects {
            match effect {
                Effect::SetMode { mode, restore } => {
                    self.set_mode(snapshot, memory, observed, *mode, *restore).await?;
                    return Ok(Next::Again);
                }
                Effect::EnsureShadow => self.edge.ensure_shadows(snapshot).await?,
                Effect::WriteSlice => self.write_slice(snapshot).await?,
                Effect::DeleteSlice => self.edge.delete_slices(snapshot).await?,
                Effect::Capture => self.edge.capture(snapshot, Timestamp::now()).await?,
                Effect::Release => self.edge.release(snapshot).await?,
                Effect::Probe => {
                    let proven = self.edge.probe(snapshot, nonce()).await;
                    if let Some(machine) = &mut memory.machine {
                        machine.step(Event::Probed { proven }, Timestamp::now());
                    }
                    if proven {
                        return Ok(Next::Again);
                    }
                }
                Effect::Scale { replicas } => self.edge.scale(snapshot, *replicas).await?,
                Effect::Finish if self.owes_keda(snapshot, plan).await? => at = Some(soon()),
                Effect::Finish => {
                    self.edge.finish(snapshot).await?;
                    return Ok(Next::Gone);
                }
                Effect::LookAt(time) => at = Some(*time),
            }
        }
        let is_polled = |named: &WorkloadRef| !target::is_watched(named) && !is_scaled_job(named);
        let unwatched = snapshot.target.reference.as_ref().is_some_and(is_polled);
        let waits_for_pods = !snapshot.pods_quiet && matches!(snapshot.epoch(), Some((TrafficMode::Proxied, _)));
        let poll = Timestamp::now().saturating_add(POLL).unwrap_or(Timestamp::MAX);
        let polls = (unwatched || waits_for_pods).then_some(poll);
        let looks = memory.observing.as_ref().map(|one| one.next_look(snapshot.rule.spec.idle_after.into()));
        Ok(Next::At([at, polls, looks].into_iter().flatten().min()))
    }

    async fn write_slice(&self, snapshot: &Snapshot) -> Result<(), SwitchError> {
        let ports = snapshot.ports().iter().map(|port| port.resolver_port).collect();
        let now = Timestamp::now();
        let usable = self.reports.with(|replicas| replicas.usable(&snapshot.key(), &ports, now)).flatten();
        match usable.filter(|usable| !usable.is_empty()) {
            Some(usable) => self.edge.write_slices(snapshot, &usable).await,
            None => Ok(()),
        }
    }

    async fn set_mode(
        &self,
        snapshot: &Snapshot,
        memory: &mut Memory,
        observed: &Observed,
        mode: TrafficMode,
        restore: Option<i32>,
    ) -> Result<(), SwitchError> {
        let old = snapshot.rule.status.clone().unwrap_or_default();
        let now = Timestamp::now();
        let mut new = status::turned(&old, mode, restore, now);
        if mode == TrafficMode::Waking && observed.policy.asked == Some(Asked::Wake) {
            new.last_cold_start = Some(status::asked_for(observed.replicas.unwrap_or_default(), now));
        }
        if let Some(patch) = status::difference(&old, &new) {
            memory.written = Some(Arc::new(self.edge.write_status(snapshot, &patch).await?));
        }
        let was = old.mode.as_ref().and_then(|mode| mode.known().copied());
        info!(rule = %snapshot.key(), was = ?was, mode = ?mode, "mode changed");
        self.publish(snapshot, mode).await;
        Ok(())
    }

    /// An event for what people want to know of; if it cannot be written, the status says the same.
    async fn publish(&self, snapshot: &Snapshot, mode: TrafficMode) {
        let (reason, note) = match mode {
            TrafficMode::Asleep => ("Asleep", "scaled to zero; the next request wakes it"),
            TrafficMode::Waking => ("Waking", "requests wait until a pod is ready"),
            TrafficMode::Direct => ("HandedOver", "the pods serve by themselves"),
            TrafficMode::FailOpen => ("FailOpen", "no resolver lives: the service is direct and its target kept awake"),
            TrafficMode::Entering
            | TrafficMode::Proxied
            | TrafficMode::Draining
            | TrafficMode::HandingOver
            | TrafficMode::Untouched => return,
        };
        let type_ = if mode == TrafficMode::FailOpen { EventType::Warning } else { EventType::Normal };
        let notice = Notice {
            type_,
            reason: reason.to_owned(),
            note: Some(note.to_owned()),
            action: "Switch".to_owned(),
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&notice, &snapshot.rule.object_ref(&())).await {
            warn!(rule = %snapshot.key(), %error, "cannot write an event");
        }
    }

    /// Writes what was seen, if it differs; counters alone only every few seconds.
    async fn write_seen(
        &self,
        snapshot: &Snapshot,
        memory: &mut Memory,
        observed: &Observed,
        now: Timestamp,
    ) -> Result<(), SwitchError> {
        let Some(machine) = &memory.machine else { return Ok(()) };
        let old = snapshot.rule.status.clone().unwrap_or_default();
        let key = snapshot.key();
        let told = self.reports.with(|replicas| (replicas.wake(&key), replicas.problem(&key))).unwrap_or_default();
        let (wake, problem) = told;
        let observing = memory.observing.as_ref();
        let besides = status::Besides { wake: wake.as_ref(), problem: problem.as_deref(), observing };
        let new = status::seen(&old, snapshot, machine, observed, besides, now);
        let recently = memory
            .status_written
            .is_some_and(|written| Duration::try_from(now.duration_since(written)).unwrap_or_default() < STATUS_EVERY);
        if recently && !status::is_urgent(&old, &new) {
            return Ok(());
        }
        let Some(patch) = status::difference(&old, &new) else { return Ok(()) };
        memory.written = Some(Arc::new(self.edge.write_status(snapshot, &patch).await?));
        memory.status_written = Some(now);
        Ok(())
    }

    /// Of a rule that only observes: what its pods send, and what it would have done.
    async fn observe_pods(
        &self,
        snapshot: &Snapshot,
        memory: &mut Memory,
        observed: &Observed,
        now: Timestamp,
    ) -> Result<(), SwitchError> {
        if !snapshot.only_observes() {
            memory.observing = None;
            return Ok(());
        }
        let totals = snapshot.rule.status.as_ref().and_then(|status| status.observed.as_ref());
        let mut observing = memory.observing.take().unwrap_or_else(|| Observing::recover(totals, now));
        if observing.next_look(observed.policy.idle_after) <= now {
            let pods = self.edge.pods(snapshot).await?;
            let mut samples = Vec::new();
            for pod in &pods {
                samples.push((pod, self.edge.network(pod).await));
            }
            let quiet = observing.silence.observe(&samples);
            debug!(rule = %snapshot.key(), ?quiet, pods = samples.len(), "looked at what the pods send");
            observing.step(quiet, &observed.policy, now);
        }
        memory.observing = Some(observing);
        Ok(())
    }

    /// Whether no pod can have connections that bypass the resolver.
    async fn are_pods_quiet(&self, snapshot: &Snapshot, memory: &mut Memory) -> Result<bool, SwitchError> {
        let may_sleep = matches!(snapshot.epoch(), Some((TrafficMode::Proxied | TrafficMode::Draining, _)));
        let Some(captured) = snapshot.captured_at().filter(|_| may_sleep) else { return Ok(false) };
        let silence = memory.silence.of(captured);
        if silence.is_settled() {
            return Ok(true);
        }
        let pods = self.edge.pods(snapshot).await?;
        let old = silence.old(&pods);
        if old.is_empty() {
            return Ok(true);
        }
        let mut samples = Vec::new();
        for pod in old {
            samples.push((pod, self.edge.network(pod).await));
        }
        Ok(silence.is_quiet(&samples, snapshot.rule.spec.idle_after.into(), Timestamp::now()))
    }
}

fn recover(snapshot: &Snapshot, observed: &Observed, now: Timestamp) -> Machine {
    let status = snapshot.rule.status.as_ref();
    let mode = status.and_then(|status| status.mode.as_ref()?.known().copied());
    let since = status.and_then(|status| status.mode_since.as_ref()).map_or(now, |since| since.0);
    let restore = status.and_then(|status| status.restore_replicas);
    Machine::recover(mode.map(|mode| (mode, since)), restore, observed, now)
}

/// The watch may lag behind what we wrote ourselves.
fn newest(seen: Option<Arc<ScalingRule>>, written: Option<&Arc<ScalingRule>>) -> Option<Arc<ScalingRule>> {
    let seen = seen?;
    let version = |rule: &ScalingRule| rule.resource_version().and_then(|version| version.parse::<u64>().ok());
    match written {
        Some(written) if written.uid() == seen.uid() && version(written) > version(&seen) => Some(Arc::clone(written)),
        _ => Some(seen),
    }
}

fn nonce() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(())
}
