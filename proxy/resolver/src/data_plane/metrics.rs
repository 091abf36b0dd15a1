//! What is counted of rules, read when it is asked for: nothing on the way of a request. Labels are rules, never what a
//! client sent.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::plane::Plane;
use crate::report::{RuleKey, RuleReport};

#[derive(Debug)]
pub(crate) struct RuleMetrics(pub(crate) Plane);

impl Collector for RuleMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let (listeners, rules) = self.0.report();
        let unbound = listeners.iter().filter(|listener| !listener.bound).count();
        let unbound = ConstGauge::new(i64::try_from(unbound).unwrap_or(i64::MAX));
        let descriptor = encoder.encode_descriptor(
            "resolver_unbound_ports",
            "Ports that cannot be listened on",
            None,
            MetricType::Gauge,
        )?;
        unbound.encode(descriptor)?;
        let gauge = |count: u32| ConstGauge::new(i64::from(count));
        each(&mut encoder, &rules, "resolver_held_requests", "Requests that wait", MetricType::Gauge, |rule| {
            gauge(rule.held)
        })?;
        each(&mut encoder, &rules, "resolver_in_flight_requests", "Requests under way", MetricType::Gauge, |rule| {
            gauge(rule.in_flight)
        })?;
        each(&mut encoder, &rules, "resolver_requests", "Requests that count", MetricType::Counter, |rule| {
            ConstCounter::new(rule.requests_total)
        })?;
        let rules = self.0.rules();
        let mut family = encoder.encode_descriptor(
            "resolver_held_bytes",
            "Memory of requests that wait",
            None,
            MetricType::Gauge,
        )?;
        for rule in &rules {
            let bytes = ConstGauge::new(i64::try_from(rule.room.bytes()).unwrap_or(i64::MAX));
            bytes.encode(family.encode_family(&labels(&rule.key))?)?;
        }
        let mut family = encoder.encode_descriptor(
            "resolver_refused_requests",
            "Requests that no pod answered",
            None,
            MetricType::Counter,
        )?;
        for rule in &rules {
            ConstCounter::new(rule.refused()).encode(family.encode_family(&labels(&rule.key))?)?;
        }
        Ok(())
    }
}

fn each<M: EncodeMetric>(
    encoder: &mut DescriptorEncoder<'_>,
    rules: &[RuleReport],
    name: &str,
    help: &str,
    metric_type: MetricType,
    measure: impl Fn(&RuleReport) -> M,
) -> Result<(), fmt::Error> {
    let mut family = encoder.encode_descriptor(name, help, None, metric_type)?;
    for rule in rules {
        measure(rule).encode(family.encode_family(&labels(&rule.rule))?)?;
    }
    Ok(())
}

fn labels(key: &RuleKey) -> [(&'static str, String); 2] {
    [("namespace", key.namespace.clone()), ("rule", key.name.clone())]
}
