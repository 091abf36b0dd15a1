//! The messages that hooks need, written by hand: fields by number, and none that nobody reads here. What a message has
//! besides stays in the bytes that it came in.

pub(crate) mod cri;
pub(crate) mod hook;
