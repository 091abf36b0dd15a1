use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use git2::{IndexAddOption, Repository};
use reeve_renderer_objects::tree::{EntryKind, Tree as _, walk};

use super::FolderTree;
use crate::tree::GitRepository;

fn write(root: &Path, path: &str, text: &str) {
    let file = root.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// A repository with all that can be in one, and its tree as Git has it.
fn committed(root: &Path) -> crate::tree::GitTree {
    let repository = Repository::init(root).unwrap();
    let mut index = repository.index().unwrap();
    index.add_all(["*"], IndexAddOption::DEFAULT, None).unwrap();
    let tree = repository.find_tree(index.write_tree().unwrap()).unwrap();
    let author = git2::Signature::new("a", "a@b", &git2::Time::new(0, 0)).unwrap();
    repository.commit(Some("HEAD"), &author, &author, "x", &tree, &[]).unwrap();
    GitRepository::open(root).unwrap().tree("HEAD", "").unwrap()
}

#[test]
fn a_folder_has_the_ids_that_git_gives_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root, "fleet.yaml", "kind: Fleet\n");
    // Git's order of `a`, `a.b` and `a-b` depends on which of them is a folder.
    for path in ["charts/a/1.0.0/Chart.yaml", "charts/a.b/x", "charts/a-b/x", "charts/a/1.0.0/files/run.sh"] {
        write(root, path, path);
    }
    fs::set_permissions(root.join("charts/a/1.0.0/files/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("../x", root.join("charts/a/link")).unwrap();
    fs::create_dir_all(root.join("charts/empty/1.0.0/templates")).unwrap();
    let git = committed(root);
    let folder = FolderTree::open(root).unwrap();
    for path in ["", "charts", "charts/a", "charts/a/1.0.0", "charts/empty", "nowhere"] {
        assert_eq!(folder.list(path).unwrap(), git.list(path).unwrap(), "{path}");
    }
    assert_eq!(walk(&folder, "charts").unwrap().len(), 5);
    assert_eq!(folder.read("fleet.yaml").unwrap(), git.read("fleet.yaml").unwrap());
}

#[test]
fn a_link_is_neither_followed_nor_read() {
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), "secret.yaml", "x");
    write(folder.path(), "runtimes/a.yaml", "x");
    symlink(outside.path(), folder.path().join("layers")).unwrap();
    symlink(outside.path().join("secret.yaml"), folder.path().join("runtimes/b.yaml")).unwrap();
    let tree = FolderTree::open(folder.path()).unwrap();
    assert!(tree.list("layers").unwrap().is_empty());
    assert_eq!(tree.read("layers/secret.yaml").unwrap(), None);
    assert_eq!(tree.read("runtimes/b.yaml").unwrap(), None);
    assert_eq!(tree.list("runtimes").unwrap()[1].kind, EntryKind::Other("a symbolic link"));
}

#[test]
fn what_does_not_belong_to_a_fleet_is_not_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "fleet.yaml", "x");
    write(folder.path(), "target/huge", "x");
    write(folder.path(), ".git/config", "x");
    let tree = FolderTree::open(folder.path()).unwrap();
    let names: Vec<_> = tree.list("").unwrap().into_iter().map(|entry| entry.name.to_string()).collect();
    assert_eq!(names, ["fleet.yaml"]);
}
