//! How long a request says that it can wait. Pure.

use std::time::Duration;

use http::HeaderMap;

/// The shortest time that the request itself names: `grpc-timeout` as gRPC writes it, `x-request-timeout` in seconds or
/// with a unit (`30`, `1.5`, `500ms`). What cannot be read counts as not said.
pub(crate) fn own_timeout(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let grpc = text("grpc-timeout").and_then(grpc_timeout);
    let plain = text("x-request-timeout").and_then(request_timeout);
    match (grpc, plain) {
        (Some(grpc), Some(plain)) => Some(grpc.min(plain)),
        (one, other) => one.or(other),
    }
}

/// At most eight digits and a unit: <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>
fn grpc_timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(value * 3600),
        "M" => Duration::from_secs(value * 60),
        "S" => Duration::from_secs(value),
        "m" => Duration::from_millis(value),
        "u" => Duration::from_micros(value),
        "n" => Duration::from_nanos(value),
        _ => return None,
    })
}

fn request_timeout(text: &str) -> Option<Duration> {
    if let Ok(duration) = text.parse::<reeve_crds::Duration>() {
        return Some(duration.into());
    }
    let seconds: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value"))).collect()
    }

    #[test]
    fn the_shortest_time_that_can_be_read_counts() {
        let cases = [
            (vec![("grpc-timeout", "250m")], Some(Duration::from_millis(250))),
            (vec![("grpc-timeout", "2H")], Some(Duration::from_hours(2))),
            (vec![("grpc-timeout", "123456789S")], None),
            (vec![("grpc-timeout", "S")], None),
            (vec![("grpc-timeout", "")], None),
            (vec![("grpc-timeout", "5é")], None),
            (vec![("x-request-timeout", "1.5")], Some(Duration::from_millis(1500))),
            (vec![("x-request-timeout", "500ms")], Some(Duration::from_millis(500))),
            (vec![("x-request-timeout", "-1")], None),
            (vec![("x-request-timeout", "NaN")], None),
            (vec![("grpc-timeout", "3S"), ("x-request-timeout", "2")], Some(Duration::from_secs(2))),
            (vec![], None),
        ];
        for (given, wanted) in cases {
            let map: HeaderMap = given
                .iter()
                .filter_map(|(name, value)| {
                    Some((name.parse().ok()?, http::HeaderValue::from_bytes(value.as_bytes()).ok()?))
                })
                .collect();
            assert_eq!(own_timeout(&map), wanted, "{given:?}");
        }
        assert_eq!(own_timeout(&headers(&[("grpc-timeout", "9n")])), Some(Duration::from_nanos(9)));
    }
}
