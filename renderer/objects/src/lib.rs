//! The words that the renderer shares with whoever feeds it files and whoever applies what it rendered.
//!
//! Owns objects and their keys, hooks, health rules, the bundle of a runtime, values, versions, diagnostics and the trait that a
//! tree of files is read by. Data and pure functions only; it knows no other room.

pub mod bundle;
pub mod diagnostic;
pub mod health;
pub mod hook;
pub mod key;
pub mod suggest;
pub mod tree;
pub mod value;
pub mod version;
