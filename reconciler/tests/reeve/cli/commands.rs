//! What all commands have in common: help, colours, statuses.

use crate::cli::repository::{Repository, ended};

#[test]
fn every_command_has_examples() {
    let folder = Repository::empty();
    for command in [
        "render",
        "validate",
        "diff",
        "explain",
        "new",
        "get",
        "tree",
        "events",
        "trace",
        "suspend",
        "resume",
        "reconcile",
        "install",
        "uninstall",
        "version",
        "check",
        "plan",
        "run",
        "completions",
    ] {
        let help = folder.reeve(&[command, "--help"]).with(0).out;
        assert!(help.contains(&format!("Examples:\n  reeve {command}")), "{help}");
    }
    let version = folder.reeve(&["--version"]).with(0).out;
    assert!(version.starts_with("reeve ") && version.contains("(commit "), "{version}");
}

#[test]
fn a_folder_that_is_no_fleet_says_so_and_where_one_is() {
    let folder = Repository::empty();
    let told = folder.reeve(&["validate"]).with(2);
    let wanted = "error: this folder is not a fleet repository: there is no fleet.yaml\n  \
                  help: name its folder, or make one with `reeve new fleet NAME`\n";
    assert_eq!(told.err, wanted);
    let fleet = Repository::fleet();
    let told = fleet.reeve(&["render", "charts/web"]).with(2);
    assert!(told.err.starts_with("error: charts/web is not a fleet repository"), "{}", told.err);
    assert!(told.err.contains("help: there is one in "), "{}", told.err);
    let told = fleet.reeve(&["render", "nowhere"]).with(2);
    assert!(told.err.starts_with("error: cannot open the folder nowhere\n  because: No such file"), "{}", told.err);
    let told = fleet.reeve(&["-C", "nowhere", "render"]).with(2);
    assert!(told.err.starts_with("error: cannot open the folder nowhere\n"), "{}", told.err);
}

#[test]
fn usage_errors_end_with_2() {
    let folder = Repository::fleet();
    for args in [&["rendr"][..], &["render", "-o", "xml"], &["diff", "HEAD"], &["render", ".", "--git", "x"], &[]] {
        folder.reeve(args).with(2);
    }
}

#[test]
fn colours_are_for_terminals_or_for_who_asks() {
    let folder = Repository::fleet();
    folder.change("runtimes/eu-2.yaml", "replicas: 5", "replicas: -5");
    assert!(!folder.reeve(&["validate"]).with(1).out.contains('\x1b'), "a pipe is no terminal");
    assert!(folder.reeve(&["--color", "always", "validate"]).with(1).out.contains("\x1b[1m\x1b[91merror"));
    let on_terminal = |value: Option<&str>| {
        // util-linux's script(1) gives the command a terminal.
        let command = format!("{} validate -C {}", env!("CARGO_BIN_EXE_reeve"), folder.path().display());
        let mut script = std::process::Command::new("script");
        script.args(["--quiet", "--return", "--command", &command, "/dev/null"]).env("TERM", "xterm");
        match value {
            Some(value) => script.env("NO_COLOR", value),
            None => script.env_remove("NO_COLOR"),
        };
        ended(script.output().unwrap()).with(1).out
    };
    assert!(on_terminal(None).contains("\x1b[1m\x1b[91merror"));
    assert!(on_terminal(Some("")).contains("\x1b[1m\x1b[91merror"), "an empty NO_COLOR means nothing");
    assert!(!on_terminal(Some("1")).contains('\x1b'));
}

#[test]
fn completions_name_the_commands() {
    let folder = Repository::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.reeve(&["completions", shell]).with(0).out;
        assert!(["validate", "explain", "reconcile"].iter().all(|name| script.contains(name)), "{shell}: {script}");
    }
}
