//! Repositories as `reeve run` follows them: mirrors, the fetching child, webhooks, file events.

mod child;
mod contents;
mod damage;
mod disk;
mod events;
mod mirror;
mod processes;
mod proxy;
mod refusals;
mod scene;
mod signatures;
mod stall;
mod tags;
mod transports;
