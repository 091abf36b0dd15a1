//! Turns a fleet repository into the objects of each runtime.
//!
//! Owns the format of the repository, the merge of values and the template language. Pure: it never reads a clock, a
//! random number, the network, a cluster or a file of its own accord; the tree it renders is handed to it.

pub mod budget;
pub mod diagnostic;
pub mod failure;
pub mod functions;
pub mod tree;
pub mod value;
pub mod yaml;
