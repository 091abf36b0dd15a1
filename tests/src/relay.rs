//! A way from the host's loopback into a node's network namespace, and one out of it.
//!
//! A socket belongs to the namespace that made it: on the way in the supervisor opens one on the host and hands it to a
//! process inside, which accepts there and dials within. On the way out a process inside accepts, and hands what it hears
//! to a process on the host through a socket in a folder that both see.

use std::fs;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::control_plane::Place;
use crate::harness_binary;
use crate::supervisor::{Server, Supervisor, while_running};

/// What a process on the way out says when it can be dialled.
const LISTENS: &str = "listens";

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

/// Lets those inside reach `target`, an address of the host, at `at`.
pub(crate) async fn expose(supervisor: &Supervisor, inside: &str, at: SocketAddr, target: SocketAddr) -> Result<()> {
    let socket = supervisor.data().join(format!("exposed-{}", at.port())).display().to_string();
    let (at, target) = (at.to_string(), target.to_string());
    let ways = [
        (format!("exposed-outside-{at}"), ["leave", &socket, &target], None),
        (format!("exposed-inside-{at}"), ["enter", &at, &socket], Some(inside)),
    ];
    for (name, args, inside) in ways {
        let process = supervisor.spawn(Server::new(&name, harness_binary::path()?).args(args).inside(inside))?;
        while_running(&[&process], Duration::from_secs(30), "the way out is open", || async {
            let log = fs::read_to_string(process.log()).context("no log yet")?;
            if log.contains(LISTENS) { Ok(()) } else { bail!("it does not listen yet") }
        })
        .await?;
    }
    Ok(())
}

/// The inner half of a way out: accepts at an address and dials a socket in a folder, for ever.
pub(crate) fn enter(at: SocketAddr, socket: &Path) -> Result<()> {
    let listener = TcpListener::bind(at).with_context(|| format!("cannot listen on {at}"))?;
    println!("{LISTENS}");
    for client in listener.incoming() {
        let client = client.context("cannot accept")?;
        let socket = socket.to_owned();
        thread::spawn(move || {
            let Ok(server) = UnixStream::connect(socket) else { return };
            let _ = pass(client, server);
        });
    }
    Ok(())
}

/// The outer half of a way out: accepts at a socket in a folder and dials an address, for ever.
pub(crate) fn leave(socket: &Path, target: SocketAddr) -> Result<()> {
    let listener = UnixListener::bind(socket).with_context(|| format!("cannot listen on {}", socket.display()))?;
    println!("{LISTENS}");
    for client in listener.incoming() {
        let client = client.context("cannot accept")?;
        thread::spawn(move || {
            let Ok(server) = TcpStream::connect(target) else { return };
            let _ = pass(server, client);
        });
    }
    Ok(())
}

/// Both directions between a connection and a socket in a folder.
fn pass(tcp: TcpStream, unix: UnixStream) -> io::Result<()> {
    tcp.set_nodelay(true)?;
    let (mut from_tcp, mut to_unix) = (tcp.try_clone()?, unix.try_clone()?);
    let there = thread::spawn(move || {
        let _ = io::copy(&mut from_tcp, &mut to_unix);
        let _ = to_unix.shutdown(Shutdown::Write);
    });
    let (mut from_unix, mut to_tcp) = (unix, tcp);
    let _ = io::copy(&mut from_unix, &mut to_tcp);
    let _ = to_tcp.shutdown(Shutdown::Write);
    let _ = there.join();
    Ok(())
}

/// Accepts on the socket that is standard input and forwards each connection to `target`, for ever.
pub(crate) fn serve(target: SocketAddr) -> Result<()> {
    let socket = io::stdin().as_fd().try_clone_to_owned().context("no socket on standard input")?;
    let listener = TcpListener::from(socket);
    for client in listener.incoming() {
        let client = client.context("cannot accept")?;
        thread::spawn(move || {
            // A refused connection is the client's to see, as an end of stream; the log says why.
            match TcpStream::connect(target) {
                Ok(server) => {
                    let _ = forward(&client, &server);
                }
                Err(error) => println!("cannot connect to {target}: {error}"),
            }
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
