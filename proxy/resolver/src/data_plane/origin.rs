//! Whether a caller is a pod of this cluster, by its address. Pure, but for [`follow_nodes`].

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use futures::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use tracing::warn;

/// A range of addresses, such as `10.244.0.0/16`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

/// Text that names no range of addresses.
#[derive(Clone, Debug, thiserror::Error)]
#[error("`{0}` is not a range of addresses; write one such as 10.244.0.0/16")]
pub struct NetworkError(String);

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let wrong = || NetworkError(text.to_owned());
        let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
        let (address, prefix): (IpAddr, u8) =
            (address.parse().map_err(|_| wrong())?, prefix.parse().map_err(|_| wrong())?);
        let longest = if address.is_ipv4() { 32 } else { 128 };
        if prefix > longest { Err(wrong()) } else { Ok(Self { address, prefix }) }
    }
}

impl Network {
    fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let shift = 32 - u32::from(self.prefix);
                own.to_bits().checked_shr(shift) == other.to_bits().checked_shr(shift)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let shift = 128 - u32::from(self.prefix);
                own.to_bits().checked_shr(shift) == other.to_bits().checked_shr(shift)
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

/// Where the cluster's pods are.
#[derive(Debug, Default)]
pub(crate) struct PodNetworks {
    /// Said by whoever installed us.
    given: Vec<Network>,
    /// Said by nodes.
    found: ArcSwap<Vec<Network>>,
}

impl PodNetworks {
    pub(crate) fn new(given: Vec<Network>) -> Arc<Self> {
        Arc::new(Self { given, found: ArcSwap::default() })
    }

    /// An address of the older family may come in the form of the newer.
    pub(crate) fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let within = |network: &Network| network.contains(address);
        self.given.iter().any(within) || self.found.load().iter().any(within)
    }
}

/// Keeps the ranges that nodes have for their pods, for ever. Without the right to see nodes only those given count.
pub(crate) async fn follow_nodes(client: Client, networks: Arc<PodNetworks>) {
    let mut nodes = watcher(Api::<Node>::all(client), watcher::Config::default()).default_backoff().boxed();
    let mut known: BTreeMap<String, Vec<Network>> = BTreeMap::new();
    while let Some(event) = nodes.next().await {
        match event {
            Ok(watcher::Event::Init) => known.clear(),
            Ok(watcher::Event::Apply(node) | watcher::Event::InitApply(node)) => {
                let ranges = node.spec.as_ref().and_then(|spec| spec.pod_cidrs.clone()).unwrap_or_default();
                known.insert(node.name_any(), ranges.iter().filter_map(|range| range.parse().ok()).collect());
            }
            Ok(watcher::Event::Delete(node)) => drop(known.remove(&node.name_any())),
            Ok(watcher::Event::InitDone) => {}
            Err(error) => {
                warn!(error = %reeve_process::error_chain(&error), "cannot watch nodes: pods are known by --pod-network alone");
                continue;
            }
        }
        networks.found.store(Arc::new(known.values().flatten().copied().collect()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_pods_if_it_lies_in_one_of_the_ranges() {
        let given = ["10.244.0.0/16", "fd00:1::/64"].map(|text| text.parse().expect("a range"));
        let networks = PodNetworks::new(given.to_vec());
        for (address, wanted) in [
            ("10.244.3.4", true),
            ("::ffff:10.244.3.4", true),
            ("10.245.0.1", false),
            ("fd00:1::9", true),
            ("fd00:2::9", false),
        ] {
            assert_eq!(networks.contain(address.parse().expect("an address")), wanted, "{address}");
        }
        let all: Network = "0.0.0.0/0".parse().expect("a range");
        assert!(all.contains("8.8.8.8".parse().expect("an address")));
        for wrong in ["10.0.0.0", "10.0.0.0/33", "x/8", "::/129", ""] {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
    }
}
