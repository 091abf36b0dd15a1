//! A circuit breaker: a plugin that keeps failing is not asked for a while, and then by one call at first.

use std::time::Duration;

use tokio::time::Instant;

/// When to stop asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Failures in a row that open the circuit.
    pub(crate) failures: u32,
    /// How long it stays open before one call may try.
    pub(crate) open_for: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { failures: 5, open_for: Duration::from_secs(30) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Calls go through; so many failed in a row.
    Closed { failures: u32 },
    /// No call goes through until then.
    Open { until: Instant },
    /// One call is trying; if it is never heard of again, another may after that moment.
    HalfOpen { until: Instant },
}

/// What happens to a plugin's circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A call wants to go through.
    Ask,
    /// A call that went through was answered, be it with a refusal.
    Answered,
    /// A call that went through failed.
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Breaker {
    limits: Limits,
    state: State,
}

impl Breaker {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, state: State::Closed { failures: 0 } }
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// Takes note of an event. After [`Event::Ask`], false means that the plugin must not be asked.
    pub(crate) fn step(&mut self, event: Event, now: Instant) -> bool {
        let again = now + self.limits.open_for;
        let (state, permitted) = match (self.state, event) {
            (State::Closed { failures }, Event::Ask) => (State::Closed { failures }, true),
            (State::Open { until } | State::HalfOpen { until }, Event::Ask) if now < until => (self.state, false),
            (State::Open { .. } | State::HalfOpen { .. }, Event::Ask) => (State::HalfOpen { until: again }, true),
            (_, Event::Answered) => (State::Closed { failures: 0 }, true),
            (State::Closed { failures }, Event::Failed) if failures + 1 < self.limits.failures => {
                (State::Closed { failures: failures + 1 }, true)
            }
            (State::Closed { .. } | State::HalfOpen { .. }, Event::Failed) => (State::Open { until: again }, true),
            // A call from before it opened: it says nothing new.
            (State::Open { until }, Event::Failed) => (State::Open { until }, true),
        };
        self.state = state;
        permitted
    }
}

#[cfg(test)]
mod tests;
