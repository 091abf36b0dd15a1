//! The house is laid out as ARCHITECTURE.md says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Which rooms a room may know, outside its tests.
const MAY_KNOW: [(&str, &[&str]); 15] = [
    (
        "reeve-agent",
        &["reeve-agent-dapr", "reeve-crds", "reeve-process", "reeve-reconciler-engine", "reeve-renderer-objects"],
    ),
    ("reeve-agent-dapr", &["reeve-crds"]),
    ("reeve-crds", &[]),
    ("reeve-images", &[]),
    ("reeve-process", &[]),
    ("reeve-proxy-cri", &["reeve-process"]),
    ("reeve-proxy-cri-example", &["reeve-process", "reeve-proxy-cri"]),
    ("reeve-proxy-cri-feed", &["reeve-crds", "reeve-process", "reeve-proxy-cri"]),
    ("reeve-proxy-resolver", &["reeve-crds", "reeve-process"]),
    (
        "reeve-reconciler",
        &[
            "reeve-agent-dapr",
            "reeve-crds",
            "reeve-process",
            "reeve-reconciler-engine",
            "reeve-reconciler-git",
            "reeve-renderer",
            "reeve-renderer-objects",
        ],
    ),
    ("reeve-reconciler-engine", &["reeve-crds", "reeve-process", "reeve-renderer-objects"]),
    ("reeve-reconciler-git", &["reeve-crds", "reeve-process", "reeve-renderer-objects"]),
    ("reeve-renderer", &["reeve-renderer-objects"]),
    ("reeve-renderer-objects", &[]),
    ("reeve-tests", &["reeve-images"]),
];

/// What must not be below a room.
const MUST_NOT_LINK: [(&str, &[&str]); 6] = [
    ("reeve-agent", &["git2", "minijinja", "notify", "openssl", "openssl-sys", "pgp"]),
    ("reeve-proxy-cri", &["kube", "kube-client", "k8s-openapi"]),
    ("reeve-proxy-cri-example", &["kube", "kube-client", "k8s-openapi"]),
    ("reeve-reconciler-engine", &["clap", "git2", "minijinja", "notify", "openssl", "openssl-sys", "pgp"]),
    ("reeve-reconciler-git", &["clap", "minijinja"]),
    ("reeve-renderer", &["git2", "hyper", "kube", "mio", "rand", "reqwest", "socket2", "tokio"]),
];

/// Rooms whose modules must not know each other in a circle.
const WITHOUT_CYCLES: [&str; 10] = [
    "agent/dapr",
    "crds",
    "images",
    "process",
    "proxy/cri/feed",
    "reconciler",
    "reconciler/engine",
    "reconciler/git",
    "renderer",
    "renderer/objects",
];

/// Rooms whose files and types are small enough to be read at once.
const SMALL: [&str; 3] = ["reconciler", "reconciler/engine", "reconciler/git"];
const LINES_OF_A_FILE: usize = 400;
const FILES_OF_A_TYPE: usize = 3;

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
fn nothing_is_linked_below_a_room_that_must_not_be() {
    for (room, forbidden) in MUST_NOT_LINK {
        let output = Command::new(env!("CARGO"))
            .args(["tree", "--package", room, "--edges", "normal", "--prefix", "none", "--offline"])
            .current_dir(workspace())
            .output()
            .unwrap();
        let tree = String::from_utf8(output.stdout).unwrap();
        assert!(tree.starts_with(&format!("{room} ")), "cargo tree does not answer: {tree}");
        let linked: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
        for other in forbidden {
            assert!(!linked.contains(other), "{other} is below {room}");
        }
    }
}

#[test]
fn the_modules_of_a_room_know_each_other_in_one_direction() {
    for room in WITHOUT_CYCLES {
        let uses = modules(&workspace().join(room).join("src"));
        assert!(uses.len() > 3, "found only {} modules in {room}", uses.len());
        for module in uses.keys() {
            let cycle = path_back(&uses, module);
            assert!(cycle.is_none(), "modules of {room} know each other in a circle: {}", cycle.unwrap().join(" -> "));
        }
    }
}

#[test]
fn a_circle_of_modules_is_found() {
    let graph = |pairs: &[(&str, &[&str])]| -> Uses {
        pairs
            .iter()
            .map(|(of, graph)| ((*of).to_owned(), graph.iter().map(|name| (*name).to_owned()).collect()))
            .collect()
    };
    let circle = graph(&[("a", &["b"]), ("b", &["c"]), ("c", &["a"]), ("d", &["a"])]);
    assert_eq!(path_back(&circle, "a").unwrap(), ["a", "b", "c", "a"]);
    assert_eq!(path_back(&circle, "d"), None);
    assert_eq!(path_back(&graph(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])]), "a"), None);
}

#[test]
fn files_and_types_of_the_reconciler_stay_small() {
    for room in SMALL {
        let room = workspace().join(room);
        let mut files = Vec::new();
        for part in ["src", "tests", "benches"] {
            collect(&room.join(part), &mut files);
        }
        let mut types: BTreeMap<String, BTreeSet<&Path>> = BTreeMap::new();
        for file in &files {
            let text = fs::read_to_string(file).unwrap();
            let lines = text.lines().count();
            assert!(lines <= LINES_OF_A_FILE, "{} has {lines} lines: split it", file.display());
            if file.starts_with(room.join("src")) {
                for name in text.lines().filter_map(implemented) {
                    types.entry(name.to_owned()).or_default().insert(file);
                }
            }
        }
        assert!(types.len() > 10, "found only {} types in {}", types.len(), room.display());
        for (name, files) in types {
            assert!(files.len() <= FILES_OF_A_TYPE, "the methods of {name} are in {files:?}: split the type");
        }
    }
}

/// The type whose own methods begin with a line.
fn implemented(line: &str) -> Option<&str> {
    let line = line.strip_prefix("impl").filter(|_| !line.contains(" for "))?;
    let name = if line.starts_with('<') { line.split_once("> ")?.1 } else { line.trim_start() };
    name.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
}

#[test]
fn the_type_of_a_block_of_methods_is_found() {
    assert_eq!(implemented("impl Machine {"), Some("Machine"));
    assert_eq!(implemented("impl<K: OfRuntime> Lists<K> {"), Some("Lists"));
    assert_eq!(implemented("impl View for Context {"), None);
}

type Uses = BTreeMap<String, BTreeSet<String>>;

/// Which top-level module names which others as `crate::module`, tests aside.
fn modules(source: &Path) -> Uses {
    let mut files = Vec::new();
    collect(source, &mut files);
    let top = |file: &Path| {
        let first = file.strip_prefix(source).unwrap().components().next().unwrap();
        Path::new(first.as_os_str()).with_extension("").to_str().unwrap().to_owned()
    };
    let modules: BTreeSet<String> = files.iter().map(|file| top(file)).collect();
    let mut graph = Uses::new();
    for file in files.iter().filter(|file| !file.iter().any(|part| part == "tests" || part == "tests.rs")) {
        let (of, text) = (top(file), fs::read_to_string(file).unwrap());
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let mentioned = code.split("crate::").skip(1).map(|rest| {
            rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or_default()
        });
        let known = mentioned.filter(|name| *name != of && modules.contains(*name)).map(str::to_owned);
        graph.entry(of.clone()).or_default().extend(known);
    }
    graph.retain(|module, _| !["lib", "main"].contains(&module.as_str()));
    graph
}

/// The shortest way from a module back to itself.
fn path_back(graph: &Uses, from: &str) -> Option<Vec<String>> {
    let mut paths = std::collections::VecDeque::from([vec![from.to_owned()]]);
    let mut seen = BTreeSet::new();
    while let Some(path) = paths.pop_front() {
        for next in graph.get(path.last()?).into_iter().flatten() {
            let longer: Vec<String> = path.iter().chain([next]).cloned().collect();
            if next == from {
                return Some(longer);
            }
            if seen.insert(next.clone()) {
                paths.push_back(longer);
            }
        }
    }
    None
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
