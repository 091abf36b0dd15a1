//! How many of something are in which state, as one gauge per state.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use reeve_crds::State;

/// All states, in the order of their words.
const STATES: [State; 7] =
    [State::Deleting, State::Error, State::Processing, State::Ready, State::Suspended, State::Unknown, State::Warning];

/// How many are in which state.
#[derive(Clone, Copy, Debug, Default)]
pub struct StateCounts([i64; STATES.len()]);

impl StateCounts {
    /// Counts so many more in a state.
    pub fn add(&mut self, state: State, number: usize) {
        if let Some(at) = STATES.iter().position(|known| *known == state) {
            self.0[at] = self.0[at].saturating_add(to_gauge(number));
        }
    }

    /// Writes one gauge per state, those at zero too.
    pub fn encode(&self, encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str) -> Result<(), fmt::Error> {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (state, count) in STATES.iter().zip(self.0) {
            let word = format!("{state:?}");
            let labels = [("state", word.as_str())];
            ConstGauge::new(count).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

/// Writes a gauge without labels.
pub fn encode_gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: i64) -> Result<(), fmt::Error> {
    ConstGauge::new(value).encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)
}

/// A count as the value of a gauge.
pub fn to_gauge(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
