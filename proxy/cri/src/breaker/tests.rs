use proptest::prelude::*;

use super::*;

const LIMITS: Limits = Limits { failures: 3, open_for: Duration::from_secs(10) };

fn start() -> Instant {
    Instant::now()
}

#[test]
fn a_plugin_that_fails_three_times_in_a_row_is_not_asked_until_its_time_is_up_and_then_by_one_call() {
    let (mut breaker, now) = (Breaker::new(LIMITS), start());
    for _ in 0..3 {
        assert!(breaker.step(Event::Ask, now));
        breaker.step(Event::Failed, now);
    }
    assert!(!breaker.step(Event::Ask, now + Duration::from_secs(9)));
    assert!(breaker.step(Event::Ask, now + Duration::from_secs(10)), "one call may try");
    assert!(!breaker.step(Event::Ask, now + Duration::from_secs(10)), "a second may not");
    breaker.step(Event::Answered, now + Duration::from_secs(11));
    assert!(breaker.step(Event::Ask, now + Duration::from_secs(11)));
}

#[test]
fn a_probe_that_fails_opens_the_circuit_again_and_one_that_is_lost_does_not_close_it_for_ever() {
    let (mut breaker, now) = (Breaker::new(LIMITS), start());
    for _ in 0..3 {
        breaker.step(Event::Failed, now);
    }
    assert!(breaker.step(Event::Ask, now + Duration::from_secs(10)));
    breaker.step(Event::Failed, now + Duration::from_secs(10));
    assert!(!breaker.step(Event::Ask, now + Duration::from_secs(19)));
    assert!(breaker.step(Event::Ask, now + Duration::from_secs(20)));
    assert!(breaker.step(Event::Ask, now + Duration::from_secs(30)), "nothing was heard of the probe");
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![Just(Event::Ask), Just(Event::Answered), Just(Event::Failed)]
}

proptest! {
    /// Against a plain count of what happened, over any history.
    #[test]
    fn it_permits_all_while_fewer_than_the_limit_failed_in_a_row_and_is_never_shut_for_longer_than_its_time(
        history in proptest::collection::vec((event(), 0_u64..15), 0..200)
    ) {
        let (mut breaker, mut now) = (Breaker::new(LIMITS), start());
        let (mut in_a_row, mut refused_since): (u32, Option<Instant>) = (0, None);
        for (event, seconds) in history {
            now += Duration::from_secs(seconds);
            let permitted = breaker.step(event, now);
            match event {
                Event::Answered => (in_a_row, refused_since) = (0, None),
                Event::Failed => (in_a_row, refused_since) = (in_a_row + 1, None),
                Event::Ask if permitted => refused_since = None,
                Event::Ask => {
                    prop_assert!(in_a_row >= LIMITS.failures, "refused after {in_a_row} failures");
                    let since = *refused_since.get_or_insert(now);
                    prop_assert!(now < since + LIMITS.open_for, "refused for longer than its time");
                }
            }
            if in_a_row < LIMITS.failures {
                let is_closed = matches!(breaker.state(), State::Closed { .. });
                prop_assert!(is_closed);
            }
        }
    }
}
