//! Turns a fleet repository into the objects of each runtime.
//!
//! Owns the format of the repository, the merge of values and the template language. Pure: it never reads a clock, a
//! random number, the network, a cluster or a file of its own accord; the tree it renders is handed to it.

pub mod affected;
pub mod budget;
pub mod bundle;
mod bytes;
pub mod cache;
pub mod diff;
pub mod explain;
pub mod failure;
pub mod findings;
pub mod fleet;
pub mod functions;
pub mod names;
mod number;
pub mod object;
pub mod released;
pub mod render;
pub mod resolve;
pub mod schema;
pub mod template;
pub mod tree;
pub mod yaml;

pub use reeve_renderer_objects::{diagnostic, suggest, value};
