//! The proxy before real servers: containerd, an echo of grpc-go, plugins of Koordinator's protocol, a kubelet.

// Tells clippy that the functions behind the tests are test code too.
#![cfg(test)]

mod differential;
mod hooks;
mod kills;
mod node;
mod place;
mod upgrade;
