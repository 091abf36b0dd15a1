//! `docs/tutorial.md`: its commands, one after the other, in a fresh cluster.

use std::path::Path;
use std::process::Stdio;

use reeve_tests::ControlPlane;
use reeve_tests::assets::{self, Program};
use tokio::process::Command;

use super::read;

/// Commands that tell by their status that something is to do, or is not ready: as the page says there.
const TELLING: [&str; 4] = ["reeve plan", "reeve diff --live", "reeve get", "reeve get"];

#[tokio::test]
async fn every_command_of_the_tutorial_works_as_written() {
    let cluster = ControlPlane::start().await.unwrap().controllers().await.unwrap();
    // As `make shell` does.
    cluster.crds().await;
    let folder = tempfile::tempdir().unwrap();
    let failures = folder.path().join("failures");
    let script = [
        "set -mE; PS4='$ '; set -x; trap 'exit 1' TERM; trap 'trap - ERR; kill $(jobs -p) 2>/dev/null; wait' EXIT",
        "trap 'echo \"$BASH_COMMAND\" >> \"$FAILURES\"' ERR",
        &commands(&read("tutorial.md")),
    ]
    .join("\n");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let kubectl = assets::find(Program::Kubectl).unwrap();
    let folders =
        [Path::new(env!("CARGO_BIN_EXE_reeve")), &kubectl].map(|program| program.parent().unwrap().to_owned());
    let path = std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&path))).unwrap();
    // Not a pipe: what is left running would keep it open.
    let log = folder.path().join("output");
    let nobody = folder.path().join("gitconfig");
    std::fs::write(&nobody, "[user]\n\tuseConfigOnly = true\n").unwrap();
    let output = std::fs::File::create(&log).unwrap();
    let command = Command::new("timeout")
        .args(["--kill-after", "5", "240", "bash", "-c", &script])
        .current_dir(folder.path())
        .env("PATH", path)
        .env("KUBECONFIG", cluster.kubeconfig())
        .env("KUBECACHEDIR", folder.path().join("cache"))
        .env("FAILURES", &failures)
        // Nobody's: the page says who commits.
        .env("GIT_CONFIG_GLOBAL", &nobody)
        .stdin(Stdio::null())
        .stdout(output.try_clone().unwrap())
        .stderr(output)
        .status();
    let status = command.await.unwrap();
    let shown = std::fs::read_to_string(&log).unwrap();
    let failed = std::fs::read_to_string(&failures).unwrap_or_default();
    assert_eq!(failed.lines().collect::<Vec<_>>(), TELLING, "{shown}");
    assert!(status.success() && shown.contains("changed by kubectl-set"), "{status}: {shown}");
}

/// What a person copies: the blocks that are marked `sh`.
fn commands(page: &str) -> String {
    let blocks = page.split("\n```sh\n").skip(1).map(|rest| rest.split("\n```").next().unwrap_or_default());
    blocks.collect::<Vec<_>>().join("\n")
}
