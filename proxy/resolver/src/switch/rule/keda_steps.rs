//! What a look at a rule does about KEDA: it offers answers, and has the rule's object written.

use std::time::Duration;

use jiff::Timestamp;
use reeve_crds::Reason;
use reeve_crds::scaling_rule::RuleMode;
use tracing::{info, warn};

use super::Next;
use crate::switch::controller::{Controller, Memory};
use crate::switch::execute::SwitchError;
use crate::switch::keda::{self, KedaState, Plan};
use crate::switch::machine::Observed;
use crate::switch::snapshot::Snapshot;

/// An object that could not be written is tried again.
const AGAIN: Duration = Duration::from_secs(15);
/// What was written is soon seen.
const SOON: Duration = Duration::from_millis(500);

/// How it stands with KEDA while this is planned.
pub(super) fn keda_state(plan: &Plan, memory: &mut Memory) -> KedaState {
    match plan {
        Plan::Keep(state) => {
            memory.keda_failure = None;
            state.clone()
        }
        Plan::Create(_) | Plan::Replace(_) | Plan::ReplaceJob(_) | Plan::Delete(_) => match &memory.keda_failure {
            Some((failure, _)) => failure.clone(),
            None => KedaState::NotReady {
                object: None,
                reason: Reason::Progressing,
                message: "the rule's object of KEDA is being written".to_owned(),
            },
        },
    }
}

pub(super) fn soon() -> Timestamp {
    after(SOON)
}

fn after(time: Duration) -> Timestamp {
    Timestamp::now().saturating_add(time).unwrap_or(Timestamp::MAX)
}

impl Controller {
    /// What KEDA is answered until the next look.
    pub(super) fn make_offer(&self, snapshot: &Snapshot, memory: &Memory, observed: &Observed) {
        let (key, spec) = (snapshot.key(), &snapshot.rule.spec);
        match (&spec.keda, &memory.machine) {
            (Some(keda), Some(machine)) if spec.mode == RuleMode::Enforce => {
                let offer = keda::offer(spec, keda, snapshot.scales_jobs(), machine, observed);
                self.scaler.offers.set(&key, offer);
            }
            _ => self.scaler.offers.remove(&key),
        }
    }

    /// Has the rule's object written. What goes wrong with it is said in a condition, and does not keep traffic waiting.
    pub(super) async fn ask_keda(&self, snapshot: &Snapshot, memory: &mut Memory, plan: &Plan, next: Next) -> Next {
        let Next::At(at) = next else { return next };
        let not_before = memory.keda_failure.as_ref().map(|(_, again)| *again);
        if matches!(plan, Plan::Keep(_)) || not_before.is_some_and(|again| Timestamp::now() < again) {
            return Next::At([at, not_before].into_iter().flatten().min());
        }
        let again = match self.carry_out_plan(snapshot, plan).await {
            Ok(()) => after(AGAIN),
            Err(error) if error.is_conflict_of_versions() => soon(),
            Err(error) => {
                let message = reeve_process::error_chain(&error);
                warn!(rule = %snapshot.key(), error = message, "cannot write the rule's object of KEDA");
                let failure = KedaState::NotReady { object: None, reason: error.reason(), message };
                memory.keda_failure = Some((failure, after(AGAIN)));
                after(AGAIN)
            }
        };
        Next::At([at, Some(again)].into_iter().flatten().min())
    }

    async fn carry_out_plan(&self, snapshot: &Snapshot, plan: &Plan) -> Result<(), SwitchError> {
        keda::carry_out(&self.edge.client, &snapshot.key().namespace, plan).await?;
        info!(rule = %snapshot.key(), "wrote the rule's object of KEDA");
        Ok(())
    }

    /// Whether something of KEDA's is not given back yet; it is then.
    pub(super) async fn owes_keda(&self, snapshot: &Snapshot, plan: &Plan) -> Result<bool, SwitchError> {
        if !matches!(plan, Plan::Keep(_)) {
            self.carry_out_plan(snapshot, plan).await?;
            return Ok(true);
        }
        // Not known is not none.
        let is_unknown = snapshot.rule.spec.keda.is_some() && snapshot.keda_objects.is_none();
        Ok(is_unknown && keda::is_installed(&self.edge.client).await?)
    }
}
