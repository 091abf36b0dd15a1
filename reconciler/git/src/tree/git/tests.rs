use super::fetch::{attempts, local_path};

#[test]
fn a_branch_or_tag_is_asked_for_one_commit_deep_and_a_tag_wins() {
    let [only] = attempts("v1").try_into().unwrap();
    assert_eq!(only.depth, 1);
    assert_eq!(only.refspecs, ["+refs/tags/v1:refs/reeve/refs/tags/v1", "+refs/heads/v1:refs/reeve/refs/heads/v1"]);
    assert_eq!(only.names, ["refs/reeve/refs/tags/v1", "refs/reeve/refs/heads/v1"]);
}

#[test]
fn a_revision_that_walks_history_gets_the_history() {
    let [only] = attempts("HEAD~2").try_into().unwrap();
    assert_eq!((only.depth, only.names), (0, vec!["refs/reeve/HEAD~2".to_owned()]));
    let [only] = attempts("main^").try_into().unwrap();
    assert_eq!(only.names, ["refs/reeve/refs/tags/main^", "refs/reeve/refs/heads/main^"]);
}

#[test]
fn a_full_id_is_asked_for_by_itself_and_a_short_one_among_everything() {
    let id = "a".repeat(40);
    let [by_itself, everything] = attempts(&id).try_into().unwrap();
    assert_eq!(by_itself.refspecs, [format!("+{id}:refs/reeve/commit")]);
    assert_eq!((everything.depth, everything.refspecs.len()), (0, 2));
    let [name, everything] = attempts("abc123").try_into().unwrap();
    assert_eq!(name.refspecs.len(), 2, "a branch may look like an id");
    assert_eq!(everything.names, ["abc123"]);
}

#[test]
fn only_paths_and_file_urls_are_local() {
    assert_eq!(local_path("file:///srv/fleet.git").unwrap().to_str(), Some("/srv/fleet.git"));
    assert_eq!(local_path("../fleet").unwrap().to_str(), Some("../fleet"));
    for remote in ["https://host/x", "ssh://git@host/x", "git@host:org/x.git"] {
        assert_eq!(local_path(remote), None, "{remote}");
    }
}
