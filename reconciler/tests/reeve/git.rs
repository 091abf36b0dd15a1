//! Repositories as `reeve run` follows them: mirrors, the fetching child, webhooks, file events.

mod mirror;
mod scene;
mod transports;
