//! Rules of the queue by example, and random histories against a model that only counts.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;

use super::*;

const LANE: Lane = Lane(20_001);

fn client(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
}

fn limits() -> Limits {
    Limits { requests: 3, bytes: 1000, per_client: 2, release_per_pod: None }
}

fn arrived(ticket: u64, of: u8, bytes: u64) -> Event {
    Event::Arrived { ticket: Ticket(ticket), lane: LANE, client: client(of), bytes }
}

#[test]
fn a_request_to_a_ready_pod_does_not_wait() {
    let mut queue = HoldQueue::new(limits());
    queue.step(Event::Ready { lane: LANE, pods: 1 });
    assert_eq!(queue.step(arrived(1, 1, 10)), [Effect::Pass(Ticket(1))]);
    assert_eq!(queue.held(), 0);
}

#[test]
fn what_is_over_a_limit_is_refused_by_its_name() {
    let mut queue = HoldQueue::new(limits());
    assert_eq!(queue.step(arrived(1, 1, 400)), [Effect::Hold(Ticket(1))]);
    assert_eq!(queue.step(arrived(2, 1, 400)), [Effect::Hold(Ticket(2))]);
    assert_eq!(queue.step(arrived(3, 1, 1)), [Effect::Refuse(Ticket(3), Refusal::Client)]);
    assert_eq!(queue.step(arrived(4, 2, 400)), [Effect::Refuse(Ticket(4), Refusal::Memory)]);
    assert_eq!(queue.step(arrived(5, 2, 1)), [Effect::Hold(Ticket(5))]);
    assert_eq!(queue.step(arrived(6, 3, 1)), [Effect::Refuse(Ticket(6), Refusal::Requests)]);
    queue.step(Event::Left { ticket: Ticket(1) });
    assert_eq!(queue.step(arrived(7, 3, 1)), [Effect::Hold(Ticket(7))], "whoever leaves makes room at once");
}

#[test]
fn nothing_passes_a_barrier_and_all_go_in_order_when_it_falls() {
    let mut queue = HoldQueue::new(limits());
    queue.step(Event::Ready { lane: LANE, pods: 1 });
    queue.step(Event::Barrier(true));
    assert_eq!(queue.step(arrived(1, 1, 1)), [Effect::Hold(Ticket(1))]);
    assert_eq!(queue.step(arrived(2, 2, 1)), [Effect::Hold(Ticket(2))]);
    assert_eq!(queue.step(Event::Barrier(false)), [Effect::Release(Ticket(1)), Effect::Release(Ticket(2))]);
}

#[test]
fn a_new_pod_gets_only_its_share_at_once_and_the_rest_as_it_answers() {
    let mut queue = HoldQueue::new(Limits { release_per_pod: Some(1), ..limits() });
    for ticket in 1..=3 {
        queue.step(arrived(ticket, u8::try_from(ticket).expect("small"), 1));
    }
    assert_eq!(queue.step(Event::Ready { lane: LANE, pods: 1 }), [Effect::Release(Ticket(1))]);
    assert_eq!(queue.step(arrived(4, 9, 1)), [Effect::Hold(Ticket(4))], "nobody overtakes those who wait");
    assert_eq!(queue.step(Event::Answered { lane: LANE }), [Effect::Release(Ticket(2))]);
    assert_eq!(queue.step(Event::Ready { lane: LANE, pods: 2 }), [Effect::Release(Ticket(3))]);
}

#[test]
fn a_request_that_could_not_be_sent_comes_back_to_its_old_place() {
    let mut queue = HoldQueue::new(limits());
    queue.step(arrived(1, 1, 1));
    queue.step(arrived(2, 2, 1));
    queue.step(Event::Ready { lane: LANE, pods: 1 });
    queue.step(Event::Ready { lane: LANE, pods: 0 });
    queue.step(arrived(3, 3, 1));
    let returned = Event::Returned { ticket: Ticket(1), lane: LANE, client: client(1), bytes: 1 };
    assert_eq!(queue.step(returned), []);
    assert_eq!(
        queue.step(Event::Ready { lane: LANE, pods: 1 }),
        [Effect::Release(Ticket(1)), Effect::Release(Ticket(3))]
    );
}

#[test]
fn a_lane_that_closes_lets_its_line_go() {
    let mut queue = HoldQueue::new(limits());
    queue.step(arrived(1, 1, 1));
    assert_eq!(queue.step(Event::Closed { lane: LANE }), [Effect::Release(Ticket(1))]);
    assert_eq!((queue.held(), queue.bytes()), (0, 0));
}

#[derive(Clone, Copy, Debug)]
enum Move {
    Arrive { lane: u16, of: u8, bytes: u64 },
    Leave(usize),
    Ready { lane: u16, pods: u32 },
    Answer { lane: u16 },
    Barrier(bool),
    Limits { requests: usize, bytes: u64, per_client: usize, release_per_pod: Option<u32> },
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        8 => (1u16..4, 0u8..4, 0u64..200).prop_map(|(lane, of, bytes)| Move::Arrive { lane, of, bytes }),
        3 => any::<usize>().prop_map(Move::Leave),
        3 => (1u16..4, 0u32..4).prop_map(|(lane, pods)| Move::Ready { lane, pods }),
        3 => (1u16..4).prop_map(|lane| Move::Answer { lane }),
        1 => any::<bool>().prop_map(Move::Barrier),
        1 => (0usize..30, 0u64..2000, 0usize..10, proptest::option::of(1u32..4)).prop_map(
            |(requests, bytes, per_client, release_per_pod)| Move::Limits { requests, bytes, per_client, release_per_pod }
        ),
    ]
}

/// Counts only: who waits where, who was let go and not answered, what is allowed.
struct Model {
    limits: Limits,
    barrier: bool,
    pods: BTreeMap<Lane, u32>,
    outstanding: BTreeMap<Lane, u32>,
    waiting: BTreeMap<Ticket, (Lane, u8, u64)>,
    let_go: BTreeSet<Ticket>,
}

impl Model {
    fn event(&self, next: Move, ticket: Ticket) -> Event {
        match next {
            Move::Arrive { lane, of, bytes } => Event::Arrived { ticket, lane: Lane(lane), client: client(of), bytes },
            Move::Leave(index) => {
                let known: Vec<Ticket> = self.waiting.keys().copied().collect();
                Event::Left { ticket: known.get(index % known.len().max(1)).copied().unwrap_or(ticket) }
            }
            Move::Ready { lane, pods } => Event::Ready { lane: Lane(lane), pods },
            Move::Answer { lane } => Event::Answered { lane: Lane(lane) },
            Move::Barrier(up) => Event::Barrier(up),
            Move::Limits { requests, bytes, per_client, release_per_pod } => {
                Event::Limits(Limits { requests, bytes, per_client, release_per_pod })
            }
        }
    }

    fn note(&mut self, event: Event) {
        match event {
            Event::Ready { lane, pods } => drop(self.pods.insert(lane, pods)),
            Event::Answered { lane } => {
                let count = self.outstanding.entry(lane).or_default();
                *count = count.saturating_sub(1);
            }
            Event::Barrier(up) => self.barrier = up,
            Event::Limits(limits) => self.limits = limits,
            Event::Left { ticket } => drop(self.waiting.remove(&ticket)),
            Event::Arrived { .. } | Event::Returned { .. } | Event::Grew { .. } | Event::Closed { .. } => {}
        }
    }

    fn flows(&self, lane: Lane) -> bool {
        !self.barrier && self.pods.get(&lane).is_some_and(|pods| *pods > 0)
    }

    fn may_release(&self, lane: Lane) -> bool {
        let pods = self.pods.get(&lane).copied().unwrap_or_default();
        let turns = self.limits.release_per_pod.map_or(u32::MAX, |per_pod| per_pod * pods);
        self.flows(lane) && self.outstanding.get(&lane).copied().unwrap_or_default() < turns
    }

    fn check(&mut self, event: Event, effect: Effect) -> Result<(), TestCaseError> {
        match effect {
            Effect::Release(ticket) => {
                let (lane, ..) = self.waiting.remove(&ticket).expect("only those who wait are let go");
                prop_assert!(self.may_release(lane), "let go without a turn");
                let first = self.waiting.iter().find(|(_, (other, ..))| *other == lane).map(|(ticket, _)| *ticket);
                prop_assert!(first.is_none_or(|first| ticket < first), "first come, first served");
                prop_assert!(self.let_go.insert(ticket), "once only");
                *self.outstanding.entry(lane).or_default() += 1;
            }
            Effect::Pass(_) | Effect::Hold(_) | Effect::Refuse(..) => self.check_arrival(event, effect)?,
        }
        Ok(())
    }

    fn check_arrival(&mut self, event: Event, effect: Effect) -> Result<(), TestCaseError> {
        let Event::Arrived { ticket, lane, client: from, bytes } = event else {
            panic!("{event:?} decided {effect:?}")
        };
        let behind = self.waiting.values().any(|(other, ..)| *other == lane);
        match effect {
            Effect::Pass(_) => prop_assert!(self.flows(lane) && !behind),
            Effect::Hold(_) => {
                prop_assert!(!self.flows(lane) || behind);
                prop_assert!(self.waiting.len() < self.limits.requests);
                let of = (0..4).find(|of| client(*of) == from).expect("one of four");
                self.waiting.insert(ticket, (lane, of, bytes));
            }
            Effect::Refuse(..) => prop_assert!(!self.flows(lane) || behind),
            Effect::Release(_) => {}
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_history_keeps_order_pace_and_limits(history in proptest::collection::vec(moves(), 1..400)) {
        let start = Limits { requests: 20, bytes: 1500, per_client: 8, release_per_pod: Some(2) };
        let mut queue = HoldQueue::new(start);
        let mut model = Model {
            limits: start,
            barrier: false,
            pods: BTreeMap::new(),
            outstanding: BTreeMap::new(),
            waiting: BTreeMap::new(),
            let_go: BTreeSet::new(),
        };
        for (number, next) in history.into_iter().enumerate() {
            let event = model.event(next, Ticket(number as u64));
            model.note(event);
            for effect in queue.step(event) {
                model.check(event, effect)?;
            }
            prop_assert_eq!(queue.held(), model.waiting.len());
            prop_assert_eq!(queue.bytes(), model.waiting.values().map(|(_, _, bytes)| bytes).sum::<u64>());
            for lane in model.pods.keys().copied() {
                let behind = model.waiting.values().any(|(other, ..)| *other == lane);
                prop_assert!(!behind || !model.may_release(lane), "nobody waits who may go");
                prop_assert_eq!(queue.is_open(lane), model.flows(lane) && !behind);
            }
        }
    }
}
