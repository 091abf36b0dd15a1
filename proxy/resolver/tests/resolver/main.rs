//! The resolver on a real node: kubelet, kube-proxy and pods are real, and so is every scale to zero.

// Tells clippy that the functions behind the tests are test code too.
#![cfg(test)]

mod behaviours;
mod beside_reeve;
mod client;
mod data_plane;
mod istio;
mod keda;
mod losses;
mod people;
mod place;
mod rights;
mod selection;
mod switching;
