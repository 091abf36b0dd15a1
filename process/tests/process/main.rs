//! Whole processes: started, signalled, stopped and resumed from outside, against the real API server.

#![expect(
    clippy::exit,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "test code throughout; the switches of clippy.toml see only functions marked as tests"
)]

mod child;
mod lease;
#[expect(dead_code, reason = "its `main` is for those who run it by hand")]
#[path = "../../examples/lease_holder.rs"]
mod lease_holder;
mod lifecycle;
