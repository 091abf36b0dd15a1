//! Every kind of reference over every transport, and how each lets in and refuses.

use reeve_crds::git_source::GitRef;
use reeve_reconciler_git::{Credentials, FetchRequest};
use reeve_tests::{BasicAuth, GitRepository, GitSsh};

use crate::git::fixture::{Fixture, branch, commit, credentials, main, named, request, semver, tag};

/// Three commits; the first is tagged v1.0.0, the second v1.1.0 with an object of its own and tops a branch.
fn versions() -> (GitRepository, Vec<String>) {
    let git = GitRepository::create().unwrap();
    let mut commits = vec![git.publish(&[("version", "1")]).unwrap().to_string()];
    git.tag("v1.0.0").unwrap();
    commits.push(git.publish(&[("version", "2")]).unwrap().to_string());
    git.annotated_tag("v1.1.0", "the second").unwrap();
    git.push().unwrap();
    git.git(&["push", "--quiet", "origin", "HEAD:refs/heads/feature/x", "HEAD:refs/pull/7/head"]).unwrap();
    commits.push(git.publish(&[("version", "3")]).unwrap().to_string());
    (git, commits)
}

async fn every_reference_is_found(git: &GitRepository, commits: &[String], url: &str, credentials: &Credentials) {
    let cases: [(GitRef, usize, &str); 8] = [
        (main(), 3, "main@"),
        (branch("feature/x"), 2, "feature/x@"),
        (tag("v1.0.0"), 1, "v1.0.0@"),
        (tag("v1.1.0"), 2, "v1.1.0@"),
        (semver("1.x"), 2, "v1.1.0@"),
        (commit(&commits[0]), 1, ""),
        (commit(&commits[1]), 2, ""),
        (named("refs/pull/7/head"), 2, "refs/pull/7/head@"),
    ];
    // Each in a mirror of its own, so that none profits from another; then all in one.
    let shared = Fixture::new();
    for (reference, version, shown) in cases {
        let fixture = Fixture::new();
        let request = FetchRequest { credentials: credentials.clone(), ..request(url, reference) };
        for fixture in [&fixture, &shared] {
            let found = fixture.fetch(&request).await;
            let id = &commits[version - 1];
            assert_eq!(found.commit.id, *id, "{:?} over {url}", request.reference);
            assert_eq!(found.revision, format!("{shown}{}", &id[..12]));
            assert_eq!(fixture.text(url, id, "version").as_deref(), Some(version.to_string().as_str()));
        }
    }
    assert_eq!(git.published("main").unwrap().as_str(), commits[2]);
}

#[tokio::test]
async fn every_kind_of_reference_is_found_in_a_repository_on_this_machine() {
    let (git, commits) = versions();
    every_reference_is_found(&git, &commits, &git.file_url(), &Credentials::default()).await;
}

#[tokio::test]
async fn every_kind_of_reference_is_found_over_http_with_a_password() {
    let (git, commits) = versions();
    let http = git.serve_http(Some(BasicAuth::new("ann", "correct-horse"))).unwrap();
    let login = credentials(&http.url(), &[("username", "ann"), ("password", "correct-horse")]);
    every_reference_is_found(&git, &commits, &http.url(), &login).await;
}

fn key(ssh: &GitSsh) -> (String, String) {
    let read = |path| std::fs::read_to_string(path).unwrap();
    (read(ssh.private_key()), read(ssh.known_hosts()))
}

#[tokio::test]
async fn every_kind_of_reference_is_found_over_ssh() {
    let (git, commits) = versions();
    let ssh = git.serve_ssh().await.unwrap();
    let (identity, known_hosts) = key(&ssh);
    let login = credentials(&ssh.url(), &[("identity", &identity), ("known_hosts", &known_hosts)]);
    every_reference_is_found(&git, &commits, &ssh.url(), &login).await;
}
