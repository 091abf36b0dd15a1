//! What a rule means for a request: its object, read once and compiled. Pure.

use std::time::Duration;

use reeve_crds::scaling_rule::path::ReadinessSource;
use reeve_crds::scaling_rule::status::TrafficMode;
use reeve_crds::scaling_rule::traffic::TrafficAction;
use reeve_crds::{Lenient, ScalingRule, WorkloadRef};

use super::answer::{FixedResponse, StaticAnswers};
use super::hold::Limits;
use crate::scaler::is_scaled_job;
use crate::wake_size::WakeSize;

/// What the mode of a rule asks of a replica.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum PathMode {
    /// Forward, and send clients away: traffic goes elsewhere.
    Leave,
    /// Forward; without a ready pod hold and wake.
    Forward,
    /// Hold, forward nothing, wake nothing.
    Barrier,
    /// Hold and wake; forward once a pod is ready.
    Asleep,
}

impl PathMode {
    pub(crate) fn of(mode: Option<TrafficMode>) -> Self {
        match mode {
            None
            | Some(TrafficMode::Direct | TrafficMode::HandingOver | TrafficMode::FailOpen | TrafficMode::Untouched) => {
                Self::Leave
            }
            Some(TrafficMode::Entering | TrafficMode::Proxied) => Self::Forward,
            Some(TrafficMode::Draining) => Self::Barrier,
            Some(TrafficMode::Asleep | TrafficMode::Waking) => Self::Asleep,
        }
    }

    /// Whether a request that waits wakes the target.
    pub(crate) fn wakes(self) -> bool {
        match self {
            Self::Forward | Self::Asleep => true,
            Self::Leave | Self::Barrier => false,
        }
    }
}

/// A rule, compiled.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) mode: Option<TrafficMode>,
    pub(crate) mode_changes: i64,
    pub(crate) path: PathMode,
    pub(crate) hold_timeout: Duration,
    pub(crate) limits: Limits,
    pub(crate) answers: StaticAnswers,
    pub(crate) outside: TrafficAction,
    pub(crate) inside: TrafficAction,
    pub(crate) page: Option<FixedResponse>,
    pub(crate) readiness: PodProbe,
    pub(crate) wake: Option<WakeSettings>,
}

/// Whether pods are asked by us before kubelet says that they are ready.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum PodProbe {
    Kubelet,
    Connect,
    Get(String),
}

/// What is scaled from zero, and to how many.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WakeSettings {
    pub(crate) target: WorkloadRef,
    pub(crate) size: WakeSize,
}

impl Settings {
    pub(crate) fn of(rule: &ScalingRule) -> Self {
        let (spec, status) = (&rule.spec, rule.status.as_ref());
        let mode = status.and_then(|status| status.mode.as_ref()).and_then(Lenient::known).copied();
        let requests = count(spec.hold.max_requests);
        let target = spec.scale_target.clone().or_else(|| status.and_then(|status| status.target.clone()));
        Self {
            mode,
            mode_changes: status.and_then(|status| status.mode_changes).unwrap_or_default(),
            path: PathMode::of(mode),
            hold_timeout: spec.hold.timeout.into(),
            limits: Limits {
                requests,
                bytes: u64::try_from(spec.hold.max_memory_mib).unwrap_or_default() << 20,
                per_client: Some(count(spec.hold.max_requests_per_client)).filter(|most| *most > 0).unwrap_or(requests),
                release_per_pod: u32::try_from(spec.hold.release_per_replica).ok().filter(|count| *count > 0),
            },
            answers: StaticAnswers::of(&spec.answers, spec.answer_probes),
            outside: spec.traffic.outside,
            inside: spec.traffic.inside,
            page: spec.hold.page.as_ref().map(FixedResponse::of),
            readiness: match (spec.readiness.from, &spec.readiness.path) {
                (ReadinessSource::Kubelet, _) => PodProbe::Kubelet,
                (ReadinessSource::Probe, None) => PodProbe::Connect,
                (ReadinessSource::Probe, Some(path)) => PodProbe::Get(path.clone()),
            },
            wake: target
                .filter(|target| !is_scaled_job(target))
                .map(|target| WakeSettings { target, size: WakeSize::of(spec) }),
        }
    }
}

fn count(value: i32) -> usize {
    usize::try_from(value).unwrap_or_default()
}
