//! What rendering costs, next to Helm and next to rendering everything anew.
//!
//! Each section runs in a process of its own, so that the peak of its memory is its own. `cargo bench --bench render --
//! fleet` runs one of them. Nothing here fails for being slow: it prints ratios.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]
#![expect(clippy::disallowed_methods, reason = "a bench reads the clock, and is told by the environment where Helm is")]

mod chart;
mod fleet;
mod helm;
mod largest;
mod measure;
mod releases;
mod repository;
mod streaming;

use std::process::Command;

use anyhow::{Context, Result, bail};
use largest::Kinds;

const SECTIONS: [&str; 5] = ["largest", "definitions", "releases", "fleet", "streaming"];

fn main() -> Result<()> {
    // Cargo adds `--bench` to what it is given.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    match wanted.as_slice() {
        [section] => run(section),
        _ => SECTIONS.iter().try_for_each(|section| {
            let program = std::env::current_exe().context("cannot find our own program")?;
            let status = Command::new(program).arg(section).status().context("cannot start a section")?;
            if status.success() { Ok(()) } else { bail!("section {section} failed") }
        }),
    }
}

fn run(section: &str) -> Result<()> {
    match section {
        "releases" => releases::run(),
        "largest" => largest::run(Kinds::Without),
        "definitions" => largest::run(Kinds::With),
        "fleet" => fleet::run(),
        "streaming" => streaming::run(),
        _ => bail!("there is no section {section}: {}", SECTIONS.join(", ")),
    }
}
