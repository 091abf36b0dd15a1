//! Which requests of a rule wait, which go on, and in which order: a state machine without IO and without a clock.
//!
//! Requests of one rule share limits; those of one port of a Service (a [`Lane`]) wait in one line, first come, first
//! served. A line moves while its lane has ready pods and no barrier is up. Those let go from a line take a turn of the
//! pace, and give it back when their pod has answered; those that never had to wait are not paced.
//!
//! Limits that shrink turn nobody away who waits already. How long somebody waits is for the caller to measure: it sends
//! [`Event::Left`].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

mod room;
pub(crate) use room::{Arrival, HoldRoom, Place, Turn};

/// A request's place in the order of arrival.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct Ticket(pub(crate) u64);

/// A port of a Service of the rule: the port of the resolver that stands for it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct Lane(pub(crate) u16);

/// How much may wait.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Limits {
    pub(crate) requests: usize,
    pub(crate) bytes: u64,
    pub(crate) per_client: usize,
    /// How many a ready pod gets at once when a line is let go; `None` means all.
    pub(crate) release_per_pod: Option<u32>,
}

/// What happens to the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A request came.
    Arrived { ticket: Ticket, lane: Lane, client: IpAddr, bytes: u64 },
    /// A request that was let go could not be sent and comes back to its old place; it is never turned away.
    Returned { ticket: Ticket, lane: Lane, client: IpAddr, bytes: u64 },
    /// More of a waiting request's body is in memory.
    Grew { ticket: Ticket, bytes: u64 },
    /// A waiting request is gone: its client left, or it waited long enough.
    Left { ticket: Ticket },
    /// So many pods of a lane take requests.
    Ready { lane: Lane, pods: u32 },
    /// A lane is no more; those in its line are let go, to find that out.
    Closed { lane: Lane },
    /// A paced request has its answer, or never will.
    Answered { lane: Lane },
    /// Nothing is forwarded while it is up.
    Barrier(bool),
    /// The rule has changed.
    Limits(Limits),
}

/// What is to be done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Effect {
    /// Goes on at once.
    Pass(Ticket),
    /// Waits.
    Hold(Ticket),
    /// Is turned away.
    Refuse(Ticket, Refusal),
    /// Goes on, after it waited, and takes a turn of the pace.
    Release(Ticket),
}

/// Which limit keeps a request from waiting.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Refusal {
    Requests,
    Memory,
    Client,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    lane: Lane,
    client: IpAddr,
    bytes: u64,
}

#[derive(Debug, Default)]
struct Line {
    pods: u32,
    /// Turns of the pace that are taken.
    outstanding: u32,
    tickets: BTreeSet<Ticket>,
}

/// The requests of one rule that wait.
#[derive(Debug)]
pub(crate) struct HoldQueue {
    limits: Limits,
    barrier: bool,
    bytes: u64,
    waiting: HashMap<Ticket, Waiting>,
    clients: HashMap<IpAddr, usize>,
    lines: BTreeMap<Lane, Line>,
}

impl HoldQueue {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            barrier: false,
            bytes: 0,
            waiting: HashMap::new(),
            clients: HashMap::new(),
            lines: BTreeMap::new(),
        }
    }

    /// How many wait.
    pub(crate) fn held(&self) -> usize {
        self.waiting.len()
    }

    /// How much memory those who wait take.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How much more they may take.
    pub(crate) fn free_bytes(&self) -> u64 {
        self.limits.bytes.saturating_sub(self.bytes)
    }

    /// Whether this one waits.
    pub(crate) fn holds(&self, ticket: Ticket) -> bool {
        self.waiting.contains_key(&ticket)
    }

    /// Whether a request of this lane goes on without waiting.
    pub(crate) fn is_open(&self, lane: Lane) -> bool {
        !self.barrier && self.lines.get(&lane).is_some_and(|line| line.pods > 0 && line.tickets.is_empty())
    }

    pub(crate) fn step(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Arrived { ticket, lane, client, bytes } => {
                vec![self.arrive(ticket, Waiting { lane, client, bytes })]
            }
            Event::Returned { ticket, lane, client, bytes } => {
                self.admit(ticket, Waiting { lane, client, bytes });
                self.release(lane)
            }
            Event::Grew { ticket, bytes } => {
                if let Some(waiting) = self.waiting.get_mut(&ticket) {
                    waiting.bytes += bytes;
                    self.bytes += bytes;
                }
                Vec::new()
            }
            Event::Left { ticket } => {
                self.remove(ticket);
                Vec::new()
            }
            Event::Ready { lane, pods } => {
                self.lines.entry(lane).or_default().pods = pods;
                self.release(lane)
            }
            Event::Closed { lane } => self.close(lane),
            Event::Answered { lane } => {
                if let Some(line) = self.lines.get_mut(&lane) {
                    line.outstanding = line.outstanding.saturating_sub(1);
                }
                self.release(lane)
            }
            Event::Barrier(up) => {
                self.barrier = up;
                self.release_all()
            }
            Event::Limits(limits) => {
                self.limits = limits;
                self.release_all()
            }
        }
    }

    fn arrive(&mut self, ticket: Ticket, waiting: Waiting) -> Effect {
        if self.is_open(waiting.lane) {
            return Effect::Pass(ticket);
        }
        let of_client = self.clients.get(&waiting.client).copied().unwrap_or_default();
        if self.waiting.len() >= self.limits.requests {
            Effect::Refuse(ticket, Refusal::Requests)
        } else if of_client >= self.limits.per_client {
            Effect::Refuse(ticket, Refusal::Client)
        } else if waiting.bytes > self.free_bytes() {
            Effect::Refuse(ticket, Refusal::Memory)
        } else {
            self.admit(ticket, waiting);
            Effect::Hold(ticket)
        }
    }

    fn admit(&mut self, ticket: Ticket, waiting: Waiting) {
        self.bytes += waiting.bytes;
        *self.clients.entry(waiting.client).or_default() += 1;
        self.lines.entry(waiting.lane).or_default().tickets.insert(ticket);
        self.waiting.insert(ticket, waiting);
    }

    fn remove(&mut self, ticket: Ticket) {
        let Some(waiting) = self.waiting.remove(&ticket) else { return };
        self.bytes -= waiting.bytes;
        if let Some(line) = self.lines.get_mut(&waiting.lane) {
            line.tickets.remove(&ticket);
        }
        if let Some(count) = self.clients.get_mut(&waiting.client) {
            *count -= 1;
            if *count == 0 {
                self.clients.remove(&waiting.client);
            }
        }
    }

    fn release(&mut self, lane: Lane) -> Vec<Effect> {
        let mut effects = Vec::new();
        while let Some(ticket) = self.next_of(lane) {
            self.remove(ticket);
            if let Some(line) = self.lines.get_mut(&lane) {
                line.outstanding += 1;
            }
            effects.push(Effect::Release(ticket));
        }
        effects
    }

    fn release_all(&mut self) -> Vec<Effect> {
        let lanes: Vec<Lane> = self.lines.keys().copied().collect();
        lanes.into_iter().flat_map(|lane| self.release(lane)).collect()
    }

    /// The first in line, if it may go.
    fn next_of(&self, lane: Lane) -> Option<Ticket> {
        let queue = self.lines.get(&lane).filter(|queue| !self.barrier && queue.pods > 0)?;
        let turns = self.limits.release_per_pod.map_or(u32::MAX, |per_pod| per_pod.saturating_mul(queue.pods));
        queue.tickets.first().copied().filter(|_| queue.outstanding < turns)
    }

    fn close(&mut self, lane: Lane) -> Vec<Effect> {
        let Some(closed) = self.lines.remove(&lane) else { return Vec::new() };
        for ticket in &closed.tickets {
            self.remove(*ticket);
        }
        closed.tickets.into_iter().map(Effect::Release).collect()
    }
}

#[cfg(test)]
mod tests;
