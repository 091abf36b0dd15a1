//! Finds the commit that `version::COMMIT` names: `REEVE_COMMIT`, else `git`, else `unknown`.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=REEVE_COMMIT");
    let named = std::env::var_os("REEVE_COMMIT").and_then(|commit| commit.into_string().ok());
    let commit = named.filter(|commit| is_plain(commit)).or_else(commit_of_the_checkout);
    println!("cargo::rustc-env=REEVE_BUILD_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
    println!("cargo::rerun-if-changed=build.rs");
}

/// A source archive unpacked inside someone else's repository must not borrow that one's commit.
fn commit_of_the_checkout() -> Option<String> {
    let top = git(&["rev-parse", "--show-toplevel"])?;
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.canonicalize().ok()?;
    if Path::new(&top).canonicalize().ok()? != ours {
        return None;
    }
    watch("HEAD");
    watch("packed-refs");
    if let Some(branch) = git(&["symbolic-ref", "--quiet", "HEAD"]) {
        watch(&branch);
    }
    git(&["rev-parse", "--short=12", "HEAD"]).filter(|commit| is_plain(commit))
}

/// Only files that exist: cargo runs the script on every build for one that does not.
fn watch(name: &str) {
    if let Some(path) = git(&["rev-parse", "--path-format=absolute", "--git-path", name])
        && Path::new(&path).exists()
    {
        println!("cargo::rerun-if-changed={path}");
    }
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

fn is_plain(commit: &str) -> bool {
    !commit.is_empty() && commit.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c))
}
