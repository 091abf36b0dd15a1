//! The parts that `make test|bench|soak|e2e|fuzz` runs, as `parts.toml` lists them.
//!
//! Owns what a line of that table means and which command it becomes. [`run()`] is the edge that builds what a part needs
//! and starts the command.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde::Deserialize;

use crate::assets::Released;

mod binaries;
mod run;
#[cfg(test)]
mod tests;

pub(crate) use run::run;

const TABLE: &str = include_str!("../parts.toml");

/// A target of the Makefile that consists of parts.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Verb {
    Test,
    Bench,
    Soak,
    E2e,
    Fuzz,
}

impl Verb {
    /// Whether all parts of a run share one cluster. Benches start their own, so that each has a fresh one.
    fn shares_cluster(self) -> bool {
        match self {
            Self::Test | Self::Soak | Self::E2e => true,
            Self::Bench | Self::Fuzz => false,
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Test => "test",
            Self::Bench => "bench",
            Self::Soak => "soak",
            Self::E2e => "e2e",
            Self::Fuzz => "fuzz",
        })
    }
}

/// The table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Registry {
    test: BTreeMap<String, TestLine>,
    bench: BTreeMap<String, BenchLine>,
    soak: BTreeMap<String, TestLine>,
    e2e: BTreeMap<String, TestLine>,
    fuzz: BTreeMap<String, FuzzLine>,
}

/// Tests of a package: those of one test binary or of all, those that a filter matches or all.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TestLine {
    package: String,
    test: Option<String>,
    filter: Option<String>,
    #[serde(default)]
    needs: Vec<Released>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BenchLine {
    package: String,
    bench: String,
    #[serde(default)]
    profile: BenchProfile,
    #[serde(default)]
    needs: Vec<Released>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BenchProfile {
    #[default]
    Bench,
    Dev,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FuzzLine {
    folder: String,
    target: String,
}

/// What is run for a part.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Part {
    name: String,
    needs: Vec<Released>,
    command: PartCommand,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum PartCommand {
    /// All tests of all packages.
    Workspace,
    /// The test binaries of a package with these arguments, or one of them.
    Tests { package: String, test: Option<String>, arguments: Vec<String> },
    /// `cargo` with these arguments.
    Cargo(Vec<String>),
    /// `tests/run-fuzz` with these arguments.
    Fuzz { folder: String, target: String },
}

impl Registry {
    fn read() -> Result<Self> {
        toml::from_str(TABLE).context("cannot read tests/parts.toml")
    }

    /// The parts of a verb by their names, all of them if none is named.
    fn select(&self, verb: Verb, only: &[String]) -> Result<Vec<Part>> {
        if verb == Verb::Test && only.is_empty() {
            return Ok(vec![Part::new("all", &[], PartCommand::Workspace)]);
        }
        let mut parts = self.parts(verb);
        let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        if let Some(unknown) = only.iter().find(|name| !names.contains(&name.as_str())) {
            bail!(
                "`make {verb}` has no part `{unknown}`: ONLY may be {}; tests/parts.toml lists them",
                names.join(", ")
            );
        }
        parts.retain(|part| only.is_empty() || only.contains(&part.name));
        Ok(parts)
    }

    fn parts(&self, verb: Verb) -> Vec<Part> {
        match verb {
            Verb::Test => collect(&self.test, |tests, name| tests.part(name, &[])),
            Verb::Bench => collect(&self.bench, BenchLine::part),
            Verb::Soak => collect(&self.soak, |tests, name| tests.part(name, &["--ignored", "--nocapture"])),
            Verb::E2e => collect(&self.e2e, |tests, name| tests.part(name, &["--include-ignored"])),
            Verb::Fuzz => collect(&self.fuzz, FuzzLine::part),
        }
    }
}

fn collect<T>(lines: &BTreeMap<String, T>, part: impl Fn(&T, &str) -> Part) -> Vec<Part> {
    lines.iter().map(|(name, line)| part(line, name)).collect()
}

impl Part {
    fn new(name: &str, needs: &[Released], command: PartCommand) -> Self {
        Self { name: name.to_owned(), needs: needs.to_vec(), command }
    }
}

impl TestLine {
    fn part(&self, name: &str, flags: &[&str]) -> Part {
        let arguments = flags.iter().copied().chain(self.filter.as_deref()).map(str::to_owned).collect();
        let command = PartCommand::Tests { package: self.package.clone(), test: self.test.clone(), arguments };
        Part::new(name, &self.needs, command)
    }
}

impl BenchLine {
    /// In the profile of `make build` the package is built as part of the workspace, as it was there: built alone, its
    /// dependencies have other features and are built again.
    fn part(&self, name: &str) -> Part {
        let scope = match self.profile {
            BenchProfile::Dev => vec!["--workspace", "--profile", "dev"],
            BenchProfile::Bench => vec!["--package", &self.package],
        };
        let arguments = [vec!["bench"], scope, vec!["--bench", &self.bench]].concat();
        Part::new(name, &self.needs, PartCommand::Cargo(arguments.into_iter().map(str::to_owned).collect()))
    }
}

impl FuzzLine {
    fn part(&self, name: &str) -> Part {
        let command = PartCommand::Fuzz { folder: self.folder.clone(), target: self.target.clone() };
        Part::new(name, &[], command)
    }
}
