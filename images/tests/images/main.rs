//! The images as a whole: which there are, and that a commit always gives the same.

// Tells clippy that the functions behind the tests are test code too.
#![cfg(test)]

mod reproducible;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use reeve_images::IMAGES;

/// Programs for those who work on Reeve.
const NOT_SHIPPED: [&str; 2] = ["reeve-harness", "reeve-images"];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

#[test]
fn every_binary_of_reeve_has_an_image() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(workspace())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut binaries = BTreeSet::new();
    for package in metadata["packages"].as_array().unwrap() {
        let targets = package["targets"].as_array().unwrap().iter();
        for target in targets.filter(|target| target["kind"][0] == "bin") {
            let name = target["name"].as_str().unwrap();
            if name.starts_with("reeve") && !NOT_SHIPPED.contains(&name) {
                binaries.insert((name.to_owned(), package["name"].as_str().unwrap().to_owned()));
            }
        }
    }
    let images = IMAGES.map(|image| (image.name.to_owned(), image.package.to_owned()));
    assert_eq!(BTreeSet::from(images), binaries, "images/src/catalog.rs has a line for each binary");
}
