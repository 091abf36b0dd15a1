use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::*;

const VERBS: [Verb; 5] = [Verb::Test, Verb::Bench, Verb::Soak, Verb::E2e, Verb::Fuzz];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// (package, kind of target, target) of all that cargo knows below a folder.
fn targets(folder: &Path) -> BTreeSet<(String, String, String)> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(folder)
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata does not answer");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap();
    let of_package = |package: &Value| {
        let name = text(&package["name"]);
        let targets = package["targets"].as_array().unwrap().iter();
        targets.map(|target| (name.clone(), text(&target["kind"][0]), text(&target["name"]))).collect::<Vec<_>>()
    };
    packages.iter().flat_map(of_package).collect()
}

fn command(verb: Verb, part: &str) -> PartCommand {
    Registry::read().unwrap().select(verb, &[part.to_owned()]).unwrap().remove(0).command
}

#[test]
fn every_part_names_a_package_and_a_target_that_exist() {
    let (registry, known) = (Registry::read().unwrap(), targets(&workspace()));
    let has = |package: &str, kind: &str, target: &str| {
        known.contains(&(package.to_owned(), kind.to_owned(), target.to_owned()))
    };
    for (part, tests) in registry.test.iter().chain(&registry.soak).chain(&registry.e2e) {
        let package = &tests.package;
        assert!(known.iter().any(|(name, ..)| name == package), "{part}: there is no package {package}");
        if let Some(test) = &tests.test {
            assert!(has(package, "test", test), "{part}: {package} has no test binary {test}");
        }
    }
    for (part, bench) in &registry.bench {
        assert!(has(&bench.package, "bench", &bench.bench), "{part}: {} has no bench {}", bench.package, bench.bench);
    }
    for (part, fuzz) in &registry.fuzz {
        let in_folder = targets(&workspace().join(&fuzz.folder));
        let found = in_folder.iter().any(|(_, kind, target)| kind == "bin" && *target == fuzz.target);
        assert!(found, "{part}: {} has no target {}", fuzz.folder, fuzz.target);
    }
}

#[test]
fn every_room_is_a_part_of_the_tests_and_every_bench_and_fuzz_target_is_a_part() {
    let registry = Registry::read().unwrap();
    for (package, kind, target) in targets(&workspace()) {
        let whole = registry.test.values().any(|tests| tests.package == package && tests.test.is_none());
        assert!(whole, "tests/parts.toml has no line in [test] for all of {package}");
        if kind == "bench" {
            let named = registry.bench.values().any(|bench| bench.package == package && bench.bench == target);
            assert!(named, "tests/parts.toml has no line in [bench] for {target} of {package}");
        }
    }
    let folders: BTreeSet<&str> = registry.fuzz.values().map(|fuzz| fuzz.folder.as_str()).collect();
    for folder in folders {
        for (_, _, target) in targets(&workspace().join(folder)) {
            let named = registry.fuzz.values().any(|fuzz| fuzz.folder == folder && fuzz.target == target);
            assert!(named, "tests/parts.toml has no line in [fuzz] for {target} of {folder}");
        }
    }
}

#[test]
fn an_unknown_part_is_refused_with_the_parts_that_there_are() {
    for verb in VERBS {
        let registry = Registry::read().unwrap();
        let message = registry.select(verb, &["nonsense".to_owned()]).unwrap_err().to_string();
        assert!(message.starts_with(&format!("`make {verb}` has no part `nonsense`: ONLY may be ")), "{message}");
        for part in registry.parts(verb) {
            assert!(message.contains(&part.name), "{} is not in: {message}", part.name);
        }
    }
}

#[test]
fn without_a_name_all_parts_run_and_all_tests_are_one_call_of_cargo() {
    let registry = Registry::read().unwrap();
    let names = |verb| registry.select(verb, &[]).unwrap().into_iter().map(|part| part.name).collect::<Vec<_>>();
    assert_eq!(names(Verb::Test), ["all"]);
    for verb in [Verb::Bench, Verb::Soak, Verb::E2e, Verb::Fuzz] {
        assert_eq!(names(verb).len(), registry.parts(verb).len(), "{verb}");
    }
}

#[test]
fn a_line_of_the_table_becomes_a_command() {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let tests = |package: &str, test: Option<&str>, arguments: &str| PartCommand::Tests {
        package: package.to_owned(),
        test: test.map(str::to_owned),
        arguments: words(arguments),
    };
    assert_eq!(command(Verb::Test, "crds"), tests("reeve-crds", None, ""));
    assert_eq!(
        command(Verb::Soak, "crash"),
        tests("reeve-reconciler", Some("reeve"), "--ignored --nocapture engine::crash::")
    );
    assert_eq!(command(Verb::E2e, "dns"), tests("reeve-tests", Some("e2e"), "--include-ignored dns::"));
    assert_eq!(
        command(Verb::Bench, "render"),
        PartCommand::Cargo(words("bench --package reeve-reconciler --bench render"))
    );
    assert_eq!(
        command(Verb::Bench, "start"),
        PartCommand::Cargo(words("bench --workspace --profile dev --bench start"))
    );
}

#[test]
fn a_test_binary_is_known_by_its_package_kind_and_name() {
    let message = |id: &str, test: bool| {
        json!({
            "reason": "compiler-artifact", "package_id": id, "manifest_path": "/x/proxy/cri/Cargo.toml",
            "target": { "kind": ["test"], "name": "e2e" }, "profile": { "test": test }, "executable": "/x/target/e2e-1",
        })
    };
    let binary = |id: &str, test: bool| binaries::binary(&message(id, test));
    let found = binary("path+file:///x/proxy/cri#reeve-proxy-cri@0.1.0", true).unwrap();
    assert_eq!((&*found.package, &*found.kind, &*found.name), ("reeve-proxy-cri", "test", "e2e"));
    assert_eq!((found.path, found.folder), ("/x/target/e2e-1".into(), "/x/proxy/cri".into()));
    assert_eq!(binary("path+file:///x/reeve-crds#0.1.0", true).unwrap().package, "reeve-crds");
    assert_eq!(binary("path+file:///x/crds#reeve-crds@0.1.0", false), None, "a program without tests");
}

#[test]
fn a_wrong_line_of_the_table_is_refused_by_its_line_and_field() {
    let wrong = TABLE.replace("filter = \"layout::\"", "filtre = \"layout::\"");
    assert!(toml::from_str::<Registry>(&wrong).unwrap_err().to_string().contains("unknown field `filtre`"));
    let wrong = TABLE.replace("[\"coredns\"]", "[\"bind\"]");
    let message = toml::from_str::<Registry>(&wrong).unwrap_err().to_string();
    assert!(message.contains("unknown variant `bind`") && message.contains("line"), "{message}");
}

/// The Makefile reads the names too, so that it can refuse one before anything is built.
#[test]
fn the_makefile_lists_the_same_parts() {
    let output = Command::new("make").args(["--silent", "help"]).current_dir(workspace()).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let (_, lists) = help.split_once("ONLY=<part>").unwrap();
    for verb in VERBS {
        let parts = Registry::read().unwrap().parts(verb);
        let known: BTreeSet<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        let list = lists.lines().find_map(|line| line.trim().strip_prefix(&format!("{verb} "))).unwrap_or_default();
        assert_eq!(list.split_whitespace().collect::<BTreeSet<_>>(), known, "{verb} in\n{help}");
    }
}
