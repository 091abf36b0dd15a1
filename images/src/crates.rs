//! Which crates a binary is made of: `cargo tree` says which, `Cargo.lock` has their checksums.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use crate::command;
use crate::error::ImageError;

/// Between the fields of a line of `cargo tree`.
const BETWEEN: char = '|';

/// One crate at one version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crate {
    pub name: String,
    pub version: String,
    /// As its author wrote it; empty if it says none.
    pub license: String,
    pub role: Role,
    /// Of the archive in the registry; ours have none.
    pub checksum: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Its code is in the binary.
    Linked,
    /// It ran while the binary was built: build scripts, what they need, and procedural macros.
    Build,
}

/// The crates of a package, itself included, with the features that it has when it is built alone.
pub fn crates(workspace: &Path, package: &str) -> Result<BTreeSet<Crate>, ImageError> {
    let path = workspace.join("Cargo.lock");
    let lock = std::fs::read_to_string(&path).map_err(|source| ImageError::Read { path, source })?;
    let all = tree(workspace, package, "normal,build")?;
    let linked = tree(workspace, package, "normal")?;
    read(&all, &linked, &lock)
}

fn tree(workspace: &Path, package: &str, edges: &str) -> Result<String, ImageError> {
    let mut cargo = Command::new("cargo");
    cargo
        .args(["tree", "--locked", "--package", package, "--edges", edges, "--prefix", "none", "--no-dedupe"])
        .args(["--format", &format!("{{p}}{BETWEEN}{{l}}")])
        .current_dir(workspace);
    command::text(&mut cargo, "install Rust")
}

fn read(all: &str, linked: &str, lock: &str) -> Result<BTreeSet<Crate>, ImageError> {
    let checksums = checksums(lock)?;
    let linked: BTreeSet<(String, String)> = lines(linked)?.into_keys().collect();
    let crates = lines(all)?.into_iter().map(|(key, line)| {
        let role = if linked.contains(&key) && !line.is_macro { Role::Linked } else { Role::Build };
        let checksum = checksums.get(&key).cloned();
        let (name, version) = key;
        Crate { name, version, license: line.license, role, checksum }
    });
    Ok(crates.collect())
}

struct Line {
    license: String,
    is_macro: bool,
}

/// `serde_derive v1.0.229 (proc-macro)|MIT OR Apache-2.0`
fn lines(text: &str) -> Result<BTreeMap<(String, String), Line>, ImageError> {
    let read = |line: &str| {
        let (package, license) = line.split_once(BETWEEN)?;
        let mut words = package.split_whitespace();
        let name = words.next()?.to_owned();
        let version = words.next()?.strip_prefix('v')?.to_owned();
        let is_macro = words.any(|word| word == "(proc-macro)");
        Some(((name, version), Line { license: license.trim().to_owned(), is_macro }))
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| read(line).ok_or_else(|| ImageError::Tree { line: line.to_owned() })).collect()
}

fn checksums(lock: &str) -> Result<BTreeMap<(String, String), String>, ImageError> {
    #[derive(Deserialize)]
    struct Lock {
        package: Vec<Locked>,
    }
    #[derive(Deserialize)]
    struct Locked {
        name: String,
        version: String,
        checksum: Option<String>,
    }
    let lock: Lock = toml::from_str(lock).map_err(ImageError::Lock)?;
    let entries = lock.package.into_iter().filter_map(|package| {
        let checksum = package.checksum?;
        Some(((package.name, package.version), checksum))
    });
    Ok(entries.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_builds_is_told_from_what_is_linked() {
        let all = "reeve-x v0.1.0 (/somewhere/x)|Apache-2.0\nserde_derive v1.0.1 (proc-macro)|MIT OR Apache-2.0\n\
                   openssl-sys v0.9.1|MIT\nopenssl-src v300.6.1+3.6.3|MIT/Apache-2.0\n\nopenssl-sys v0.9.1|MIT\n";
        let linked = "reeve-x v0.1.0 (/somewhere/x)|Apache-2.0\nserde_derive v1.0.1 (proc-macro)|MIT OR Apache-2.0\n\
                      openssl-sys v0.9.1|MIT\n";
        let lock = "[[package]]\nname = \"openssl-sys\"\nversion = \"0.9.1\"\nchecksum = \"ab\"\n\
                    [[package]]\nname = \"reeve-x\"\nversion = \"0.1.0\"\n";
        let told: Vec<_> = read(all, linked, lock)
            .unwrap()
            .into_iter()
            .map(|found| (found.name, found.version, found.role, found.checksum))
            .collect();
        let wanted = [
            ("openssl-src", "300.6.1+3.6.3", Role::Build, None),
            ("openssl-sys", "0.9.1", Role::Linked, Some("ab")),
            ("reeve-x", "0.1.0", Role::Linked, None),
            ("serde_derive", "1.0.1", Role::Build, None),
        ];
        let wanted = wanted.map(|(name, version, role, checksum)| {
            (name.to_owned(), version.to_owned(), role, checksum.map(str::to_owned))
        });
        assert_eq!(told, wanted);
        assert!(read("nonsense\n", "", "package = []").is_err());
    }
}
