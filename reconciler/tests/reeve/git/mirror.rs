//! What a mirror brings over, tells and keeps.

use reeve_crds::Reason;
use reeve_reconciler_git::{FetchRequest, Moved};
use reeve_renderer::tree::Tree as _;
use reeve_tests::{Forwarder, GitRepository};

use crate::git::fixture::{Fixture, main, noise, request};

#[tokio::test]
async fn a_fetch_tells_how_the_branch_moved() {
    let git = GitRepository::create().unwrap();
    let first = git.publish(&[("a", "1")]).unwrap();
    let (fixture, url) = (Fixture::new(), git.file_url());
    let mut request = request(&url, main());
    assert_eq!(fixture.fetch(&request).await.moved, Moved::First);
    request.last_seen = Some(first.to_string());
    let again = fixture.fetch(&request).await;
    assert_eq!((again.moved, again.received_objects), (Moved::Unchanged, 0));
    let second = git.publish(&[("a", "2")]).unwrap();
    let found = fixture.fetch(&request).await;
    assert_eq!((found.moved, found.commit.id.as_str()), (Moved::Forward, second.as_str()));
    assert_eq!(found.commit.author, "Reeve Tests <tests@reeve.invalid>");
    assert_eq!(found.commit.subject, "Change a");
    assert_eq!(found.commit.committed_at.unwrap().to_string(), "2026-01-01T00:00:01Z");
    git.reset_to(&first).unwrap();
    git.commit(&[("a", "3")]).unwrap();
    git.force_push().unwrap();
    let request = FetchRequest { last_seen: Some(second.to_string()), ..request };
    assert_eq!(fixture.fetch(&request).await.moved, Moved::Rewritten { from: second.to_string() });
}

#[tokio::test]
async fn only_what_is_new_comes_over_http_and_nothing_when_nothing_is() {
    let git = GitRepository::create().unwrap();
    git.publish(&[("big", &noise(1, 40_000))]).unwrap();
    let http = git.serve_http(None).unwrap();
    let forwarder = Forwarder::start(http.address()).unwrap();
    let url = http.url_at(forwarder.address());
    let (fixture, request) = (Fixture::new(), request(&url, main()));
    let bytes = async || {
        let before = forwarder.bytes_to_client();
        let found = fixture.fetch(&request).await;
        (forwarder.bytes_to_client() - before, found.received_objects)
    };
    let (whole, objects) = bytes().await;
    assert!(whole > 200_000 && objects == 3, "{whole} bytes, {objects} objects");
    git.publish(&[("small", "1")]).unwrap();
    let (some, objects) = bytes().await;
    assert!(some < 10_000 && objects == 3, "{some} bytes, {objects} objects");
    let before = http.requests().len();
    let (none, objects) = bytes().await;
    assert!(none < 2_000 && objects == 0, "{none} bytes, {objects} objects");
    let asked = http.requests().split_off(before);
    assert_eq!(asked, ["GET /repository.git/info/refs?service=git-upload-pack"]);
}

#[tokio::test]
async fn only_what_is_new_is_copied_from_a_repository_on_this_machine() {
    let git = GitRepository::create().unwrap();
    git.publish(&[("a/b/c", "1"), ("d", "x")]).unwrap();
    git.branch("other").unwrap();
    git.publish(&[("other", &noise(2, 1000))]).unwrap();
    git.annotated_tag("v1", "other").unwrap();
    git.push().unwrap();
    git.switch("main").unwrap();
    let (fixture, request) = (Fixture::new(), request(&git.file_url(), main()));
    assert_eq!(fixture.fetch(&request).await.received_objects, 6, "the commit, three folders, two files");
    git.publish(&[("d", "2")]).unwrap();
    assert_eq!(fixture.fetch(&request).await.received_objects, 3, "a commit, a folder, a file");
}

#[tokio::test]
async fn what_is_in_force_stays_readable_whatever_becomes_of_its_branch() {
    let git = GitRepository::create().unwrap();
    let first = git.publish(&[("a", "1")]).unwrap();
    let lost = git.publish(&[("a", "2")]).unwrap();
    let (fixture, url) = (Fixture::new(), git.file_url());
    fixture.fetch(&request(&url, main())).await;
    fixture.mirrors.keep_commit(&url, "team/fleet", lost.as_str()).unwrap();
    git.reset_to(&first).unwrap();
    git.force_push().unwrap();
    let collect = ["-C", git.path().to_str().unwrap(), "-c", "gc.pruneExpire=now", "gc", "--quiet", "--prune=now"];
    git.git(&collect).unwrap();
    fixture.fetch(&request(&url, main())).await;
    assert_eq!(fixture.text(&url, lost.as_str(), "a").as_deref(), Some("2"));

    // Even when the mirror is made anew.
    let before = fixture.repository();
    std::fs::write(before.join("config"), "[core\n").unwrap();
    assert_eq!(fixture.fetch(&request(&url, main())).await.commit.id, first.as_str());
    assert_ne!(fixture.repository(), before);
    assert_eq!(fixture.text(&url, lost.as_str(), "a").as_deref(), Some("2"));
}

#[tokio::test]
async fn a_mirror_of_many_packs_becomes_one_and_loses_nothing_that_is_in_force() {
    let git = GitRepository::create().unwrap();
    let first = git.publish(&[("a", "first")]).unwrap();
    let lost = git.publish(&[("a", "lost")]).unwrap();
    let (fixture, url) = (Fixture::new(), git.file_url());
    let request = request(&url, main());
    fixture.fetch(&request).await;
    fixture.mirrors.keep_commit(&url, "fleet", lost.as_str()).unwrap();
    git.reset_to(&first).unwrap();
    git.force_push().unwrap();
    let before = fixture.repository();
    let packs = || {
        let folder = std::fs::read_dir(fixture.repository().join("objects/pack")).unwrap();
        folder.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|kind| kind == "pack")).count()
    };
    let mut newest = String::new();
    for number in 0..50 {
        assert_eq!(packs(), number + 1);
        newest = git.publish(&[("a", &number.to_string())]).unwrap().to_string();
        assert_eq!(fixture.fetch(&request).await.commit.id, newest);
    }
    assert_ne!(fixture.repository(), before);
    assert_eq!(packs(), 1);
    assert_eq!(fixture.text(&url, lost.as_str(), "a").as_deref(), Some("lost"));
    assert_eq!(fixture.text(&url, &newest, "a").as_deref(), Some("49"));
    git.publish(&[("a", "more")]).unwrap();
    assert_eq!(fixture.fetch(&request).await.received_objects, 3);
    assert!(!before.exists());
}

#[tokio::test]
async fn a_deleted_branch_is_an_error_and_what_was_fetched_of_it_is_still_there() {
    let git = GitRepository::create().unwrap();
    let only = git.publish(&[("a", "1")]).unwrap();
    git.branch("other").unwrap();
    git.push().unwrap();
    let (fixture, url) = (Fixture::new(), git.file_url());
    fixture.fetch(&request(&url, main())).await;
    git.delete_branch("main").unwrap();
    let error = fixture.refused(&request(&url, main())).await;
    assert_eq!(error.reason(), Reason::RefNotFound);
    assert!(error.to_string().ends_with("there is no branch `main`; there are other"), "{error}");
    assert_eq!(fixture.text(&url, only.as_str(), "a").as_deref(), Some("1"));
}

#[tokio::test]
async fn a_folder_of_a_commit_is_a_tree_of_its_own_and_one_that_is_not_there_is_no_empty_tree() {
    let git = GitRepository::create().unwrap();
    let commit = git.publish(&[("clusters/eu/fleet.yaml", "x"), ("other", "y")]).unwrap();
    let (fixture, url) = (Fixture::new(), git.file_url());
    fixture.fetch(&request(&url, main())).await;
    let tree = fixture.mirrors.tree(&url, commit.as_str(), "clusters/eu").unwrap();
    assert_eq!(tree.list("").unwrap().len(), 1);
    let error = fixture.mirrors.tree(&url, commit.as_str(), "clusters/us").unwrap_err();
    assert_eq!(error.reason(), Reason::PathNotFound);
    assert!(fixture.mirrors.tree(&url, &"ab".repeat(20), "").is_err());
    fixture.mirrors.release(&url, "nobody").unwrap();
    assert_eq!(fixture.mirrors.retain([url.as_str()]).unwrap(), 0, "it is followed");
    assert_eq!(fixture.mirrors.retain([]).unwrap(), 1, "nobody follows it");
    assert!(fixture.mirrors.tree(&url, commit.as_str(), "").is_err());
    assert_eq!(fixture.fetch(&request(&url, main())).await.commit.id, commit.as_str());
}

#[tokio::test]
async fn two_processes_fetch_into_one_mirror_one_after_the_other() {
    let git = GitRepository::create().unwrap();
    let commit = git.publish(&[("a", "1")]).unwrap();
    let http = git.serve_http(None).unwrap();
    let data = tempfile::tempdir().unwrap();
    // Two sets of mirrors know nothing of each other, as two processes do not.
    let all = (0..4).map(|_| {
        let (mirrors, request) = (Fixture::mirrors_in(data.path()), request(&http.url(), main()));
        async move { mirrors.fetch(&request).await.unwrap() }
    });
    let found = futures::future::join_all(all).await;
    assert!(found.iter().all(|found| found.commit.id == commit.as_str()));
    assert_eq!(found.iter().filter(|found| found.received_objects > 0).count(), 1);
}
