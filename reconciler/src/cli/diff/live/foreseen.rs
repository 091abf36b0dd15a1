//! What would become of the objects of one runtime.

use std::sync::Arc;

use futures::{StreamExt as _, stream};
use reeve_crds::runtime::policy::DriftMode;
use reeve_crds::runtime_component::ComponentTarget;
use reeve_reconciler_engine::admission::{self, Allowed};
use reeve_reconciler_engine::apply::{Applier, ApplyError, Foreseen};
use reeve_reconciler_engine::clock::Clock;
use reeve_reconciler_engine::cluster::{Account, KindsError};
use reeve_reconciler_engine::desired::{DesiredComponent, DesiredObject};
use reeve_reconciler_engine::ledger::Ledger;
use reeve_reconciler_engine::payload::{self, Apply};
use reeve_reconciler_engine::plan::{Action, ComponentPlan, Removal, Step};
use reeve_reconciler_engine::preview::{ending, preview};
use reeve_reconciler_engine::refusal::Reason;
use reeve_renderer::diff::{self, ChangeKind, ObjectChange};
use reeve_renderer::object::ObjectKey;
use reeve_renderer::value::{self, Dict};
use serde_json::Value;

use super::Found;
use super::there::There;
use crate::cli::cluster::Reach;
use crate::cli::failure::Failure;
use crate::cli::wanted::Wanted;

/// Requests that are under way at once.
pub(super) const AT_ONCE: usize = 16;
/// As whom `reeve run` applies components of the control plane unless it is told otherwise.
const CONTROL_PLANE: (&str, &str) = ("reeve-system", "reeve-control-plane");

/// One runtime, and the cluster that it is held against.
pub(super) struct Looking<'a> {
    pub(super) reach: &'a Reach,
    pub(super) wanted: &'a Wanted,
    pub(super) impersonate: bool,
}

/// What would become of one object: nothing, one change, or two when it is made anew.
#[derive(Default)]
struct Fate {
    changes: Vec<ChangeKind>,
    /// Whether that is not known.
    unknown: bool,
}

impl Looking<'_> {
    pub(super) async fn changes(&self) -> Result<Found, Failure> {
        let ledger = self.reach.ledger(&self.wanted.runtime).await?;
        let there = There::read(self, &ledger).await?;
        let rules = self.wanted.rules(self.reach.owner(&self.wanted.runtime));
        let plan = preview(&self.wanted.desired, &ledger, &|key| there.live(key), &rules);
        let of = |(name, plan): &'_ (Arc<str>, ComponentPlan)| {
            let component = self.wanted.desired.component(name).cloned();
            let steps = plan.steps.clone().into_iter();
            steps.filter_map(move |step| Some((component.clone()?, step))).collect::<Vec<_>>()
        };
        let steps: Vec<(Arc<DesiredComponent>, Step)> = plan.components.iter().flat_map(of).collect();
        let asked: Vec<_> = steps.iter().map(|(component, step)| self.step(component, step, &ledger, &there)).collect();
        let mut fates = stream::iter(asked).buffered(AT_ONCE).zip(stream::iter(&steps));
        let mut found = Found { changes: Vec::new(), unknown: 0 };
        while let Some((fate, (component, step))) = fates.next().await {
            let fate = fate?;
            found.unknown += usize::from(fate.unknown);
            found.add(&component.name, &step.key, fate.changes);
        }
        for (name, plan) in plan.components.iter().chain(&plan.removed) {
            found.add_rest(name, plan, &there);
        }
        found.changes.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(found)
    }

    /// What would become of the objects of a runtime whose file left Git, and how many of them stay.
    pub(super) async fn end(&self) -> Result<(Found, usize), Failure> {
        let ledger = self.reach.ledger(&self.wanted.runtime).await?;
        let there = There::read(self, &ledger).await?;
        let rules = self.wanted.rules(self.reach.owner(&self.wanted.runtime));
        let plan = ending(&ledger, &|key| there.live(key), &rules, self.wanted.spec.deletion_policy);
        let unknown = ledger.iter().filter(|(key, _)| there.trouble(key).is_some()).count();
        let mut found = Found { changes: Vec::new(), unknown };
        for (name, plan) in &plan.removed {
            found.add_rest(name, plan, &there);
        }
        found.changes.sort_by(|a, b| a.key.cmp(&b.key));
        let removals = plan.removed.iter().flat_map(|(_, plan)| &plan.removals);
        Ok((found, removals.filter(|(_, _, removal)| *removal == Removal::Release).count()))
    }

    /// As whom a component is applied, if that was asked for.
    pub(super) fn applier(&self, component: &DesiredComponent) -> Applier {
        self.applier_of(component.target, component.service_account.as_ref())
    }

    pub(super) fn applier_of(&self, target: ComponentTarget, named: Option<&Arc<str>>) -> Applier {
        let spec = &self.wanted.spec;
        let account = match target {
            _ if !self.impersonate => Account::Own,
            ComponentTarget::ControlPlane => {
                Account::Service { namespace: CONTROL_PLANE.0.into(), name: CONTROL_PLANE.1.into() }
            }
            ComponentTarget::Runtime => Account::Service {
                namespace: spec.target.service_account.namespace.as_str().into(),
                name: named.map_or_else(|| spec.target.service_account.name.as_str().into(), Arc::clone),
            },
        };
        Applier {
            cluster: self.reach.cluster.clone(),
            hub: self.reach.hub.clone(),
            account,
            owner: self.reach.owner(&self.wanted.runtime),
            adoption: spec.adoption,
            recreate: spec.recreate,
            clock: Clock::system(),
        }
    }

    /// What would become of an object that Git wants.
    async fn step(
        &self,
        component: &DesiredComponent,
        step: &Step,
        ledger: &Ledger,
        there: &There,
    ) -> Result<Fate, Failure> {
        let (key, live) = (&step.key, there.object(&step.key));
        let Some(object) = component.object(key) else { return Ok(Fate::default()) };
        if let Some(trouble) = there.trouble(key) {
            return Ok(self.refused(key, trouble));
        }
        let tenant = !self.wanted.spec.target.namespaces.is_empty();
        // Which kinds the control plane may have only the operator knows.
        if let Some(message) = admission::why(key, component.target, tenant, Allowed::Unknown) {
            return Ok(Fate::of([ChangeKind::Refused { reason: "Refused".into(), message: message.into() }]));
        }
        let as_in_git = || Fate::of(change(key, None, Some(&object.value())));
        match step.action {
            Action::Leave => return Ok(Fate::default()),
            Action::Keep if self.drift_mode(object) == DriftMode::Ignore => return Ok(Fate::default()),
            // Watches show only what is ours, so one that somebody else made is left alone too.
            Action::Create if object.options.apply == Apply::IfMissing && live.is_some() => return Ok(Fate::default()),
            // Made anew when the old one is gone.
            Action::Replace => return Ok(as_in_git()),
            Action::Create | Action::Update | Action::Verify | Action::Repair | Action::Report | Action::Keep => {}
        }
        let known = ledger.get(key).is_some_and(|entry| entry.uid.is_some());
        let applier = self.applier(component);
        let ask = async || applier.foresee(object, live, known).await;
        let asked = self.reach.patiently(&format!("ask about {key}"), ask, ApplyError::retry_after).await?;
        Ok(match asked {
            // An object that is not there yet is shown as Git has it, as between two revisions.
            Ok(Foreseen::Applied(_)) if live.is_none() => as_in_git(),
            Ok(Foreseen::Applied(after)) => Fate::of(change(key, live, Some(&after))),
            Ok(Foreseen::Anew(_)) => {
                Fate::of(change(key, live, None).into_iter().chain(change(key, None, Some(&object.value()))))
            }
            Err(error) if self.is_to_come(&error) => as_in_git(),
            Err(ApplyError::Refused { refusal, .. }) if refusal.server_down => {
                return Err(self.reach.blind(refusal.reason.as_str(), &refusal.message));
            }
            Err(error) => self.refused(key, &error),
        })
    }

    /// The words of an error, without the object, which is named above them.
    fn refused(&self, key: &ObjectKey, error: &ApplyError) -> Fate {
        let message = match error {
            ApplyError::Kind { cause, .. } => reeve_process::error_chain(cause),
            other => reeve_process::error_chain(other),
        };
        let short = message.strip_prefix(&key.to_string()).unwrap_or(&message).trim_start_matches([':', ' ']);
        let kind = ChangeKind::Refused { reason: error.reason().into(), message: short.into() };
        Fate { changes: vec![kind], unknown: self.is_unknown(error) }
    }

    fn drift_mode(&self, object: &DesiredObject) -> DriftMode {
        object.options.drift.unwrap_or(self.wanted.spec.drift.mode)
    }

    /// Whether an object is refused only since its namespace or its kind is to be made before it.
    fn is_to_come(&self, error: &ApplyError) -> bool {
        let mut wanted = self.wanted.desired.components.iter().flat_map(|component| &component.objects);
        match error {
            ApplyError::Kind { object, cause: KindsError::Missing { .. } } => wanted.any(|definition| {
                let value = definition.value();
                let text = |path: &str| value.pointer(path).and_then(Value::as_str).map(str::to_owned);
                &*definition.key.kind == "CustomResourceDefinition"
                    && text("/spec/group").as_deref() == Some(&*object.group)
                    && text("/spec/names/kind").as_deref() == Some(&*object.kind)
            }),
            ApplyError::Refused { object, refusal } if refusal.reason == Reason::MissingNamespace => {
                wanted.any(|namespace| {
                    &*namespace.key.kind == "Namespace" && Some(&namespace.key.name) == object.namespace.as_ref()
                })
            }
            _ => false,
        }
    }

    /// Whether an error says nothing of what `reeve run` would meet with.
    fn is_unknown(&self, error: &ApplyError) -> bool {
        match error {
            ApplyError::Client { .. } | ApplyError::Kind { cause: KindsError::Ask { .. }, .. } => true,
            ApplyError::Refused { refusal, .. } => match refusal.reason {
                Reason::Unauthorized | Reason::Throttled | Reason::Other => true,
                Reason::Forbidden => !self.impersonate,
                _ => false,
            },
            _ => false,
        }
    }
}

impl Fate {
    fn of(changes: impl IntoIterator<Item = ChangeKind>) -> Self {
        Self { changes: changes.into_iter().collect(), unknown: false }
    }
}

impl Found {
    fn add(&mut self, component: &Arc<str>, key: &ObjectKey, kinds: impl IntoIterator<Item = ChangeKind>) {
        let change = |kind| ObjectChange { component: component.clone(), key: key.clone(), kind };
        self.changes.extend(kinds.into_iter().map(change));
    }

    /// What Git no longer wants, and what another runtime has.
    fn add_rest(&mut self, component: &Arc<str>, plan: &ComponentPlan, there: &There) {
        for (key, _, removal) in &plan.removals {
            // What is settled was never made, and what is released or forgotten stays as it is.
            if *removal == Removal::Delete {
                self.add(component, key, change(key, there.object(key), None));
            }
        }
        for (key, owner) in &plan.claimed {
            let message = format!("belongs to {owner}: remove it there or here").into();
            self.add(component, key, [ChangeKind::Refused { reason: "Conflict".into(), message }]);
        }
    }
}

/// What differs of an object, of what anybody means.
fn change(key: &ObjectKey, before: Option<&Value>, after: Option<&Value>) -> Option<ChangeKind> {
    diff::object(key, before.and_then(meant), after.and_then(meant))
}

fn meant(object: &Value) -> Option<Dict> {
    match value::Value::try_from(payload::meant(object)) {
        Ok(value::Value::Dict(object)) => Some(object),
        _ => None,
    }
}
