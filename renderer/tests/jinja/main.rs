//! The template engine from outside: against minijinja's own, against hostile templates, and its messages.

// Tells clippy that the functions behind the tests are test code too.
#![cfg(test)]

mod differential;
mod facts;
mod features;
mod hostile;
mod messages;
mod random;
mod support;
