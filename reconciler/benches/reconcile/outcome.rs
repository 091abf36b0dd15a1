//! What a contender took, and the table that sets them side by side.

use std::fmt;
use std::time::Duration;

use crate::measure::Usage;
use crate::requests::Requests;
use crate::workload::Size;

/// One thing that was done.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    pub(crate) name: &'static str,
    /// How long it took, or why it did not end.
    pub(crate) took: Result<Duration, String>,
    pub(crate) requests: Requests,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.took {
            Ok(took) => write!(f, "{:<8} {:>7.1} s, {} requests", self.name, took.as_secs_f64(), self.requests.total()),
            Err(why) => write!(f, "{:<8} {why}", self.name),
        }
    }
}

/// All that one contender did.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) who: &'static str,
    pub(crate) phases: Vec<Phase>,
    pub(crate) usage: Option<Usage>,
}

impl Outcome {
    /// The best of each of two rounds, and the most memory of both.
    pub(crate) fn or_better(mut self, other: Option<Self>) -> Self {
        let Some(other) = other else { return self };
        for phase in &mut self.phases {
            let seconds = |took: &Result<Duration, String>| took.as_ref().map_or(Duration::MAX, |took| *took);
            let better = other.phase(phase.name).filter(|other| seconds(&other.took) < seconds(&phase.took));
            if let Some(better) = better {
                *phase = better.clone();
            }
        }
        let usages = self.usage.zip(other.usage);
        self.usage = usages.map(|(a, b)| Usage { peak: a.peak.max(b.peak), cpu: a.cpu.min(b.cpu) }).or(self.usage);
        self
    }

    fn phase(&self, name: &str) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.name == name)
    }

    fn seconds(&self, name: &str) -> Option<f64> {
        self.phase(name)?.took.as_ref().ok().map(Duration::as_secs_f64)
    }

    fn requests_per_object(&self, name: &str, size: Size) -> Option<f64> {
        Some(of(self.phase(name)?.requests.total(), size.objects()))
    }
}

pub(crate) const PHASES: [&str; 4] = ["install", "upgrade", "no-op", "drift"];

/// Prints everything side by side: floor, ours, the peer if it was there.
pub(crate) fn compare(floor: Option<&Outcome>, ours: Option<&Outcome>, peer: Option<&Outcome>, size: Size) {
    let columns = ["floor", "Reeve", "Flux", "Reeve/floor", "Flux/Reeve"];
    println!(
        "\n  {:<36} {:>9} {:>9} {:>9} {:>12} {:>12}",
        "", columns[0], columns[1], columns[2], columns[3], columns[4]
    );
    for phase in PHASES {
        let seconds = |outcome: &Outcome| outcome.seconds(phase);
        row(&format!("{phase}, s"), floor.and_then(seconds), ours.and_then(seconds), peer.and_then(seconds));
    }
    for phase in PHASES {
        let requests = |outcome: &Outcome| outcome.requests_per_object(phase, size);
        let of = [floor, ours, peer].map(|outcome| outcome.and_then(requests));
        row(&format!("{phase}, requests per object"), of[0], of[1], of[2]);
    }
    let usage = |outcome: &Outcome| outcome.usage;
    let (our_usage, peer_usage) = (ours.and_then(usage), peer.and_then(usage));
    row("peak memory, MiB", None, our_usage.map(|usage| usage.peak), peer_usage.map(|usage| usage.peak));
    let seconds = |usage: Usage| usage.cpu.as_secs_f64();
    row("time on cores in all, s", None, our_usage.map(seconds), peer_usage.map(seconds));
    for outcome in [floor, ours, peer].into_iter().flatten() {
        by_verb(outcome, size);
    }
    println!();
    for phase in ["install", "upgrade"] {
        let seconds = |outcome: Option<&Outcome>| outcome.and_then(|outcome| outcome.seconds(phase));
        let ratio = seconds(ours).zip(seconds(floor)).map(|(ours, floor)| ours / floor);
        promise(&format!("{phase}: Reeve / floor, at most 1.5"), ratio, |ratio| ratio <= 1.5);
        let ratio = seconds(peer).zip(seconds(ours)).map(|(peer, ours)| peer / ours);
        promise(&format!("{phase}: Flux / Reeve, at least 5"), ratio, |ratio| ratio >= 5.0);
    }
    let memory = our_usage.zip(peer_usage).map(|(ours, peer)| ours.peak / peer.peak);
    promise("memory: Reeve / Flux, at most 0.25", memory, |ratio| ratio <= 0.25);
}

fn row(what: &str, floor: Option<f64>, ours: Option<f64>, peer: Option<f64>) {
    let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    let over = |above: Option<f64>, below: Option<f64>| cell(above.zip(below).map(|(above, below)| above / below));
    let (to_floor, to_ours) = (over(ours, floor), over(peer, ours));
    println!("  {what:<36} {:>9} {:>9} {:>9} {to_floor:>12} {to_ours:>12}", cell(floor), cell(ours), cell(peer));
}

fn by_verb(outcome: &Outcome, size: Size) {
    for phase in &outcome.phases {
        println!("\n  {}, {}: requests per object", outcome.who, phase.name);
        for (verb, resource, count) in phase.requests.ranked().into_iter().take(20) {
            println!("    {verb:<8} {resource:<32} {:>9.3} {count:>8}", of(count, size.objects()));
        }
    }
}

/// Whether a ratio is as promised; nothing fails for it.
pub(crate) fn promise(what: &str, ratio: Option<f64>, is_kept: impl Fn(f64) -> bool) {
    match ratio {
        Some(ratio) => println!("  {what:<44} {ratio:>8.2}  {}", if is_kept(ratio) { "kept" } else { "NOT KEPT" }),
        None => println!("  {what:<44} {:>8}  not measured", "-"),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of requests are far below what f64 holds exactly")]
pub(crate) fn of(count: usize, all: usize) -> f64 {
    count as f64 / all as f64
}
