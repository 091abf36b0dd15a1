use proptest::prelude::*;

use super::*;

#[test]
fn a_timeout_is_read_in_every_unit() {
    let read = |text: &'static str| {
        timeout(&HeaderMap::from_iter([(http::HeaderName::from_static(TIMEOUT), HeaderValue::from_static(text))]))
    };
    assert_eq!(read("2H"), Some(Duration::from_hours(2)));
    assert_eq!(read("3M"), Some(Duration::from_mins(3)));
    assert_eq!(read("4S"), Some(Duration::from_secs(4)));
    assert_eq!(read("5m"), Some(Duration::from_millis(5)));
    assert_eq!(read("6u"), Some(Duration::from_micros(6)));
    assert_eq!(read("7n"), Some(Duration::from_nanos(7)));
    for nonsense in ["", "S", "1", "1s", "-1S", "99999999999999999999H"] {
        assert_eq!(read(nonsense), None, "{nonsense}");
    }
}

proptest! {
    #[test]
    fn a_written_timeout_has_eight_digits_and_is_never_longer_than_it_was(millis in 0_u64..u64::MAX / 1_000_000) {
        let wanted = Duration::from_millis(millis);
        let text = format_timeout(wanted);
        prop_assert!(text.len() <= 9, "{text}");
        let headers = HeaderMap::from_iter([(http::HeaderName::from_static(TIMEOUT), HeaderValue::from_str(&text).unwrap())]);
        let read = timeout(&headers).unwrap();
        let lost = wanted.checked_sub(read);
        let is_exact = lost.is_some_and(|lost| lost < Duration::from_secs(1));
        prop_assert!(is_exact || wanted > Duration::from_secs(99_999_999));
    }

    #[test]
    fn what_is_framed_is_unframed(message in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(unframe(frame(&message).unwrap()).unwrap(), message);
    }

    #[test]
    fn no_bytes_are_too_strange_to_unframe(body in proptest::collection::vec(any::<u8>(), 0..40)) {
        let _ = unframe(body.into());
    }
}
