//! What KEDA would be answered about each rule, and what it was answered. Pure; the time is an argument.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use crate::report::RuleKey;

/// Requests held and in flight.
pub(crate) const METRIC_CONCURRENCY: &str = "reeve-concurrency";
/// Requests per second.
pub(crate) const METRIC_REQUEST_RATE: &str = "reeve-request-rate";

/// Whether KEDA should keep the target awake.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Activity {
    /// It is awake, or should be.
    Active,
    /// It sleeps and nothing waits for it.
    Asleep,
    /// It is awake and may sleep now: behind a barrier, so that each answer is remembered.
    MaySleep,
}

/// What KEDA is answered about one rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Offer {
    pub(crate) activity: Activity,
    /// Whether requests wait for a target that sleeps or wakes: KEDA is told at once.
    pub(crate) wanted: bool,
    pub(crate) metric: &'static str,
    pub(crate) target_per_replica: i32,
    /// Nothing while the word of a replica is missing.
    pub(crate) value: Option<u32>,
}

#[derive(Debug)]
struct Entry {
    offer: Offer,
    /// When KEDA was last told that the target may sleep.
    told: Option<Timestamp>,
    /// Whether requests wait, for streams.
    wanted: watch::Sender<bool>,
}

/// The offers of all rules that use KEDA.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offers(Arc<Mutex<BTreeMap<RuleKey, Entry>>>);

impl Offers {
    /// From now on this is answered.
    pub(crate) fn set(&self, rule: &RuleKey, offer: Offer) {
        let mut entries = self.lock();
        if let Some(entry) = entries.get_mut(rule) {
            entry.offer = offer;
            entry.wanted.send_if_modified(|wanted| std::mem::replace(wanted, offer.wanted) != offer.wanted);
        } else {
            let entry = Entry { offer, told: None, wanted: watch::Sender::new(offer.wanted) };
            entries.insert(rule.clone(), entry);
        }
    }

    /// Forgets a rule; its streams end.
    pub(crate) fn remove(&self, rule: &RuleKey) {
        self.lock().remove(rule);
    }

    /// Ends all streams.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    /// Withdraws the offer of a sleep until the next offer, and says when KEDA was last told of it: between the two a
    /// decision can be made that no answer overtakes.
    pub(crate) fn withdraw_sleep(&self, rule: &RuleKey) -> Option<Timestamp> {
        let mut entries = self.lock();
        let entry = entries.get_mut(rule)?;
        if entry.offer.activity == Activity::MaySleep {
            entry.offer.activity = Activity::Active;
        }
        entry.told
    }

    /// Whether the target should be awake; nothing for a rule that is not known.
    pub(crate) fn is_active(&self, rule: &RuleKey, now: Timestamp) -> Option<bool> {
        let mut entries = self.lock();
        let entry = entries.get_mut(rule)?;
        Some(match entry.offer.activity {
            Activity::Active => true,
            Activity::Asleep => false,
            Activity::MaySleep => {
                entry.told = Some(now);
                false
            }
        })
    }

    pub(super) fn find(&self, rule: &RuleKey) -> Option<Offer> {
        self.lock().get(rule).map(|entry| entry.offer)
    }

    /// Whether requests wait, now and whenever that changes.
    pub(super) fn watch_wanted(&self, rule: &RuleKey) -> Option<watch::Receiver<bool>> {
        self.lock().get(rule).map(|entry| entry.wanted.subscribe())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RuleKey, Entry>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(activity: Activity) -> Offer {
        Offer { activity, wanted: false, metric: METRIC_CONCURRENCY, target_per_replica: 10, value: Some(3) }
    }

    #[test]
    fn an_answer_that_lets_a_target_sleep_is_remembered_and_none_is_given_after_it_is_withdrawn() {
        let (offers, rule, now) = (Offers::default(), RuleKey::new("shop", "web"), Timestamp::UNIX_EPOCH);
        assert_eq!(offers.is_active(&rule, now), None);
        offers.set(&rule, offer(Activity::Active));
        assert_eq!((offers.is_active(&rule, now), offers.withdraw_sleep(&rule)), (Some(true), None));
        offers.set(&rule, offer(Activity::Asleep));
        assert_eq!((offers.is_active(&rule, now), offers.withdraw_sleep(&rule)), (Some(false), None));
        offers.set(&rule, offer(Activity::MaySleep));
        assert_eq!(offers.withdraw_sleep(&rule), None, "not asked yet");
        assert_eq!(offers.is_active(&rule, now), Some(true), "withdrawn");
        offers.set(&rule, offer(Activity::MaySleep));
        assert_eq!(offers.is_active(&rule, now), Some(false));
        assert_eq!(offers.withdraw_sleep(&rule), Some(now));
    }

    #[test]
    fn a_stream_sees_that_requests_wait_and_ends_with_its_rule() {
        let (offers, rule) = (Offers::default(), RuleKey::new("shop", "web"));
        assert!(offers.watch_wanted(&rule).is_none());
        offers.set(&rule, offer(Activity::Asleep));
        let mut wanted = offers.watch_wanted(&rule).unwrap();
        assert!(!*wanted.borrow_and_update());
        offers.set(&rule, Offer { wanted: true, ..offer(Activity::Active) });
        assert!(wanted.has_changed().unwrap() && *wanted.borrow_and_update());
        offers.set(&rule, Offer { wanted: true, ..offer(Activity::Active) });
        assert!(!wanted.has_changed().unwrap());
        offers.remove(&rule);
        assert!(wanted.has_changed().is_err());
    }
}
