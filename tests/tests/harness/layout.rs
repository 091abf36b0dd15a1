//! The house is laid out as ARCHITECTURE.md says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Which rooms a room may know, outside its tests.
const MAY_KNOW: [(&str, &[&str]); 8] = [
    ("reeve-agent", &["reeve-crds", "reeve-process", "reeve-reconciler", "reeve-renderer"]),
    ("reeve-crds", &[]),
    ("reeve-process", &[]),
    ("reeve-proxy-cri", &["reeve-crds", "reeve-process"]),
    ("reeve-proxy-resolver", &["reeve-crds", "reeve-process"]),
    ("reeve-reconciler", &["reeve-crds", "reeve-process", "reeve-renderer"]),
    ("reeve-renderer", &[]),
    ("reeve-tests", &[]),
];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn metadata() -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(workspace())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).expect("cargo metadata does not answer")
}

#[test]
fn a_room_knows_only_the_rooms_it_may_know() {
    let allowed: BTreeMap<_, BTreeSet<_>> =
        MAY_KNOW.map(|(room, others)| (room, others.iter().copied().collect())).into();
    for package in metadata()["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let may_know = allowed.get(name).unwrap_or_else(|| panic!("{name} is a new room: say here whom it may know"));
        for dependency in package["dependencies"].as_array().unwrap() {
            let other = dependency["name"].as_str().unwrap();
            let for_tests_only = dependency["kind"] == "dev";
            if other.starts_with("reeve-") && !for_tests_only {
                assert!(may_know.contains(other), "{name} must not know {other}");
            }
        }
    }
}

#[test]
fn the_renderer_cannot_reach_a_network_a_cluster_or_a_runtime() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--package", "reeve-renderer", "--edges", "normal", "--prefix", "none", "--offline"])
        .current_dir(workspace())
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    assert!(tree.starts_with("reeve-renderer "), "cargo tree does not answer: {tree}");
    for forbidden in ["tokio", "kube", "hyper", "reqwest", "git2", "rand", "mio", "socket2"] {
        assert!(
            !tree.lines().any(|line| line.split(' ').next() == Some(forbidden)),
            "{forbidden} is below the renderer"
        );
    }
}

#[test]
fn the_cri_proxy_has_no_api_client() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--package", "reeve-proxy-cri", "--edges", "normal", "--prefix", "none", "--offline"])
        .current_dir(workspace())
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    assert!(tree.starts_with("reeve-proxy-cri "), "cargo tree does not answer: {tree}");
    let found = tree.lines().find(|line| line.starts_with("kube") || line.starts_with("k8s-openapi"));
    assert_eq!(found, None, "what runs on the host has no API client");
}

#[test]
fn every_rust_file_is_reached_by_a_mod() {
    let mut files = Vec::new();
    for package in metadata()["packages"].as_array().unwrap() {
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned();
        for part in ["src", "tests", "benches", "examples"] {
            collect(&folder.join(part), &mut files);
        }
    }
    assert!(files.len() > 20, "found only {} files", files.len());
    let lost: Vec<_> = files.iter().filter(|file| !is_reached(file)).collect();
    assert!(lost.is_empty(), "no `mod` reaches {lost:?}: their code is never compiled");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Roots are found by cargo; every other file is named by its parent: `foo.rs` for `foo/bar.rs`, or a root beside it.
fn is_reached(file: &Path) -> bool {
    let (folder, stem) = (file.parent().unwrap(), file.file_stem().unwrap().to_str().unwrap());
    let is_package = |folder: &Path| folder.join("Cargo.toml").exists();
    let place = folder.file_name().unwrap().to_str().unwrap();
    let above = folder.parent().unwrap();
    let is_root = match place {
        "tests" | "benches" | "examples" if is_package(above) => true,
        "src" => is_package(above) && ["lib", "main"].contains(&stem),
        "bin" => above.ends_with("src"),
        // `tests/<name>/main.rs`, `benches/<name>/main.rs`
        _ => {
            let named = above.ends_with("tests") || above.ends_with("benches");
            stem == "main" && named && above.parent().is_some_and(is_package)
        }
    };
    is_root
        || [folder.with_extension("rs"), folder.join("lib.rs"), folder.join("main.rs")]
            .iter()
            .filter_map(|parent| fs::read_to_string(parent).ok())
            .any(|text| text.lines().any(|line| declares(line, stem)))
}

fn declares(line: &str, module: &str) -> bool {
    let line = line.trim();
    let visible = ["pub(crate) ", "pub(super) ", "pub "].iter().find_map(|word| line.strip_prefix(word));
    let line = visible.unwrap_or(line);
    line == format!("mod {module};")
}
