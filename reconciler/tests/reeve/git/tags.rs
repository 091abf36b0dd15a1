//! Tags that libgit2 cannot read: some of them Git can, and of the others it is told which.

use k8s_openapi::ByteString;
use reeve_crds::Reason;
use reeve_crds::git_source::VerifyMode;
use reeve_reconciler_git::TrustedKeys;
use reeve_tests::{GitRepository, SigningKey};

use crate::git::fixture::{Fixture, main, request, semver, tag};

/// A tag as nobody's Git writes it today.
fn raw_tag(git: &GitRepository, name: &str, text: &str) {
    let repository = git2::Repository::open_bare(git.path()).unwrap();
    let id = repository.odb().unwrap().write(git2::ObjectType::Tag, text.as_bytes()).unwrap();
    repository.reference(&format!("refs/tags/{name}"), id, true, "test").unwrap();
}

#[tokio::test]
async fn a_tag_that_git_reads_and_libgit2_does_not_is_a_tag() {
    let git = GitRepository::create().unwrap();
    let key = SigningKey::ssh().unwrap();
    git.sign_with(Some(&key)).unwrap();
    let first = git.publish(&[("a", "1")]).unwrap();
    raw_tag(&git, "v1.0.0", &format!("object {first}\ntype commit\ntag v1.0.0\ntagger nobody\n\nOne\n"));
    let data = [("ann.sshpub".to_owned(), ByteString(key.public().as_bytes().to_vec()))];
    let keys = TrustedKeys::from_secret(&data.into()).unwrap();
    let http = git.serve_http(None).unwrap();
    for url in [git.file_url(), http.url()] {
        let fixture = Fixture::new();
        let tagged = request(&url, semver("1.x"));
        let found = fixture.fetch(&tagged).await;
        assert_eq!(found.commit.id, first.as_str(), "{url}");
        let place = fixture.repository();
        let objects = fixture.mirrors.signed_objects(&url, &found).unwrap();
        let check = |mode| keys.check(mode, &objects, "2030-01-01T00:00:00Z".parse().unwrap());
        check(VerifyMode::Head).unwrap();
        let error = check(VerifyMode::Tag).unwrap_err();
        assert!(error.to_string().starts_with("tag v1.0.0 is not signed"), "{error}");
        let again = fixture.fetch(&tagged).await;
        assert_eq!((again.received_objects, again.rebuilt), (0, false), "{url}: there is nothing new");
        // It is not in the way of what comes next.
        let next = git.publish(&[("a", &url)]).unwrap();
        assert_eq!(fixture.fetch(&request(&url, main())).await.commit.id, next.as_str(), "{url}");
        assert_eq!(fixture.repository(), place, "{url}: the mirror was made anew");
    }
}

#[tokio::test]
async fn a_tag_that_nobody_can_read_is_named_and_costs_no_mirror() {
    let git = GitRepository::create().unwrap();
    let first = git.publish(&[("a", "1")]).unwrap();
    raw_tag(&git, "v1.0.0", &format!("object {first}\nkind commit\n"));
    let (fixture, url) = (Fixture::new(), git.file_url());
    fixture.fetch(&request(&url, main())).await;
    let place = fixture.repository();
    for reference in [tag("v1.0.0"), semver("1.x"), tag("v1.0.0")] {
        let error = fixture.refused(&request(&url, reference)).await;
        assert_eq!((error.reason(), error.reason().is_transient()), (Reason::RefNotFound, false), "{error}");
        assert!(error.to_string().contains("tag `v1.0.0` cannot be read: make it anew"), "{error}");
    }
    assert_eq!(fixture.fetch(&request(&url, main())).await.commit.id, first.as_str());
    assert_eq!(fixture.repository(), place, "the mirror was made anew");
}
