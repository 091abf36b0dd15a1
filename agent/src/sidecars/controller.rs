//! Looks, decides and acts, again and again: at every change, and when time alone changes a decision.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use jiff::{SignedDuration, Timestamp};
use kube::{Client, ResourceExt};
use reeve_agent_dapr::decide::{Decision, Verdict, decide};
use reeve_agent_dapr::world::WorkloadId;
use reeve_crds::DaprWorkload;
use reeve_process::error_chain;
use reeve_reconciler_engine::clock::Clock;
use tracing::{debug, info, warn};

use super::cluster::{Cluster, Objects};
use super::execute::{Edge, WriteError, Written};
use super::hash_key::{self, HashKeyError};
use super::logs::{self, Logs};
use super::snapshot::{self, Known, Owners, Snapshot};
use super::sources::{SourceError, Sources, is_as_new};
use super::{Settings, status};

/// Changes that come within this are looked at together.
const GATHER: Duration = Duration::from_millis(200);
/// However quiet, everything is looked at this often, and the kinds that the cluster serves are asked for.
const RESYNC: SignedDuration = SignedDuration::from_secs(60);
const RETRY: SignedDuration = SignedDuration::from_secs(1);
const RETRY_AT_MOST: SignedDuration = SignedDuration::from_secs(60);
/// How many workloads are written at the same time.
const AT_ONCE: usize = 8;

/// A look could not be finished.
#[derive(Debug, thiserror::Error)]
enum ReconcileError {
    #[error("cannot ask which kinds the cluster serves")]
    Kinds(#[source] Box<kube::Error>),
    #[error(transparent)]
    HashKey(#[from] HashKeyError),
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// What a controller remembers between two looks. Nothing of it is missed when it is lost.
pub(super) struct Controller {
    client: Client,
    settings: Settings,
    clock: Clock,
    edge: Edge,
    cluster: Cluster,
    sources: Option<Sources>,
    logs: Logs,
    /// Records that were written and that no watch has shown yet.
    records: BTreeMap<WorkloadId, Arc<DaprWorkload>>,
    /// Templates that were written: the version that has the token, and the token.
    tokens: BTreeMap<WorkloadId, (String, String)>,
    resync: Option<Timestamp>,
}

/// What came of one workload.
struct Outcome {
    id: WorkloadId,
    record: Option<Arc<DaprWorkload>>,
    token: Written,
    error: Option<WriteError>,
}

impl Controller {
    pub(super) fn new(client: Client, settings: Settings, clock: Clock) -> Self {
        let cluster = Cluster::watch(client.clone(), &settings);
        Self {
            edge: Edge::new(client.clone()),
            client,
            settings,
            clock,
            cluster,
            sources: None,
            logs: Logs::default(),
            records: BTreeMap::new(),
            tokens: BTreeMap::new(),
            resync: None,
        }
    }

    /// Works until it is dropped.
    pub(super) async fn run(mut self) {
        let changed = self.cluster.changed();
        let mut failures = 0_u32;
        loop {
            let now = self.clock.now();
            let next = match self.reconcile(now).await {
                Ok((next, true)) => {
                    failures = 0;
                    next
                }
                Ok((next, false)) => {
                    failures = failures.saturating_add(1);
                    next.min(after(now, backoff(failures)))
                }
                Err(error) => {
                    warn!(error = %error_chain(&error), "cannot look at the cluster");
                    failures = failures.saturating_add(1);
                    after(now, backoff(failures))
                }
            };
            tokio::select! {
                () = changed.notified() => {}
                () = self.clock.sleep_until(next) => {}
            }
            tokio::time::sleep(GATHER).await;
        }
    }

    /// Looks at everything once and does what is decided. Returns when to look again, and whether all could be written.
    async fn reconcile(&mut self, now: Timestamp) -> Result<(Timestamp, bool), ReconcileError> {
        // Statuses keep whole seconds.
        let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
        if self.resync.is_none_or(|at| at <= now) {
            let added =
                self.cluster.refresh(&self.client).await.map_err(|cause| ReconcileError::Kinds(Box::new(cause)))?;
            if !added.is_empty() {
                info!(kinds = ?added, "watching");
            }
            self.resync = Some(after(now, RESYNC));
        }
        let resync = self.resync.unwrap_or(now);
        let objects = self.cluster.objects();
        if objects.runtime.as_ref().is_some_and(|runtime| runtime.spec.suspend == Some(true)) {
            return Ok((resync, true));
        }
        let mut snapshot = self.snapshot(&objects).await?;
        let awaits_logs = self.logs.read_evidence(&self.client, &mut snapshot, now).await;
        let decisions = decide(&snapshot.world, now);
        let again = decisions.values().filter_map(|decision| decision.again).filter(|again| *again > now);
        let poll = awaits_logs.then(|| after(now, logs::EVERY));
        let next = again.chain(poll).chain([resync]).min().unwrap_or(resync);
        let is_done = self.carry_out(&snapshot, &decisions, now).await;
        let is_clean = self.remove_records(&objects, &snapshot).await;
        Ok((next, is_done && is_clean))
    }

    async fn snapshot(&mut self, objects: &Objects) -> Result<Snapshot, ReconcileError> {
        self.forget_seen(objects);
        let sources = match &mut self.sources {
            Some(sources) => sources,
            missing @ None => {
                let key = hash_key::load(&self.client, &self.settings.own_namespace).await?;
                missing.insert(Sources::new(key))
            }
        };
        let owners = Owners::new(objects, &self.settings.dapr_namespace);
        let resources = snapshot::resources(objects);
        let pods = snapshot::pods(objects, &owners, &resources);
        let needed = snapshot::needed_sources(&resources, &pods);
        sources.refresh(&self.client, &needed, &self.cluster.versions(&needed)).await?;
        let known = Known { hash_key: sources.hash_key(), sources: sources.hashes(), written: &self.records };
        let mut snapshot = snapshot::build(objects, &owners, resources, pods, known);
        for (id, (version, token)) in &self.tokens {
            let stale = snapshot.subjects.get(id).is_some_and(|subject| !is_as_new(&subject.owner.version, version));
            if let Some(workload) = snapshot.world.workloads.get_mut(id).filter(|_| stale) {
                workload.token = Some(token.clone());
                workload.stuck = false;
            }
        }
        Ok(snapshot)
    }

    /// Forgets what a watch has shown by now: from then on the watch is right, even if it shows that something is gone.
    fn forget_seen(&mut self, objects: &Objects) {
        let seen: BTreeMap<(String, String), String> = objects
            .records
            .iter()
            .map(|record| {
                let key = (record.namespace().unwrap_or_default(), record.name_any());
                (key, record.resource_version().unwrap_or_default())
            })
            .collect();
        self.records.retain(|_, written| {
            let key = (written.namespace().unwrap_or_default(), written.name_any());
            let version = written.resource_version().unwrap_or_default();
            seen.get(&key).is_none_or(|seen| !is_as_new(seen, &version))
        });
    }

    /// Writes what is on record, then acts: workload by workload, several at the same time. True if all could be done.
    async fn carry_out(
        &mut self,
        snapshot: &Snapshot,
        decisions: &BTreeMap<WorkloadId, Decision>,
        now: Timestamp,
    ) -> bool {
        let edge = &self.edge;
        let each: Vec<_> = decisions.iter().map(|(id, decision)| one(edge, snapshot, id, decision, now)).collect();
        let outcomes: Vec<Outcome> = futures::stream::iter(each).buffer_unordered(AT_ONCE).collect().await;
        let mut is_done = true;
        for outcome in outcomes {
            if let Some(error) = outcome.error {
                is_done = false;
                if error.is_stale() {
                    debug!(workload = %outcome.id, error = %error_chain(&error), "somebody else wrote first");
                    self.records.remove(&outcome.id);
                } else {
                    warn!(workload = %outcome.id, error = %error_chain(&error), "cannot go on");
                }
            }
            self.records.extend(outcome.record.map(|record| (outcome.id.clone(), record)));
            self.tokens.extend(outcome.token.map(|token| (outcome.id, token)));
        }
        self.tokens.retain(|id, _| decisions.contains_key(id));
        self.records.retain(|id, _| decisions.contains_key(id));
        is_done
    }

    /// Removes records of workloads that have no sidecar any more; those of workloads that are gone go with them.
    async fn remove_records(&self, objects: &Objects, snapshot: &Snapshot) -> bool {
        let known: Vec<(String, String)> =
            snapshot.subjects.keys().map(|id| (id.namespace.clone(), super::names::record(id))).collect();
        let mut is_clean = true;
        for record in &objects.records {
            let key = (record.namespace().unwrap_or_default(), record.name_any());
            if known.contains(&key) || record.metadata.deletion_timestamp.is_some() {
                continue;
            }
            if let Err(error) = self.edge.delete_record(record).await {
                warn!(error = %error_chain(&error), "cannot go on");
                is_clean = false;
            }
        }
        is_clean
    }
}

/// Brings one workload on: the record first, so that who is killed now finds it.
async fn one(edge: &Edge, snapshot: &Snapshot, id: &WorkloadId, decision: &Decision, now: Timestamp) -> Outcome {
    let mut outcome = Outcome { id: id.clone(), record: None, token: None, error: None };
    let (Some(subject), Some(workload)) = (snapshot.subjects.get(id), snapshot.world.workloads.get(id)) else {
        return outcome;
    };
    let written = write(edge, snapshot, id, decision, now, &mut outcome).await;
    let acted = match (written, &decision.verdict) {
        (Ok(()), Verdict::Restart(means)) => edge.restart(id, &subject.owner, workload, means).await,
        (Ok(()), Verdict::Nothing | Verdict::HotReload | Verdict::Blocked(_) | Verdict::Report) => Ok(None),
        (Err(error), _) => Err(error),
    };
    match acted {
        Ok(token) => outcome.token = token,
        Err(error) => outcome.error = Some(error),
    }
    outcome
}

/// Writes the record if it says something else than the one that is there.
async fn write(
    edge: &Edge,
    snapshot: &Snapshot,
    id: &WorkloadId,
    decision: &Decision,
    now: Timestamp,
    outcome: &mut Outcome,
) -> Result<(), WriteError> {
    let (Some(subject), Some(workload)) = (snapshot.subjects.get(id), snapshot.world.workloads.get(id)) else {
        return Ok(());
    };
    let record = edge.ensure_record(id, subject, &status::spec(subject, workload)).await?;
    let generation = record.metadata.generation;
    if subject.record.as_ref().is_none_or(|before| !Arc::ptr_eq(before, &record)) {
        outcome.record = Some(Arc::clone(&record));
    }
    let new = status::status(id, subject, workload, decision, snapshot.world.policy.reload, generation, now);
    let old = subject.record.as_ref().and_then(|record| record.status.as_ref());
    if old.is_some_and(|old| status::is_same(old, &new)) {
        return Ok(());
    }
    outcome.record = Some(edge.write_status(id, &record, &new).await?);
    edge.publish(id, subject, status::notices(old, &new)).await;
    Ok(())
}

fn after(now: Timestamp, duration: SignedDuration) -> Timestamp {
    now.saturating_add(duration).unwrap_or(Timestamp::MAX)
}

fn backoff(failures: u32) -> SignedDuration {
    RETRY.saturating_mul(1 << failures.saturating_sub(1).min(8)).min(RETRY_AT_MOST)
}
