//! What may be in a commit that is no plain file.

use reeve_renderer::tree::{EntryKind, Tree as _};
use reeve_tests::GitRepository;

use crate::git::fixture::{Fixture, main, request};

#[tokio::test]
async fn a_submodule_and_a_pointer_of_lfs_are_seen_as_what_they_are() {
    let other = GitRepository::create().unwrap();
    let elsewhere = other.publish(&[("x", "1")]).unwrap();
    let git = GitRepository::create().unwrap();
    let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 9\n", "ab".repeat(32));
    git.commit(&[("a", "1"), ("model.bin", &pointer)]).unwrap();
    let entry = format!("160000,{elsewhere},vendor");
    git.git(&["update-index", "--add", "--cacheinfo", &entry]).unwrap();
    git.git(&["commit", "--quiet", "--message", "Add a submodule"]).unwrap();
    git.push().unwrap();
    let http = git.serve_http(None).unwrap();
    for url in [git.file_url(), http.url()] {
        let fixture = Fixture::new();
        let commit = fixture.fetch(&request(&url, main())).await.commit.id;
        let tree = fixture.mirrors.tree(&url, &commit, "").unwrap();
        let kinds: Vec<_> = tree.list("").unwrap().into_iter().map(|entry| (entry.name, entry.kind)).collect();
        assert!(matches!(kinds[2].1, EntryKind::Other("a submodule")), "{kinds:?}");
        assert_eq!(*tree.read("model.bin").unwrap().unwrap(), *pointer.as_bytes());
    }
}
