//! Which Reeve this is: one version for all binaries, and the commit it was built from.
//!
//! `LONG` is what clap prints: `#[command(version = reeve_process::version::LONG)]`.

/// The version of every crate, image and chart of this release.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit as `REEVE_COMMIT` named it at build time or `git` did, else `unknown`. It says nothing of uncommitted
/// changes: cargo cannot know when these come and go.
pub const COMMIT: &str = env!("REEVE_BUILD_COMMIT");

/// Version and commit on one line.
pub const LONG: &str = concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("REEVE_BUILD_COMMIT"), ")");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_version_names_version_and_commit() {
        assert_eq!(LONG, format!("{VERSION} (commit {COMMIT})"));
        assert!(COMMIT == "unknown" || COMMIT.len() >= 7, "not a commit: {COMMIT}");
    }
}
