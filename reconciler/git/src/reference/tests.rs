use reeve_crds::git_source::GitRef;

use super::{Choice, Head, ReferenceError, choose, shown};

const FIRST: &str = "1111111111111111111111111111111111111111";
const SECOND: &str = "2222222222222222222222222222222222222222";
const TAG: &str = "3333333333333333333333333333333333333333";

fn heads(named: &[(&str, &str)]) -> Vec<Head> {
    named.iter().map(|(name, id)| Head { name: (*name).to_owned(), id: (*id).to_owned() }).collect()
}

fn some() -> Vec<Head> {
    heads(&[
        ("HEAD", SECOND),
        ("refs/heads/main", SECOND),
        ("refs/pull/7/head", FIRST),
        ("refs/tags/v1.2.0", FIRST),
        ("refs/tags/v1.10.0", TAG),
        ("refs/tags/v1.10.0^{}", SECOND),
        ("refs/tags/fleet/2.0.0", FIRST),
        ("refs/tags/nightly", FIRST),
    ])
}

fn branch(name: &str) -> GitRef {
    GitRef { branch: Some(name.to_owned()), ..GitRef::default() }
}

fn range(range: &str, prefix: Option<&str>) -> GitRef {
    GitRef { semver: Some(range.to_owned()), tag_prefix: prefix.map(str::to_owned), ..GitRef::default() }
}

fn choice(source: &str, commit: &str, name: &str) -> Choice {
    Choice { source: Some(source.to_owned()), commit: commit.to_owned(), tag: None, name: Some(name.to_owned()) }
}

fn annotated(choice: Choice) -> Choice {
    Choice { tag: Some(TAG.to_owned()), ..choice }
}

#[test]
fn every_kind_of_reference_finds_its_commit() {
    let tag = |name: &str| GitRef { tag: Some(name.to_owned()), ..GitRef::default() };
    let name = GitRef { name: Some("refs/pull/7/head".to_owned()), ..GitRef::default() };
    let cases = [
        (branch("main"), choice("refs/heads/main", SECOND, "main")),
        (tag("v1.2.0"), choice("refs/tags/v1.2.0", FIRST, "v1.2.0")),
        (tag("v1.10.0"), annotated(choice("refs/tags/v1.10.0", SECOND, "v1.10.0"))),
        (range("1.x", None), annotated(choice("refs/tags/v1.10.0", SECOND, "v1.10.0"))),
        (range("<1.5", None), choice("refs/tags/v1.2.0", FIRST, "v1.2.0")),
        (range(">=1", Some("fleet/")), choice("refs/tags/fleet/2.0.0", FIRST, "fleet/2.0.0")),
        (name, choice("refs/pull/7/head", FIRST, "refs/pull/7/head")),
    ];
    for (reference, wanted) in cases {
        assert_eq!(choose(&reference, &some()), Ok(wanted), "{reference:?}");
    }
}

#[test]
fn a_commit_is_asked_for_through_a_ref_that_points_to_it_or_else_by_its_id() {
    let commit = |id: &str| GitRef { commit: Some(id.to_owned()), ..GitRef::default() };
    let found = choose(&commit(FIRST), &some()).unwrap();
    assert_eq!((found.source.as_deref(), found.name), (Some("refs/pull/7/head"), None));
    let elsewhere = "4".repeat(40);
    assert_eq!(choose(&commit(&elsewhere), &some()).unwrap().source, None);
}

#[test]
fn what_is_not_there_is_named_with_what_is() {
    let error = choose(&branch("master"), &some()).unwrap_err();
    assert_eq!(error.to_string(), "there is no branch `master`; there are main");
    let error = choose(&range("^9", None), &some()).unwrap_err();
    assert!(error.to_string().starts_with("no tag `<version>` is in the range `^9`; there are "), "{error}");
    let error = choose(&range("^9", Some("none/")), &heads(&[("HEAD", FIRST)])).unwrap_err();
    assert_eq!(error.to_string(), "no tag `none/<version>` is in the range `^9`");
    let name = GitRef { name: Some("refs/x".to_owned()), ..GitRef::default() };
    assert_eq!(choose(&name, &some()), Err(ReferenceError::Name("refs/x".to_owned())));
}

#[test]
fn an_empty_repository_and_a_malformed_reference_are_told_apart_from_a_missing_branch() {
    assert_eq!(choose(&branch("main"), &[]), Err(ReferenceError::Empty));
    assert!(choose(&range("newest", None), &some()).unwrap_err().is_malformed());
    assert!(choose(&GitRef::default(), &some()).unwrap_err().is_malformed());
    assert!(!choose(&branch("x"), &some()).unwrap_err().is_malformed());
}

#[test]
fn a_revision_is_shown_with_twelve_digits() {
    assert_eq!(shown(Some("main"), "4f1c2aa90b3d9e01"), "main@4f1c2aa90b3d");
    assert_eq!(shown(None, "4f1c2aa90b3d9e01"), "4f1c2aa90b3d");
}
