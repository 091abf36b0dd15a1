//! What `examples-repo` renders to, checked in: a change of the renderer or of a chart is seen as a change of objects.

use std::fmt::Write as _;
use std::path::PathBuf;

use reeve_renderer::bundle::Bundle;
use reeve_renderer::value::Value;
use reeve_renderer::yaml;

use crate::repository;

const AGAIN: &str = "run `UPDATE_GOLDEN=1 cargo test -p reeve-renderer --test examples` and look at the difference";

#[test]
fn every_runtime_renders_to_its_golden_file() {
    let (bundles, findings) = repository::render(&repository::read(&repository::path("examples-repo")));
    assert!(findings.is_empty(), "{}", repository::text(&findings));
    let folder = repository::path("renderer/tests/examples/golden");
    if is_update() {
        for old in files(&folder) {
            std::fs::remove_file(old).unwrap();
        }
        for bundle in &bundles {
            std::fs::write(folder.join(format!("{}.yaml", bundle.runtime)), written(bundle)).unwrap();
        }
    }
    let expected: Vec<PathBuf> = bundles.iter().map(|bundle| folder.join(format!("{}.yaml", bundle.runtime))).collect();
    assert_eq!(files(&folder), expected, "one golden file for each runtime; {AGAIN}");
    for (bundle, path) in bundles.iter().zip(expected) {
        let (have, want) = (written(bundle), std::fs::read_to_string(&path).unwrap());
        if have != want {
            let at = have.lines().zip(want.lines()).take_while(|(have, want)| have == want).count();
            let line = |text: &str| text.lines().nth(at).unwrap_or("(the end)").to_owned();
            let (have, want) = (line(&have), line(&want));
            panic!("{} differs at line {}:\n  golden {want}\n  now    {have}\n{AGAIN}", path.display(), at + 1);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one switch of this test, for the person who runs it")]
fn is_update() -> bool {
    std::env::var("UPDATE_GOLDEN").is_ok_and(|word| word == "1")
}

fn files(folder: &std::path::Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The objects of a runtime as YAML, each with where it comes from.
fn written(bundle: &Bundle) -> String {
    let mut out = String::new();
    for component in &bundle.components {
        for object in &component.objects {
            let _ = writeln!(out, "---\n# {}, {}", component.name, object.origin);
            yaml::write(&Value::Dict(object.value.clone()), &mut out);
        }
    }
    out
}
