//! Runs the programs that do part of the work: what they print, or why they failed.

use std::process::{Command, Output, Stdio};

use crate::error::ImageError;

/// What the command prints. `hint` says what to install when there is no such program.
pub(crate) fn output(command: &mut Command, hint: &'static str) -> Result<Vec<u8>, ImageError> {
    let output = run(command.stdin(Stdio::null()), hint)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(ImageError::Failed { command: shown(command), message: last_line(&output.stderr) })
}

/// As [`output`], as text.
pub(crate) fn text(command: &mut Command, hint: &'static str) -> Result<String, ImageError> {
    output(command, hint).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Runs the command with what it says for all to see.
pub(crate) fn visible(command: &mut Command, hint: &'static str) -> Result<(), ImageError> {
    let status = command.stdin(Stdio::null()).status().map_err(|source| start(command, hint, source))?;
    if status.success() {
        return Ok(());
    }
    Err(ImageError::Failed { command: shown(command), message: status.to_string() })
}

fn run(command: &mut Command, hint: &'static str) -> Result<Output, ImageError> {
    command.output().map_err(|source| start(command, hint, source))
}

fn start(command: &Command, hint: &'static str, source: std::io::Error) -> ImageError {
    ImageError::Start { program: command.get_program().to_string_lossy().into_owned(), hint, source }
}

fn shown(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Programs say at the end why they gave up.
fn last_line(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing").trim().to_owned()
}
