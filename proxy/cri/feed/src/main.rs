//! The feed `reeve-cri-feed`.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    reeve_process::heap::use_one_arena();
    reeve_proxy_cri_feed::args::Args::parse().run()
}
