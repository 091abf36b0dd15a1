//! Measures this process from `/proc`, when asked.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Knows what does not change while the process lives.
#[derive(Debug)]
pub(super) struct SystemCollector {
    ticks_per_second: u64,
    page_size: u64,
    booted: Option<u64>,
}

impl SystemCollector {
    pub(super) fn start() -> Self {
        Self {
            ticks_per_second: rustix::param::clock_ticks_per_second(),
            page_size: u64::try_from(rustix::param::page_size()).unwrap_or(4096),
            booted: fs::read_to_string("/proc/stat").ok().and_then(|stat| boot_time(&stat)),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "ticks stay below 2^53 for millions of years")]
    fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 / self.ticks_per_second as f64
    }
}

impl Collector for SystemCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut put = |name, help, metric: &dyn Measured| metric.put(&mut encoder, name, help);
        if let Some(stat) = fs::read_to_string("/proc/self/stat").ok().and_then(|stat| Stat::parse(&stat)) {
            let cpu = ConstCounter::new(self.seconds(stat.cpu_ticks));
            put("process_cpu_seconds", "Time spent on processors", &cpu)?;
            let resident = gauge(stat.resident_pages * self.page_size);
            put("process_resident_memory_bytes", "Memory in use that is not swapped out", &resident)?;
            put("process_threads", "Threads of this process", &gauge(stat.threads))?;
            if let Some(booted) = self.booted {
                let started = gauge(booted + stat.started_ticks / self.ticks_per_second);
                put("process_start_time_seconds", "When this process started, since 1970", &started)?;
            }
        }
        if let Ok(files) = fs::read_dir("/proc/self/fd") {
            // One of them is the folder that is being read.
            let open = u64::try_from(files.count()).unwrap_or(u64::MAX).saturating_sub(1);
            put("process_open_fds", "Files, sockets and the like that are open", &gauge(open))?;
        }
        if let Some(limit) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
            put("process_max_fds", "How many may be open", &gauge(limit))?;
        }
        if let Some(limit) = memory_limit() {
            let help = "Memory that it may use: the limit of its container, or all that the machine has";
            put("process_memory_limit_bytes", help, &gauge(limit))?;
        }
        Ok(())
    }
}

fn gauge(value: u64) -> ConstGauge<i64> {
    ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX))
}

trait Measured {
    fn put(&self, encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str) -> Result<(), fmt::Error>;
}

impl<M: EncodeMetric> Measured for M {
    fn put(&self, encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str) -> Result<(), fmt::Error> {
        self.encode(encoder.encode_descriptor(name, help, None, self.metric_type())?)
    }
}

/// What we take from `/proc/self/stat`; see `proc_pid_stat(5)`.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    cpu_ticks: u64,
    threads: u64,
    started_ticks: u64,
    resident_pages: u64,
}

impl Stat {
    fn parse(stat: &str) -> Option<Self> {
        // The name of the program stands in parentheses and may hold blanks and parentheses itself.
        let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_whitespace().collect();
        // The first field after the name is the third of the line.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            cpu_ticks: field(14)? + field(15)?,
            threads: field(20)?,
            started_ticks: field(22)?,
            resident_pages: field(24)?,
        })
    }
}

/// The least of what the container may use, by either version of cgroups, and what the machine has.
fn memory_limit() -> Option<u64> {
    let files = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limits = files.iter().filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok());
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|meminfo| total_memory(&meminfo));
    limits.chain(machine).min()
}

fn total_memory(meminfo: &str) -> Option<u64> {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:")?.strip_suffix("kB"))?;
    total.trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}

fn boot_time(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_with_blanks_and_parentheses_does_not_shift_the_fields() {
        let stat =
            "7 (a) b (c) S 1 7 7 0 -1 4194560 90 0 0 0 12 30 0 0 20 0 5 0 4242 1000000 321 18446744073709551615 1";
        let wanted = Stat { cpu_ticks: 42, threads: 5, started_ticks: 4242, resident_pages: 321 };
        assert_eq!(Stat::parse(stat), Some(wanted));
        assert_eq!(Stat::parse("7 (a"), None);
        assert_eq!(boot_time("cpu 1 2\nbtime 1700000000\n"), Some(1_700_000_000));
    }

    #[test]
    fn the_memory_of_the_machine_is_read_in_bytes() {
        assert_eq!(total_memory("MemTotal:        2048 kB\nMemFree:  1 kB\n"), Some(2 * 1024 * 1024));
        assert_eq!(total_memory("MemFree: 1 kB\n"), None);
    }
}
