//! The queue with those who wait in it: who is let go is woken, who goes away leaves its place by `Drop`.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use super::{Effect, Event, HoldQueue, Lane, Limits, Refusal, Ticket};

/// Where the requests of one rule wait.
#[derive(Debug)]
pub(crate) struct HoldRoom {
    state: Mutex<State>,
    held: AtomicU32,
}

#[derive(Debug)]
struct State {
    queue: HoldQueue,
    next: u64,
    waiters: HashMap<Ticket, oneshot::Sender<()>>,
    open: BTreeMap<Lane, Arc<AtomicBool>>,
}

/// What became of a request that came.
#[derive(Debug)]
pub(crate) enum Arrival {
    Pass,
    Held(Place),
    Refused(Refusal),
}

impl HoldRoom {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        let state = State { queue: HoldQueue::new(limits), next: 0, waiters: HashMap::new(), open: BTreeMap::new() };
        Arc::new(Self { state: Mutex::new(state), held: AtomicU32::new(0) })
    }

    /// A flag that says, without a lock, whether requests of the lane go on without waiting. Whoever counts a request
    /// before it reads the flag is either seen by whoever closed the lane, or sees it closed.
    pub(crate) fn open_lane(&self, lane: Lane) -> Arc<AtomicBool> {
        let flag = Arc::new(AtomicBool::new(false));
        self.lock().open.insert(lane, Arc::clone(&flag));
        flag
    }

    pub(crate) fn close_lane(&self, lane: Lane) {
        self.apply(Event::Closed { lane });
        if let Some(flag) = self.lock().open.remove(&lane) {
            flag.store(false, Ordering::SeqCst);
        }
    }

    /// How many wait.
    pub(crate) fn held(&self) -> u32 {
        self.held.load(Ordering::SeqCst)
    }

    /// How much memory they take.
    pub(crate) fn bytes(&self) -> u64 {
        self.lock().queue.bytes()
    }

    /// Takes in what is about no single request.
    pub(crate) fn apply(&self, event: Event) {
        self.step(&mut self.lock(), event);
    }

    pub(crate) fn arrive(self: &Arc<Self>, lane: Lane, client: IpAddr, bytes: u64) -> Arrival {
        let mut state = self.lock();
        state.next += 1;
        let ticket = Ticket(state.next);
        let event = Event::Arrived { ticket, lane, client, bytes };
        match self.step(&mut state, event) {
            Some(Effect::Refuse(_, refusal)) => Arrival::Refused(refusal),
            Some(Effect::Hold(_)) => Arrival::Held(self.place(&mut state, ticket, lane, client)),
            Some(Effect::Pass(_) | Effect::Release(_)) | None => Arrival::Pass,
        }
    }

    /// Gives a request that could not be sent its place again.
    fn take_back(self: &Arc<Self>, ticket: Ticket, lane: Lane, client: IpAddr, bytes: u64) -> Place {
        let mut state = self.lock();
        // First, since the step may let it go again at once.
        let place = self.place(&mut state, ticket, lane, client);
        self.step(&mut state, Event::Returned { ticket, lane, client, bytes });
        place
    }

    fn place(self: &Arc<Self>, state: &mut State, ticket: Ticket, lane: Lane, client: IpAddr) -> Place {
        let (tx, released) = oneshot::channel();
        state.waiters.insert(ticket, tx);
        Place { room: Arc::clone(self), ticket, lane, client, released, settled: false }
    }

    /// Wakes those who are let go, and says what was decided about the one whom the event is about.
    fn step(&self, state: &mut State, event: Event) -> Option<Effect> {
        let mut decided = None;
        for effect in state.queue.step(event) {
            match effect {
                Effect::Release(ticket) => {
                    if let Some(waiter) = state.waiters.remove(&ticket) {
                        // Whoever has gone in between gives the turn back when it drops its place.
                        let _ = waiter.send(());
                    }
                }
                Effect::Pass(_) | Effect::Hold(_) | Effect::Refuse(..) => decided = Some(effect),
            }
        }
        for (lane, flag) in &state.open {
            flag.store(state.queue.is_open(*lane), Ordering::SeqCst);
        }
        self.held.store(u32::try_from(state.queue.held()).unwrap_or(u32::MAX), Ordering::SeqCst);
        decided
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// The place of one request in the line. Dropping it leaves the line.
#[derive(Debug)]
pub(crate) struct Place {
    room: Arc<HoldRoom>,
    ticket: Ticket,
    lane: Lane,
    client: IpAddr,
    released: oneshot::Receiver<()>,
    settled: bool,
}

impl Place {
    /// Waits until it is this one's turn. May be dropped and called again.
    pub(crate) async fn turn(&mut self) -> Turn {
        // The sender is dropped only with the room, which this place keeps.
        let _ = (&mut self.released).await;
        self.settled = true;
        Turn { room: Arc::clone(&self.room), ticket: self.ticket, lane: self.lane, client: self.client, held: true }
    }

    /// Whether so many bytes more may be kept for it; they count from then on.
    pub(crate) fn grow(&self, bytes: u64) -> bool {
        let mut state = self.room.lock();
        let fits = state.queue.free_bytes() >= bytes;
        if fits {
            self.room.step(&mut state, Event::Grew { ticket: self.ticket, bytes });
        }
        fits
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        let mut state = self.room.lock();
        state.waiters.remove(&self.ticket);
        let event = if state.queue.holds(self.ticket) {
            Event::Left { ticket: self.ticket }
        } else {
            Event::Answered { lane: self.lane }
        };
        self.room.step(&mut state, event);
    }
}

/// The turn of a request that waited. Dropping it says that its pod has answered.
#[derive(Debug)]
pub(crate) struct Turn {
    room: Arc<HoldRoom>,
    ticket: Ticket,
    lane: Lane,
    client: IpAddr,
    held: bool,
}

impl Turn {
    /// A turn of a request that did not wait: nothing is given back, but it has a place in the order if it must wait
    /// after all.
    pub(crate) fn unpaced(room: &Arc<HoldRoom>, lane: Lane, client: IpAddr) -> Self {
        Self { room: Arc::clone(room), ticket: Ticket(0), lane, client, held: false }
    }

    /// Whether it waited.
    pub(crate) fn has_waited(&self) -> bool {
        self.held
    }

    /// No pod could be reached: back to the line, in front of those who came later.
    pub(crate) fn give_up(self, bytes: u64) -> Place {
        let ticket = if self.held {
            self.ticket
        } else {
            let mut state = self.room.lock();
            state.next += 1;
            Ticket(state.next)
        };
        let (room, lane, client) = (Arc::clone(&self.room), self.lane, self.client);
        drop(self);
        room.take_back(ticket, lane, client, bytes)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.held {
            self.room.apply(Event::Answered { lane: self.lane });
        }
    }
}
