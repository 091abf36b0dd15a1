//! Keeps everybody from hammering an API server that is not there.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;

use crate::backoff::Backoff;
use crate::clock::{Clock, after};

/// Failures in a row, by whomever, until the breaker opens.
const PATIENCE: u32 = 5;
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(1));

/// Closed while the server answers. Once open, one try is let through after each pause; its success closes it again.
#[derive(Clone, Debug, Default)]
pub struct Breaker(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// How often the server answered.
    answers: u64,
    failures: u32,
    pauses: u32,
    /// Nobody may pass before.
    until: Option<Timestamp>,
}

impl Breaker {
    /// Resolves when a request may be tried.
    pub async fn pass(&self, clock: &Clock) {
        while let Some(until) = self.try_pass(clock.now()) {
            clock.sleep_until(until).await;
        }
    }

    /// `None` if a request may be tried now, else when to ask again.
    fn try_pass(&self, now: Timestamp) -> Option<Timestamp> {
        let mut state = self.lock();
        let until = state.until?;
        if now < until {
            return Some(until);
        }
        // The one that passes is the probe; the others wait for what it finds.
        state.until = Some(after(now, BACKOFF.delay(state.pauses)));
        None
    }

    /// The server answered, be it with a refusal.
    pub fn answered(&self) {
        let mut state = self.lock();
        *state = State { answers: state.answers + 1, ..State::default() };
    }

    /// How often the server answered.
    pub(super) fn answers(&self) -> u64 {
        self.lock().answers
    }

    /// The server does not answer a question that takes it no time: nobody else needs to find out.
    pub(super) fn unanswered(&self, now: Timestamp) {
        self.lock().failures += PATIENCE;
        self.failed(now);
    }

    /// The server did not answer.
    pub fn failed(&self, now: Timestamp) {
        let mut state = self.lock();
        state.failures += 1;
        if state.failures >= PATIENCE {
            state.until = Some(after(now, BACKOFF.delay(state.pauses)));
            state.pauses += 1;
        }
    }

    /// Whether requests are held back.
    pub fn is_open(&self) -> bool {
        self.lock().until.is_some()
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, State> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_five_failures_in_a_row_one_probe_at_a_time_passes() {
        let breaker = Breaker::default();
        let start = Timestamp::UNIX_EPOCH;
        for _ in 0..4 {
            breaker.failed(start);
        }
        assert_eq!(breaker.try_pass(start), None);
        breaker.failed(start);
        let reopen = breaker.try_pass(start).expect("open");
        assert_eq!(breaker.try_pass(reopen), None, "the probe");
        assert!(breaker.try_pass(reopen).is_some(), "everybody else");
        breaker.failed(reopen);
        let later = breaker.try_pass(reopen).expect("still open");
        assert!(later.duration_since(reopen) > reopen.duration_since(start), "pauses grow");
        breaker.answered();
        assert_eq!(breaker.try_pass(reopen), None);
    }
}
