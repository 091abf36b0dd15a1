//! Why a fetch failed, in the words of conditions and metrics.

use reeve_crds::Reason;

/// What people are told when the disk is full: paths of ours would tell them nothing more.
pub(super) const NO_ROOM_MESSAGE: &str = "there is no room left on the disk of the mirror";

/// A repository could not be fetched. Neither message nor URL holds credentials.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot fetch {url}: {message}")]
pub struct FetchError {
    pub(super) reason: Reason,
    pub(super) url: String,
    pub(super) message: String,
}

impl FetchError {
    /// Why, in one word.
    pub fn reason(&self) -> Reason {
        self.reason
    }
}
