//! Rust types of every Reeve kind.
