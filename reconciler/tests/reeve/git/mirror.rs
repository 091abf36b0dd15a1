//! What a mirror keeps, and what becomes of it when things go wrong.

use reeve_reconciler::git::{FetchRequest, Moved};
use reeve_tests::GitRepository;

use crate::git::scene::{Scene, main, request};

#[tokio::test]
async fn a_fetch_tells_how_the_branch_moved() {
    let git = GitRepository::create().unwrap();
    let first = git.publish(&[("a", "1")]).unwrap();
    let (scene, url) = (Scene::new(), git.file_url());
    let mut request = request(&url, main());
    assert_eq!(scene.fetch(&request).await.moved, Moved::First);
    request.last_seen = Some(first.to_string());
    let again = scene.fetch(&request).await;
    assert_eq!((again.moved, again.received_objects), (Moved::Unchanged, 0));
    let second = git.publish(&[("a", "2")]).unwrap();
    let found = scene.fetch(&request).await;
    assert_eq!((found.moved, found.commit.id.as_str()), (Moved::Forward, second.as_str()));
    assert_eq!(found.commit.author, "Reeve Tests <tests@reeve.invalid>");
    assert_eq!(found.commit.subject, "Change a");
    assert_eq!(found.commit.committed_at.unwrap().to_string(), "2026-01-01T00:00:01Z");
    git.reset_to(&first).unwrap();
    git.commit(&[("a", "3")]).unwrap();
    git.force_push().unwrap();
    let request = FetchRequest { last_seen: Some(second.to_string()), ..request };
    assert_eq!(scene.fetch(&request).await.moved, Moved::Rewritten { from: second.to_string() });
}
