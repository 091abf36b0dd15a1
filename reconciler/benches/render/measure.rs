//! Clocks, peaks and lines.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// How often all that is compared is done, unless it takes long; the best counts, since whatever else the machine does
/// only ever adds to it.
pub(crate) const ROUNDS: usize = 5;

/// The best of so many rounds after one that is not counted: of time on a core, which a busy machine does not stretch.
pub(crate) fn best(rounds: usize, mut work: impl FnMut() -> Result<()>) -> Result<Duration> {
    work()?;
    let mut best = Duration::MAX;
    for _ in 0..rounds {
        let begin = on_core()?;
        work()?;
        best = best.min(on_core()?.saturating_sub(begin));
    }
    Ok(best)
}

/// How long this thread was on a core.
fn on_core() -> Result<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").context("cannot read /proc")?;
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse().ok()).context("schedstat is no number")?;
    Ok(Duration::from_nanos(nanoseconds))
}

/// How long the children that ended were on cores, all together.
pub(crate) fn children_on_cores() -> Result<Duration> {
    let text = std::fs::read_to_string("/proc/self/stat").context("cannot read /proc")?;
    // The name in parentheses may hold spaces; what is counted from it on does not.
    let (_, fields) = text.rsplit_once(')').context("/proc/self/stat has no name")?;
    let ticks = fields.split_whitespace().skip(13).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 10))
}

/// How long it takes, done once.
pub(crate) fn once(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let begin = Instant::now();
    work()?;
    Ok(begin.elapsed())
}

pub(crate) fn ratio(slow: Duration, fast: Duration) -> f64 {
    slow.as_secs_f64() / fast.as_secs_f64()
}

/// A line with what took how long for one of so many.
pub(crate) fn line(what: &str, each: Duration) {
    println!("  {what:<64} {:>10.3} ms", each.as_secs_f64() * 1000.0);
}

/// A line with a ratio.
pub(crate) fn compare(what: &str, ratio: f64, promised: &str) {
    println!("  {what:<64} {ratio:>10.1} x  {promised}");
}

/// A line with a ratio and the least that it should be, if anything is promised.
pub(crate) fn verdict(what: &str, ratio: f64, wanted: Option<f64>) {
    let wanted = wanted.map_or_else(|| "for the record".to_owned(), |least| format!("wanted {least:.0} x"));
    println!("render {what}: {ratio:.1} x ({wanted})");
}

/// A line with a count.
pub(crate) fn count(what: &str, count: impl std::fmt::Display) {
    println!("  {what:<64} {count:>10}");
}

/// The most memory that a process ever had, in MiB.
pub(crate) fn peak_memory(process: &str) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).context("cannot read /proc")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM in /proc")?;
    let kibibytes: f64 = line.trim().trim_end_matches("kB").trim().parse().context("VmHWM is no number")?;
    Ok(kibibytes / 1024.0)
}
