//! The fleet repository that people copy, and the pages that teach it: all of it must render, and render the same.

#![cfg(test)]

mod charts_page;
mod fleet;
mod fleet_page;
mod golden;
mod page;
mod repository;
