//! A line on the terminal that says how far a long command is. The clock is read here.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use super::text::number;

/// Shorter work needs no telling.
const PATIENCE: Duration = Duration::from_secs(10);
const BETWEEN: Duration = Duration::from_millis(200);
const WIDTH: usize = 30;

/// How far a command is.
pub(super) struct Progress {
    all: usize,
    done: usize,
    /// When the line may be drawn next; never, if there is no terminal.
    next: Option<Instant>,
    drawn: bool,
}

impl Progress {
    /// Nothing of `all` is done yet.
    pub(super) fn new(all: usize) -> Self {
        let next = io::stderr().is_terminal().then(|| now() + PATIENCE);
        Self { all, done: 0, next, drawn: false }
    }

    /// One more is done.
    pub(super) fn step(&mut self) {
        self.done += 1;
        let Some(next) = self.next else { return };
        let now = now();
        if now >= next {
            self.next = Some(now + BETWEEN);
            self.drawn = true;
            // Telling is not worth failing over.
            let _ = write!(io::stderr(), "\r{}", line(self.done, self.all));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn {
            let _ = write!(io::stderr(), "\r{:width$}\r", "", width = line(self.all, self.all).len());
        }
    }
}

fn line(done: usize, all: usize) -> String {
    let full = done.saturating_mul(WIDTH).checked_div(all).unwrap_or(WIDTH).min(WIDTH);
    let bar = "#".repeat(full) + &".".repeat(WIDTH - full);
    format!("[{bar}] {:>width$} of {} runtimes", number(done), number(all), width = number(all).len())
}

#[expect(clippy::disallowed_methods, reason = "how long a person has been waiting decides nothing else")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_keeps_its_length() {
        assert_eq!(line(0, 9_412).len(), line(9_412, 9_412).len());
        assert!(line(5, 10).starts_with("[###############...............]  5 of 10"), "{}", line(5, 10));
        assert!(line(0, 0).starts_with("[###"));
    }
}
