//! Time as the reconciler sees it: the one place that reads a clock and sleeps, so that a test can turn the hands.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;

mod manual;

pub use manual::ManualClock;

/// What a clock can do.
pub trait Ticking: Send + Sync {
    /// The time of day.
    fn now(&self) -> Timestamp;

    /// Resolves after this long.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// A clock that many hold.
#[derive(Clone)]
pub struct Clock(Arc<dyn Ticking>);

impl Clock {
    /// The clock of this machine.
    pub fn system() -> Self {
        Self(Arc::new(System))
    }

    /// Another clock.
    pub fn new(clock: impl Ticking + 'static) -> Self {
        Self(Arc::new(clock))
    }

    /// The time of day.
    pub fn now(&self) -> Timestamp {
        self.0.now()
    }

    /// Resolves this long from now.
    pub fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.0.sleep(duration)
    }

    /// Resolves when it is this late; at once if it is later.
    pub fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        self.sleep(until(self.now(), at))
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// From now until then; nothing if that is over.
pub fn until(now: Timestamp, then: Timestamp) -> Duration {
    Duration::try_from(then.duration_since(now)).unwrap_or_default()
}

/// How long ago; nothing if it is yet to come.
pub fn since(now: Timestamp, then: Timestamp) -> Duration {
    until(then, now)
}

/// Then, or the end of time.
pub fn after(now: Timestamp, duration: Duration) -> Timestamp {
    now.saturating_add(duration).unwrap_or(Timestamp::MAX)
}

struct System;

impl Ticking for System {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}
