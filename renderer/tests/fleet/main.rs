//! The fleet repository as a whole: what is read, decided, rendered and refused, and with which words.

// Tells clippy that the functions behind the tests are test code too.
#![cfg(test)]

mod archives;
mod chart_yaml;
mod health;
mod helm;
mod messages;
mod policy;
mod properties;
mod rendering;
mod repository;
mod resolving;
