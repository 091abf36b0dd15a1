//! `README.md`: the commands for which no cluster is needed.

use std::path::Path;
use std::process::Command;

use super::root;

#[test]
fn every_command_of_the_readme_that_needs_no_cluster_works_as_written() {
    let page = std::fs::read_to_string(root().join("README.md")).unwrap();
    let section = page.split("\n## Try the command line\n").nth(1).unwrap();
    let block = section.split("\n```sh\n").nth(1).unwrap().split("\n```").next().unwrap();
    let (build, commands) = block.split_once('\n').unwrap();
    assert!(build.starts_with("cargo build"), "what builds is built already: {build}");
    let folder = tempfile::tempdir().unwrap();
    let copied = Command::new("cp").arg("-r").arg(root().join("examples-repo")).arg(folder.path()).status().unwrap();
    assert!(copied.success());
    let binaries = Path::new(env!("CARGO_BIN_EXE_reeve")).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([binaries].into_iter().chain(std::env::split_paths(&path))).unwrap();
    for command in commands.lines() {
        let output = Command::new("bash").args(["-c", command]).current_dir(folder.path()).env("PATH", &path).output();
        let output = output.unwrap();
        // A difference is told by the status.
        let wanted = i32::from(command.starts_with("reeve diff"));
        assert_eq!(output.status.code(), Some(wanted), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
