//! Repositories as `reeve run` follows them: mirrors, the fetching child, webhooks, file events.

mod child;
mod contents;
mod damage;
mod disk;
mod events;
mod fixture;
mod mirror;
mod processes;
mod proxy;
mod refusals;
mod signatures;
mod stall;
mod tags;
mod transports;
