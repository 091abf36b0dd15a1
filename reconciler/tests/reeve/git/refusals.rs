//! Servers that do not let in, hosts that are not trusted, repositories that are not there: each with its own reason,
//! and none with a secret in what it says.

use reeve_crds::Reason;
use reeve_reconciler_git::{Credentials, FetchError, FetchRequest};
use reeve_tests::{BasicAuth, GitHttp, GitRepository, GitSsh};

use crate::git::fixture::{Fixture, branch, commit, credentials, main, named, request, semver, tag};

const PASSWORD: &str = "correct-horse";

fn one_commit() -> GitRepository {
    let git = GitRepository::create().unwrap();
    git.publish(&[("version", "1")]).unwrap();
    git
}

async fn refused(url: &str, credentials: Credentials) -> FetchError {
    Fixture::new().refused(&FetchRequest { credentials, ..request(url, main()) }).await
}

fn says_no_secret(error: &FetchError, secrets: &[&str]) {
    for secret in secrets {
        assert!(!error.to_string().contains(secret) && !format!("{error:?}").contains(secret), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_refuses_a_password_or_a_token_is_told_apart_from_one_that_is_not_there() {
    let git = one_commit();
    let http = git.serve_http(Some(BasicAuth::new("annabel", PASSWORD))).unwrap();
    let url = http.url();
    let wrong = [
        credentials(&url, &[("username", "annabel"), ("password", "battery-staple")]),
        credentials(&url, &[("bearerToken", "battery-staple")]),
        Credentials::default(),
    ];
    for login in wrong {
        let error = refused(&url, login).await;
        assert_eq!((error.reason(), error.reason().is_transient()), (Reason::AuthenticationFailed, false), "{error}");
        says_no_secret(&error, &["battery-staple", "annabel"]);
    }
    let right = credentials(&url, &[("username", "annabel"), ("password", PASSWORD)]);
    let error = refused(&url.replace("repository", "nowhere"), right.clone()).await;
    assert_eq!(error.reason(), Reason::NotFound, "{error}");
    drop(http);
    let error = refused(&url, right).await;
    assert_eq!((error.reason(), error.reason().is_transient()), (Reason::Unreachable, true), "{error}");
    says_no_secret(&error, &[PASSWORD]);
}

#[tokio::test]
async fn a_token_lets_in() {
    let git = one_commit();
    let http = git.serve_http_with_token("t0k3n-of-ann").unwrap();
    let login = credentials(&http.url(), &[("bearerToken", "t0k3n-of-ann\n")]);
    let found = Fixture::new().fetch(&FetchRequest { credentials: login, ..request(&http.url(), main()) }).await;
    assert_eq!(found.commit.id, git.head().unwrap().as_str());
}

#[tokio::test]
async fn a_private_authority_is_trusted_only_when_the_secret_says_so() {
    let git = one_commit();
    let https = git.serve_https(Some(BasicAuth::new("ann", PASSWORD))).unwrap();
    let url = https.url();
    assert!(url.starts_with("https://"));
    let login = [("username", "ann"), ("password", PASSWORD)];
    let error = refused(&url, credentials(&url, &login)).await;
    assert_eq!(error.reason(), Reason::CertificateRefused, "{error}");
    let other = git.serve_https(None).unwrap();
    let trusting = |server: &GitHttp| credentials(&url, &[login[0], login[1], ("ca.crt", server.authority().unwrap())]);
    let error = refused(&url, trusting(&other)).await;
    assert_eq!(error.reason(), Reason::CertificateRefused, "{error}");
    let found = Fixture::new().fetch(&FetchRequest { credentials: trusting(&https), ..request(&url, main()) }).await;
    assert_eq!(found.commit.id, git.head().unwrap().as_str());
}

struct Keys {
    identity: String,
    known_hosts: String,
}

fn keys(ssh: &GitSsh) -> Keys {
    let read = |path| std::fs::read_to_string(path).unwrap();
    Keys { identity: read(ssh.private_key()), known_hosts: read(ssh.known_hosts()) }
}

#[tokio::test]
async fn a_host_key_that_is_unknown_or_has_changed_is_refused() {
    let git = one_commit();
    let (ssh, other) = (git.serve_ssh().await.unwrap(), git.serve_ssh().await.unwrap());
    let url = ssh.url();
    let (ours, theirs) = (keys(&ssh), keys(&other));
    let unknown = credentials(&url, &[("identity", &ours.identity), ("known_hosts", &theirs.known_hosts)]);
    let error = refused(&url, unknown).await;
    assert_eq!((error.reason(), error.reason().is_transient()), (Reason::HostKeyRefused, false), "{error}");
    assert!(error.to_string().contains("is not in `known_hosts`: its host key is ssh-ed25519 SHA256:"), "{error}");

    let port = |ssh: &GitSsh| ssh.address().port().to_string();
    let changed = theirs.known_hosts.replace(&port(&other), &port(&ssh));
    let changed = credentials(&url, &[("identity", &ours.identity), ("known_hosts", &changed)]);
    let error = refused(&url, changed).await;
    assert_eq!(error.reason(), Reason::HostKeyRefused, "{error}");
    assert!(error.to_string().contains("has changed"), "{error}");
}

#[tokio::test]
async fn a_key_that_the_server_does_not_know_is_refused_and_one_with_a_password_is_opened() {
    let git = one_commit();
    let (ssh, other) = (git.serve_ssh().await.unwrap(), git.serve_ssh().await.unwrap());
    let url = ssh.url();
    let (ours, theirs) = (keys(&ssh), keys(&other));
    let strange = credentials(&url, &[("identity", &theirs.identity), ("known_hosts", &ours.known_hosts)]);
    let error = refused(&url, strange).await;
    assert_eq!(error.reason(), Reason::AuthenticationFailed, "{error}");
    says_no_secret(&error, &theirs.identity.lines().skip(1).take(3).collect::<Vec<_>>());

    let folder = tempfile::tempdir().unwrap();
    let locked = folder.path().join("key");
    std::fs::copy(ssh.private_key(), &locked).unwrap();
    let mut lock = std::process::Command::new("ssh-keygen");
    lock.args(["-q", "-p", "-P", "", "-N", "opens-it", "-f"]).arg(&locked);
    assert!(lock.status().unwrap().success());
    let locked = std::fs::read_to_string(locked).unwrap();
    let with = |password: &str| {
        credentials(&url, &[("identity", &locked), ("known_hosts", &ours.known_hosts), ("password", password)])
    };
    let found = Fixture::new().fetch(&FetchRequest { credentials: with("opens-it"), ..request(&url, main()) }).await;
    assert_eq!(found.commit.id, git.head().unwrap().as_str());
    let error = refused(&url, with("battery-staple")).await;
    assert_eq!(error.reason(), Reason::AuthenticationFailed, "{error}");
    says_no_secret(&error, &["battery-staple"]);
}

#[tokio::test]
async fn a_repository_that_is_not_there_is_not_found_over_any_transport() {
    let git = one_commit();
    let ssh = git.serve_ssh().await.unwrap();
    let ours = keys(&ssh);
    let key = credentials(&ssh.url(), &[("identity", &ours.identity), ("known_hosts", &ours.known_hosts)]);
    let error = refused(&ssh.url().replace("repository.git", "nowhere.git"), key).await;
    assert_eq!(error.reason(), Reason::NotFound, "{error}");
    let error = refused(&git.file_url().replace("repository.git", "nowhere.git"), Credentials::default()).await;
    assert_eq!(error.reason(), Reason::NotFound, "{error}");
    let error = refused("gopher://host/x", Credentials::default()).await;
    assert_eq!(error.reason(), Reason::Unsupported, "{error}");
}

#[tokio::test]
async fn a_reference_that_means_nothing_is_told_and_so_is_an_empty_repository() {
    let git = GitRepository::create().unwrap();
    let http = git.serve_http(None).unwrap();
    for url in [git.file_url(), http.url()] {
        let error = Fixture::new().refused(&request(&url, main())).await;
        assert_eq!(error.reason(), Reason::EmptyRepository, "{error}");
    }
    git.publish(&[("version", "1")]).unwrap();
    git.git(&["tag", "folder", "HEAD^{tree}"]).unwrap();
    git.push().unwrap();
    for url in [git.file_url(), http.url()] {
        let fixture = Fixture::new();
        let nowhere = commit(&"ab".repeat(20));
        for reference in [branch("gone"), tag("gone"), semver("^9"), named("refs/gone"), nowhere, tag("folder")] {
            let error = fixture.refused(&request(&url, reference.clone())).await;
            assert_eq!(
                (error.reason(), error.reason().is_transient()),
                (Reason::RefNotFound, false),
                "{reference:?}: {error}"
            );
        }
        let error = fixture.refused(&request(&url, semver("newest"))).await;
        assert_eq!(error.reason(), Reason::InvalidRef, "{error}");
    }
}

/// A server that sends everyone on to another.
async fn redirecting(to: String) -> (String, tokio::task::JoinSet<()>) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/repository.git", listener.local_addr().unwrap());
    let mut work = tokio::task::JoinSet::new();
    work.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let location = format!("{to}/info/refs?service=git-upload-pack");
            let head = format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
            let _ = stream.write_all(head.as_bytes()).await;
        }
    });
    (url, work)
}

#[tokio::test]
async fn what_opens_one_server_is_not_shown_to_another_that_it_sends_us_to() {
    let git = one_commit();
    let http = git.serve_http(None).unwrap();
    let elsewhere = http.url().replace("127.0.0.1", "localhost");
    let (url, _work) = redirecting(elsewhere).await;
    for secret in [&[("bearerToken", "hunter2")][..], &[("username", "ann"), ("password", "hunter2")]] {
        let error = refused(&url, credentials(&url, secret)).await;
        assert!(error.to_string().contains("cannot redirect from '127.0.0.1' to 'localhost'"), "{error}");
    }
    assert_eq!(http.requests(), Vec::<String>::new());
    let found = Fixture::new().fetch(&request(&url, main())).await;
    assert_eq!(found.commit.id, git.head().unwrap().as_str());
}
