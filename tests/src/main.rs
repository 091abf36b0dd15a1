//! `reeve-harness`: see [`reeve_tests::command`].

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match reeve_tests::command::Args::parse().run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("reeve-harness: {error:#}");
            ExitCode::FAILURE
        }
    }
}
