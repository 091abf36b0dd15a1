//! `reeve-images`: see [`reeve_images::args`].

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    reeve_images::args::Args::parse().run()
}
