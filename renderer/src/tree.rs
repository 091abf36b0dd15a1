//! The files of a repository as the renderer sees them: names, ids and bytes.
//!
//! A folder, a Git tree at any commit and a map in memory are all the same to it. It opens nothing itself.

mod memory;

pub use memory::MemoryTree;
pub use reeve_renderer_objects::tree::{ContentId, Entry, EntryKind, Tree, TreeError, extension, join, walk};
