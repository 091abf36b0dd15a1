//! A clock whose hands a test turns.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::watch;

use super::{Ticking, after};

/// Stands still until [`ManualClock::advance`]. Clones are the same clock.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<watch::Sender<Timestamp>>);

impl ManualClock {
    /// A clock that shows this time.
    pub fn new(now: Timestamp) -> Self {
        Self(Arc::new(watch::Sender::new(now)))
    }

    /// Turns the hands and wakes whoever slept until then.
    pub fn advance(&self, duration: Duration) {
        self.0.send_modify(|now| *now = after(*now, duration));
    }
}

impl Ticking for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.borrow()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let mut hands = self.0.subscribe();
        let until = after(self.now(), duration);
        Box::pin(async move {
            // The sender lives as long as any clone; without one nobody turns the hands and the sleep has no end.
            if hands.wait_for(|now| *now >= until).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    #[tokio::test]
    async fn a_sleeper_wakes_when_the_hands_were_turned_far_enough_and_not_before() {
        let manual = ManualClock::new(Timestamp::UNIX_EPOCH);
        let clock = Clock::new(manual.clone());
        let mut sleep = Box::pin(clock.sleep(Duration::from_mins(1)));
        manual.advance(Duration::from_secs(59));
        assert!(futures::poll!(&mut sleep).is_pending());
        manual.advance(Duration::from_secs(1));
        assert!(futures::poll!(&mut sleep).is_ready());
        assert_eq!(clock.now(), Timestamp::from_second(60).unwrap());
    }
}
