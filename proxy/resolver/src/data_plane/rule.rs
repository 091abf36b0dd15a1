//! A rule as a replica lives it: its settings, what is in flight, what waits, and how the last wake went.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::hold::{Event, HoldRoom, Lane};
use super::settings::{PathMode, Settings};
use crate::report::{RuleKey, RuleReport, WakeReport};

/// A request that comes after this much silence is worth a report of its own.
const SILENCE: Duration = Duration::from_secs(1);

/// What has to be done elsewhere, soon.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// Something changed that the switch wants to know at once.
    pub(crate) report: Notify,
    /// Somebody waits for a target that may sleep.
    pub(crate) wake: Notify,
    /// Other Secrets may be named now.
    pub(crate) secrets: Notify,
    wanted: Mutex<BTreeSet<RuleKey>>,
}

impl Signals {
    /// The rules whose targets may have to be woken, since this was asked last.
    pub(crate) fn take_wanted(&self) -> BTreeSet<RuleKey> {
        std::mem::take(&mut *self.wanted.lock())
    }

    fn want(&self, key: &RuleKey) {
        self.wanted.lock().insert(key.clone());
        self.wake.notify_one();
    }
}

/// Wall-clock times from a clock that never jumps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    instant: Instant,
    timestamp: Timestamp,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { instant: Instant::now(), timestamp: Timestamp::now() }
    }

    fn elapsed(&self, at: Instant) -> Duration {
        at.saturating_duration_since(self.instant)
    }

    fn timestamp(&self, elapsed: Duration) -> Timestamp {
        self.timestamp.checked_add(elapsed).unwrap_or(self.timestamp)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.timestamp(self.elapsed(Instant::now()))
    }
}

/// One rule.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) key: RuleKey,
    pub(crate) room: Arc<HoldRoom>,
    pub(crate) signals: Arc<Signals>,
    settings: ArcSwap<Settings>,
    path: watch::Sender<PathMode>,
    clock: Clock,
    /// Copy of the settings' barrier, for the one order of reads and writes that matters: see [`Rule::set_off`].
    barrier: AtomicBool,
    in_flight: AtomicU32,
    total: AtomicU64,
    refused: AtomicU64,
    /// Milliseconds of the clock, and one.
    last: AtomicU64,
    /// Somebody asked for the target without waiting for it.
    called: AtomicBool,
    /// Pods that take requests: of all lanes together, and of each.
    pods: AtomicU32,
    lanes: Mutex<BTreeMap<Lane, u32>>,
    wake: Mutex<WakeRecord>,
}

/// The last wake, as far as it has come.
#[derive(Debug, Default)]
struct WakeRecord {
    began: Option<Instant>,
    report: Option<WakeReport>,
    /// How long the last complete one took until a pod was ready.
    usual: Option<Duration>,
}

impl Rule {
    pub(crate) fn new(key: RuleKey, settings: Settings, clock: Clock, signals: Arc<Signals>) -> Arc<Self> {
        let barrier = settings.path == PathMode::Barrier;
        let room = HoldRoom::new(settings.limits);
        let path = watch::Sender::new(settings.path);
        room.apply(Event::Barrier(barrier));
        Arc::new(Self {
            key,
            room,
            signals,
            settings: ArcSwap::from_pointee(settings),
            path,
            clock,
            barrier: AtomicBool::new(barrier),
            in_flight: AtomicU32::new(0),
            total: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            last: AtomicU64::new(0),
            called: AtomicBool::new(false),
            pods: AtomicU32::new(0),
            lanes: Mutex::default(),
            wake: Mutex::default(),
        })
    }

    pub(crate) fn settings(&self) -> Guard<Arc<Settings>> {
        self.settings.load()
    }

    /// For those who must know when the mode asks for something else.
    pub(crate) fn watch(&self) -> watch::Receiver<PathMode> {
        self.path.subscribe()
    }

    /// A changed rule counts from now on. Those who wait keep the time that they were given when they came, and are not
    /// turned away by limits that shrank.
    pub(crate) fn change(&self, settings: Settings) {
        let old = self.settings.load_full();
        let barrier = settings.path == PathMode::Barrier;
        let (limits, path) = (settings.limits, settings.path);
        let mode = (settings.mode, settings.mode_changes);
        self.settings.store(Arc::new(settings));
        self.barrier.store(barrier, Ordering::SeqCst);
        self.room.apply(Event::Barrier(barrier));
        if old.limits != limits {
            self.room.apply(Event::Limits(limits));
        }
        self.path.send_if_modified(|known| std::mem::replace(known, path) != path);
        if (old.mode, old.mode_changes) != mode {
            self.signals.report.notify_one();
            self.signals.want(&self.key);
        }
    }

    /// Counts a request that is demand, whatever becomes of it.
    pub(crate) fn count(&self) {
        let now = u64::try_from(self.clock.elapsed(Instant::now()).as_millis()).unwrap_or(u64::MAX - 1) + 1;
        self.total.fetch_add(1, Ordering::Relaxed);
        let before = self.last.swap(now, Ordering::Relaxed);
        if before == 0 || u128::from(now.saturating_sub(before)) > SILENCE.as_millis() {
            self.signals.report.notify_one();
        }
    }

    pub(crate) fn count_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Lets a request set off for a pod, unless a barrier is up.
    ///
    /// It is counted before it looks: whoever raises the barrier and then reads the count has either stopped the request
    /// or sees it.
    pub(crate) fn set_off(self: &Arc<Self>) -> Option<InFlight> {
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        let flight = InFlight(Arc::clone(self));
        (!self.barrier.load(Ordering::SeqCst)).then_some(flight)
    }

    /// A request waits: the target is wanted.
    pub(crate) fn note_held(&self, cause: impl FnOnce() -> String) {
        if self.room.held() == 1 {
            self.begin_wake(cause);
            self.signals.report.notify_one();
        }
        self.signals.want(&self.key);
    }

    /// Somebody was answered at once, and the target is wanted nevertheless.
    pub(crate) fn call(&self, cause: impl FnOnce() -> String) {
        if !self.called.swap(true, Ordering::AcqRel) {
            self.begin_wake(cause);
        }
        self.signals.want(&self.key);
    }

    /// Whether the target is wanted and nobody there answers.
    pub(crate) fn wants_wake(&self) -> bool {
        let wanted = self.room.held() > 0 || self.called.load(Ordering::Acquire);
        wanted && self.pods.load(Ordering::SeqCst) == 0 && self.settings.load().path.wakes()
    }

    fn begin_wake(&self, cause: impl FnOnce() -> String) {
        let mut wake = self.wake();
        let now = Instant::now();
        if self.pods.load(Ordering::SeqCst) > 0 || wake.began.is_some() {
            return;
        }
        wake.began = Some(now);
        let settings = self.settings.load();
        wake.report = Some(WakeReport {
            started_at: self.clock.timestamp(self.clock.elapsed(now)),
            cause: cause(),
            replicas: settings.wake.as_ref().map_or(0, |wake| wake.size.wake),
            held: None,
            scaled_ms: None,
            ready_ms: None,
            first_byte_ms: None,
        });
    }

    /// The scale was written.
    pub(crate) fn note_scaled(&self, replicas: i32) {
        let mut wake = self.wake();
        let passed = wake.began.map(|began| began.elapsed());
        if let (Some(passed), Some(report)) = (passed, wake.report.as_mut()) {
            report.replicas = replicas;
            report.scaled_ms.get_or_insert(milliseconds(passed));
        }
        drop(wake);
        self.signals.report.notify_one();
    }

    /// So many pods of a lane take requests now.
    pub(crate) fn note_pods(&self, lane: Lane, pods: u32) {
        let mut lanes = self.lanes.lock();
        lanes.insert(lane, pods);
        let pods = lanes.values().sum();
        let before = self.pods.swap(pods, Ordering::SeqCst);
        drop(lanes);
        if (before == 0) == (pods == 0) {
            return;
        }
        if pods > 0 {
            self.called.store(false, Ordering::Release);
            let mut wake = self.wake();
            if let Some(began) = wake.began.take() {
                let passed = began.elapsed();
                wake.usual = Some(passed);
                if let Some(report) = wake.report.as_mut() {
                    report.held.get_or_insert(self.room.held());
                    report.ready_ms.get_or_insert(milliseconds(passed));
                }
            }
        } else {
            self.signals.want(&self.key);
        }
        self.signals.report.notify_one();
    }

    /// A request that waited since `came` has the first byte of its answer.
    pub(crate) fn note_first_byte(&self, came: Instant) {
        let mut wake = self.wake();
        if let Some(report) = wake.report.as_mut().filter(|report| report.first_byte_ms.is_none()) {
            report.first_byte_ms = Some(milliseconds(came.elapsed()));
            drop(wake);
            self.signals.report.notify_one();
        }
    }

    /// When it is worth asking again: after what a wake usually takes.
    pub(crate) fn retry_after(&self) -> u64 {
        self.wake().usual.map_or(2, |usual| usual.as_secs() + 1).min(60)
    }

    pub(crate) fn report(&self) -> RuleReport {
        let settings = self.settings.load();
        let holding = match settings.path {
            PathMode::Barrier => true,
            PathMode::Asleep => self.pods.load(Ordering::SeqCst) == 0,
            PathMode::Leave | PathMode::Forward => false,
        };
        let last = self.last.load(Ordering::Relaxed);
        RuleReport {
            rule: self.key.clone(),
            mode: settings.mode,
            mode_changes: settings.mode_changes,
            holding,
            in_flight: self.in_flight.load(Ordering::SeqCst),
            held: self.room.held(),
            ready_pods: self.pods.load(Ordering::SeqCst),
            requests_total: self.total.load(Ordering::Relaxed),
            last_request: last.checked_sub(1).map(|last| self.clock.timestamp(Duration::from_millis(last))),
            wake: self.wake().report.clone(),
        }
    }

    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    fn wake(&self) -> MutexGuard<'_, WakeRecord> {
        self.wake.lock()
    }
}

/// A request that was forwarded and has not ended.
#[derive(Debug)]
pub(crate) struct InFlight(Arc<Rule>);

impl Drop for InFlight {
    fn drop(&mut self) {
        let before = self.0.in_flight.fetch_sub(1, Ordering::SeqCst);
        if before == 1 && self.0.barrier.load(Ordering::SeqCst) {
            self.0.signals.report.notify_one();
        }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
