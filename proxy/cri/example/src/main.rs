//! The example plugin `reeve-cri-example`.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    reeve_proxy_cri_example::args::Args::parse().run()
}
