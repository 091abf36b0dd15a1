//! The proxy before real servers: containerd, an echo of grpc-go, plugins of Koordinator's protocol, a kubelet.

// Tells clippy that the functions behind the tests are test code too.
#![cfg(test)]

mod beside_koord;
mod differential;
mod docker;
mod hook_set;
mod hooks;
mod kills;
mod node;
mod own_protocol;
mod packages;
mod place;
mod upgrade;
