//! A record as the status of a `DaprWorkload`, and back.
//!
//! Owns which field keeps what. A status that cannot be read is no record: nothing restarts for it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use reeve_crds::dapr_workload::{self, Change as StatusChange, Method, Proof, ResourceHashes};
use reeve_crds::{DaprWorkloadStatus, Lenient};

use crate::entry::{Entries, Entry, EntryKey, EntryKind, target_hash};
use crate::record::{Change, Record, Restart};
use crate::version::Sidecar;

/// Longest message in a status.
const MESSAGE: usize = 1024;

/// Writes a record into a status, whose other fields stay as they are.
pub fn write(record: &Record, status: &mut DaprWorkloadStatus) {
    status.applied_hash = Some(target_hash(&record.applied).to_string());
    status.running_hash = Some(target_hash(&record.running).to_string());
    status.hash_key = Some(record.hash_key.to_string());
    let keys: BTreeSet<&EntryKey> = record.applied.keys().chain(record.running.keys()).collect();
    let text = |entries: &Entries, key: &EntryKey| entries.get(key).map(Entry::to_string);
    status.resources = keys
        .into_iter()
        .map(|key| ResourceHashes {
            kind: key.kind.as_str().to_owned(),
            name: key.name.clone(),
            applied_hash: text(&record.applied, key),
            running_hash: text(&record.running, key),
        })
        .collect();
    let sidecar = status.sidecar.get_or_insert_default();
    sidecar.version = record.sidecar.version.as_ref().map(ToString::to_string);
    sidecar.hot_reload = Some(record.sidecar.hot_reload);
    sidecar.app_id = Some(record.app_id.clone());
    sidecar.configuration.clone_from(&record.configuration);
    status.change = record.change.as_ref().map(write_change);
    status.restarts = record
        .restarts
        .iter()
        .map(|restart| dapr_workload::Restart {
            started_at: Some(Time(restart.at)),
            token: restart.token.clone(),
            message: Some(shorten(&restart.why)),
        })
        .collect();
}

/// Reads a record from a status; `None` where it holds none that this version can read.
pub fn read(status: &DaprWorkloadStatus) -> Option<Record> {
    let sidecar = status.sidecar.as_ref()?;
    let entries = |hash: fn(&ResourceHashes) -> Option<&String>| -> Option<Entries> {
        let mut entries = Entries::new();
        for resource in &status.resources {
            let key = EntryKey { kind: EntryKind::find(&resource.kind)?, name: resource.name.clone() };
            if let Some(text) = hash(resource) {
                entries.insert(key, text.parse().ok()?);
            }
        }
        Some(entries)
    };
    let restart = |restart: &dapr_workload::Restart| {
        let at = restart.started_at.as_ref()?.0;
        Some(Restart { at, token: restart.token.clone(), why: restart.message.clone().unwrap_or_default() })
    };
    Some(Record {
        running: entries(|resource| resource.running_hash.as_ref())?,
        applied: entries(|resource| resource.applied_hash.as_ref())?,
        app_id: sidecar.app_id.clone()?,
        configuration: sidecar.configuration.clone(),
        sidecar: Sidecar {
            version: sidecar.version.as_deref().and_then(|version| version.parse().ok()),
            hot_reload: sidecar.hot_reload?,
        },
        hash_key: status.hash_key.as_ref()?.parse().ok()?,
        change: match &status.change {
            Some(change) => Some(read_change(change)?),
            None => None,
        },
        restarts: status.restarts.iter().filter_map(restart).collect(),
    })
}

fn write_change(change: &Change) -> StatusChange {
    StatusChange {
        method: Lenient::Known(change.method),
        rule: Some(change.rule.to_string()),
        message: Some(shorten(&change.why)),
        proof: Some(Lenient::Known(change.proof)),
        applied_at: Some(Time(change.since)),
        started_at: change.started_at.map(Time),
        token: change.token.clone(),
        finished_at: change.finished_at.map(Time),
    }
}

fn read_change(change: &StatusChange) -> Option<Change> {
    let time = |time: &Option<Time>| -> Option<Timestamp> { time.as_ref().map(|time| time.0) };
    Some(Change {
        method: change.method.known().copied().unwrap_or(Method::Restart),
        rule: change.rule.as_ref()?.parse().ok()?,
        why: change.message.clone().unwrap_or_default(),
        proof: change.proof.as_ref().and_then(|proof| proof.known().copied()).unwrap_or(Proof::Pending),
        since: time(&change.applied_at)?,
        started_at: time(&change.started_at),
        token: change.token.clone(),
        finished_at: time(&change.finished_at),
    })
}

fn shorten(text: &str) -> String {
    text.chars().take(MESSAGE).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kit::{Shop, id, object, store};

    #[test]
    fn a_record_is_read_back_from_the_status_at_every_step() {
        for version in ["1.17.0", "1.18.3", "unknown"] {
            let mut shop = Shop::new(version);
            shop.workload("a").configuration = Some("tracing".to_owned());
            shop.apply(&object("Configuration", "tracing", &json!({})));
            shop.secret("redis", "p", "one");
            shop.apply(&store("one", &json!({})));
            for host in ["one", "two", "one"] {
                shop.apply(&store(host, &json!({ "scopes": ["a", "b"] })));
                for _ in 0..3 {
                    let record = shop.settle()[&id("a")].record.clone();
                    let mut status = DaprWorkloadStatus::default();
                    write(&record, &mut status);
                    assert_eq!(read(&status), Some(record), "{version}");
                    let text = serde_json::to_string(&status).unwrap();
                    assert_eq!(
                        read(&serde_json::from_str(&text).unwrap()),
                        read(&status),
                        "as the API server keeps it"
                    );
                    shop.roll();
                }
            }
        }
    }

    #[test]
    fn a_status_that_cannot_be_read_is_no_record() {
        assert_eq!(read(&DaprWorkloadStatus::default()), None);
        let mut shop = Shop::new("1.17.0");
        shop.apply(&store("one", &json!({})));
        let mut status = DaprWorkloadStatus::default();
        write(&shop.decide()[&id("a")].record, &mut status);
        status.resources[0].running_hash = Some("of a newer version".to_owned());
        assert_eq!(read(&status), None);
    }
}
