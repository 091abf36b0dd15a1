//! Decides what to do about a lease: pure, no clock, no requests. See the module above for the rules it follows.

use std::net::SocketAddr;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;

use super::LeaseConfig;
use super::record::{self, Version};
use crate::boot_clock::BootTime;

/// How many times our own lease duration we believe another's.
const LONGEST_FOREIGN: u32 = 4;

/// The moment of a step: `boot` decides, `wall` is only written down for people to read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    pub(super) boot: BootTime,
    pub(super) wall: Timestamp,
}

/// What happened.
#[derive(Debug)]
pub(super) enum Event {
    /// It is time for another look.
    Due,
    Read(Option<Lease>),
    /// A write went through; `sent` is from before its request.
    Written {
        lease: Lease,
        sent: BootTime,
    },
    /// A write was refused: someone else wrote first.
    Refused,
    /// A request failed, or was not answered in time and may have gone through.
    Failed,
}

/// What to do next.
#[derive(Debug)]
pub(super) enum Action {
    Read,
    Create(Lease),
    Replace(Lease),
    Wait,
}

#[derive(Debug)]
enum State {
    Standby {
        seen: Option<Seen>,
    },
    /// May act until `until`. `lease` is what we wrote last, if we are sure that it is what the server has.
    Leading {
        until: BootTime,
        lease: Option<Box<Lease>>,
    },
}

/// A record as we first saw it.
#[derive(Debug)]
struct Seen {
    /// None for a record that was there and is gone: its holder may not know yet.
    version: Option<Version>,
    /// When we had seen it, not when it was written.
    since: BootTime,
    /// How long its holder may stay silent.
    lasting: Duration,
    /// Where its holder is found, if it says so.
    address: Option<SocketAddr>,
}

impl Seen {
    fn expires(&self) -> BootTime {
        self.since + self.lasting
    }
}

/// One contender's view of the lease.
#[derive(Debug)]
pub(super) struct Elector {
    config: LeaseConfig,
    state: State,
}

impl Elector {
    pub(super) fn new(config: LeaseConfig) -> Self {
        Self { config, state: State::Standby { seen: None } }
    }

    pub(super) fn step(&mut self, event: Event, now: Now) -> Action {
        self.expire(now.boot);
        match event {
            Event::Due => self.on_due(now),
            Event::Read(None) => self.on_missing(now),
            Event::Read(Some(lease)) => self.on_found(lease, now),
            Event::Written { lease, sent } => self.on_written(lease, sent, now.boot),
            Event::Refused | Event::Failed => self.on_failure(),
        }
    }

    /// The end of our right to act, if we have it.
    pub(super) fn leading_until(&self) -> Option<BootTime> {
        match self.state {
            State::Leading { until, .. } => Some(until),
            State::Standby { .. } => None,
        }
    }

    /// The address of another process that leads.
    pub(super) fn leader_address(&self) -> Option<SocketAddr> {
        match &self.state {
            State::Standby { seen } => seen.as_ref().and_then(|seen| seen.address),
            State::Leading { .. } => None,
        }
    }

    /// How long to wait before the next [`Event::Due`]. `jitter`, from 0 to 1, spreads standbys out.
    pub(super) fn wait_time(&self, now: BootTime, jitter: f64) -> Duration {
        let retry = self.config.timing.retry();
        match &self.state {
            State::Leading { until, .. } => retry.min(until.saturating_since(now)),
            State::Standby { seen: None } => retry.mul_f64(1.0 + jitter / 4.0),
            // Not before it expires, if that is soon; a moment apart from other standbys that saw the same.
            State::Standby { seen: Some(seen) } => {
                let left = seen.expires().saturating_since(now);
                (if left.is_zero() { retry } else { retry.min(left) }).mul_f64(1.0 + jitter / 4.0)
            }
        }
    }

    /// How long a request that starts now may take.
    pub(super) fn request_within(&self, now: BootTime) -> Duration {
        let longest = self.config.timing.request();
        self.leading_until().map_or(longest, |until| longest.min(until.saturating_since(now)))
    }

    /// The write that gives the lease up at once, if `lease` is ours.
    pub(super) fn release(&self, lease: Lease) -> Option<Lease> {
        (record::holder(&lease) == Some(&self.config.identity)).then(|| record::released(lease))
    }

    fn expire(&mut self, now: BootTime) {
        if self.leading_until().is_some_and(|until| now >= until) {
            self.state = State::Standby { seen: None };
        }
    }

    fn on_due(&self, now: Now) -> Action {
        match &self.state {
            State::Leading { lease: Some(lease), .. } => Action::Replace(self.renewed(Lease::clone(lease), now)),
            State::Leading { lease: None, .. } | State::Standby { .. } => Action::Read,
        }
    }

    fn on_missing(&mut self, now: Now) -> Action {
        let create = record::created(&self.config, now.wall);
        match &mut self.state {
            State::Leading { .. } | State::Standby { seen: None } => Action::Create(create),
            State::Standby { seen: Some(seen) } => {
                if seen.version.take().is_some() {
                    seen.since = now.boot;
                }
                if now.boot >= seen.expires() { Action::Create(create) } else { Action::Wait }
            }
        }
    }

    fn on_found(&mut self, lease: Lease, now: Now) -> Action {
        let Some(holder) = record::holder(&lease) else {
            // Ours no longer, if it ever was.
            self.state = State::Standby { seen: None };
            return Action::Replace(self.taken(lease, now));
        };
        if holder == self.config.identity {
            return Action::Replace(self.renewed(lease, now));
        }
        let version = Some(record::version(&lease));
        if let State::Standby { seen: Some(seen) } = &self.state
            && seen.version == version
        {
            return if now.boot >= seen.expires() { Action::Replace(self.taken(lease, now)) } else { Action::Wait };
        }
        // Of those who share a lease none asks for much more than another: a slip of the pen must not stop all for ever.
        let lasting = record::duration(&lease).unwrap_or(self.lasting()).min(self.lasting() * LONGEST_FOREIGN);
        let address = record::address(&lease);
        self.state = State::Standby { seen: Some(Seen { version, since: now.boot, lasting, address }) };
        Action::Wait
    }

    fn on_written(&mut self, lease: Lease, sent: BootTime, now: BootTime) -> Action {
        let until = sent + self.config.timing.renew_deadline();
        self.state = if now < until {
            State::Leading { until, lease: Some(Box::new(lease)) }
        } else {
            State::Standby { seen: None }
        };
        Action::Wait
    }

    fn on_failure(&mut self) -> Action {
        if let State::Leading { lease, .. } = &mut self.state {
            *lease = None;
        }
        Action::Wait
    }

    fn taken(&self, lease: Lease, now: Now) -> Lease {
        record::taken(lease, &self.config, now.wall)
    }

    fn renewed(&self, lease: Lease, now: Now) -> Lease {
        record::renewed(lease, self.lasting(), now.wall)
    }

    fn lasting(&self) -> Duration {
        self.config.timing.lease_duration()
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
