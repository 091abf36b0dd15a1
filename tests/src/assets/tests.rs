use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn script(folder: &Path, name: &str, prints: &str) -> PathBuf {
    let file = folder.join(name);
    fs::write(&file, format!("#!/bin/sh\necho '{prints}'\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file
}

#[test]
fn the_pins_are_read_from_go_mod() {
    assert!(kubernetes_version().starts_with("v1."), "{}", kubernetes_version());
    assert!(etcd_version().starts_with("v3."), "{}", etcd_version());
}

#[test]
fn a_wrong_kubebuilder_assets_says_what_is_missing_and_what_to_do() {
    let empty = tempfile::tempdir().unwrap();
    let search = Search { envtest: Some(empty.path().into()), path: vec![], cache: empty.path().into() };
    let message = format!("{:#}", search.find(Program::KubeApiserver).unwrap_err());
    assert_eq!(message.lines().count(), 1);
    assert!(message.contains(&empty.path().display().to_string()), "{message}");
    assert!(message.contains("no executable kube-apiserver"), "{message}");
    assert!(message.contains("or unset it"), "{message}");
}

#[test]
fn kubebuilder_assets_wins_over_path_and_cache() {
    let (chosen, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let wanted = script(chosen.path(), "etcd", "etcd Version: 3.4.0");
    script(other.path(), "etcd", &format!("etcd Version: {}", etcd_version()));
    let search =
        Search { envtest: Some(chosen.path().into()), path: vec![other.path().into()], cache: other.path().into() };
    assert_eq!(search.find(Program::Etcd).unwrap(), wanted);
}

#[test]
fn a_program_on_path_counts_only_with_the_pinned_minor_version() {
    let (path, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let cached = script(cache.path(), "kubectl", "unused");
    let search = Search { envtest: None, path: vec![path.path().into()], cache: cache.path().into() };

    script(path.path(), "kubectl", "Client Version: v1.2.3");
    assert_eq!(search.find(Program::Kubectl).unwrap(), cached);

    let same_minor = kubernetes_version().rsplit_once('.').unwrap().0;
    let on_path = script(path.path(), "kubectl", &format!("Client Version: {same_minor}.99"));
    assert_eq!(search.find(Program::Kubectl).unwrap(), on_path);
}

#[test]
fn a_program_on_path_that_never_tells_its_version_does_not_hang_the_search() {
    let (path, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let cached = script(cache.path(), "kubectl", "unused");
    let hangs = script(path.path(), "kubectl", "unused");
    fs::write(&hangs, "#!/bin/sh\nexec sleep 1000\n").unwrap();
    let search = Search { envtest: None, path: vec![path.path().into()], cache: cache.path().into() };
    assert_eq!(search.find(Program::Kubectl).unwrap(), cached);
}
