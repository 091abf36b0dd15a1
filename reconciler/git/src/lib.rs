//! The repositories that are followed: one bare mirror per URL, kept up to date by a child process, and what tells of a
//! push.
//!
//! Which commit a reference means, whose signature counts, whose webhook call is genuine and what a Secret says are pure
//! decisions. libgit2's timeouts, authorities and home folder belong to a whole process, so everything that talks to a
//! server is in [`child`], a process of our own binary that can be killed. Nothing here knows of a cluster.

pub mod child;
mod credentials;
mod failure;
mod fetch;
mod known_hosts;
mod local;
mod metrics;
mod mirror;
mod receiver;
mod reference;
mod signature;
mod signed;
mod store;
mod tree;
mod webhook;
mod wire;

pub use credentials::{Credentials, CredentialsError, Login, Proxy, webhook_token};
pub use failure::FetchError;
pub use fetch::{FetchRequest, Fetched, Moved, Tag};
pub use local::watch_local;
pub use metrics::Metrics;
pub use mirror::{CommitFacts, MirrorError, Mirrors};
pub use receiver::{Hook, Hooks};
pub use reference::{Choice, Head, ReferenceError, choose, shown};
pub use signature::{
    KeysError, Refused as SignatureRefused, SignatureError, SignedBy, SignedObjects, Signer, TrustedKeys,
    is_signature_reason,
};
pub use tree::{CommitSummary, FolderTree, GitError, GitRepository, GitTree, UserCredentials, fetch_tree, local_path};
pub use webhook::{Refused, hook_id, verify};
