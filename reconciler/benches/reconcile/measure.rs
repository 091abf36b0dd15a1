//! What a process took, from `/proc`.

use std::ops::Add;
use std::time::Duration;

use anyhow::{Context, Result};

/// The most memory that a process ever had, in MiB, and its time on cores with that of the children it waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) peak: f64,
    pub(crate) cpu: Duration,
}

impl Usage {
    pub(crate) fn of(process: i32) -> Result<Self> {
        let read = |file: &str| {
            std::fs::read_to_string(format!("/proc/{process}/{file}")).with_context(|| format!("{process} has ended"))
        };
        let peak = memory(process, "VmHWM:")?;
        let stat = read("stat")?;
        // The name in parentheses may hold spaces; what is counted from it on does not.
        let (_, fields) = stat.rsplit_once(')').context("/proc has no name of it")?;
        let ticks = fields.split_whitespace().skip(11).take(4).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
        Ok(Self { peak, cpu: Duration::from_millis(ticks * 10) })
    }
}

/// What a process has in memory now, in MiB.
pub(crate) fn resident(process: i32) -> Result<f64> {
    memory(process, "VmRSS:")
}

fn memory(process: i32, what: &str) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"));
    let status = status.with_context(|| format!("{process} has ended"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(what));
    let line = line.with_context(|| format!("no {what} in /proc"))?;
    let kibibytes: f64 =
        line.trim().trim_end_matches("kB").trim().parse().with_context(|| format!("{what} is no number"))?;
    Ok(kibibytes / 1024.0)
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { peak: self.peak + other.peak, cpu: self.cpu + other.cpu }
    }
}
