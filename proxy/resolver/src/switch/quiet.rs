//! Whether pods can have connections that bypass the resolver. Pure.
//!
//! A pod that is younger than the capture was never reached but through the resolver. An older one may have clients that
//! keep their connections; it counts as quiet while its own network counters are, for a whole idle time. What is not
//! known is not quiet.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod, Probe};
use kube::ResourceExt;
use serde_json::Value;

/// ARP, neighbour discovery and the like, in bytes per second.
const NOISE: f64 = 100.0;
/// A probe over the network, question and answer, on a connection of its own.
const PROBE: f64 = 3_000.0;

/// What is remembered of the counters of a rule's pods.
#[derive(Clone, Debug, Default)]
pub(super) struct Silence {
    /// The capture since which this counts.
    captured: Option<Timestamp>,
    /// No pod is older than the capture: that stays so.
    all_young: bool,
    pods: BTreeMap<String, Counter>,
}

#[derive(Clone, Copy, Debug)]
struct Counter {
    bytes: u64,
    at: Timestamp,
    silent_since: Option<Timestamp>,
    /// Whether two samples were compared.
    compared: bool,
}

/// Bytes that a pod has sent and received, as the kubelet counted them at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) bytes: u64,
    pub(super) at: Timestamp,
}

impl Silence {
    /// Starts over if the capture is another one.
    pub(super) fn of(&mut self, captured: Timestamp) -> &mut Self {
        if self.captured != Some(captured) {
            *self = Self { captured: Some(captured), ..Self::default() };
        }
        self
    }

    pub(super) fn is_settled(&self) -> bool {
        self.all_young
    }

    /// The pods that may have been reached past the resolver; without any, that is settled for this capture.
    pub(super) fn old<'a>(&mut self, pods: &'a [Pod]) -> Vec<&'a Pod> {
        let captured = self.captured.unwrap_or(Timestamp::MAX);
        // A creation time has whole seconds: within the same one nobody knows.
        let is_young = |pod: &&Pod| pod.creation_timestamp().is_some_and(|created| created.0 > captured);
        let old: Vec<&Pod> = pods.iter().filter(|pod| !is_young(pod)).collect();
        self.all_young = old.is_empty();
        old
    }

    /// Takes the counters of the old pods; whether all of them were silent for `idle_after`.
    pub(super) fn is_quiet(&mut self, pods: &[(&Pod, Option<Sample>)], idle_after: Duration, now: Timestamp) -> bool {
        match self.observe(pods) {
            Quiet::Since(since) => Duration::try_from(now.duration_since(since)).unwrap_or_default() >= idle_after,
            Quiet::Unknown | Quiet::Busy => pods.is_empty(),
        }
    }

    /// Takes the counters of pods; since when all of them are silent.
    pub(super) fn observe(&mut self, pods: &[(&Pod, Option<Sample>)]) -> Quiet {
        self.pods.retain(|uid, _| pods.iter().any(|(pod, _)| pod.uid().as_deref() == Some(uid)));
        let mut quiet = None;
        for (pod, sample) in pods {
            let uid = pod.uid().unwrap_or_default();
            let Some(sample) = sample else {
                self.pods.remove(&uid);
                quiet = Some(Quiet::Unknown.or_worse(quiet));
                continue;
            };
            let next =
                self.pods.get(&uid).map_or_else(|| first(*sample), |counter| counter.next(*sample, allowance(pod)));
            self.pods.insert(uid, next);
            quiet = Some(next.quiet().or_worse(quiet));
        }
        quiet.unwrap_or(Quiet::Unknown)
    }
}

/// What counters say of pods.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Quiet {
    /// Of one of them nobody knows, and of none is it known that it is called.
    Unknown,
    Busy,
    /// All are silent, the last of them since then.
    Since(Timestamp),
}

impl Quiet {
    /// Of several pods that which keeps them awake counts.
    fn or_worse(self, other: Option<Self>) -> Self {
        match (self, other) {
            (_, None) => self,
            (Self::Busy, _) | (_, Some(Self::Busy)) => Self::Busy,
            (Self::Unknown, _) | (_, Some(Self::Unknown)) => Self::Unknown,
            (Self::Since(one), Some(Self::Since(other))) => Self::Since(one.max(other)),
        }
    }
}

fn first(sample: Sample) -> Counter {
    Counter { bytes: sample.bytes, at: sample.at, silent_since: None, compared: false }
}

impl Counter {
    fn next(self, sample: Sample, allowance: f64) -> Self {
        if sample.at <= self.at {
            return self;
        }
        let seconds = sample.at.duration_since(self.at).as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "a rate of bytes needs no more precision")]
        let rate = sample.bytes.saturating_sub(self.bytes) as f64 / seconds;
        let silent_since = (rate <= allowance).then(|| self.silent_since.unwrap_or(self.at));
        Self { bytes: sample.bytes, at: sample.at, silent_since, compared: true }
    }

    fn quiet(self) -> Quiet {
        match self.silent_since {
            Some(since) => Quiet::Since(since),
            None if self.compared => Quiet::Busy,
            None => Quiet::Unknown,
        }
    }
}

/// How many bytes a second a pod has that nobody calls: what its probes cause.
fn allowance(pod: &Pod) -> f64 {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let probes = |container: &Container| {
        let probes = [&container.readiness_probe, &container.liveness_probe, &container.startup_probe];
        probes.into_iter().map(|probe| cost(probe.as_ref())).sum::<f64>()
    };
    NOISE + containers.map(probes).sum::<f64>()
}

fn cost(probe: Option<&Probe>) -> f64 {
    let Some(probe) = probe else { return 0.0 };
    let over_network = probe.http_get.is_some() || probe.tcp_socket.is_some() || probe.grpc.is_some();
    if over_network { PROBE / f64::from(probe.period_seconds.unwrap_or(10).max(1)) } else { 0.0 }
}

/// The counters of a pod in what its kubelet says at `/stats/summary`.
pub(super) fn sample(summary: &Value, pod: &Pod) -> Option<Sample> {
    let pods = summary.get("pods")?.as_array()?;
    let uid = pod.uid()?;
    let found = pods.iter().find(|one| one.pointer("/podRef/uid").and_then(Value::as_str) == Some(&uid))?;
    let network = found.get("network")?;
    let count = |key: &str| network.get(key).and_then(Value::as_u64);
    let at = network.get("time")?.as_str()?.parse().ok()?;
    Some(Sample { bytes: count("rxBytes")?.saturating_add(count("txBytes")?), at })
}

/// The same from a kubelet's `/metrics/cadvisor`, where it has no summary.
pub(super) fn sample_of_metrics(page: &str, pod: &Pod) -> Option<Sample> {
    let labels = [format!("namespace=\"{}\"", pod.namespace()?), format!("pod=\"{}\"", pod.name_any())];
    let mut found: Option<Sample> = None;
    for line in page.lines().filter(|line| line.starts_with("container_network_")) {
        let Some((series, value)) = line.split_once("} ") else { continue };
        let counts = series.starts_with("container_network_receive_bytes_total{")
            || series.starts_with("container_network_transmit_bytes_total{");
        if !counts || series.contains("interface=\"lo\"") || !labels.iter().all(|label| series.contains(label.as_str()))
        {
            continue;
        }
        let mut words = value.split_whitespace();
        let bytes = words.next()?.parse::<f64>().ok()?;
        let at = Timestamp::from_millisecond(words.next()?.parse().ok()?).ok()?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a counter of whole bytes")]
        let bytes = bytes as u64;
        let sum = found.map_or(0, |found| found.bytes).saturating_add(bytes);
        found = Some(Sample { bytes: sum, at: found.map_or(at, |found| found.at.max(at)) });
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + seconds).unwrap()
    }

    fn pod(created: i64, probes: &Value) -> Pod {
        serde_json::from_value(json!({
            "metadata": { "name": "web-1", "namespace": "shop", "uid": "u", "creationTimestamp": at(created).to_string() },
            "spec": { "containers": [{ "name": "web", "readinessProbe": probes }] },
        }))
        .unwrap()
    }

    const IDLE: Duration = Duration::from_secs(20);

    #[test]
    fn a_pod_younger_than_the_capture_was_never_reached_past_the_resolver() {
        let mut silence = Silence::default();
        let young = [pod(11, &json!({ "exec": {} }))];
        assert!(silence.of(at(10)).old(&young).is_empty());
        assert!(silence.is_settled());
        assert_eq!(silence.of(at(11)).old(&young).len(), 1, "another capture, in the second of its birth");
        assert!(!silence.is_settled());
    }

    #[test]
    fn an_older_pod_is_quiet_after_an_idle_time_without_bytes() {
        let (mut silence, pod) = (Silence::default(), pod(0, &json!({ "exec": {} })));
        let mut look = |bytes, second| {
            silence.of(at(5)).is_quiet(&[(&pod, Some(Sample { bytes, at: at(second) }))], IDLE, at(second))
        };
        assert!(!look(1_000, 10));
        assert!(!look(1_500, 20));
        assert!(look(2_000, 30));
        assert!(!look(10_000, 40), "somebody calls");
        assert!(!look(10_100, 50));
        assert!(look(10_200, 60));
    }

    #[test]
    fn what_is_not_counted_is_not_quiet() {
        let (mut silence, pod) = (Silence::default(), pod(0, &json!({ "exec": {} })));
        for second in [10, 60, 120] {
            assert!(!silence.of(at(5)).is_quiet(&[(&pod, None)], IDLE, at(second)));
        }
    }

    #[test]
    fn probes_over_the_network_are_allowed_for() {
        assert!(allowance(&pod(0, &json!({ "exec": {} }))) < 101.0);
        assert!(allowance(&pod(0, &json!({ "httpGet": { "port": 80 }, "periodSeconds": 1 }))) > 3_000.0);
    }

    #[test]
    fn counters_are_read_from_the_kubelets_summary() {
        let summary = json!({ "pods": [
            { "podRef": { "uid": "other" } },
            { "podRef": { "uid": "u" }, "network": { "time": "2026-01-01T00:00:00Z", "rxBytes": 3, "txBytes": 4 } },
        ] });
        let found = sample(&summary, &pod(0, &json!({}))).unwrap();
        assert_eq!((found.bytes, found.at), (7, "2026-01-01T00:00:00Z".parse().unwrap()));
        let page = "container_network_receive_bytes_total{interface=\"eth0\",namespace=\"shop\",pod=\"web-1\"} 3 1000\n\
            container_network_receive_bytes_total{interface=\"lo\",namespace=\"shop\",pod=\"web-1\"} 9 1000\n\
            container_network_transmit_bytes_total{interface=\"eth0\",namespace=\"shop\",pod=\"web-1\"} 4e+00 1001\n\
            container_network_transmit_bytes_total{interface=\"eth0\",namespace=\"shop\",pod=\"web-2\"} 5 1001\n";
        let found = sample_of_metrics(page, &pod(0, &json!({}))).unwrap();
        assert_eq!((found.bytes, found.at.as_millisecond()), (7, 1001));
        assert_eq!(sample(&json!({ "pods": [] }), &pod(0, &json!({}))), None);
    }
}
