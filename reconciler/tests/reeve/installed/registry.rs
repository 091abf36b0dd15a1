//! The image on its way through a registry, pinned by its digest.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use reeve_tests::assets::{self, Released};
use reeve_tests::{Image, Node, Server, Supervisor, eventually};

use crate::cli_cluster::install::install;

/// A registry on a free port of the host.
async fn start(supervisor: &Supervisor, program: &std::path::Path) -> SocketAddr {
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let (config, storage) = (supervisor.data().join("registry.yaml"), supervisor.data().join("registry"));
    let text = format!(
        "version: 0.1\nstorage: {{ filesystem: {{ rootdirectory: {} }} }}\nhttp: {{ addr: '{address}' }}\n",
        storage.display()
    );
    std::fs::write(&config, text).unwrap();
    let registry = Server::new("registry", program).args(["serve", &config.to_string_lossy()]);
    supervisor.spawn(registry).unwrap();
    eventually("the registry listens", || tokio::net::TcpStream::connect(address)).await;
    address
}

#[tokio::test]
#[ignore = "the registry takes long to build: run `make e2e`"]
async fn a_node_fetches_the_published_image_by_its_digest() {
    let Some(program) = assets::released(Released::Registry).unwrap() else { return };
    let node = Node::start().await.unwrap();
    let address = start(node.supervisor(), &program).await;
    let registry = format!("localhost:{}", address.port());
    let image = Image::shipped(env!("CARGO_BIN_EXE_reeve").as_ref()).unwrap();
    let digest = image.publish(&registry).unwrap();
    assert_eq!(image.publish(&registry).unwrap(), digest, "published twice");
    node.expose(address, address).await.unwrap();

    let (repository, pin) = (format!("image.repository={registry}/reeve"), format!("image.digest={digest}"));
    let args = ["--apply", "--wait", "--set", "replicas=1", "--set", &repository, "--set", &pin];
    install(&node, &args).await.with(0);
    let images =
        ["-n", "reeve-system", "get", "pods", "-o", "jsonpath={.items[*].status.containerStatuses[*].imageID}"];
    assert_eq!(node.kubectl(&images).await, format!("{registry}/reeve@{digest}"));
}
