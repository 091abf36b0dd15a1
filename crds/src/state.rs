//! The one word that says how something is doing, the same for every kind.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::closed_set;

/// How something governed by Reeve is doing.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
#[schemars(transform = closed_set)]
pub enum State {
    /// all of it is as Git says, and healthy.
    Ready,
    /// a change is under way or health is awaited; nothing to do.
    Processing,
    /// a person must act: something they wrote or own is in the way.
    Warning,
    /// Reeve failed and goes on trying.
    Error,
    /// it is being taken away.
    Deleting,
    /// someone asked Reeve to keep its hands off.
    Suspended,
    /// nothing was heard of it for three intervals; never to be read as Ready.
    // Also what a word of a newer version reads as: we do not know what it means, so it is not Ready.
    #[default]
    #[serde(other)]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::State;

    #[test]
    fn a_state_of_a_newer_version_reads_as_unknown() {
        let state: State = serde_json::from_str("\"Hibernating\"").unwrap();
        assert_eq!(state, State::Unknown);
    }
}
