//! How long ago something was, in the few letters that kubectl uses.

use k8s_openapi::jiff::Timestamp;

/// `45s`, `12m`, `7h`, `3d`; nothing before the beginning.
pub(super) fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(since.as_second()).max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_one_unit() {
        let at = |second| Timestamp::from_second(second).unwrap();
        for (seconds, shown) in
            [(-5, "0s"), (119, "119s"), (120, "2m"), (7_199, "119m"), (7_200, "2h"), (172_800, "2d"), (864_000, "10d")]
        {
            assert_eq!(age(at(1_000_000), at(1_000_000 + seconds)), shown);
        }
    }
}
