//! Each fault of the forwarder, as both ends of a connection see it.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use reeve_tests::{Cluster, Forwarder, GitRepository, PATIENCE, eventually};

/// Long enough to notice bytes that should not have come; only a test that should fail is saved by less.
const SILENCE: Duration = Duration::from_millis(200);

/// A server whose connections the test holds itself.
fn listen() -> (TcpListener, Forwarder) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let forwarder = Forwarder::start(listener.local_addr().unwrap()).unwrap();
    (listener, forwarder)
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Both ends of a connection through the forwarder, proven to work.
fn pair(listener: &TcpListener, forwarder: &Forwarder) -> (TcpStream, TcpStream) {
    let mut client = connect(forwarder.address());
    let (mut server, _) = listener.accept().unwrap();
    server.set_read_timeout(Some(PATIENCE)).unwrap();
    send(&mut client, &mut server, b"hello");
    send(&mut server, &mut client, b"welcome");
    (client, server)
}

fn send(from: &mut TcpStream, to: &mut TcpStream, bytes: &[u8]) {
    from.write_all(bytes).unwrap();
    expect(to, bytes);
}

fn expect(stream: &mut TcpStream, bytes: &[u8]) {
    let mut read = vec![0; bytes.len()];
    stream.read_exact(&mut read).unwrap();
    assert_eq!(read, bytes);
}

fn expect_silence(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(SILENCE)).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
}

fn expect_end(stream: &mut TcpStream) {
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}

fn expect_reset(stream: &mut TcpStream) {
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
}

/// A closed socket listens on for a moment: in a process that another test has forked and that has not started its
/// program yet.
pub(crate) async fn eventually_refused(address: SocketAddr) {
    eventually("nobody listens any more", || async {
        match TcpStream::connect(address) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
}

#[test]
fn bytes_and_ends_pass_in_both_directions() {
    let (listener, forwarder) = listen();
    let (mut client, mut server) = pair(&listener, &forwarder);
    assert_eq!((forwarder.connections(), forwarder.bytes_to_target(), forwarder.bytes_to_client()), (1, 5, 7));

    client.shutdown(Shutdown::Write).unwrap();
    expect_end(&mut server);
    send(&mut server, &mut client, b"the other direction is still open");
    drop(server);
    expect_end(&mut client);
}

#[test]
fn more_than_all_buffers_hold_passes_unchanged() {
    let (listener, forwarder) = listen();
    let (mut client, mut server) = pair(&listener, &forwarder);
    let bytes: Vec<u8> = (0..16 * 1024 * 1024_u32).map(|number| number.to_be_bytes()[2]).collect();
    let sent = bytes.clone();
    let sender = std::thread::spawn(move || client.write_all(&sent));
    let mut received = Vec::new();
    server.read_to_end(&mut received).unwrap();
    sender.join().unwrap().unwrap();
    assert!(received == bytes);
}

#[test]
fn delayed_bytes_arrive_late_in_both_directions_and_in_order() {
    let delay = Duration::from_millis(100);
    let (listener, forwarder) = listen();
    let (mut client, mut server) = pair(&listener, &forwarder);
    forwarder.delay(delay);
    let started = Instant::now();
    send(&mut client, &mut server, b"there");
    assert!(started.elapsed() >= delay);
    client.write_all(b"slow, ").unwrap();
    send(&mut server, &mut client, b"back");
    assert!(started.elapsed() >= 2 * delay);
    forwarder.pass();
    client.write_all(b"then fast").unwrap();
    expect(&mut server, b"slow, then fast");
}

#[test]
fn a_black_hole_holds_bytes_and_ends_until_it_passes_again() {
    let (listener, forwarder) = listen();
    let (mut client, mut server) = pair(&listener, &forwarder);
    forwarder.black_hole();
    client.write_all(b"question").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    server.write_all(b"news").unwrap();
    expect_silence(&mut server);
    expect_silence(&mut client);

    forwarder.pass();
    expect(&mut server, b"question");
    expect_end(&mut server);
    expect(&mut client, b"news");
}

#[test]
fn a_black_hole_accepts_and_never_answers() {
    let (listener, forwarder) = listen();
    forwarder.black_hole();
    let mut client = connect(forwarder.address());
    client.write_all(b"anybody?").unwrap();
    expect_silence(&mut client);
    listener.set_nonblocking(true).unwrap();
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    listener.set_nonblocking(false).unwrap();

    forwarder.pass();
    let (mut server, _) = listener.accept().unwrap();
    expect(&mut server, b"anybody?");
}

#[test]
fn a_cut_is_an_end_of_stream_for_both_sides() {
    let (listener, forwarder) = listen();
    let (mut client, mut server) = pair(&listener, &forwarder);
    forwarder.cut();
    expect_end(&mut client);
    expect_end(&mut server);
    expect_end(&mut connect(forwarder.address()));

    forwarder.pass();
    pair(&listener, &forwarder);
}

#[test]
fn a_cut_is_no_reset_though_bytes_are_still_under_way() {
    let (listener, forwarder) = listen();
    let (mut client, mut server) = pair(&listener, &forwarder);
    forwarder.black_hole();
    client.write_all(b"lost").unwrap();
    server.write_all(b"lost").unwrap();
    forwarder.cut();
    expect_end(&mut client);
    expect_end(&mut server);
}

#[test]
fn a_reset_is_an_error_for_both_sides() {
    let (listener, forwarder) = listen();
    let (mut client, mut server) = pair(&listener, &forwarder);
    forwarder.reset();
    expect_reset(&mut client);
    expect_reset(&mut server);
    expect_reset(&mut connect(forwarder.address()));

    forwarder.pass();
    pair(&listener, &forwarder);
}

#[test]
fn open_connections_end_and_new_ones_pass_when_a_cut_is_brief() {
    let (listener, forwarder) = listen();
    // So many that not all of them can have ended by chance.
    let mut pairs: Vec<_> = (0..200).map(|_| pair(&listener, &forwarder)).collect();
    forwarder.cut();
    forwarder.pass();
    pair(&listener, &forwarder);
    for (client, server) in &mut pairs {
        expect_end(client);
        expect_end(server);
    }
}

#[test]
fn a_connection_ends_after_so_many_bytes() {
    let (listener, forwarder) = listen();
    let welcomed = 7;
    forwarder.reset_after(welcomed + 4);
    let (mut client, mut server) = pair(&listener, &forwarder);
    server.write_all(b"half of it").unwrap();
    expect(&mut client, b"half");
    expect_reset(&mut client);

    forwarder.cut_after(welcomed + 4);
    let (mut client, mut server) = pair(&listener, &forwarder);
    server.write_all(b"half of it").unwrap();
    expect(&mut client, b"half");
    expect_end(&mut client);
}

#[test]
fn a_target_that_refuses_or_resets_is_passed_on_as_a_reset() {
    let (listener, forwarder) = listen();
    let (mut client, server) = pair(&listener, &forwarder);
    client.write_all(b"unread").unwrap();
    // Closing a socket with unread bytes resets it.
    server.peek(&mut [0]).unwrap();
    drop(server);
    expect_reset(&mut client);

    drop(listener);
    expect_reset(&mut connect(forwarder.address()));
}

#[tokio::test]
async fn a_dropped_forwarder_ends_connections_and_frees_its_port() {
    let (listener, forwarder) = listen();
    let (mut client, _server) = pair(&listener, &forwarder);
    let address = forwarder.address();
    drop(forwarder);
    expect_end(&mut client);
    eventually_refused(address).await;
}

#[test]
fn a_clone_that_is_broken_off_fails_and_the_next_one_works() {
    let repository = GitRepository::create().unwrap();
    repository.publish(&[("a", &"1".repeat(4096))]).unwrap();
    let server = repository.serve_http(None).unwrap();
    let forwarder = Forwarder::start(server.address()).unwrap();
    let url = server.url_at(forwarder.address());
    let folder = repository.supervisor().data().join("clone").display().to_string();

    // The answer to a clone's first request is longer than this.
    forwarder.reset_after(100);
    let error = repository.git(&["clone", "--quiet", &url, &folder]).unwrap_err();
    assert!(format!("{error:#}").contains("fatal:"), "{error:#}");
    forwarder.pass();
    repository.git(&["clone", "--quiet", &url, &folder]).unwrap();
}

#[tokio::test]
async fn a_kube_client_fails_while_its_connection_is_cut_and_recovers() {
    let cluster = Cluster::shared().await;
    let namespace = cluster.namespace("forwarder").await;
    let forwarder = Forwarder::to_cluster(cluster).await.unwrap();
    let client = Client::try_from(forwarder.config(cluster).unwrap()).unwrap();
    let api: Api<ConfigMap> = Api::namespaced(client, &namespace);

    let mut object = ConfigMap::default();
    object.metadata.name = Some("through".into());
    api.create(&PostParams::default(), &object).await.unwrap();
    assert!(forwarder.bytes_to_target() > 0);

    for fault in [Forwarder::cut, Forwarder::reset] {
        fault(&forwarder);
        api.get("through").await.unwrap_err();
        forwarder.pass();
        eventually("the client is back", || api.get("through")).await;
    }

    forwarder.black_hole();
    let params = ListParams::default();
    let mut list = Box::pin(api.list(&params));
    tokio::time::timeout(SILENCE, &mut list).await.unwrap_err();
    forwarder.pass();
    assert!(list.await.unwrap().items.iter().any(|object| object.metadata.name.as_deref() == Some("through")));
}
