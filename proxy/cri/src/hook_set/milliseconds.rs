//! Durations as whole milliseconds; a part of one counts as one.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer};

fn whole(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

pub(super) fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(whole(*duration))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    u64::deserialize(from).map(Duration::from_millis)
}

pub(super) mod optional {
    use super::{Deserialize, Deserializer, Duration, Serializer, whole};

    #[expect(clippy::ref_option, reason = "serde gives a reference to the field")]
    pub(in crate::hook_set) fn serialize<S: Serializer>(duration: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => to.serialize_some(&whole(*duration)),
            None => to.serialize_none(),
        }
    }

    pub(in crate::hook_set) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(Duration::from_millis))
    }
}
