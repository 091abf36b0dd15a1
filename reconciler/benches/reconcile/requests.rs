//! Who asked the API server for what, from its audit log.

use std::collections::BTreeMap;
use std::fmt;

use reeve_tests::{AuditEvent, AuditLog};

/// What the bench itself is called when it looks or stirs; never counted.
pub(crate) const OBSERVER: &str = "bench-observer";

/// Requests by verb and resource. A watch is counted when it ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests(BTreeMap<(String, String), usize>);

/// Reads an audit log piece by piece.
#[derive(Debug)]
pub(crate) struct Counter {
    log: AuditLog,
    seen: usize,
}

impl Counter {
    pub(crate) fn new(log: AuditLog) -> Self {
        Self { log, seen: 0 }
    }

    /// What was asked since the last call, by everyone but the bench and Kubernetes' own parts.
    pub(crate) fn take(&mut self) -> Requests {
        let events = self.log.events();
        let mut counted = Requests::default();
        for event in events.iter().skip(self.seen).filter(|event| is_of_the_subject(event)) {
            *counted.0.entry((event.verb.clone(), resource(event))).or_default() += 1;
        }
        self.seen = events.len();
        counted
    }
}

fn is_of_the_subject(event: &AuditEvent) -> bool {
    let agent = &event.user_agent;
    !agent.starts_with("kube-") && !agent.starts_with("kubectl") && !agent.starts_with(OBSERVER)
}

fn resource(event: &AuditEvent) -> String {
    match (event.resource.as_str(), event.subresource.as_str()) {
        ("", _) => "discovery and the like".to_owned(),
        (resource, "") => resource.to_owned(),
        (resource, subresource) => format!("{resource}/{subresource}"),
    }
}

impl Requests {
    pub(crate) fn add(&mut self, more: Self) {
        more.0.into_iter().for_each(|(what, count)| *self.0.entry(what).or_default() += count);
    }

    pub(crate) fn total(&self) -> usize {
        self.0.values().sum()
    }

    /// Those that change something.
    pub(crate) fn writes(&self) -> usize {
        let is_write = |verb: &str| matches!(verb, "create" | "update" | "patch" | "delete" | "deletecollection");
        self.0
            .iter()
            .filter(|((verb, resource), _)| is_write(verb) && resource != "leases")
            .map(|(_, count)| count)
            .sum()
    }

    pub(crate) fn of_verb(&self, verb: &str) -> usize {
        self.0.iter().filter(|((of, _), _)| of == verb).map(|(_, count)| count).sum()
    }

    /// The most frequent first.
    pub(crate) fn ranked(&self) -> Vec<(&str, &str, usize)> {
        let mut all: Vec<_> =
            self.0.iter().map(|((verb, resource), count)| (verb.as_str(), resource.as_str(), *count)).collect();
        all.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
        all
    }
}

impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} requests, {} of them writes", self.total(), self.writes())?;
        let ranked = self.ranked().into_iter().take(6);
        let most: Vec<String> = ranked.map(|(verb, resource, count)| format!("{count} {verb} {resource}")).collect();
        if most.is_empty() { Ok(()) } else { write!(f, " ({})", most.join(", ")) }
    }
}
