//! A commit gives the same images wherever it is checked out.

use std::path::Path;
use std::process::Command;

use crate::workspace;

/// Builds the images of a checkout, everything compiled anew, and returns the lines with their digests.
fn digests(checkout: &Path) -> Vec<String> {
    let output = Command::new("make").args(["images", "SCRATCH=1"]).current_dir(checkout).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said.lines().filter(|line| line.contains(" sha256:")).map(str::to_owned).collect()
}

#[test]
#[ignore = "compiles everything twice: run `make soak`"]
fn two_checkouts_of_a_commit_give_the_same_digests() {
    let folder = tempfile::tempdir().unwrap();
    let clone = |name: &str| {
        let checkout = folder.path().join(name);
        let mut git = Command::new("git");
        git.args(["clone", "--quiet"]).arg(workspace()).arg(&checkout);
        assert!(git.status().unwrap().success());
        checkout
    };
    let first = digests(&clone("one"));
    assert_eq!(first.len(), reeve_images::IMAGES.len());
    assert_eq!(first, digests(&clone("another/folder/with/a/longer/name")));
}
