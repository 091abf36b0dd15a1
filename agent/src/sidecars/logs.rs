//! Reads what sidecars say, for those workloads whose reload is awaited.

use std::collections::BTreeMap;

use futures::StreamExt;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use kube::api::LogParams;
use kube::{Api, Client};
use reeve_agent_dapr::Record;
use reeve_agent_dapr::record::Phase;
use reeve_agent_dapr::world::{Evidence, WorkloadId};
use tracing::debug;

use super::evidence;
use super::names;
use super::snapshot::{PodFacts, Snapshot};

/// Logs are read this often.
pub(super) const EVERY: SignedDuration = SignedDuration::from_secs(2);
/// How much of one log is read at once.
const MOST: i64 = 1 << 20;
/// How many logs are read at the same time.
const AT_ONCE: usize = 8;

/// What logs said, and when that was.
#[derive(Debug, Default)]
pub(super) struct Logs {
    read: BTreeMap<WorkloadId, (Timestamp, Evidence)>,
}

impl Logs {
    /// Puts into the world what the sidecars say whose reload is awaited. True if there are any.
    pub(super) async fn read_evidence(&mut self, client: &Client, snapshot: &mut Snapshot, now: Timestamp) -> bool {
        let awaited: Vec<(WorkloadId, Record)> = snapshot
            .world
            .records
            .iter()
            .filter(|(id, record)| record.phase() == Phase::Reloading && snapshot.subjects.contains_key(*id))
            .map(|(id, record)| (id.clone(), record.clone()))
            .collect();
        self.read.retain(|id, _| awaited.iter().any(|(awaited, _)| awaited == id));
        for (id, record) in &awaited {
            // What was said before the change began says nothing of it.
            let began = record.change.as_ref().map_or(now, |change| change.since);
            let is_new = |at: Timestamp| at >= began && at.duration_until(now) < EVERY;
            let evidence = match self.read.get(id) {
                Some((at, evidence)) if is_new(*at) || *evidence == Evidence::Seen && *at >= began => evidence.clone(),
                _ => {
                    let pods = snapshot.subjects.get(id).map(|subject| subject.pods.as_slice()).unwrap_or_default();
                    let found = read(client, &id.namespace, record, pods).await;
                    debug!(workload = %id, evidence = ?found, "read logs");
                    self.read.insert(id.clone(), (now, found.clone()));
                    found
                }
            };
            if let Some(workload) = snapshot.world.workloads.get_mut(id) {
                workload.evidence = evidence;
            }
        }
        !awaited.is_empty()
    }
}

async fn read(client: &Client, namespace: &str, record: &Record, pods: &[PodFacts]) -> Evidence {
    let api: &Api<Pod> = &Api::namespaced(client.clone(), namespace);
    let params = &LogParams {
        container: Some(names::DAPRD.to_owned()),
        since_time: evidence::since(record),
        limit_bytes: Some(MOST),
        ..LogParams::default()
    };
    let read = async |pod| (pod, read_one(api, pod, params).await);
    let reading: Vec<_> = pods.iter().map(read).collect();
    let logs: Vec<_> = futures::stream::iter(reading).buffered(AT_ONCE).collect().await;
    evidence::judge(record, &logs)
}

async fn read_one(api: &Api<Pod>, pod: &PodFacts, params: &LogParams) -> Option<String> {
    if !evidence::is_readable(pod) {
        return None;
    }
    let log = api.logs(&pod.pod.name, params).await;
    log.inspect_err(|error| debug!(pod = pod.pod.name, %error, "cannot read a log")).ok()
}
