//! The replicas of the data plane, as their reports show them. Pure: the time is an argument.
//!
//! A replica that falls silent is not dead: it may hold requests that nobody knows of. It is dead when its port refuses a
//! connection, when it said that it ends, or when it was silent for very long.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use jiff::Timestamp;
use reeve_crds::scaling_rule::status::TrafficMode;

use super::machine::Traffic;
use super::objects::Resolver;
use crate::report::{ReplicaReport, RuleKey, RuleReport, WakeReport};

/// Reports come each second.
pub(super) const SILENT_AFTER: Duration = Duration::from_secs(3);
/// A replica that cannot be reached either is then given up.
const FORGET_AFTER: Duration = Duration::from_mins(1);
/// How long a new leader listens before it believes that there are no replicas.
const LISTEN_FIRST: Duration = Duration::from_secs(5);
/// Bounds what unknown senders can make us remember.
const MAX_REPLICAS: usize = 1000;

/// All that is known of replicas.
#[derive(Debug)]
pub(super) struct Replicas {
    started: Timestamp,
    known: BTreeMap<String, Known>,
}

#[derive(Debug)]
struct Known {
    report: ReplicaReport,
    rules: BTreeMap<RuleKey, RuleReport>,
    rates: BTreeMap<RuleKey, Rate>,
    received: Timestamp,
}

#[derive(Clone, Copy, Debug)]
struct Rate {
    counted: u64,
    at: Timestamp,
    per_second: u32,
}

/// What a report changed.
#[derive(Debug, Default)]
pub(super) struct Changed {
    /// Rules of which something is new.
    pub rules: BTreeSet<RuleKey>,
    /// Whether the set of replicas is another.
    pub replicas: bool,
}

impl Replicas {
    /// Of a leader that began to listen at `started`.
    pub(super) fn new(started: Timestamp) -> Self {
        Self { started, known: BTreeMap::new() }
    }

    /// Takes a report; an older one than the last of the same instance is dropped.
    pub(super) fn report(&mut self, report: ReplicaReport, now: Timestamp) -> Changed {
        let mut changed = Changed::default();
        let before = self.known.get(&report.replica);
        if before
            .is_some_and(|known| known.report.instance == report.instance && known.report.sequence >= report.sequence)
        {
            return changed;
        }
        if before.is_none() && self.known.len() >= MAX_REPLICAS {
            return changed;
        }
        let was_silent = before.is_none_or(|known| is_silent(known, now));
        changed.replicas = was_silent
            || before.is_none_or(|known| {
                known.report.draining != report.draining || known.report.addresses != report.addresses
            });
        let mut known = Known {
            rules: report.rules.iter().map(|rule| (rule.rule.clone(), rule.clone())).collect(),
            rates: BTreeMap::new(),
            received: now,
            report,
        };
        known.report.rules = Vec::new();
        let previous = self.known.remove(&known.report.replica);
        let same = previous.as_ref().filter(|previous| previous.report.instance == known.report.instance);
        for (rule, report) in &known.rules {
            let rate = same.and_then(|previous| previous.rates.get(rule)).copied();
            known.rates.insert(rule.clone(), next_rate(rate, report.requests_total, now));
            let is_news = previous.as_ref().and_then(|previous| previous.rules.get(rule)) != Some(report);
            if is_news {
                changed.rules.insert(rule.clone());
            }
        }
        for listener in &known.report.listeners {
            let had = previous.as_ref().is_some_and(|previous| previous.report.listeners.contains(listener));
            if !had {
                changed.rules.insert(listener.rule.clone());
            }
        }
        if let Some(previous) = &previous {
            let gone = previous.rules.keys().filter(|rule| !known.rules.contains_key(*rule));
            changed.rules.extend(gone.cloned());
        }
        self.known.insert(known.report.replica.clone(), known);
        changed
    }

    /// Whether a new leader has listened for long enough to know what passes, and for long enough to know who is there.
    pub(super) fn has_listened(&self, now: Timestamp) -> (bool, bool) {
        let listened = since(self.started, now);
        (listened >= SILENT_AFTER, listened >= LISTEN_FIRST)
    }

    /// Replicas that are silent, with an address at which they should listen.
    pub(super) fn silent(&self, now: Timestamp) -> Vec<(String, Option<SocketAddr>)> {
        let silent = self.known.values().filter(|known| is_silent(known, now));
        silent.map(|known| (known.report.replica.clone(), door(known))).collect()
    }

    /// Forgets a replica that is dead for sure.
    pub(super) fn remove(&mut self, replica: &str) -> bool {
        self.known.remove(replica).is_some()
    }

    /// Gives up those that were silent for very long, and those that said that they end.
    pub(super) fn forget(&mut self, now: Timestamp) -> bool {
        let before = self.known.len();
        self.known.retain(|_, known| {
            let silence = since(known.received, now);
            silence < FORGET_AFTER && !(known.report.draining && silence >= SILENT_AFTER)
        });
        self.known.len() != before
    }

    /// Those that may take the traffic of these ports; nothing while that is not known.
    pub(super) fn usable(&self, rule: &RuleKey, ports: &BTreeSet<i32>, now: Timestamp) -> Option<Vec<Resolver>> {
        let is_bound = |known: &Known| {
            let bound = |port: &i32| {
                known
                    .report
                    .listeners
                    .iter()
                    .any(|listener| listener.bound && listener.rule == *rule && i32::from(listener.port) == *port)
            };
            !ports.is_empty() && ports.iter().all(bound)
        };
        let alive = || self.known.values().filter(|known| !known.report.draining);
        let fresh = alive().filter(|known| !is_silent(known, now) && is_bound(known));
        let usable: Vec<Resolver> = fresh.map(|known| resolver(&known.report)).collect();
        let may_be_more = since(self.started, now) < LISTEN_FIRST || alive().any(|known| is_silent(known, now));
        if usable.is_empty() && may_be_more { None } else { Some(usable) }
    }

    /// What all replicas say of a rule together; nothing while one of them is silent or nobody was heard yet.
    /// `epoch` is the mode, and how often it has changed, that they should act by.
    pub(super) fn traffic(&self, rule: &RuleKey, epoch: (TrafficMode, i64), now: Timestamp) -> Option<Traffic> {
        if self.known.values().any(|known| is_silent(known, now)) || since(self.started, now) < SILENT_AFTER {
            return None;
        }
        let mut traffic = Traffic { in_flight: 0, per_second: 0, last_request: None, holding: true, ready_pods: 0 };
        for known in self.known.values() {
            let Some(report) = known.rules.get(rule) else {
                traffic.holding = false;
                continue;
            };
            traffic.in_flight = traffic.in_flight.saturating_add(report.in_flight);
            let rate = known.rates.get(rule).map_or(0, |rate| rate.per_second);
            traffic.per_second = traffic.per_second.saturating_add(rate);
            traffic.ready_pods = traffic.ready_pods.max(report.ready_pods);
            traffic.last_request = traffic.last_request.max(last_request(known, report));
            let acts_by = (report.mode, report.mode_changes);
            traffic.holding &= report.holding && acts_by == (Some(epoch.0), epoch.1);
        }
        Some(traffic)
    }

    /// Requests that wait, as far as is known.
    pub(super) fn held(&self, rule: &RuleKey) -> u32 {
        let reports = self.known.values().filter_map(|known| known.rules.get(rule));
        reports.fold(0, |sum: u32, report| sum.saturating_add(report.held))
    }

    /// Why a replica cannot serve a port of a rule, if one cannot.
    pub(super) fn problem(&self, rule: &RuleKey) -> Option<String> {
        let mut listeners = self.known.values().flat_map(|known| &known.report.listeners);
        listeners.find_map(|listener| listener.problem.clone().filter(|_| listener.rule == *rule))
    }

    /// The latest wake that a replica began.
    pub(super) fn wake(&self, rule: &RuleKey) -> Option<WakeReport> {
        let wakes = self.known.values().filter_map(|known| known.rules.get(rule)?.wake.clone());
        wakes.max_by_key(|wake| wake.started_at)
    }
}

fn is_silent(known: &Known, now: Timestamp) -> bool {
    since(known.received, now) >= SILENT_AFTER
}

fn since(then: Timestamp, now: Timestamp) -> Duration {
    now.duration_since(then).try_into().unwrap_or_default()
}

/// Replicas have clocks of their own: only the age of a request is taken from them.
fn last_request(known: &Known, report: &RuleReport) -> Option<Timestamp> {
    let age = known.report.at.duration_since(report.last_request?);
    known.received.saturating_sub(age.max(jiff::SignedDuration::ZERO)).ok()
}

fn resolver(report: &ReplicaReport) -> Resolver {
    let mut addresses = report.addresses.clone();
    addresses.sort();
    Resolver { name: report.replica.clone(), addresses, node: report.node.clone() }
}

fn door(known: &Known) -> Option<SocketAddr> {
    let listener = known.report.listeners.iter().find(|listener| listener.bound)?;
    Some(SocketAddr::new(*known.report.addresses.first()?, listener.port))
}

fn next_rate(before: Option<Rate>, counted: u64, now: Timestamp) -> Rate {
    let Some(before) = before else { return Rate { counted, at: now, per_second: 0 } };
    let millis = u64::try_from(since(before.at, now).as_millis()).unwrap_or(u64::MAX);
    // Reports on edges come close together; a rate over less than a second says little.
    if millis < 900 {
        return before;
    }
    let per_second = counted.saturating_sub(before.counted).saturating_mul(1000) / millis;
    Rate { counted, at: now, per_second: u32::try_from(per_second).unwrap_or(u32::MAX) }
}

#[cfg(test)]
mod tests;
