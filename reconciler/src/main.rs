//! `reeve`: looks at a fleet repository from the command line, as the reconciler and CI see it.
//!
//! Wiring only; what the commands do is in `cli`.

use std::process::ExitCode;

mod cli;

fn main() -> ExitCode {
    cli::main()
}
