//! The agent `reeve-agent`.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    reeve_process::heap::use_one_arena();
    reeve_agent::args::Args::parse().run()
}
