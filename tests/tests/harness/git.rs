//! The real git client talks to the harness's repositories over every transport.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;

use anyhow::Result;
use reeve_tests::{BasicAuth, GitRepository, GitSsh};

use crate::faults::eventually_refused;

/// A repository with one commit, and a clone of it over some transport.
struct Clone<'a> {
    repository: &'a GitRepository,
    options: Vec<String>,
    path: PathBuf,
}

impl<'a> Clone<'a> {
    fn make(repository: &'a GitRepository, options: &[&str], url: &str) -> Result<Self> {
        let path = repository.supervisor().data().join("clone");
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        let this = Self { repository, options, path };
        this.git_in(".", &["clone", "--quiet", url, &this.path.display().to_string()])?;
        Ok(this)
    }

    fn git(&self, args: &[&str]) -> Result<String> {
        self.git_in(&self.path.display().to_string(), args)
    }

    fn git_in(&self, folder: &str, args: &[&str]) -> Result<String> {
        let options = self.options.iter().flat_map(|option| ["-c", option.as_str()]);
        let args: Vec<_> = ["-C", folder].into_iter().chain(options).chain(args.iter().copied()).collect();
        self.repository.git(&args)
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path.join(file)).unwrap()
    }
}

/// Clone, fetch and push, each seen on the other side.
fn clone_fetch_and_push(repository: &GitRepository, options: &[&str], url: &str) {
    let first = repository.publish(&[("apps/web.yaml", "replicas: 1\n")]).unwrap();
    let clone = Clone::make(repository, options, url).unwrap();
    assert_eq!(clone.git(&["rev-parse", "HEAD"]).unwrap(), first.as_str());
    assert_eq!(clone.read("apps/web.yaml"), "replicas: 1\n");

    let second = repository.publish(&[("apps/web.yaml", "replicas: 2\n")]).unwrap();
    clone.git(&["pull", "--quiet", "--ff-only"]).unwrap();
    assert_eq!(clone.git(&["rev-parse", "HEAD"]).unwrap(), second.as_str());
    assert_eq!(clone.read("apps/web.yaml"), "replicas: 2\n");

    clone.git(&["commit", "--quiet", "--allow-empty", "--message", "From the clone"]).unwrap();
    clone.git(&["push", "--quiet"]).unwrap();
    assert_eq!(repository.published("main").unwrap().as_str(), clone.git(&["rev-parse", "HEAD"]).unwrap());
}

fn secret() -> BasicAuth {
    BasicAuth::new("robot", "p@ss/word: 1")
}

/// The whole answer to a request without a body.
fn get(address: SocketAddr, target: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn the_same_calls_give_the_same_commit() {
    let [one, other] = [(); 2].map(|()| {
        let repository = GitRepository::create().unwrap();
        repository.commit(&[("a", "1")]).unwrap();
        repository.commit(&[("a", "2"), ("b/c", "3")]).unwrap()
    });
    assert_eq!(one, other);
}

#[test]
fn no_configuration_of_the_machine_leaks_in() {
    let repository = GitRepository::create().unwrap();
    let sources = repository.git(&["config", "--list", "--show-origin", "--name-only"]).unwrap();
    let strange = sources.lines().find(|line| !line.starts_with("file:.git/config") && !line.starts_with("command"));
    assert_eq!(strange, None);
}

#[test]
fn a_repository_is_served_over_file() {
    let repository = GitRepository::create().unwrap();
    clone_fetch_and_push(&repository, &[], &repository.file_url());
}

#[test]
fn a_repository_is_served_over_http_to_everyone() {
    let repository = GitRepository::create().unwrap();
    let server = repository.serve_http(None).unwrap();
    assert_eq!(server.url(), server.url_with_credentials());
    clone_fetch_and_push(&repository, &[], &server.url());
}

#[test]
fn a_repository_is_served_over_http_to_those_who_know_the_password() {
    let repository = GitRepository::create().unwrap();
    let server = repository.serve_http(Some(secret())).unwrap();
    clone_fetch_and_push(&repository, &[], &server.url_with_credentials());
    let fetch = "POST /repository.git/git-upload-pack";
    assert!(server.requests().iter().any(|request| request == fetch), "{:?}", server.requests());
}

#[test]
fn http_refuses_whoever_does_not_know_the_password() {
    let repository = GitRepository::create().unwrap();
    repository.publish(&[("a", "1")]).unwrap();
    let server = repository.serve_http(Some(secret())).unwrap();

    let wrong = server.url().replace("http://", "http://robot:guess@");
    let error = format!("{:#}", repository.git(&["ls-remote", &wrong]).unwrap_err());
    assert!(error.contains("fatal: Authentication failed for"), "{error}");
    let error = format!("{:#}", repository.git(&["ls-remote", &server.url()]).unwrap_err());
    assert!(error.contains("fatal: could not read Username for"), "{error}");

    let answer = get(server.address(), "/repository.git/info/refs?service=git-upload-pack", "").to_lowercase();
    assert!(answer.starts_with("http/1.1 401 unauthorized"), "{answer}");
    assert!(answer.contains("www-authenticate: basic realm="), "{answer}");
    assert!(server.requests().iter().all(|request| request.starts_with("GET ")), "{:?}", server.requests());
}

#[test]
fn http_speaks_the_protocol_version_that_is_asked_for() {
    let repository = GitRepository::create().unwrap();
    repository.publish(&[("a", "1")]).unwrap();
    let server = repository.serve_http(None).unwrap();
    let target = "/repository.git/info/refs?service=git-upload-pack";
    let answer = get(server.address(), target, "Git-Protocol: version=2\r\n");
    assert!(answer.contains("version 2"), "{answer}");
    assert!(!get(server.address(), target, "").contains("version 2"));
    assert!(get(server.address(), "/other.git/info/refs?service=git-upload-pack", "").starts_with("HTTP/1.1 404"));
}

#[test]
fn http_carries_chunked_and_compressed_bodies() {
    let repository = GitRepository::create().unwrap();
    // Git compresses requests above 1 KiB, which the names of thirty commits are.
    for number in 0..30 {
        repository.commit(&[("number", &number.to_string())]).unwrap();
        repository.tag(&format!("v{number}")).unwrap();
    }
    repository.push().unwrap();
    let server = repository.serve_http(None).unwrap();
    let clone = Clone::make(&repository, &[], &server.url()).unwrap();
    assert_eq!(clone.git(&["tag"]).unwrap().lines().count(), 30);

    // Git sends a push in chunks when it is above 1 MiB and so above `http.postBuffer`.
    let mut state = 1_u32;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    })
    .take(3 * 1024 * 1024)
    .collect();
    fs::write(clone.path.join("noise"), &noise).unwrap();
    clone.git(&["add", "noise"]).unwrap();
    clone.git(&["commit", "--quiet", "--message", "Noise"]).unwrap();
    clone.git(&["push", "--quiet"]).unwrap();
    repository.git(&["pull", "--quiet", "origin", "main"]).unwrap();
    assert!(fs::read(repository.work_tree().join("noise")).unwrap() == noise);
}

#[tokio::test]
async fn a_dropped_http_server_frees_its_port() {
    let repository = GitRepository::create().unwrap();
    let server = repository.serve_http(None).unwrap();
    let address = server.address();
    assert!(TcpStream::connect(address).is_ok());
    drop(server);
    eventually_refused(address).await;
}

#[tokio::test]
async fn a_repository_is_served_over_ssh() {
    let repository = GitRepository::create().unwrap();
    let server = repository.serve_ssh().await.unwrap();
    let ssh = format!("core.sshCommand={}", server.command());
    clone_fetch_and_push(&repository, &[&ssh], &server.url());
}

#[tokio::test]
async fn ssh_refuses_strange_keys_and_is_refused_with_a_strange_host_key() {
    let repository = GitRepository::create().unwrap();
    repository.publish(&[("a", "1")]).unwrap();
    let server = repository.serve_ssh().await.unwrap();
    let other = repository.serve_ssh().await.unwrap();
    let error_with = |command: String| {
        let ssh = format!("core.sshCommand={command}");
        format!("{:#}", repository.git(&["-c", &ssh, "ls-remote", &server.url()]).unwrap_err())
    };

    let error = error_with(GitSsh::command_with(&other.private_key(), &server.known_hosts()));
    assert!(error.contains("Permission denied (publickey)"), "{error}");

    let error = error_with(GitSsh::command_with(&server.private_key(), &other.known_hosts()));
    assert!(error.contains("No ED25519 host key is known for"), "{error}");

    let [port, others] = [&server, &other].map(|server| server.address().port().to_string());
    let forged = repository.supervisor().data().join("forged_hosts");
    fs::write(&forged, fs::read_to_string(other.known_hosts()).unwrap().replace(&others, &port)).unwrap();
    let error = error_with(GitSsh::command_with(&server.private_key(), &forged));
    assert!(error.contains("REMOTE HOST IDENTIFICATION HAS CHANGED"), "{error}");
    assert!(error.contains("Host key verification failed"), "{error}");
}

#[tokio::test]
async fn ssh_runs_nothing_but_git_and_ends_when_dropped() {
    let repository = GitRepository::create().unwrap();
    let server = repository.serve_ssh().await.unwrap();
    let ssh = format!("core.sshCommand={}", server.command());
    let escaped = repository.supervisor().data().join("escaped");
    let upload_pack = format!("--upload-pack=touch {};", escaped.display());
    let error = repository.git(&["-c", &ssh, "ls-remote", &upload_pack, &server.url()]).unwrap_err();
    assert!(format!("{error:#}").contains("fatal: unrecognized command"), "{error:#}");
    assert!(!escaped.exists());

    let address = server.address();
    drop(server);
    eventually_refused(address).await;
}

#[test]
fn a_rewritten_branch_is_seen_only_when_the_push_is_forced() {
    let repository = GitRepository::create().unwrap();
    let base = repository.publish(&[("a", "1")]).unwrap();
    let first = repository.publish(&[("a", "2")]).unwrap();
    let clone = Clone::make(&repository, &[], &repository.file_url()).unwrap();

    repository.reset_to(&base).unwrap();
    let rewritten = repository.commit(&[("a", "3")]).unwrap();
    let error = repository.push().unwrap_err();
    assert!(format!("{error:#}").contains("[rejected]"), "{error:#}");
    assert_eq!(repository.published("main").unwrap(), first);

    repository.force_push().unwrap();
    assert_eq!(repository.published("main").unwrap(), rewritten);
    clone.git(&["fetch", "--quiet"]).unwrap();
    assert_eq!(clone.git(&["rev-parse", "origin/main"]).unwrap(), rewritten.as_str());
}

#[test]
fn tags_and_branches_are_published_moved_and_deleted() {
    let repository = GitRepository::create().unwrap();
    let first = repository.commit(&[("a", "1")]).unwrap();
    repository.tag("light").unwrap();
    repository.annotated_tag("heavy", "A release").unwrap();
    repository.push().unwrap();
    assert_eq!(repository.published("refs/tags/light").unwrap(), first);
    assert_eq!(repository.published("refs/tags/heavy").unwrap(), first);
    let remote = repository.git(&["ls-remote", "origin"]).unwrap();
    assert!(remote.contains("refs/tags/heavy^{}") && !remote.contains("refs/tags/light^{}"), "{remote}");

    repository.branch("next").unwrap();
    let second = repository.publish(&[("a", "2")]).unwrap();
    repository.tag("light").unwrap();
    assert!(repository.push().is_err());
    repository.force_push().unwrap();
    assert_eq!(repository.published("refs/tags/light").unwrap(), second);
    assert_eq!(repository.published("next").unwrap(), second);
    assert_eq!(repository.published("main").unwrap(), first);

    repository.delete_tag("light").unwrap();
    repository.delete_branch("next").unwrap();
    repository.delete_branch("main").unwrap();
    assert!(repository.published("refs/tags/light").is_err());
    assert_eq!(repository.git(&["ls-remote", "--heads", "origin"]).unwrap(), "");
}

#[test]
fn removed_files_are_gone_from_the_next_commit() {
    let repository = GitRepository::create().unwrap();
    repository.commit(&[("kept", "1"), ("file", "1"), ("folder/file", "1")]).unwrap();
    repository.remove("file").unwrap();
    repository.remove("folder").unwrap();
    repository.publish(&[]).unwrap();
    let clone = Clone::make(&repository, &[], &repository.file_url()).unwrap();
    assert_eq!(clone.git(&["ls-files"]).unwrap(), "kept");
}

#[test]
fn files_go_with_the_last_of_repository_and_servers() {
    let repository = GitRepository::create().unwrap();
    repository.publish(&[("a", "1")]).unwrap();
    let server = repository.serve_http(None).unwrap();
    let path = repository.path().to_owned();
    drop(repository);
    assert!(path.exists());
    drop(server);
    assert!(!path.exists());
}
