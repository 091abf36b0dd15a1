//! How long the harness makes a test wait, against what it promises.

use std::time::{Duration, Instant};

use anyhow::Result;
use reeve_tests::{ControlPlane, Node};

const RUNS: usize = 3;

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("{:<44} {:>9} {:>9} {:>6}", "median of 3 starts, everything cached", "took", "promised", "ratio");
    report("API server ready", Duration::from_secs(5), || runtime.block_on(ControlPlane::start()).map(drop_later))?;
    report("with controllers, as `make test` shares it", Duration::from_secs(15), || {
        runtime.block_on(async { ControlPlane::start().await?.controllers().await }).map(drop_later)
    })?;
    report("node Ready, with control plane", Duration::from_secs(20), || {
        runtime.block_on(Node::start()).map(drop_later)
    })
}

/// What was started; ended only after the clock has stopped.
fn drop_later<T: 'static>(started: T) -> Box<dyn std::any::Any> {
    Box::new(started)
}

fn report(what: &str, promised: Duration, mut start: impl FnMut() -> Result<Box<dyn std::any::Any>>) -> Result<()> {
    let mut took = Vec::new();
    for _ in 0..RUNS {
        let begin = Instant::now();
        let started = start()?;
        took.push(begin.elapsed());
        drop(started);
    }
    took.sort_unstable();
    let median = took[RUNS / 2];
    let ratio = median.as_secs_f64() / promised.as_secs_f64();
    println!("{what:<44} {:>7.1} s {:>7} s {ratio:>6.2}", median.as_secs_f64(), promised.as_secs());
    Ok(())
}
