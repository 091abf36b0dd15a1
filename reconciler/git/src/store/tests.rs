use std::fs;

use super::{Store, folder_name, ref_name};

#[test]
fn a_folder_is_recognised_by_its_name_and_never_shared() {
    let name = folder_name("https://github.com/acme/fleet.git");
    assert!(name.starts_with("github-com-acme-fleet-"), "{name}");
    assert_ne!(name, folder_name("https://github.com/acme/fleet"));
    let deep = folder_name(&format!("file:///{}/fleet.git", "x/".repeat(500)));
    assert!(deep.len() < 80 && deep.contains("fleet-"), "{deep}");
    let secret = folder_name("https://ann:hunter2@host/x.git?token=hunter3");
    assert!(secret.starts_with("host-x-") && !secret.contains("hunter"), "{secret}");
    assert!(!folder_name("..").contains('.'));
}

#[test]
fn any_name_can_be_kept_under_and_none_is_mistaken_for_another() {
    assert_eq!(ref_name("team-a/fleet"), "team-a_2ffleet");
    for name in ["x.lock", "a..b", "@{", "ü", "a_2fb"] {
        let full = format!("{}{}", super::IN_FORCE, ref_name(name));
        assert!(git2::Reference::is_valid_name(&full), "{full}");
    }
    assert_ne!(ref_name("a/b"), ref_name("a_2fb"));
}

#[test]
fn what_a_killed_fetch_left_is_swept_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path().join("mirror"));
    let _held = store.lock().unwrap();
    let (first, _) = store.start_generation().unwrap();
    store.switch_to(&first).unwrap();
    let (second, _) = store.start_generation().unwrap();
    let packs = first.join("objects/pack");
    for name in ["pack-1.pack", "pack-1.idx", "pack_git2_x1"] {
        fs::write(packs.join(name), "x").unwrap();
    }
    fs::write(first.join("packed-refs.lock"), "").unwrap();
    store.sweep().unwrap();
    assert!(!second.exists() && !packs.join("pack_git2_x1").exists() && !first.join("packed-refs.lock").exists());
    assert_eq!(store.packs(), 1);
    assert!(packs.join("pack-1.idx").exists() && store.open().is_ok());
    assert!(store.try_lock().is_err(), "it is held already");
}
