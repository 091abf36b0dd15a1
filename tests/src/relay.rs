//! A way from the host's loopback into a node's network namespace.
//!
//! A socket belongs to the namespace that made it: the supervisor opens one on the host and hands it to a process inside,
//! which accepts there and dials within.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::thread;

use anyhow::{Context, Result};

use crate::control_plane::Place;
use crate::harness_binary;
use crate::supervisor::{Server, Supervisor};

/// The address at which the host reaches `port` of a control plane.
pub(crate) fn host_address(supervisor: &Supervisor, place: &Place, port: u16) -> Result<SocketAddr> {
    let target = SocketAddr::from((place.address, port));
    match &place.inside {
        None => Ok(target),
        Some(inside) => open(supervisor, inside, target),
    }
}

/// Forwards a free loopback port of the host to `target` as seen from inside.
pub(crate) fn open(supervisor: &Supervisor, inside: &str, target: SocketAddr) -> Result<SocketAddr> {
    let name = format!("relay-{}-{}", target.ip(), target.port());
    let server =
        Server::new(&name, harness_binary::path()?).args(["relay", &target.to_string()]).inside(Some(inside)).listen();
    supervisor.spawn(server)?.listens_on().context("the relay listens on nothing")
}

/// Accepts on the socket that is standard input and forwards each connection to `target`, for ever.
pub(crate) fn serve(target: SocketAddr) -> Result<()> {
    let socket = io::stdin().as_fd().try_clone_to_owned().context("no socket on standard input")?;
    let listener = TcpListener::from(socket);
    for client in listener.incoming() {
        let client = client.context("cannot accept")?;
        thread::spawn(move || {
            // A refused connection is the client's to see, as an end of stream.
            let Ok(server) = TcpStream::connect(target) else { return };
            let _ = forward(&client, &server);
        });
    }
    Ok(())
}

fn forward(client: &TcpStream, server: &TcpStream) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_server) = (client.try_clone()?, server.try_clone()?);
    let up = thread::spawn(move || copy(&from_client, &to_server));
    copy(server, client);
    let _ = up.join();
    Ok(())
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
