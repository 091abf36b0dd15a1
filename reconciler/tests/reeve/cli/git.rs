//! Revisions of repositories, here and elsewhere.

use reeve_tests::{BasicAuth, GitRepository};

use crate::cli::repository::{FLEET, Repository};

fn digest(repository: &Repository, args: &[&str]) -> String {
    repository.reeve(&[&["render", "-r", "eu-1", "-o", "digest"], args].concat()).with(0).out
}

#[test]
fn any_revision_renders_as_the_folder_did() {
    let repository = Repository::fleet();
    let first = repository.commit();
    repository.git(&["tag", "-a", "v1", "-m", "x"]);
    let old = digest(&repository, &[]);
    repository.change("layers/base.yaml", "replicas: 2", "replicas: 3");
    repository.commit();
    let new = digest(&repository, &[]);
    assert_ne!(old, new);
    let nowhere = Repository::empty();
    let url = format!("file://{}", repository.path().display());
    for rev in ["HEAD~1", "v1", &first, &first[..7], "main^"] {
        assert_eq!(digest(&repository, &["--rev", rev]), old, "{rev}");
        assert_eq!(digest(&nowhere, &["--git", &url, "--rev", rev]), old, "{rev}");
    }
    assert_eq!(digest(&nowhere, &["--git", repository.path().to_str().unwrap()]), new);
}

#[test]
fn a_bare_repository_is_read_where_it_is() {
    let repository = Repository::fleet();
    repository.commit();
    let bare = Repository::empty();
    bare.git(&["clone", "--quiet", "--bare", repository.path().to_str().unwrap(), "fleet.git"]);
    assert_eq!(digest(&bare, &["--git", "fleet.git", "--rev", "main"]), digest(&repository, &[]));
}

#[test]
fn credentials_of_a_url_are_never_printed() {
    let nowhere = Repository::empty();
    let url = "http://user:hunter2@127.0.0.1:1/fleet.git";
    let ended = nowhere.reeve(&["validate", "--git", url, "--timeout", "20s"]).with(2);
    assert!(ended.err.starts_with("error: cannot fetch http://[redacted]@127.0.0.1:1/fleet.git\n"), "{}", ended.err);
    assert!(!ended.err.contains("hunter2"), "{}", ended.err);
}

#[test]
fn a_server_that_never_answers_is_not_waited_for_longer_than_told() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://127.0.0.1:{}/x.git", listener.local_addr().unwrap().port());
    let nowhere = Repository::empty();
    let ended = nowhere.reeve(&["render", "--git", &url, "--timeout", "1s"]).with(2);
    assert_eq!(ended.err, format!("error: fetching {url} took longer than 1 s\n"));
}

/// The small fleet with three commits, each with one replica more than the one before, and a tag on the second.
fn served() -> (GitRepository, Vec<String>) {
    let git = GitRepository::create().unwrap();
    let mut commits = vec![git.publish(FLEET).unwrap().to_string()];
    for replicas in [3, 4] {
        let layer = format!("kind: Layer\nvalues:\n  replicas: {replicas}\n");
        commits.push(git.commit(&[("layers/base.yaml", &layer)]).unwrap().to_string());
        if replicas == 3 {
            git.annotated_tag("v1", "x").unwrap();
        }
        git.push().unwrap();
    }
    (git, commits)
}

fn replicas(url: &str, rev: &str) -> i64 {
    let nowhere = Repository::empty();
    let args = ["render", "-r", "eu-1", "-o", "json", "--git", url, "--rev", rev];
    nowhere.reeve(&args).with(0).json()["items"][2]["spec"]["replicas"].as_i64().unwrap()
}

#[test]
fn every_kind_of_revision_is_fetched_over_http() {
    let (git, commits) = served();
    let http = git.serve_http(None).unwrap();
    let url = http.url();
    let cases = [("HEAD", 4), ("main", 4), ("refs/heads/main", 4), ("v1", 3), ("HEAD~2", 2), ("main^", 3), ("v1~1", 2)];
    for (rev, wanted) in cases {
        assert_eq!(replicas(&url, rev), wanted, "{rev}");
    }
    for (commit, wanted) in commits.iter().zip([2, 3, 4]) {
        assert_eq!(replicas(&url, commit), wanted, "{commit}");
        assert_eq!(replicas(&url, &commit[..9]), wanted, "the beginning of {commit}");
    }
    let ended = Repository::empty().reeve(&["render", "--git", &url, "--rev", "nope"]).with(2);
    assert!(ended.err.starts_with(&format!("error: there is no revision `nope` in {url}\n")), "{}", ended.err);
}

#[test]
fn a_password_comes_from_the_url_and_a_wrong_one_is_told() {
    let (git, _) = served();
    let http = git.serve_http(Some(BasicAuth::new("user", "correct-horse"))).unwrap();
    assert_eq!(replicas(&http.url_with_credentials(), "main"), 4);
    let nowhere = Repository::empty();
    for url in [http.url(), http.url_with_credentials().replace("horse", "mule")] {
        let ended = nowhere.reeve(&["render", "--git", &url]).with(2);
        assert!(ended.err.contains("the server asks for credentials"), "{}", ended.err);
        assert!(!ended.err.contains("mule"), "{}", ended.err);
    }
}

#[test]
fn what_was_fetched_is_removed_again() {
    let (git, _) = served();
    let http = git.serve_http(None).unwrap();
    let temporary = Repository::empty();
    let output = temporary.command(&["validate", "--git", &http.url()]).env("TMPDIR", temporary.path()).output();
    crate::cli::repository::ended(output.unwrap()).with(0);
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0);
}
