//! Notices that someone else puts a field back each time we put it right, and slows us down.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use reeve_renderer_objects::key::ObjectKey;

use crate::backoff::Backoff;
use crate::clock::{after, since};

/// Repairs within the window that are taken for a fight.
const FIGHT: u32 = 3;
const WINDOW: Duration = Duration::from_hours(1);
const BACKOFF: Backoff = Backoff::new(Duration::from_mins(1), WINDOW);

/// How often which object was put right. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Contests(Arc<Mutex<HashMap<ObjectKey, Contest>>>);

#[derive(Clone, Copy, Debug)]
struct Contest {
    repairs: u32,
    since: Timestamp,
    not_before: Timestamp,
}

/// Whether an object may be put right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Yes; so many times it has been already.
    Now(u32),
    /// Someone keeps changing it back: not before then.
    Later(Timestamp, u32),
}

impl Contests {
    pub(super) fn turn(&self, key: &ObjectKey, now: Timestamp) -> Turn {
        let mut contests = self.0.lock();
        match contests.get(key) {
            None => Turn::Now(0),
            Some(contest) if now < contest.not_before => Turn::Later(contest.not_before, contest.repairs),
            // The window is counted from the end of the last pause, or a slowed fight would look like peace.
            Some(contest) if since(now, contest.since.max(contest.not_before)) > WINDOW => {
                contests.remove(key);
                Turn::Now(0)
            }
            Some(contest) => Turn::Now(contest.repairs),
        }
    }

    /// Somebody asked to have these put right now.
    pub(super) fn forget<'a>(&self, keys: impl Iterator<Item = &'a ObjectKey>) {
        let mut contests = self.0.lock();
        for key in keys {
            contests.remove(key);
        }
    }

    /// An object was put right. True if that is taken for a fight.
    pub(super) fn repaired(&self, key: &ObjectKey, now: Timestamp) -> bool {
        let mut contests = self.0.lock();
        let fresh = Contest { repairs: 0, since: now, not_before: now };
        let contest = contests.entry(key.clone()).or_insert(fresh);
        contest.repairs += 1;
        if contest.repairs < FIGHT {
            return false;
        }
        contest.not_before = after(now, BACKOFF.delay(contest.repairs - FIGHT));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_repair_within_an_hour_slows_us_down_and_each_further_one_more() {
        let contests = Contests::default();
        let key = ObjectKey { group: "apps".into(), kind: "Deployment".into(), namespace: None, name: "web".into() };
        let mut now = Timestamp::UNIX_EPOCH;
        assert!(!contests.repaired(&key, now));
        assert!(!contests.repaired(&key, now));
        assert_eq!(contests.turn(&key, now), Turn::Now(2));
        assert!(contests.repaired(&key, now));
        let Turn::Later(first, 3) = contests.turn(&key, now) else { panic!("not slowed down") };
        assert_eq!(since(first, now), BACKOFF.first);
        now = first;
        assert_eq!(contests.turn(&key, now), Turn::Now(3));
        assert!(contests.repaired(&key, now));
        let Turn::Later(second, 4) = contests.turn(&key, now) else { panic!("not slowed down") };
        assert_eq!(since(second, now), BACKOFF.first * 2);
        assert_eq!(contests.turn(&key, after(second, WINDOW * 2)), Turn::Now(0), "peace is forgotten");
    }
}
