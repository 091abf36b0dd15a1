//! Mirrors that were damaged: noticed, made anew, and never read as if they were whole.

use std::fs;
use std::path::{Path, PathBuf};

use reeve_renderer::tree::Tree as _;
use reeve_tests::GitRepository;

use crate::git::fixture::{Fixture, main, request};

fn packs(repository: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(repository.join("objects/pack")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|kind| kind == "pack" || kind == "idx")).collect()
}

/// Packs are written to be read only.
fn overwrite(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

fn break_packs(repository: &Path, change: fn(&mut Vec<u8>)) {
    for path in packs(repository) {
        overwrite(&path, change);
    }
}

type Damage = (&'static str, fn(&Path));

const DAMAGES: [Damage; 9] = [
    ("no packs", |repository| fs::remove_dir_all(repository.join("objects/pack")).unwrap()),
    ("no objects", |repository| fs::remove_dir_all(repository.join("objects")).unwrap()),
    ("no refs", |repository| fs::remove_dir_all(repository.join("refs")).unwrap()),
    ("no repository", |repository| fs::remove_dir_all(repository).unwrap()),
    ("a garbled HEAD", |repository| fs::write(repository.join("HEAD"), [0xff; 64]).unwrap()),
    ("a garbled config", |repository| fs::write(repository.join("config"), "[core\n\0").unwrap()),
    ("empty packs", |repository| break_packs(repository, Vec::clear)),
    ("half-written packs", |repository| break_packs(repository, |bytes| bytes.truncate(bytes.len() / 2))),
    ("garbled packs", |repository| {
        break_packs(repository, |bytes| bytes.iter_mut().skip(12).for_each(|byte| *byte ^= 0x5a));
    }),
];

#[tokio::test]
async fn a_damaged_mirror_is_made_anew_by_the_next_fetch() {
    let git = GitRepository::create().unwrap();
    git.publish(&[("a", "1"), ("b/c", "2")]).unwrap();
    let http = git.serve_http(None).unwrap();
    for url in [git.file_url(), http.url()] {
        for (what, damage) in DAMAGES {
            let fixture = Fixture::new();
            let first = fixture.fetch(&request(&url, main())).await.commit.id;
            damage(&fixture.repository());
            let found = fixture.mirrors.fetch(&request(&url, main())).await;
            let found = found.unwrap_or_else(|error| panic!("{what}, {url}: {error}"));
            assert_eq!(found.commit.id, first, "{what}");
            assert_eq!(fixture.text(&url, &first, "b/c").as_deref(), Some("2"), "{what}");
            let new = git.publish(&[("a", what)]).unwrap();
            assert_eq!(fixture.fetch(&request(&url, main())).await.commit.id, new.as_str(), "{what}");
        }
    }
}

#[tokio::test]
async fn a_single_damaged_file_is_noticed_by_its_reader_and_mended_by_the_next_fetch() {
    let git = GitRepository::create().unwrap();
    let id = git.publish(&[("a", "1"), ("b", "2")]).unwrap();
    let (fixture, url) = (Fixture::new(), git.file_url());
    fixture.fetch(&request(&url, main())).await;
    // As one loose object that is not what its name says, and no pack that has it.
    let mirror = git2::Repository::open_bare(fixture.repository()).unwrap();
    let loose = |content: &str| {
        let blob = git2::Oid::hash_object(git2::ObjectType::Blob, content.as_bytes()).unwrap().to_string();
        fixture.repository().join("objects").join(&blob[..2]).join(&blob[2..])
    };
    unpack(&mirror, &fixture.repository());
    overwrite(&loose("1"), |bytes| *bytes = fs::read(loose("2")).unwrap());
    let tree = fixture.mirrors.tree(&url, id.as_str(), "").unwrap();
    assert!(tree.read("a").is_err(), "it is not what its name says");
    drop(tree);
    assert_eq!(fixture.fetch(&request(&url, main())).await.commit.id, id.as_str());
    assert_eq!(fixture.text(&url, id.as_str(), "a").as_deref(), Some("1"));
}

/// Makes every object of the packs a file of its own.
fn unpack(mirror: &git2::Repository, folder: &Path) {
    let store = mirror.odb().unwrap();
    let mut all = Vec::new();
    store
        .foreach(|id| {
            all.push(*id);
            true
        })
        .unwrap();
    let objects: Vec<_> =
        all.iter().map(|id| store.read(*id).unwrap()).map(|o| (o.kind(), o.data().to_vec())).collect();
    for pack in packs(folder) {
        fs::remove_file(pack).unwrap();
    }
    let loose = git2::Repository::open_bare(folder).unwrap();
    for (kind, data) in objects {
        loose.odb().unwrap().write(kind, &data).unwrap();
    }
}
