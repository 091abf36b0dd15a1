//! Three electors against one record, with requests that are slow, lost on either way or delivered late, stops of any
//! length, and the record edited by no one else. Whatever happens, no two may act at the same moment.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;

use super::*;
use crate::lease::Timing;

const STEP: Duration = Duration::from_millis(50);
const TIMING: [u64; 3] = [3_000, 2_000, 500];

/// The same seed gives the same run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }
}

#[derive(Default)]
struct Server {
    lease: Option<Lease>,
    writes: u64,
}

impl Server {
    fn answer(&mut self, request: Request) -> Event {
        let Request { action, sent } = request;
        let stands = self.lease.as_ref().map(|lease| lease.metadata.resource_version.clone());
        let (mut lease, allowed) = match action {
            Action::Read => return Event::Read(self.lease.clone()),
            Action::Create(lease) => (lease, stands.is_none()),
            Action::Replace(lease) => {
                let same = stands.as_ref() == Some(&lease.metadata.resource_version);
                (lease, same)
            }
            Action::Wait => panic!("waiting asks nothing"),
        };
        if !allowed {
            return Event::Refused;
        }
        self.writes += 1;
        lease.metadata.resource_version = Some(self.writes.to_string());
        self.lease = Some(lease.clone());
        Event::Written { lease, sent }
    }
}

struct Request {
    action: Action,
    sent: BootTime,
}

/// What a contender waits for: at most one request, and the time when it gives up or looks again.
struct Contender {
    elector: Elector,
    wake: BootTime,
    /// When the request reaches the server, and when its answer is back.
    under_way: Option<(BootTime, Request, BootTime)>,
    answer: Option<(BootTime, Event)>,
    waiting: bool,
    asleep_until: BootTime,
    terms: u32,
}

impl Contender {
    fn new(number: u64) -> Self {
        let [lease, renew, retry] = TIMING.map(Duration::from_millis);
        let timing = Timing::new(lease, renew, retry).unwrap();
        let config = LeaseConfig { identity: format!("c{number}"), timing, ..LeaseConfig::new("ns", "x") };
        let zero = BootTime::since_boot(Duration::ZERO);
        let elector = Elector::new(config);
        Self { elector, wake: zero, under_way: None, answer: None, waiting: false, asleep_until: zero, terms: 0 }
    }

    fn turn(&mut self, now: BootTime, dice: &mut Dice) {
        if now < self.asleep_until {
            return;
        }
        if dice.roll(400) == 0 {
            self.asleep_until = now + Duration::from_millis(dice.roll(8_000));
            return;
        }
        let answered = self.answer.as_ref().is_some_and(|(back, _)| now >= *back);
        let event = if self.waiting && answered {
            self.answer.take().map_or(Event::Failed, |(_, event)| event)
        } else if now < self.wake {
            return;
        } else if self.waiting {
            // Given up; the request itself may still be on its way.
            self.answer = None;
            Event::Failed
        } else {
            Event::Due
        };
        self.waiting = false;
        let led = self.elector.leading_until().is_some();
        let action = self.elector.step(event, Now { boot: now, wall: Timestamp::UNIX_EPOCH });
        self.terms += u32::from(!led && self.elector.leading_until().is_some());
        if matches!(action, Action::Wait) {
            self.wake = now + self.elector.wait_time(now, 0.5);
            return;
        }
        let slow = if dice.roll(10) == 0 { 6_000 } else { 200 };
        let arrives = now + Duration::from_millis(dice.roll(slow));
        let back = if dice.roll(12) == 0 { BootTime::NEVER } else { arrives + Duration::from_millis(dice.roll(slow)) };
        if dice.roll(12) != 0 {
            self.under_way = Some((arrives, Request { action, sent: now }, back));
        }
        self.waiting = true;
        self.wake = now + self.elector.request_within(now);
    }

    fn deliver(&mut self, now: BootTime, server: &mut Server) {
        if let Some((_, request, back)) = self.under_way.take_if(|(arrives, ..)| now >= *arrives) {
            let sent = request.sent;
            let event = server.answer(request);
            // An answer to a request that was given up goes nowhere.
            if self.waiting && sent + Duration::from_millis(TIMING[1]) > now {
                self.answer = Some((back, event));
            }
        }
    }

    fn acts(&self, now: BootTime) -> bool {
        self.elector.leading_until().is_some_and(|until| now < until)
    }
}

#[test]
fn no_two_act_at_the_same_moment_whatever_is_lost_late_or_stopped() {
    let (mut terms, mut idle) = (0, 0);
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let mut server = Server::default();
        let mut contenders: Vec<_> = (0..3).map(Contender::new).collect();
        let mut now = BootTime::since_boot(Duration::ZERO);
        for _ in 0..2_400 {
            now = now + STEP;
            for contender in &mut contenders {
                contender.deliver(now, &mut server);
                contender.turn(now, &mut dice);
            }
            let acting: Vec<_> = (0..3).filter(|number| contenders[*number].acts(now)).collect();
            assert!(acting.len() <= 1, "seed {seed}: {acting:?} act at {now}");
            idle += u32::from(acting.is_empty());
        }
        terms += contenders.iter().map(|contender| contender.terms).sum::<u32>();
    }
    // The run is worth something only if leadership changed hands often and was mostly held.
    assert!(terms > 1_000 && idle < 200 * 2_400 / 2, "{terms} terms, nobody acted in {idle} steps");
}
