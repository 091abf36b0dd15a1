//! The resolver `reeve-resolver`.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    reeve_process::heap::use_one_arena();
    reeve_proxy_resolver::args::Args::parse().run()
}
