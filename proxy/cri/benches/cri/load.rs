//! Calls as kubelet makes them, timed by the client that makes them.

use std::path::Path;

use reeve_tests::assets::{self, Peer};
use serde::Deserialize;

/// How long calls took, in microseconds, and how many there were in a second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) rate: f64,
}

#[derive(Deserialize)]
struct Line {
    p50: f64,
    p99: f64,
    rate: f64,
}

impl Figures {
    /// Of each figure the median of all rounds.
    pub(crate) fn median(rounds: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| {
            let mut all: Vec<f64> = rounds.iter().map(figure).collect();
            all.sort_by(f64::total_cmp);
            let half = all.len() / 2;
            if all.len().is_multiple_of(2) { f64::midpoint(all[half - 1], all[half]) } else { all[half] }
        };
        Self { p50: of(|figures| figures.p50), p99: of(|figures| figures.p99), rate: of(|figures| figures.rate) }
    }
}

/// Makes so many calls, so many of them at the same time.
pub(crate) async fn run(socket: &Path, method: &str, calls: usize, workers: usize) -> Figures {
    let output = tokio::process::Command::new(assets::peer(Peer::Cri).expect("no client"))
        .args(["bench", "-method", method, "-calls", &calls.to_string(), "-workers", &workers.to_string(), "-socket"])
        .arg(socket)
        .output()
        .await
        .expect("cannot start the client");
    assert!(output.status.success(), "{}: {}", socket.display(), String::from_utf8_lossy(&output.stderr));
    let line: Line = serde_json::from_slice(&output.stdout).expect("the client prints figures");
    Figures { p50: line.p50 / 1000.0, p99: line.p99 / 1000.0, rate: line.rate }
}
