//! What real `git` signed, as a mirror has it.

use k8s_openapi::ByteString;
use reeve_crds::Reason;
use reeve_crds::git_source::{GitRef, VerifyMode};
use reeve_reconciler_git::{FetchRequest, SignatureError, SignedBy, TrustedKeys};
use reeve_tests::{GitRepository, SigningKey};

use crate::git::fixture::{Fixture, main, request, semver, tag};

fn trusting(entry: &str, key: &SigningKey) -> TrustedKeys {
    let data = [(entry.to_owned(), ByteString(key.public().as_bytes().to_vec()))];
    TrustedKeys::from_secret(&data.into()).unwrap()
}

impl Fixture {
    /// Fetches, and looks who signed it.
    async fn signed(
        &self,
        request: &FetchRequest,
        mode: VerifyMode,
        keys: &TrustedKeys,
    ) -> Result<SignedBy, SignatureError> {
        let found = self.fetch(request).await;
        let objects = self.mirrors.signed_objects(&request.url, &found).unwrap();
        keys.check(mode, &objects, "2030-01-01T00:00:00Z".parse().unwrap())
    }
}

#[tokio::test]
async fn commits_that_git_signed_are_taken_by_their_key() {
    for (entry, key) in [("ann.sshpub", SigningKey::ssh().unwrap()), ("ann.asc", SigningKey::pgp().unwrap())] {
        let git = GitRepository::create().unwrap();
        git.sign_with(Some(&key)).unwrap();
        git.publish(&[("a", "1")]).unwrap();
        let (fixture, request) = (Fixture::new(), request(&git.file_url(), main()));
        let keys = trusting(entry, &key);
        let signed_by = fixture.signed(&request, VerifyMode::Head, &keys).await.unwrap().to_string();
        assert!(signed_by.contains(key.fingerprint()), "{signed_by}");
        // A merge is a commit with a signature of its own.
        git.branch("side").unwrap();
        git.commit(&[("b", "1")]).unwrap();
        git.switch("main").unwrap();
        git.sign_with(None).unwrap();
        git.commit(&[("c", "1")]).unwrap();
        git.sign_with(Some(&key)).unwrap();
        git.git(&["merge", "--no-ff", "--message", "Merge", "side"]).unwrap();
        git.push().unwrap();
        fixture.signed(&request, VerifyMode::Head, &keys).await.unwrap();
        git.sign_with(None).unwrap();
        git.publish(&[("a", "2")]).unwrap();
        let error = fixture.signed(&request, VerifyMode::Head, &keys).await.unwrap_err();
        assert_eq!(error.reason(), Reason::Unsigned);
    }
}

/// Signs tags with a key, and asks for them over a URL.
async fn tags_are_taken(git: &GitRepository, url: &str, entry: &str, key: &SigningKey) {
    let (fixture, keys) = (Fixture::new(), trusting(entry, key));
    let signed = |reference: GitRef, mode: VerifyMode| {
        let (fixture, keys, request) = (&fixture, &keys, request(url, reference));
        async move { fixture.signed(&request, mode, keys).await }
    };
    git.sign_with(Some(key)).unwrap();
    git.sign_with(None).unwrap();
    git.publish(&[("a", "1")]).unwrap();
    git.tag("light").unwrap();
    git.push().unwrap();
    let error = signed(tag("light"), VerifyMode::Tag).await.unwrap_err();
    assert!(error.to_string().starts_with("tag light is lightweight"), "{error}");
    // The commit is in the mirror by now: of these only the tag comes over.
    git.signed_tag("v1.0.0", "One").unwrap();
    git.annotated_tag("v0.9.0", "Zero").unwrap();
    git.push().unwrap();
    let signed_by = signed(tag("v1.0.0"), VerifyMode::Tag).await.unwrap().to_string();
    assert!(signed_by.contains(key.fingerprint()), "{signed_by}");
    assert_eq!(signed(tag("v0.9.0"), VerifyMode::Tag).await.unwrap_err().reason(), Reason::Unsigned);
    assert_eq!(signed(tag("v1.0.0"), VerifyMode::TagAndHead).await.unwrap_err().reason(), Reason::Unsigned);
    git.sign_with(Some(key)).unwrap();
    git.publish(&[("a", "2")]).unwrap();
    git.signed_tag("v1.1.0", "Two").unwrap();
    git.push().unwrap();
    signed(semver("1.x"), VerifyMode::TagAndHead).await.unwrap();
    // A tag of a tag.
    git.git(&["tag", "--sign", "--message", "Three", "v1.2.0", "v1.1.0"]).unwrap();
    git.push().unwrap();
    signed(semver("1.x"), VerifyMode::TagAndHead).await.unwrap();
    // A tag that is passed off as a newer one.
    git.git(&["update-ref", "refs/tags/v1.3.0", "v1.0.0"]).unwrap();
    git.push().unwrap();
    let error = signed(semver("1.x"), VerifyMode::Tag).await.unwrap_err();
    assert_eq!((error.reason(), error.to_string().contains("`v1.0.0`")), (Reason::WrongTag, true), "{error}");
}

#[tokio::test]
async fn tags_that_git_signed_are_taken_from_a_repository_on_this_machine() {
    let git = GitRepository::create().unwrap();
    tags_are_taken(&git, &git.file_url(), "ann.asc", &SigningKey::pgp().unwrap()).await;
}

#[tokio::test]
async fn tags_that_git_signed_are_taken_over_http() {
    let git = GitRepository::create().unwrap();
    let http = git.serve_http(None).unwrap();
    tags_are_taken(&git, &http.url(), "ann.sshpub", &SigningKey::ssh().unwrap()).await;
}

#[tokio::test]
async fn what_was_signed_outlives_the_renewal_of_a_mirror() {
    let git = GitRepository::create().unwrap();
    let key = SigningKey::ssh().unwrap();
    git.sign_with(Some(&key)).unwrap();
    git.publish(&[("a", "0")]).unwrap();
    git.signed_tag("inner", "Inner").unwrap();
    git.git(&["tag", "--sign", "--message", "One", "v1.0.0", "inner"]).unwrap();
    git.push().unwrap();
    let (fixture, keys, url) = (Fixture::new(), trusting("ann.sshpub", &key), git.file_url());
    let tagged = request(&url, tag("v1.0.0"));
    fixture.signed(&tagged, VerifyMode::TagAndHead, &keys).await.unwrap();
    let found = fixture.fetch(&tagged).await;
    let before = fixture.repository();
    git.sign_with(None).unwrap();
    let mut round = 0;
    while fixture.repository() == before {
        round += 1;
        assert!(round < 100, "the mirror is never renewed");
        git.publish(&[("a", &round.to_string())]).unwrap();
        fixture.fetch(&request(&url, main())).await;
    }
    let objects = fixture.mirrors.signed_objects(&url, &found).unwrap();
    keys.check(VerifyMode::TagAndHead, &objects, "2030-01-01T00:00:00Z".parse().unwrap()).unwrap();
}

#[tokio::test]
async fn a_commit_that_is_too_large_is_not_looked_at() {
    let git = GitRepository::create().unwrap();
    git.commit(&[("a", "1")]).unwrap();
    std::fs::write(git.work_tree().join("message"), "x\n".repeat(600 * 1024)).unwrap();
    git.git(&["commit", "--quiet", "--amend", "--file", "message"]).unwrap();
    git.push().unwrap();
    let (fixture, request) = (Fixture::new(), request(&git.file_url(), main()));
    let found = fixture.fetch(&request).await;
    let error = fixture.mirrors.signed_objects(&request.url, &found).unwrap_err();
    assert_eq!(error.reason(), Reason::BadSignature);
    assert!(error.to_string().contains("larger than 1024 KiB"), "{error}");
}
