//! The feed on a real node: kubelet speaks to the proxy, and hooks come from Git.

// Tells clippy that the functions behind the tests are test code too.
#![cfg(test)]

mod from_git;
mod installed;
mod place;
