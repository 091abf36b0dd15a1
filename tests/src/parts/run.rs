//! Builds what parts need, starts them one after the other, and says which were skipped and which failed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use super::binaries::{self, TestBinary};
use super::{Part, PartCommand, Registry, Verb};
use crate::assets;
use crate::shared_cluster::SharedCluster;

/// The variable with the path of a file to which a test adds the line that sums it up. The lines are printed last.
const SUMMARY: &str = "REEVE_SUMMARY";

/// Runs the parts of a verb, all if `only` is empty. A part that fails does not keep the others from running.
pub(crate) fn run(verb: Verb, only: &[String]) -> Result<ExitCode> {
    let mut ready = Vec::new();
    for part in Registry::read()?.select(verb, only)? {
        match find_needs(&part)? {
            Needs::Found(variables) => ready.push((part, variables)),
            Needs::NotBuilt(program) => {
                println!("skipped: {} ({program} is not built; `make {verb} ONLY={}` builds it)", part.name, part.name);
            }
        }
    }
    if ready.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let cluster = verb.shares_cluster().then(SharedCluster::start).transpose()?;
    let mut failed = Vec::new();
    let summary = tempfile::NamedTempFile::new().context("cannot make a file for what the parts sum up")?;
    for (part, mut variables) in ready {
        variables.push((SUMMARY.to_owned(), summary.path().to_owned()));
        if let Err(error) = run_part(&part, &variables, cluster.as_ref()) {
            eprintln!("reeve-harness: {}: {error:#}", part.name);
            failed.push(part.name);
        }
    }
    let lines = std::fs::read_to_string(summary.path()).context("cannot read what the parts sum up")?;
    print!("{lines}");
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(ExitCode::SUCCESS)
}

enum Needs {
    /// Variables with the paths of the programs.
    Found(Vec<(String, PathBuf)>),
    /// The first that is not built and may not be.
    NotBuilt(&'static str),
}

fn find_needs(part: &Part) -> Result<Needs> {
    let mut variables = Vec::new();
    for program in &part.needs {
        let found = assets::find_released(*program).with_context(|| format!("the part {} needs it", part.name))?;
        let Some(path) = found else { return Ok(Needs::NotBuilt(program.name())) };
        variables.push((program.name().to_uppercase().replace('-', "_"), path));
    }
    Ok(Needs::Found(variables))
}

fn run_part(part: &Part, variables: &[(String, PathBuf)], cluster: Option<&SharedCluster>) -> Result<()> {
    let start = |program: &str, arguments: &[String], folder: Option<&Path>| {
        let mut command = match cluster {
            Some(cluster) => cluster.command(program, arguments)?,
            None => with_arguments(program, arguments),
        };
        if let Some(folder) = folder {
            command.current_dir(folder).env("CARGO_MANIFEST_DIR", folder);
        }
        let status = command.envs(variables.iter().cloned()).status();
        let status = status.with_context(|| format!("cannot start {program}"))?;
        if !status.success() {
            bail!("`{program} {}` ended with {status}", arguments.join(" "));
        }
        Ok(())
    };
    let run_cargo = |arguments: &[String]| {
        let line = [cargo(), arguments.to_vec()].concat();
        let (program, arguments) = line.split_first().context("CARGO is empty")?;
        start(program, arguments, None)
    };
    match &part.command {
        PartCommand::Workspace => run_cargo(&["test".to_owned(), "--workspace".to_owned()]),
        PartCommand::Cargo(arguments) => run_cargo(arguments),
        PartCommand::Fuzz { folder, target } => start("tests/run-fuzz", &[folder.clone(), target.clone()], None),
        PartCommand::Tests { package, test, arguments } => {
            for binary in find_binaries(package, test.as_deref(), arguments)? {
                eprintln!("reeve-harness: {}: {} {} of {package}", part.name, binary.kind, binary.name);
                let program = binary.path.to_str().context("the path of a test binary is not text")?;
                start(program, arguments, Some(&binary.folder))?;
            }
            Ok(())
        }
    }
}

/// The binaries with the tests of a part. A filter that no test matches would otherwise pass for nothing.
fn find_binaries(package: &str, test: Option<&str>, arguments: &[String]) -> Result<Vec<TestBinary>> {
    let mut found = binaries::build(&cargo())?;
    found.retain(|binary| {
        binary.package == package && test.is_none_or(|test| binary.kind == "test" && binary.name == test)
    });
    if arguments.is_empty() {
        return Ok(found);
    }
    let mut with_tests = Vec::new();
    for binary in found {
        let list = with_arguments(&binary.path, &[arguments, &["--list".to_owned()]].concat()).output();
        let list = list.with_context(|| format!("cannot start {}", binary.path.display()))?;
        if String::from_utf8_lossy(&list.stdout).lines().any(|line| line.ends_with(": test")) {
            with_tests.push(binary);
        }
    }
    if with_tests.is_empty() {
        bail!("{package} has no test for `{}`: mend the line in tests/parts.toml", arguments.join(" "));
    }
    Ok(with_tests)
}

fn with_arguments(program: impl AsRef<OsStr>, arguments: &[String]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// What the Makefile calls cargo, which may be several words.
fn cargo() -> Vec<String> {
    let program = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    program.split_whitespace().map(str::to_owned).collect()
}
