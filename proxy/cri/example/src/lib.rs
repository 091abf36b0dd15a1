//! An example of a plugin: gives pods resources by their class, refuses what has none, and sets after the start what the CRI
//! cannot carry.
//!
//! `classes` decides, `serve` speaks, `cgroup` writes. To be read from top to bottom by whoever writes a plugin.

pub mod args;
mod cgroup;
mod classes;
mod serve;
