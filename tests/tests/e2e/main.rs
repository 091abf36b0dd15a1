//! End-to-end tests with servers that take long to build. `make e2e` runs them; `cargo test` alone does not.

mod dns;
