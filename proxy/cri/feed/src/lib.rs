//! Brings the NodeHooks of a node to its CRI proxy, and reports how they do. One of all feeds sums up each NodeHook.
//!
//! Owns which hooks a node gets, what its last good revision is, and the statuses. It is not in the path of any call: the
//! proxy reads a file, and what was last written to it holds without the feed and without the API server.

pub mod args;
mod condition;
mod disk;
mod edge;
mod feed;
mod leader;
mod lower;
mod metrics;
mod node;
mod rollup;
mod selection;
mod sight;
mod status;
