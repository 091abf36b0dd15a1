use jiff::civil::DateTime;

use crate::budget::{Budget, Limits};
use crate::failure::Failure;
use crate::functions::Function;
use crate::value::Value;

use super::civil::Time;
use super::{date, date_in_zone, date_modify, duration_of, duration_round, to_date, unix_epoch};

fn call(function: Function, arguments: &[Value]) -> Result<Value, Failure> {
    function(&Budget::new(Limits::default()), arguments)
}

#[test]
fn every_day_of_ten_thousand_years_is_counted_once() {
    let first = Time { local: DateTime::constant(0, 1, 1, 0, 0, 0, 0), ..Time::ZERO }.seconds();
    for day in 0..3_652_425 {
        let seconds = first + day * 86_400;
        let time = Time::from_unix(seconds, 0, 0).unwrap();
        assert_eq!(time.seconds(), seconds);
        assert_eq!((time.local.hour(), time.local.minute(), time.local.second()), (0, 0, 0));
    }
    let after = Time::from_unix(first + 3_652_425 * 86_400, 0, 0);
    assert_eq!(after, None);
}

#[test]
fn a_time_is_text_that_can_be_passed_on() {
    let time = call(to_date, &["Jan 2 2006 15:04 -0700".into(), "Feb 29 2020 23:30 +0100".into()]).unwrap();
    assert_eq!(time, "2020-02-29T23:30:00+01:00".into());
    assert_eq!(call(date_modify, &["1.5h".into(), time.clone()]), Ok("2020-03-01T01:00:00+01:00".into()));
    assert_eq!(call(unix_epoch, &[time]), Ok("1583015400".into()));
}

#[test]
fn a_zone_is_utc_or_an_offset() {
    let shown = |zone: &str| call(date_in_zone, &["15:04 -07:00".into(), Value::Int(0), zone.into()]);
    assert_eq!(shown("Local"), Ok("00:00 +00:00".into()));
    assert_eq!(shown("-03:30"), Ok("20:30 -03:30".into()));
    assert_eq!(
        shown("Europe/Paris"),
        Err(Failure::argument("the zone `Europe/Paris` is not known: write UTC or an offset such as +02:00"))
    );
}

#[test]
fn what_is_no_time_is_never_the_present() {
    assert!(matches!(call(date, &["2006".into(), "yesterday".into()]), Err(Failure::Argument(_))));
    assert!(matches!(call(date, &["2006".into(), Value::Null]), Err(Failure::Argument(_))));
    assert!(matches!(call(duration_round, &["2020-01-01T00:00:00Z".into()]), Err(Failure::Argument(_))));
}

#[test]
fn a_time_beyond_four_digits_of_years_is_an_error() {
    for seconds in [i64::MIN, i64::MAX] {
        assert!(matches!(call(date, &["2006".into(), Value::Int(seconds)]), Err(Failure::Argument(_))));
    }
}

#[test]
fn durations_are_written_as_go_does() {
    assert_eq!(call(duration_of, &["3661".into()]), Ok("1h1m1s".into()));
    assert_eq!(call(duration_round, &["750h".into()]), Ok("1mo".into()));
}
