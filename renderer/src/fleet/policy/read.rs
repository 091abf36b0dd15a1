//! `policy`, decoded. What the kind `Runtime` would refuse is refused here, where file and line are known.

use std::sync::Arc;

use super::super::decode::{Decoder, Field};
use super::{
    Adoption, DaprPolicy, DaprReload, DeletionPolicy, DriftMode, DriftPolicy, IgnoredFields, Policy, Recreate,
};
use crate::diagnostic::Diagnostic;

const KEYS: &[&str] = &[
    "interval",
    "timeout",
    "maxBackoff",
    "concurrency",
    "prune",
    "drift",
    "adoption",
    "recreate",
    "deletionPolicy",
    "dapr",
];

const DAPR_KEYS: &[&str] = &["reload", "settleTime", "proofTimeout", "maxConcurrentRestarts", "maxRestartsPerHour"];

impl Decoder {
    pub(in super::super) fn policy(&mut self, field: &Field<'_>) -> Policy {
        let fields = self.map(field, KEYS);
        let get = |key: &str| fields.get(key);
        Policy {
            interval: get("interval").and_then(|field| self.duration(field, "1s", "24h")),
            timeout: get("timeout").and_then(|field| self.duration(field, "1s", "24h")),
            max_backoff: get("maxBackoff").and_then(|field| self.duration(field, "1s", "1h")),
            concurrency: get("concurrency").and_then(|field| self.small(field, 64)),
            prune: get("prune").and_then(|field| self.boolean(field)),
            drift: get("drift").map(|field| self.drift(field)).unwrap_or_default(),
            adoption: get("adoption").and_then(|field| self.word(field, Adoption::WORDS)),
            recreate: get("recreate").and_then(|field| self.word(field, Recreate::WORDS)),
            deletion_policy: get("deletionPolicy").and_then(|field| self.word(field, DeletionPolicy::WORDS)),
            dapr: get("dapr").map(|field| self.dapr(field)).unwrap_or_default(),
        }
    }

    fn drift(&mut self, field: &Field<'_>) -> DriftPolicy {
        let fields = self.map(field, &["mode", "fullCheckInterval", "ignore"]);
        let get = |key: &str| fields.get(key);
        DriftPolicy {
            mode: get("mode").and_then(|field| self.word(field, DriftMode::WORDS)),
            full_check_interval: get("fullCheckInterval").and_then(|field| self.duration(field, "1m", "168h")),
            ignore: get("ignore").map(|field| {
                let items = self.list(field);
                self.count(field, items.len(), 0, 64);
                items.iter().map(|item| self.ignored(item)).collect()
            }),
        }
    }

    fn ignored(&mut self, field: &Field<'_>) -> IgnoredFields {
        let fields = self.map(field, &["paths", "group", "kind", "namespace", "name"]);
        if !fields.contains_key("paths") {
            let finding = Diagnostic::error("missing-key", format!("`{}` needs `paths`", field.path));
            let help = "list the fields that others may change, such as /spec/replicas";
            self.report(field.span, &field.path, finding.help(help));
        }
        let paths = fields.get("paths").map(|paths| self.pointers(paths)).unwrap_or_default();
        let mut text = |key: &str, most| fields.get(key).and_then(|field| self.bounded(field, 0, most));
        IgnoredFields {
            paths,
            group: text("group", 253),
            kind: text("kind", 63),
            namespace: text("namespace", 63),
            name: text("name", 253),
        }
    }

    fn pointers(&mut self, field: &Field<'_>) -> Vec<Arc<str>> {
        let items = self.list(field);
        self.count(field, items.len(), 1, 32);
        let mut pointers = Vec::new();
        for item in &items {
            let Some(pointer) = self.bounded(item, 1, 1024) else { continue };
            let help = if !pointer.starts_with('/') {
                Some(format!("begin with /, as in /spec/replicas: write /{}", pointer.replace('.', "/")))
            } else if pointer.split('~').skip(1).any(|after| !after.starts_with(['0', '1'])) {
                Some("write ~0 for a ~ in a name, and ~1 for a / in one".to_owned())
            } else {
                None
            };
            if let Some(help) = help {
                let finding = Diagnostic::error("bad-pointer", format!("`{pointer}` is not a JSON pointer"));
                self.report(item.node.span, &item.path, finding.help(help));
            }
            pointers.push(pointer);
        }
        self.distinct(&items);
        pointers
    }

    fn dapr(&mut self, field: &Field<'_>) -> DaprPolicy {
        let fields = self.map(field, DAPR_KEYS);
        let get = |key: &str| fields.get(key);
        DaprPolicy {
            reload: get("reload").and_then(|field| self.word(field, DaprReload::WORDS)),
            settle_time: get("settleTime").and_then(|field| self.duration(field, "0s", "1h")),
            proof_timeout: get("proofTimeout").and_then(|field| self.duration(field, "10s", "1h")),
            max_concurrent_restarts: get("maxConcurrentRestarts").and_then(|field| self.small(field, 1000)),
            max_restarts_per_hour: get("maxRestartsPerHour").and_then(|field| self.small(field, 60)),
        }
    }

    /// A whole number from 1 to a bound that fits.
    fn small<T: TryFrom<i64>>(&mut self, field: &Field<'_>, most: i64) -> Option<T> {
        self.number(field, 1, most).and_then(|number| T::try_from(number).ok())
    }
}
