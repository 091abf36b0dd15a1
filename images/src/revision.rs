//! Which commit an image is built from, and when that was made.

use std::path::Path;
use std::process::Command;

use jiff::Timestamp;

use crate::command;
use crate::error::ImageError;

/// A commit of the checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Twelve digits; `-dirty` follows if the checkout has changes that are not committed.
    pub commit: String,
    /// When it was committed: the only time that gets into an image.
    pub time: Timestamp,
}

impl Revision {
    /// Asks git.
    pub fn of(checkout: &Path) -> Result<Self, ImageError> {
        let git = |args: &[&str]| {
            let text = command::text(Command::new("git").args(args).current_dir(checkout), "install git")?;
            Ok::<_, ImageError>(text.trim().to_owned())
        };
        let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
        let seconds = git(&["log", "-1", "--format=%ct"])?.parse().unwrap_or(0);
        let is_clean = git(&["status", "--porcelain"])?.is_empty();
        let time = Timestamp::from_second(seconds).map_err(|source| ImageError::Time { seconds, source })?;
        Ok(Self { commit: if is_clean { commit } else { format!("{commit}-dirty") }, time })
    }

    pub fn is_dirty(&self) -> bool {
        self.commit.ends_with("-dirty")
    }
}
