//! Without plugins the proxy is transparent: every call, through it and direct, is the same to its client.

use reeve_tests::assets::{self, Peer};
use reeve_tests::{ContainerRuntime, Image, Server, Supervisor};

use crate::place::{listening, peer, start_proxy};

#[tokio::test]
async fn differential_of_every_call_that_containerd_serves() {
    let runtime = ContainerRuntime::start().await.unwrap();
    let image = Image::busybox().unwrap();
    runtime.load(&image).unwrap();
    let supervisor = runtime.supervisor();
    let (_proxy, socket) =
        start_proxy(supervisor, "proxy", Some(runtime.inside()), &runtime.socket(), &supervisor.data().join("hooks"));
    listening(&socket).await;
    let direct = runtime.socket();
    let arguments = ["differential", "-image", image.name(), "-cgroup", runtime.cgroup(), "-direct"];
    let said =
        peer(&[&arguments[..], &[direct.to_str().unwrap(), "-through", socket.to_str().unwrap()]].concat()).await;
    print!("{said}");
    assert!(said.contains("differing=0"), "{said}");
}

#[tokio::test]
async fn differential_of_streams_huge_messages_errors_and_unknown_methods() {
    let supervisor = Supervisor::start("echo").unwrap();
    let (echo, hooks) = (supervisor.data().join("echo.sock"), supervisor.data().join("hooks"));
    let server =
        Server::new("echo", assets::peer(Peer::Cri).unwrap()).args(["echo", "-listen", echo.to_str().unwrap()]);
    supervisor.spawn(server).unwrap();
    let (_proxy, socket) = start_proxy(&supervisor, "proxy", None, &echo, &hooks);
    listening(&socket).await;
    let said = peer(&["differential", "-direct", echo.to_str().unwrap(), "-through", socket.to_str().unwrap()]).await;
    print!("{said}");
    assert!(said.contains("differing=0"), "{said}");
}
