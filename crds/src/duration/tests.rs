use std::time;

use super::{Duration, DurationError};

#[test]
fn durations_read_as_people_write_them() {
    for (text, milliseconds) in
        [("500ms", 500), ("30s", 30_000), ("1m30s", 90_000), ("1.5h", 5_400_000), ("0s", 0), ("2h0m1s", 7_201_000)]
    {
        assert_eq!(text.parse(), Ok(Duration::from_millis(milliseconds)), "{text}");
    }
}

#[test]
fn what_the_api_server_refuses_is_refused_here_too() {
    for (text, error) in [
        ("", DurationError::Empty),
        ("30", DurationError::Unit),
        ("soon", DurationError::Unit),
        ("1d", DurationError::Unit),
        ("s", DurationError::Number),
        ("-5s", DurationError::Unit),
        ("1.2.3s", DurationError::Number),
        (".5s", DurationError::Number),
        ("1.s", DurationError::Number),
        ("5 s", DurationError::Unit),
        ("8761h", DurationError::TooLarge),
        ("99999999999999999999h", DurationError::TooLarge),
        ("1s1s1s1s1s1s1s1s1s1s1s1s1s", DurationError::TooLong),
    ] {
        assert_eq!(text.parse::<Duration>(), Err(error), "{text}");
    }
}

#[test]
fn a_duration_is_written_in_its_shortest_form_and_reads_back() {
    for (microseconds, text) in [
        (0, "0s"),
        (90_000_000, "1m30s"),
        (3_600_000_000, "1h"),
        (3_600_500_000, "1h0.5s"),
        (1_200_000, "1.2s"),
        (1_000_001, "1.000001s"),
        (7_000, "7ms"),
        (1_050, "1.05ms"),
        (300, "300us"),
    ] {
        let duration = Duration::from(time::Duration::from_micros(microseconds));
        assert_eq!(duration.to_string(), text);
        assert_eq!(text.parse(), Ok(duration), "{text}");
    }
}

#[test]
fn a_measured_time_is_rounded_to_microseconds_and_stops_at_a_year() {
    let measured = Duration::from(time::Duration::from_nanos(1_600));
    assert_eq!(time::Duration::from(measured), time::Duration::from_micros(2));
    let aeons = Duration::from(time::Duration::MAX);
    assert_eq!(aeons.to_string(), "8760h");
    assert_eq!(aeons.to_string().parse(), Ok(aeons));
}
