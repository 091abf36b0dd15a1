//! The fetching process: ended in time, ended with its parent, and never missed.

use std::process::Stdio;
use std::time::Duration;

use reeve_crds::Reason;
use reeve_reconciler_git::FetchRequest;
use reeve_tests::{Forwarder, GitRepository, PATIENCE, eventually};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::process::Command;

use crate::git::fixture::{Fixture, credentials, main, noise, request};
use crate::git::processes::{children_of, kill, unreaped};
use crate::git::stall::Stall;

const SHORT: Duration = Duration::from_secs(2);

fn repository() -> GitRepository {
    let git = GitRepository::create().unwrap();
    git.publish(&[("a", "1"), ("big", &"0123456789abcdef\n".repeat(4000))]).unwrap();
    git
}

#[tokio::test]
async fn a_server_that_hangs_at_any_point_is_left_at_the_deadline_and_no_process_stays() {
    let git = repository();
    let (http, https) = (git.serve_http(None).unwrap(), git.serve_https(None).unwrap());
    let ssh = git.serve_ssh().await.unwrap();
    let read = |path| std::fs::read_to_string(path).unwrap();
    let key = [("identity", read(ssh.private_key())), ("known_hosts", read(ssh.known_hosts()))];
    let mut cases = Vec::new();
    // At once, in a handshake, in the head of an answer, in the list of refs, in the pack.
    for bytes in [0, 20, 200, 700] {
        cases.push((bytes, http.address(), http.url(), Vec::new()));
        cases.push((bytes, https.address(), https.url(), vec![("ca.crt", https.authority().unwrap().to_owned())]));
    }
    for bytes in [0, 20, 900, 1600, 2600] {
        cases.push((bytes, ssh.address(), ssh.url(), key.to_vec()));
    }
    let all = cases.into_iter().map(|(bytes, address, url, secret)| async move {
        let stall = Stall::after(bytes, address).await;
        let port = |address: std::net::SocketAddr| address.port().to_string();
        let replaced = |text: &str| text.replace(&port(address), &port(stall.address));
        let secret: Vec<(&str, String)> = secret.iter().map(|(key, value)| (*key, replaced(value))).collect();
        let secret: Vec<(&str, &str)> = secret.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let url = replaced(&url);
        let mut hanging = FetchRequest { timeout: SHORT, ..request(&url, main()) };
        if !secret.is_empty() {
            hanging.credentials = credentials(&url, &secret);
        }
        let fixture = Fixture::new();
        let error = fixture.refused(&hanging).await;
        assert_eq!(
            (error.reason(), error.reason().is_transient()),
            (Reason::TimedOut, true),
            "{bytes} bytes of {url}: {error}"
        );
        assert_eq!(children_of(fixture.data()), Vec::<i32>::new(), "{bytes} bytes of {url}");
    });
    futures::future::join_all(all).await;
}

#[tokio::test]
async fn a_connection_that_ends_at_any_point_is_tried_again_later_and_leaves_the_mirror_as_it_was() {
    let git = GitRepository::create().unwrap();
    let first = git.publish(&[("a", "1")]).unwrap();
    let http = git.serve_http(None).unwrap();
    let forwarder = Forwarder::start(http.address()).unwrap();
    let url = http.url_at(forwarder.address());
    let (fixture, request) = (Fixture::new(), request(&url, main()));
    fixture.fetch(&request).await;
    let second = git.publish(&[("big", &noise(1, 4000))]).unwrap();
    for bytes in [0, 20, 200, 500, 900, 5_000, 30_000] {
        for reset in [false, true] {
            if reset {
                forwarder.reset_after(bytes);
            } else {
                forwarder.cut_after(bytes);
            }
            let error = fixture.refused(&request).await;
            assert!(error.reason().is_transient(), "after {bytes} bytes: {error}");
            assert_eq!(fixture.text(&url, first.as_str(), "a").as_deref(), Some("1"));
        }
    }
    forwarder.pass();
    assert_eq!(fixture.fetch(&request).await.commit.id, second.as_str());
}

#[tokio::test]
async fn a_child_that_is_killed_in_the_middle_leaves_a_mirror_that_can_be_used() {
    let git = repository();
    let http = git.serve_http(None).unwrap();
    let forwarder = Forwarder::start(http.address()).unwrap();
    let url = http.url_at(forwarder.address());
    let fixture = Fixture::new();
    let first = fixture.fetch(&request(&url, main())).await.commit.id;
    let second = git.publish(&[("a", "2")]).unwrap();
    forwarder.black_hole();
    let request = request(&url, main());
    let fetch = fixture.mirrors.fetch(&request);
    let killed = async {
        let pid = eventually("the child is there", || async {
            children_of(fixture.data()).first().copied().ok_or("no child")
        });
        kill(pid.await);
    };
    let (outcome, ()) = tokio::join!(fetch, killed);
    let error = outcome.unwrap_err();
    assert_eq!((error.reason(), error.reason().is_transient()), (Reason::FetchAborted, true), "{error}");
    assert_eq!(fixture.text(&url, &first, "a").as_deref(), Some("1"));
    forwarder.pass();
    assert_eq!(fixture.fetch(&request).await.commit.id, second.as_str());
}

#[tokio::test]
async fn a_fetch_that_nobody_waits_for_any_more_is_ended() {
    let git = repository();
    let http = git.serve_http(None).unwrap();
    let forwarder = Forwarder::start(http.address()).unwrap();
    forwarder.black_hole();
    let (fixture, request) = (Fixture::new(), request(&http.url_at(forwarder.address()), main()));
    {
        let fetch = fixture.mirrors.fetch(&request);
        let started = eventually("the child is there", || async {
            children_of(fixture.data()).first().copied().ok_or("no child")
        });
        tokio::select! {
            outcome = fetch => panic!("{outcome:?}"),
            _ = started => {}
        }
    }
    eventually("the child is gone", || async {
        let (left, dead) = (children_of(fixture.data()), unreaped());
        if left.is_empty() && dead.is_empty() { Ok(()) } else { Err(format!("{left:?} {dead:?}")) }
    })
    .await;
}

#[tokio::test]
async fn a_child_ends_when_its_parent_is_gone() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let url = format!("http://{}/x.git", silent.local_addr().unwrap());
    let line = serde_json::json!({
        "folder": folder.path(), "url": url, "reference": {"branch": "main"}, "login": "Anonymous",
        "authority": null, "proxy": null, "last_seen": null, "suspect": false,
    });
    let mut child = Command::new(env!("CARGO_BIN_EXE_reeve"))
        .arg("fetch-child")
        .env("HOME", folder.path().join("home"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    let (mut connection, _) = silent.accept().await.unwrap();
    assert_eq!(connection.read(&mut [0; 1]).await.unwrap(), 1, "it is asking");
    drop(input);
    let status = tokio::time::timeout(PATIENCE, child.wait()).await.expect("it goes on").unwrap();
    assert!(!status.success(), "{status}");
}

#[tokio::test]
async fn a_child_is_given_secrets_by_its_input_alone() {
    let git = repository();
    let http = git.serve_http(None).unwrap();
    let forwarder = Forwarder::start(http.address()).unwrap();
    forwarder.black_hole();
    let url = http.url_at(forwarder.address());
    let login = credentials(&url, &[("username", "annabel"), ("password", "correct-horse")]);
    let fixture = Fixture::new();
    let request = FetchRequest { credentials: login, ..request(&url, main()) };
    let looked = async {
        let pid = eventually("the child is there", || async {
            children_of(fixture.data()).first().copied().ok_or("no child")
        })
        .await;
        for file in ["cmdline", "environ"] {
            let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            assert!(!text.is_empty() && !text.contains("correct-horse") && !text.contains("annabel"), "{text}");
        }
        forwarder.pass();
    };
    let (outcome, ()) = tokio::join!(fixture.mirrors.fetch(&request), looked);
    outcome.unwrap();
    let mut files = vec![fixture.data().to_owned()];
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let bytes = std::fs::read(&path).unwrap();
            assert!(!bytes.windows(13).any(|window| window == b"correct-horse"), "{}", path.display());
        }
    }
}
