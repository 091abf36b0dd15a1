//! What the status of a source says: a pure function of what was found.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use reeve_crds::Reason;
use reeve_crds::condition::{Condition, types};
use reeve_crds::git_source::status::{Commit, NotReady, Rejected, RuntimeCounts};
use reeve_crds::{GitSource, GitSourceStatus, State};
use reeve_reconciler_engine::conditions::{MESSAGE, set_condition};
use reeve_reconciler_engine::desired::Revision;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_engine::rollup::{RuntimeSummary, severity};
use reeve_reconciler_engine::text::truncate;
use reeve_reconciler_git::{CommitFacts, Fetched, is_signature_reason};

use crate::metrics::SourceFacts;

/// Letters that a status takes of the keys that signed a commit.
const SIGNED_BY: usize = 256;

/// What is known of a source.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    pub(super) generation: Option<i64>,
    pub(super) revision: Option<String>,
    pub(super) commit: Option<Commit>,
    pub(super) rejected: Option<Rejected>,
    /// The generation of the spec that was looked at before the process started.
    observed: Option<i64>,
    /// Why runtimes without a file are not removed.
    pub(super) withheld: Option<ReconcileError>,
    /// How many Runtimes are yet to be written, and how many runtimes are yet to go.
    pub(super) left: (usize, usize),
    /// Whether all Runtimes were looked at: not before a revision is in force in this process, nor while it is resumed.
    pub(super) is_written: bool,
    /// The spec for which the revision was refused.
    rejected_for: Option<i64>,
    pub(super) handled: Option<String>,
    pub(super) webhook_path: Option<String>,
    /// When the last good fetch was, or the first look.
    fetched_at: Option<Timestamp>,
    /// Why the last fetch failed, and since when.
    unfetched: Option<(ReconcileError, Timestamp)>,
    /// Why Runtimes are not what the revision in force makes of them.
    pub(super) unwritten: BTreeMap<Arc<str>, ReconcileError>,
    /// Why pushes are not told of.
    pub(super) webhook_failure: Option<ReconcileError>,
    /// What was signed last as it should be, and by whom.
    verified: Option<(String, String)>,
    /// Why nothing is trusted, or what is in force is not.
    distrust: Option<ReconcileError>,
    conditions: Vec<Condition>,
}

impl From<GitSourceStatus> for Report {
    fn from(status: GitSourceStatus) -> Self {
        Self {
            generation: status.observed_generation,
            revision: status.revision,
            commit: status.commit,
            rejected: status.rejected,
            handled: status.last_handled_reconcile_at,
            webhook_path: status.webhook_path,
            withheld: withheld(&status.conditions),
            conditions: status.conditions,
            ..Self::default()
        }
    }
}

impl Report {
    /// What a status left, looked at for the first time.
    pub(super) fn begin(status: GitSourceStatus, now: Timestamp) -> Self {
        Self { fetched_at: Some(now), observed: status.observed_generation, ..Self::from(status) }
    }

    pub(super) fn fetched(&mut self, now: Timestamp) {
        self.fetched_at = Some(now);
        self.unfetched = None;
    }

    pub(super) fn unfetched(&mut self, error: ReconcileError, now: Timestamp) {
        let since = self.unfetched.as_ref().map_or(now, |(_, since)| *since);
        self.unfetched = Some((error, since));
    }

    /// Why there is no revision to be had or to be trusted, if so.
    pub(super) fn fetch_error(&self) -> Option<&ReconcileError> {
        self.unfetched.as_ref().map(|(error, _)| error).or(self.distrust.as_ref())
    }

    pub(super) fn is_fetched(&self) -> bool {
        self.unfetched.is_none()
    }

    /// Why a Runtime cannot be written, and how many others cannot be.
    pub(super) fn unwritten(&self) -> Option<ReconcileError> {
        let (_, first) = self.unwritten.first_key_value()?;
        let others = match self.unwritten.len() - 1 {
            0 => String::new(),
            others => format!("; so it is with {others} more"),
        };
        Some(ReconcileError {
            transient: first.transient,
            ..ReconcileError::new(first.reason, format!("{}{others}", first.message))
        })
    }

    /// What was fetched is signed as it should be, or need not be signed.
    pub(super) fn trust(&mut self, fetched: &Fetched, signed_by: Option<String>) {
        self.distrust = None;
        let signed_by = signed_by.map(|by| truncate(&by, SIGNED_BY));
        if let Some(commit) = self.commit.as_mut().filter(|commit| commit.id == fetched.commit.id) {
            commit.signed_by.clone_from(&signed_by);
        }
        self.verified = signed_by.map(|by| (fetched.revision.clone(), by));
    }

    /// Nothing can be trusted, or what is in force cannot be.
    pub(super) fn distrust(&mut self, error: ReconcileError) {
        self.verified = None;
        self.distrust = Some(error);
    }

    /// What was fetched cannot be trusted, which says nothing of what is in force.
    pub(super) fn untrust(&mut self) {
        self.verified = None;
        self.distrust = None;
    }

    /// Who signed what was fetched.
    pub(super) fn signed_by(&self) -> Option<&str> {
        self.verified.as_ref().map(|(_, by)| by.as_str())
    }

    /// Whether it is what was taken up last, under the same name.
    pub(super) fn is_in_force(&self, fetched: &Fetched) -> bool {
        self.revision.as_ref() == Some(&fetched.revision)
            && self.commit.as_ref().is_some_and(|commit| commit.id == fetched.commit.id)
    }

    pub(super) fn accept(&mut self, revision: &Revision, commit: &CommitFacts, now: Timestamp) {
        self.rejected = None;
        let same = self.commit.as_ref().is_some_and(|before| before.id == commit.id);
        self.revision = Some(revision.shown.to_string());
        if same {
            return;
        }
        self.commit = Some(Commit {
            id: commit.id.clone(),
            author: Some(truncate(&commit.author, 256)),
            subject: Some(truncate(&commit.subject, MESSAGE)),
            committed_at: commit.committed_at.map(Time),
            signed_by: self.signed_by().map(str::to_owned),
            accepted_at: Some(Time(now)),
        });
    }

    pub(super) fn reject(&mut self, revision: &Revision, error: &ReconcileError, now: Timestamp) {
        let before = self.rejected.as_ref().filter(|before| before.commit.as_deref() == Some(&*revision.commit));
        let is_about_content = matches!(error.reason, Reason::Invalid | Reason::ReleasedChartChanged);
        self.rejected = Some(Rejected {
            revision: revision.shown.to_string(),
            commit: Some(revision.commit.to_string()),
            reason: error.reason.to_string(),
            message: truncate(&error.message, MESSAGE),
            findings: is_about_content.then(|| i32::try_from(error.count).unwrap_or(i32::MAX)),
            since: before.and_then(|before| before.since.clone()).or(Some(Time(now))),
        });
        self.rejected_for = self.generation;
    }

    /// Whether the process before looked at this very spec.
    pub(super) fn is_of_spec(&self, object: &GitSource) -> bool {
        self.observed.is_some() && self.observed == object.metadata.generation
    }

    /// Why the Runtimes are not what the revision in force says, if so.
    fn unpublished(&self) -> Option<ReconcileError> {
        let progress = |(writes, removals)| {
            let message = format!("{writes} Runtimes have yet to be written, and {removals} to go");
            ReconcileError::transient(Reason::Progressing, message)
        };
        let left = Some(self.left).filter(|left| *left != (0, 0)).map(progress);
        // That something is withheld has to be known after a restart.
        self.withheld.clone().or_else(|| self.unwritten()).or(left)
    }

    /// What is counted of a source in this state.
    pub(super) fn facts(&self, state: State) -> SourceFacts {
        SourceFacts {
            state,
            unfetched: self.unfetched.is_some(),
            rejected: self.rejected.is_some() || self.distrust.is_some(),
            fetched_at: self.fetched_at,
            accepted_at: self.commit.as_ref().and_then(|commit| commit.accepted_at.as_ref()).map(|at| at.0),
        }
    }

    /// Whether the spec is another than the one for which a revision was refused.
    pub(super) fn spec_changed(&self, object: &GitSource) -> bool {
        self.rejected_for != object.metadata.generation
    }
}

/// What a status says if what was in force then was not trusted, or nothing was, in the words of a told failure.
pub(super) fn distrust(status: &GitSourceStatus) -> Option<String> {
    let is_it = |condition: &&Condition| condition.type_ == types::VERIFIED && condition.status == "False";
    let condition = status.conditions.iter().find(is_it).filter(|_| status.rejected.is_none())?;
    Some(format!("{}: {}", condition.reason, condition.message))
}

/// What conditions say if runtimes were not removed then because they were too many.
pub(super) fn withheld(conditions: &[Condition]) -> Option<ReconcileError> {
    let is_it = |condition: &&Condition| condition.type_ == types::PUBLISHED && condition.reason == Reason::OverBudget;
    conditions.iter().find(is_it).map(|condition| ReconcileError::terminal(Reason::OverBudget, &*condition.message))
}

/// The status of a source.
pub(super) fn source(
    report: &Report,
    object: &GitSource,
    runtimes: &BTreeMap<Arc<str>, RuntimeSummary>,
    now: Timestamp,
) -> GitSourceStatus {
    let worst = runtimes
        .iter()
        .filter(|(_, summary)| summary.state != State::Ready)
        .max_by_key(|(_, summary)| severity(summary.state));
    let (state, why, message) = summary(report, object, worst);
    let mut conditions = report.conditions.clone();
    let mut set = |kind, holds, reason: Reason, message: &str| {
        set_condition(&mut conditions, kind, holds, reason, message, report.generation, now);
    };
    set(types::READY, state == State::Ready, why, &message);
    match &report.unfetched {
        Some((error, _)) => set(types::FETCHED, false, error.reason, &error.message),
        None => set(types::FETCHED, true, Reason::Succeeded, "the repository was reached"),
    }
    let (unsigned, invalid) = match &report.rejected {
        Some(rejected) if is_signature_reason(reason_of(rejected)) => (Some(rejected), None),
        rejected => (None, rejected.as_ref()),
    };
    match invalid {
        Some(rejected) => set(types::VALIDATED, false, reason_of(rejected), &rejected.message),
        None if report.revision.is_some() => {
            set(types::VALIDATED, true, Reason::Succeeded, "the whole repository is valid");
        }
        None => {}
    }
    match (&report.distrust, unsigned, &report.verified) {
        (Some(error), ..) => set(types::VERIFIED, false, error.reason, &error.message),
        (None, Some(rejected), _) => set(types::VERIFIED, false, reason_of(rejected), &rejected.message),
        (None, None, Some((revision, by))) => {
            set(types::VERIFIED, true, Reason::Succeeded, &format!("{revision} is signed by {by}"));
        }
        (None, None, None) => {}
    }
    match report.unpublished() {
        Some(error) => set(types::PUBLISHED, false, error.reason, &error.message),
        None if report.is_written => {
            set(types::PUBLISHED, true, Reason::Succeeded, "the Runtimes are what the revision says");
        }
        None => {}
    }
    if object.spec.verify.is_none() {
        conditions.retain(|condition| condition.type_ != types::VERIFIED);
    }
    GitSourceStatus {
        observed_generation: report.generation,
        state: Some(state),
        conditions,
        revision: report.revision.clone(),
        commit: report.commit.clone(),
        rejected: report.rejected.clone(),
        runtimes: Some(counts(runtimes)),
        not_ready: not_ready(runtimes),
        webhook_path: report.webhook_path.clone(),
        last_handled_reconcile_at: report.handled.clone(),
    }
}

/// The reason of a refused revision. A word of another version means the same as ours for a broken one.
pub(super) fn reason_of(rejected: &Rejected) -> Reason {
    rejected.reason.parse().unwrap_or(Reason::Invalid)
}

type Worst<'a> = Option<(&'a Arc<str>, &'a RuntimeSummary)>;

fn summary(report: &Report, object: &GitSource, worst: Worst<'_>) -> (State, Reason, String) {
    if object.metadata.deletion_timestamp.is_some() {
        return (State::Deleting, Reason::Progressing, "it is being deleted".to_owned());
    }
    if object.spec.suspend {
        return (State::Suspended, Reason::Suspended, "spec.suspend is set".to_owned());
    }
    if let Some(error) = report.fetch_error() {
        return (error.state(), error.reason, error.message.clone());
    }
    if let Some(rejected) = &report.rejected {
        return (
            State::Warning,
            reason_of(rejected),
            format!("{} is refused: {}", rejected.revision, rejected.message),
        );
    }
    if let Some(error) = report.unwritten() {
        return (error.state(), error.reason, error.message);
    }
    if let Some(error) = &report.withheld {
        return (State::Warning, error.reason, error.message.clone());
    }
    if report.revision.is_none() {
        return (State::Processing, Reason::Progressing, "nothing was fetched yet".to_owned());
    }
    if let Some(error) = &report.webhook_failure {
        let message = format!("spec.webhook: {}; until then pushes are seen with the interval", error.message);
        return (State::Warning, error.reason, message);
    }
    match worst {
        None => (State::Ready, Reason::Succeeded, "all runtimes are ready".to_owned()),
        Some((_, RuntimeSummary { state: State::Suspended, .. })) => {
            (State::Ready, Reason::Succeeded, "all runtimes are ready or suspended".to_owned())
        }
        // That a runtime goes does not mean that its source does.
        Some((name, RuntimeSummary { state: State::Deleting, message, .. })) => {
            (State::Processing, Reason::Progressing, format!("{name} is on its way out: {message}"))
        }
        Some((name, summary)) => (summary.state, Reason::RuntimeNotReady, format!("{name}: {}", summary.message)),
    }
}

fn counts(runtimes: &BTreeMap<Arc<str>, RuntimeSummary>) -> RuntimeCounts {
    let count = |wanted| {
        let matching = runtimes.values().filter(|summary| summary.state == wanted).count();
        i32::try_from(matching).unwrap_or(i32::MAX)
    };
    let total = i32::try_from(runtimes.len()).unwrap_or(i32::MAX);
    let ready = count(State::Ready);
    RuntimeCounts {
        summary: format!("{ready}/{total}"),
        total,
        ready,
        processing: count(State::Processing),
        warning: count(State::Warning),
        error: count(State::Error),
        deleting: count(State::Deleting),
        suspended: count(State::Suspended),
        unknown: count(State::Unknown),
    }
}

fn not_ready(runtimes: &BTreeMap<Arc<str>, RuntimeSummary>) -> Vec<NotReady> {
    let mut all: Vec<_> = runtimes.iter().filter(|(_, summary)| summary.state != State::Ready).collect();
    all.sort_by_key(|(name, summary)| (std::cmp::Reverse(severity(summary.state)), (*name).clone()));
    let lines = all.into_iter().take(10).map(|(name, summary)| NotReady {
        name: name.to_string(),
        state: summary.state,
        message: truncate(&summary.message, MESSAGE),
    });
    lines.collect()
}
