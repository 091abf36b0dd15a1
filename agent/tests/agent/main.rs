//! The agent on a real API server with real controllers. There is no kubelet: pods are said to be ready by the tests, and
//! templates have the sidecar that the injector would put there.

// Tells clippy that the functions behind the tests are test code too.
#![cfg(test)]

mod agent;
mod gates;
mod installed;
mod kills;
mod kinds;
mod kubelet;
mod place;
mod proxy;
mod reload;
mod restarts;
mod secrets;
