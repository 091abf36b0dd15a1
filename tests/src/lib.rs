//! Starts the real servers that tests and benchmarks talk to.
