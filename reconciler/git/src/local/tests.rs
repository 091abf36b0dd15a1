use std::path::{Path, PathBuf};

use notify::Event;
use notify::event::{AccessKind, CreateKind, EventKind, ModifyKind, RenameMode};

use super::{News, news, places};

fn seen(kind: EventKind, paths: &[&str]) -> News {
    let event = paths.iter().fold(Event::new(kind), |event, path| event.add_path(PathBuf::from(path)));
    news(&event, Path::new("/srv/fleet.git"))
}

#[test]
fn only_refs_and_the_way_to_them_are_news() {
    let renamed = EventKind::Modify(ModifyKind::Name(RenameMode::To));
    for path in ["refs/heads/main", "packed-refs", "HEAD", "refs/tags/v1", ".git/refs/heads/main"] {
        assert_eq!(seen(renamed, &[&format!("/srv/fleet.git/{path}")]), News::Changed, "{path}");
    }
    for path in ["refs/heads/main.lock", "packed-refs.lock", "objects/12/34", "config", "logs/HEAD", "FETCH_HEAD"] {
        assert_eq!(seen(renamed, &[&format!("/srv/fleet.git/{path}")]), News::Nothing, "{path}");
    }
    assert_eq!(seen(renamed, &["/srv/other.git/HEAD"]), News::Nothing);
    assert_eq!(seen(EventKind::Create(CreateKind::Folder), &["/srv"]), News::Grown);
    assert_eq!(seen(EventKind::Create(CreateKind::Folder), &["/srv/fleet.git/refs/heads/team"]), News::Grown);
}

#[test]
fn reading_is_no_news() {
    assert_eq!(seen(EventKind::Access(AccessKind::Any), &["/srv/fleet.git/refs/heads/main"]), News::Nothing);
}

#[test]
fn a_repository_that_is_not_there_is_waited_for_in_the_nearest_folder_that_is() {
    let folder = tempfile::tempdir().unwrap();
    let repository = folder.path().join("a/b/fleet.git");
    assert_eq!(places(&repository)[0].0, folder.path());
    std::fs::create_dir_all(folder.path().join("a")).unwrap();
    assert_eq!(places(&repository)[0].0, folder.path().join("a"));
    std::fs::create_dir_all(repository.join("refs")).unwrap();
    let found: Vec<_> = places(&repository).into_iter().map(|(path, _)| path).collect();
    assert_eq!(found, [folder.path().join("a/b"), repository.join("refs"), repository]);
}
