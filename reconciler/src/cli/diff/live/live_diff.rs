//! What would become of the objects of one runtime.

use std::sync::Arc;

use futures::{StreamExt as _, stream};
use reeve_crds::Reason;
use reeve_crds::runtime::policy::DriftMode;
use reeve_crds::runtime_component::ComponentTarget;
use reeve_reconciler_engine::admission::{self, Allowed};
use reeve_reconciler_engine::apply::{Applier, ApplyError, DryRun, dry_run};
use reeve_reconciler_engine::clock::Clock;
use reeve_reconciler_engine::cluster::{Account, KindsError};
use reeve_reconciler_engine::desired::{DesiredComponent, DesiredObject};
use reeve_reconciler_engine::inventory::Inventory;
use reeve_reconciler_engine::payload::{self, Apply};
use reeve_reconciler_engine::plan::{Action, ComponentPlan, Removal, Step};
use reeve_reconciler_engine::preview::{ending, preview};
use reeve_renderer::diff::{self, ChangeKind, ObjectChange};
use reeve_renderer::object::ObjectKey;
use reeve_renderer::value::{self, Dict};
use serde_json::Value;

use super::Found;
use super::live_objects::LiveObjects;
use crate::cli::cluster::ClusterAccess;
use crate::cli::desired_runtime::DesiredRuntime;
use crate::cli::failure::Failure;

/// Requests that are under way at once.
pub(super) const AT_ONCE: usize = 16;
/// As whom `reeve run` applies components of the control plane unless it is told otherwise.
const CONTROL_PLANE: (&str, &str) = ("reeve-system", "reeve-control-plane");

/// One runtime, and the cluster that it is held against.
pub(super) struct LiveDiff<'a> {
    pub(super) access: &'a ClusterAccess,
    pub(super) desired_runtime: &'a DesiredRuntime,
    pub(super) impersonate: bool,
}

/// What would become of one object: nothing, one change, or two when it is made anew.
#[derive(Default)]
struct DryRunOutcome {
    changes: Vec<ChangeKind>,
    /// Whether that is not known.
    unknown: bool,
}

impl LiveDiff<'_> {
    pub(super) async fn changes(&self) -> Result<Found, Failure> {
        let inventory = self.access.inventory(&self.desired_runtime.runtime).await?;
        let there = LiveObjects::read(self, &inventory).await?;
        let rules = self.desired_runtime.rules(self.access.owner(&self.desired_runtime.runtime));
        let plan = preview(&self.desired_runtime.desired, &inventory, &|key| there.live(key), &rules);
        let of = |(name, plan): &'_ (Arc<str>, ComponentPlan)| {
            let component = self.desired_runtime.desired.component(name).cloned();
            let steps = plan.steps.clone().into_iter();
            steps.filter_map(move |step| Some((component.clone()?, step))).collect::<Vec<_>>()
        };
        let steps: Vec<(Arc<DesiredComponent>, Step)> = plan.components.iter().flat_map(of).collect();
        let asked: Vec<_> =
            steps.iter().map(|(component, step)| self.step(component, step, &inventory, &there)).collect();
        let mut outcomes = stream::iter(asked).buffered(AT_ONCE).zip(stream::iter(&steps));
        let mut found = Found { changes: Vec::new(), unknown: 0 };
        while let Some((fate, (component, step))) = outcomes.next().await {
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
        let inventory = self.access.inventory(&self.desired_runtime.runtime).await?;
        let there = LiveObjects::read(self, &inventory).await?;
        let rules = self.desired_runtime.rules(self.access.owner(&self.desired_runtime.runtime));
        let plan = ending(&inventory, &|key| there.live(key), &rules, self.desired_runtime.spec.deletion_policy);
        let unknown = inventory.iter().filter(|(key, _)| there.trouble(key).is_some()).count();
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
        let applier = self.applier_of(component.target, component.service_account.as_ref());
        Applier { release: Some(component.release.clone()), ..applier }
    }

    pub(super) fn applier_of(&self, target: ComponentTarget, named: Option<&Arc<str>>) -> Applier {
        let spec = &self.desired_runtime.spec;
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
            cluster: self.access.cluster.clone(),
            watch_cache: self.access.watch_cache.clone(),
            account,
            owner: self.access.owner(&self.desired_runtime.runtime),
            release: None,
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
        inventory: &Inventory,
        there: &LiveObjects,
    ) -> Result<DryRunOutcome, Failure> {
        let (key, live) = (&step.key, there.object(&step.key));
        let Some(object) = component.object(key) else { return Ok(DryRunOutcome::default()) };
        if let Some(trouble) = there.trouble(key) {
            return Ok(self.refused(key, trouble));
        }
        let tenant = !self.desired_runtime.spec.target.namespaces.is_empty();
        // Which kinds the control plane may have only the operator knows.
        if let Some(message) = admission::why(key, component.target, tenant, Allowed::Unknown) {
            return Ok(DryRunOutcome::of([ChangeKind::Refused { reason: "Refused".into(), message: message.into() }]));
        }
        let as_in_git = || DryRunOutcome::of(change(key, None, Some(&object.value())));
        match step.action {
            Action::Leave => return Ok(DryRunOutcome::default()),
            Action::Keep if self.drift_mode(object) == DriftMode::Ignore => return Ok(DryRunOutcome::default()),
            // Watches show only what is ours, so one that somebody else made is left alone too.
            Action::Create if object.options.apply == Apply::IfMissing && live.is_some() => {
                return Ok(DryRunOutcome::default());
            }
            // Made anew when the old one is gone.
            Action::Replace => return Ok(as_in_git()),
            Action::Create | Action::Update | Action::Verify | Action::Repair | Action::Report | Action::Keep => {}
        }
        let known = inventory.get(key).is_some_and(|entry| entry.uid.is_some());
        let applier = self.applier(component);
        let ask = async || dry_run(&applier, object, live, known).await;
        let asked = self.access.patiently(&format!("ask about {key}"), ask, ApplyError::retry_after).await?;
        Ok(match asked {
            // An object that is not there yet is shown as Git has it, as between two revisions.
            Ok(DryRun::Applied(_)) if live.is_none() => as_in_git(),
            Ok(DryRun::Applied(after)) => DryRunOutcome::of(change(key, live, Some(&after))),
            Ok(DryRun::Anew(_)) => {
                DryRunOutcome::of(change(key, live, None).into_iter().chain(change(key, None, Some(&object.value()))))
            }
            Err(error) if self.is_to_come(&error) => as_in_git(),
            Err(ApplyError::Refused { api_error, .. }) if api_error.server_down => {
                return Err(self.access.blind(api_error.reason.as_str(), &api_error.message));
            }
            Err(error) => self.refused(key, &error),
        })
    }

    /// The words of an error, without the object, which is named above them.
    fn refused(&self, key: &ObjectKey, error: &ApplyError) -> DryRunOutcome {
        let message = match error {
            ApplyError::Kind { cause, .. } => reeve_process::error_chain(cause),
            other => reeve_process::error_chain(other),
        };
        let short = message.strip_prefix(&key.to_string()).unwrap_or(&message).trim_start_matches([':', ' ']);
        let kind = ChangeKind::Refused { reason: error.reason().as_str().into(), message: short.into() };
        DryRunOutcome { changes: vec![kind], unknown: self.is_unknown(error) }
    }

    fn drift_mode(&self, object: &DesiredObject) -> DriftMode {
        object.options.drift.unwrap_or(self.desired_runtime.spec.drift.mode)
    }

    /// Whether an object is refused only since its namespace or its kind is to be made before it.
    fn is_to_come(&self, error: &ApplyError) -> bool {
        let mut desired_runtime =
            self.desired_runtime.desired.components.iter().flat_map(|component| &component.objects);
        match error {
            ApplyError::Kind { object, cause: KindsError::Missing { .. } } => desired_runtime.any(|definition| {
                let value = definition.value();
                let text = |path: &str| value.pointer(path).and_then(Value::as_str).map(str::to_owned);
                &*definition.key.kind == "CustomResourceDefinition"
                    && text("/spec/group").as_deref() == Some(&*object.group)
                    && text("/spec/names/kind").as_deref() == Some(&*object.kind)
            }),
            ApplyError::Refused { object, api_error } if api_error.reason == Reason::MissingNamespace => {
                desired_runtime.any(|namespace| {
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
            ApplyError::Refused { api_error, .. } => match api_error.reason {
                Reason::Unauthorized | Reason::Throttled | Reason::Other => true,
                Reason::Forbidden => !self.impersonate,
                _ => false,
            },
            _ => false,
        }
    }
}

impl DryRunOutcome {
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
    fn add_rest(&mut self, component: &Arc<str>, plan: &ComponentPlan, there: &LiveObjects) {
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
