//! Tests of the harness itself.

mod bad_input;
mod building;
mod control_plane;
mod endings;
mod faults;
mod git;
mod layout;
mod node;
