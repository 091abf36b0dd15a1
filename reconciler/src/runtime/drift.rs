//! An object that someone changed: who, what, and what is done about it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use reeve_crds::outcome::DriftedObject;
use reeve_renderer::object::ObjectKey;

use super::Trouble;
use super::contest::Turn;
use super::work::{Done, Work};
use crate::cluster::Applier;
use crate::desired::DesiredObject;
use crate::fields;
use crate::ledger::object_ref;
use crate::payload;

/// An object that someone changed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Drifted {
    pub(super) key: ObjectKey,
    /// The fields that we own now, by which a report of the same drift is known again.
    pub(super) owned: Option<Box<str>>,
    pub(super) repaired: bool,
    pub(super) shown: DriftedObject,
}

impl Drifted {
    /// What happened, in a sentence.
    pub(super) fn sentence(&self) -> String {
        if self.shown.fields.is_empty() {
            let outcome = match (self.repaired, self.shown.contested) {
                (true, Some(true)) => "; made anew, and from now on less often, since it is deleted each time",
                (true, _) => "; made anew",
                (false, _) => "; not made anew for now, since it is deleted each time",
            };
            return format!("{}: deleted by somebody{outcome}", self.key);
        }
        let fields = self.shown.fields.join(", ");
        let who = self.shown.manager.as_deref().unwrap_or("somebody");
        let when = self.shown.changed_at.as_ref().map(|time| format!(" at {}", time.0)).unwrap_or_default();
        let outcome = match (self.repaired, self.shown.contested) {
            (true, Some(true)) => "; put right again, and from now on less often, since it is changed back each time",
            (true, _) => "; put right",
            (false, Some(true)) => "; left for now, since it is changed back each time",
            (false, _) => "; left as it is, as the policy says",
        };
        format!("{}: {fields} changed by {who}{when}{outcome}", self.key)
    }
}

impl Work {
    /// Finds out who changed what, tells, and puts it right if that is wanted.
    pub(super) async fn repair(&self, applier: &Applier, object: &DesiredObject) -> Result<Done, Trouble> {
        let kind = applier.kind(object).await?;
        let Some(live) = applier.get(&object.key, &kind).await? else { return self.write(applier, object).await };
        let wanted = payload::without(&object.value(), Some(&live), &object.ignored);
        let managed = crate::cluster::managed_fields(&live);
        let fields = fields::drifted(&wanted, &managed);
        let Some(seen) = self.ctx.hub.get(&object.key) else { return self.write(applier, object).await };
        if fields.is_empty() {
            // Ours as it was: the books were behind, or a field that others may change changed hands.
            self.record(object, &seen);
            return Ok(Done::default());
        }
        let wants_repair = self.ctx.drift_mode(object) == reeve_crds::runtime::policy::DriftMode::Repair;
        let drifted = Drifted {
            key: object.key.clone(),
            owned: seen.owned.clone(),
            repaired: false,
            shown: shown(&object.key, &fields),
        };
        self.put_right(applier, object, drifted, wants_repair).await
    }

    /// Makes an object anew that somebody deleted, and tells.
    pub(super) async fn make_anew(&self, applier: &Applier, object: &DesiredObject) -> Result<Done, Trouble> {
        let drifted = Drifted { key: object.key.clone(), owned: None, repaired: false, shown: shown(&object.key, &[]) };
        self.put_right(applier, object, drifted, true).await
    }

    async fn put_right(
        &self,
        applier: &Applier,
        object: &DesiredObject,
        mut drifted: Drifted,
        wants_repair: bool,
    ) -> Result<Done, Trouble> {
        let now = self.ctx.now();
        let turn = self.ctx.contests.turn(&object.key, now);
        let (Turn::Now(repairs) | Turn::Later(_, repairs)) = turn;
        drifted.shown.repairs = i32::try_from(repairs).ok().filter(|repairs| *repairs > 0);
        match turn {
            Turn::Now(_) if wants_repair => {
                let mut done = self.write(applier, object).await?;
                drifted.repaired = true;
                drifted.shown.contested = self.ctx.contests.repaired(&object.key, now).then_some(true);
                drifted.shown.repairs = i32::try_from(repairs + 1).ok();
                done.drifted = Some(drifted);
                Ok(done)
            }
            Turn::Now(_) => Ok(Done { drifted: Some(drifted), ..Done::default() }),
            Turn::Later(at, _) => {
                drifted.shown.contested = Some(true);
                Ok(Done { drifted: Some(drifted), again_at: Some(at), ..Done::default() })
            }
        }
    }
}

fn shown(key: &ObjectKey, fields: &[fields::DriftedField]) -> DriftedObject {
    let culprit = fields.iter().find(|field| field.manager.is_some()).or(fields.first());
    DriftedObject {
        object: object_ref(key),
        fields: fields.iter().take(10).map(|field| field.path.to_string()).collect(),
        manager: culprit.and_then(|field| field.manager.clone()),
        changed_at: culprit.and_then(|field| field.time).map(Time),
        repairs: None,
        contested: None,
    }
}
