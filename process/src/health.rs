//! Named checks behind `/livez` and `/readyz`.
//!
//! Ready means: may get work. A standby of a lease is ready; leadership is no check. Alive means: not worth a restart;
//! without liveness checks a process that answers at all is alive.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

/// All checks of this process. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<Mutex<Checks>>);

#[derive(Debug, Default)]
struct Checks {
    next: u64,
    /// By name for a stable page; the number tells two of one name apart.
    live: BTreeMap<(String, u64), Liveness>,
    ready: BTreeMap<(String, u64), Result<(), String>>,
    draining: bool,
}

#[derive(Debug)]
struct Liveness {
    beat: Instant,
    within: Duration,
}

/// What a probe is told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) good: bool,
    pub(crate) page: String,
}

impl Health {
    /// A readiness check, failing until it first passes. Dropping the handle makes it fail for good, since whoever
    /// could have said otherwise is gone; [`Check::retire`] takes it off the page.
    pub fn check(&self, name: &str) -> Check {
        let mut checks = self.lock();
        let key = checks.key(name);
        checks.ready.insert(key.clone(), Err("has not reported yet".to_owned()));
        Check { health: self.clone(), key }
    }

    /// A liveness check that fails when no [`Heartbeat::beat`] came for `within`: for a loop that must turn. Dropping
    /// the handle takes it off the page, so that a loop that ended is not taken for one that is stuck.
    pub fn heartbeat(&self, name: &str, within: Duration) -> Heartbeat {
        let mut checks = self.lock();
        let key = checks.key(name);
        checks.live.insert(key.clone(), Liveness { beat: Instant::now(), within });
        Heartbeat { health: self.clone(), key }
    }

    /// From now on not ready, whatever the checks say.
    pub(crate) fn drain(&self) {
        self.lock().draining = true;
    }

    pub(crate) fn livez(&self) -> Report {
        let now = Instant::now();
        let checks = self.lock();
        let lines = checks.live.iter().map(|((name, _), live)| {
            let age = now.duration_since(live.beat);
            let stuck = age > live.within;
            (name.as_str(), if stuck { Err(format!("no sign of life for {} s", age.as_secs())) } else { Ok(()) })
        });
        report("livez", lines)
    }

    pub(crate) fn readyz(&self) -> Report {
        let checks = self.lock();
        let draining = checks.draining.then(|| ("shutdown", Err("draining".to_owned())));
        let ready = checks.ready.iter().map(|((name, _), state)| (name.as_str(), state.clone()));
        report("readyz", draining.into_iter().chain(ready))
    }

    fn lock(&self) -> MutexGuard<'_, Checks> {
        self.0.lock()
    }
}

impl Checks {
    fn key(&mut self, name: &str) -> (String, u64) {
        self.next += 1;
        (name.to_owned(), self.next)
    }
}

fn report<'a>(page_name: &str, lines: impl Iterator<Item = (&'a str, Result<(), String>)>) -> Report {
    let mut good = true;
    let mut page = String::new();
    for (name, state) in lines {
        good &= state.is_ok();
        // Writing to a String does not fail.
        let _ = match state {
            Ok(()) => writeln!(page, "[+]{name} ok"),
            Err(reason) => writeln!(page, "[-]{name}: {reason}"),
        };
    }
    let outcome = if good { "passed" } else { "failed" };
    let _ = writeln!(page, "{page_name} check {outcome}");
    Report { good, page }
}

/// The say of one part on readiness.
#[derive(Debug)]
pub struct Check {
    health: Health,
    key: (String, u64),
}

impl Check {
    pub fn pass(&self) {
        self.set(Ok(()));
    }

    /// `reason` is shown to whoever can reach the admin port: no secrets.
    pub fn fail(&self, reason: impl Into<String>) {
        self.set(Err(reason.into()));
    }

    /// Takes the check off the page: its part has ended as it should.
    pub fn retire(self) {
        self.health.lock().ready.remove(&self.key);
    }

    fn set(&self, state: Result<(), String>) {
        if let Some(slot) = self.health.lock().ready.get_mut(&self.key) {
            *slot = state;
        }
    }
}

impl Drop for Check {
    fn drop(&mut self) {
        self.set(Err("its part has ended".to_owned()));
    }
}

/// The sign of life of one loop.
#[derive(Debug)]
pub struct Heartbeat {
    health: Health,
    key: (String, u64),
}

impl Heartbeat {
    pub fn beat(&self) {
        if let Some(live) = self.health.lock().live.get_mut(&self.key) {
            live.beat = Instant::now();
        }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.health.lock().live.remove(&self.key);
    }
}

#[cfg(test)]
mod tests;
