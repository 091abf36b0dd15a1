//! What is foreseen for one runtime: its plan, less what `reeve run` would not do, and with what comes on top.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reeve_crds::RuntimeSpec;
use reeve_crds::runtime::policy::{Adoption, DeletionPolicy};
use reeve_crds::runtime::target::TargetType;
use reeve_crds::runtime_component::JobPhase;
use reeve_reconciler_engine::admission::{self, Allowed};
use reeve_reconciler_engine::apply::ApplyError;
use reeve_reconciler_engine::desired::{DesiredComponent, Stage};
use reeve_reconciler_engine::owner::Release;
use reeve_reconciler_engine::payload::Apply;
use reeve_reconciler_engine::plan::{Action, ComponentPlan, Removal};
use reeve_reconciler_engine::preview::Preview;
use reeve_renderer::object::ObjectKey;

/// What is foreseen for one runtime.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RuntimePlan {
    /// Why nothing is done to it.
    pub(super) skipped: Option<SkipReason>,
    /// What becomes of its objects, if its file left Git.
    pub(super) ended: Option<DeletionPolicy>,
    pub(super) parts: Vec<Part>,
}

/// Why nothing is done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SkipReason {
    /// What is: a source, a runtime, a component.
    Suspended(String),
    /// Its target is not served.
    Unsupported(String),
    /// It is in another cluster than its Runtime.
    Elsewhere,
    /// It is another source's.
    Refused(String),
    /// Components that are not ready and stay so.
    Waits(Vec<Arc<str>>),
}

/// What is foreseen for one component.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) component: Arc<str>,
    /// Whether it left Git.
    pub(super) left: bool,
    pub(super) skipped: Option<SkipReason>,
    pub(super) actions: Vec<(ObjectKey, Stage, PlannedAction)>,
    pub(super) removals: Vec<(ObjectKey, Stage, Removal)>,
    /// Objects that another runtime gets, as they are, and which.
    pub(super) handed_over: Vec<(ObjectKey, Stage, Arc<str>)>,
    pub(super) jobs: Vec<(ObjectKey, JobPhase)>,
    pub(super) refusals: Vec<RefusedObject>,
}

/// What is done to an object.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PlannedAction {
    Plan(Action),
    /// It is deleted and made anew, since a field of it cannot change.
    Anew,
    /// It is there and not ours.
    TakeOver(Stranger),
    /// It is handed over by this runtime, as it is.
    Move(Arc<str>),
}

/// Whose an object is that is there without being ours.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Stranger {
    /// Who applies it too, and may keep fields that differ.
    pub(super) appliers: Vec<String>,
    /// The Helm release whose marks it bears.
    pub(super) release: Option<Release>,
}

/// An object that may not be applied.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RefusedObject {
    pub(super) key: ObjectKey,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl RefusedObject {
    fn of(error: &ApplyError, key: ObjectKey) -> Self {
        let message = error.to_string().trim_start_matches(&key.to_string()).trim().to_owned();
        Self { key, reason: error.reason().as_str(), message }
    }
}

impl Stranger {
    /// Whom a component takes it from that takes the place of this release, or the other release that has it.
    fn taken_over(mut self, ours: &Release, adoption: Adoption) -> Result<Self, Release> {
        match self.release.take() {
            Some(other) if other != *ours && adoption != Adoption::Always => return Err(other),
            release => self.release = release,
        }
        if adoption == Adoption::Always {
            self.appliers.clear();
        }
        Ok(self)
    }
}

/// What a cluster says beyond the plan; nothing, where there is none.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Components that somebody suspended.
    pub(super) suspended: BTreeSet<Arc<str>>,
    /// Objects that are there without being ours.
    pub(super) strangers: BTreeMap<ObjectKey, Stranger>,
    /// Objects of which others changed only what they may.
    pub(super) fine: BTreeSet<ObjectKey>,
    /// Objects that are made anew.
    pub(super) anew: BTreeSet<ObjectKey>,
    /// Objects that the inventory has with their uid.
    pub(super) known: BTreeSet<ObjectKey>,
    /// Jobs that are yet to run, by component.
    pub(super) jobs: BTreeMap<Arc<str>, Vec<(ObjectKey, JobPhase)>>,
}

impl RuntimePlan {
    /// A runtime to which nothing is done.
    pub(super) fn skipped(why: SkipReason) -> Self {
        Self { skipped: Some(why), ..Self::default() }
    }

    /// A runtime whose target is not served.
    pub(super) fn unsupported(spec: &RuntimeSpec) -> Option<Self> {
        let message = match spec.target.kind {
            TargetType::InCluster | TargetType::KubeConfig => return None,
            TargetType::Agent => "a target of type Agent is not served yet: InCluster and KubeConfig are",
        };
        Some(Self::skipped(SkipReason::Unsupported(message.to_owned())))
    }

    /// A runtime in a cluster that is not looked at.
    pub(super) fn elsewhere(spec: &RuntimeSpec) -> Option<Self> {
        let elsewhere = || Self::skipped(SkipReason::Elsewhere);
        Self::unsupported(spec).or_else(|| (spec.target.kind == TargetType::KubeConfig).then(elsewhere))
    }

    /// A runtime whose file left Git.
    pub(super) fn ended(preview: Preview, policy: DeletionPolicy, seen: &Seen) -> Self {
        let suspended = |name: &Arc<str>| policy == DeletionPolicy::Delete && seen.suspended.contains(name);
        let parts = preview.removed.into_iter().map(|(name, plan)| {
            let skipped = suspended(&name);
            Part::left(name, plan, skipped)
        });
        Self { skipped: None, ended: Some(policy), parts: parts.collect() }
    }

    /// A runtime that Git has.
    pub(super) fn of(
        components: &[Arc<DesiredComponent>],
        spec: &RuntimeSpec,
        preview: Preview,
        seen: &mut Seen,
        allowed: Allowed<'_>,
    ) -> Self {
        let tenant = !spec.target.namespaces.is_empty();
        let mut stuck: BTreeSet<Arc<str>> = BTreeSet::new();
        let mut parts = Vec::new();
        for (component, (_, plan)) in components.iter().zip(preview.components) {
            let waits: Vec<Arc<str>> = component.depends_on.iter().filter(|on| stuck.contains(*on)).cloned().collect();
            let mut part = Part::of(component, spec, plan, seen);
            if seen.suspended.contains(&component.name) {
                part.stop(SkipReason::Suspended(format!("component {}", component.name)), |_| false);
            } else if let Some((key, message)) = admission::refused(component, tenant, allowed) {
                part.stop_refused(RefusedObject { key: key.clone(), reason: "Refused", message });
            } else if !waits.is_empty() && !part.is_empty() {
                // What others may build on is laid before it waits.
                part.stop(SkipReason::Waits(waits), |stage| stage == Stage::Definitions);
            } else {
                parts.push(part);
                continue;
            }
            stuck.insert(component.name.clone());
            parts.push(part);
        }
        let removed = preview.removed.into_iter();
        parts.extend(removed.map(|(name, plan)| {
            let skipped = seen.suspended.contains(&name);
            Part::left(name, plan, skipped)
        }));
        Self { skipped: None, ended: None, parts }
    }

    /// Whether nothing would be done.
    pub(super) fn is_empty(&self) -> bool {
        let refused = matches!(self.skipped, Some(SkipReason::Refused(_)));
        !refused && self.ended.is_none() && self.parts.iter().all(Part::is_empty)
    }
}

impl Part {
    fn of(component: &DesiredComponent, spec: &RuntimeSpec, plan: ComponentPlan, seen: &mut Seen) -> Self {
        let mut refusals: Vec<RefusedObject> = plan
            .claimed
            .into_iter()
            .map(|(key, owner)| RefusedObject { key, reason: "Conflict", message: format!("belongs to {owner}") })
            .collect();
        let mut actions = Vec::new();
        for step in plan.steps {
            let there = seen.strangers.remove(&step.key).filter(|_| step.action == Action::Create);
            let once = component.object(&step.key).is_some_and(|object| object.options.apply == Apply::IfMissing);
            let deed = match (step.action, there) {
                (Action::Repair | Action::Report, _) if seen.fine.contains(&step.key) => {
                    PlannedAction::Plan(Action::Keep)
                }
                (Action::Create, Some(_)) if once => PlannedAction::Plan(Action::Leave),
                (Action::Create, Some(_)) if spec.adoption == Adoption::Never && !seen.known.contains(&step.key) => {
                    refusals.push(RefusedObject::of(&ApplyError::Exists { object: step.key.clone() }, step.key));
                    continue;
                }
                (Action::Create, Some(stranger)) => match stranger.taken_over(&component.release, spec.adoption) {
                    Ok(stranger) => PlannedAction::TakeOver(stranger),
                    Err(release) => {
                        let error = ApplyError::Released { object: step.key.clone(), release };
                        refusals.push(RefusedObject::of(&error, step.key));
                        continue;
                    }
                },
                (Action::Update | Action::Repair, _) if seen.anew.contains(&step.key) => PlannedAction::Anew,
                (action, _) => PlannedAction::Plan(action),
            };
            actions.push((step.key, step.stage, deed));
        }
        let jobs = seen.jobs.remove(&component.name).unwrap_or_default();
        let (component, removals) = (component.name.clone(), plan.removals);
        Self { component, left: false, skipped: None, actions, removals, handed_over: Vec::new(), jobs, refusals }
    }

    fn left(component: Arc<str>, plan: ComponentPlan, suspended: bool) -> Self {
        let skipped = suspended.then(|| SkipReason::Suspended(format!("component {component}")));
        let removals = if suspended { Vec::new() } else { plan.removals };
        Self {
            component,
            left: true,
            skipped,
            actions: Vec::new(),
            removals,
            handed_over: Vec::new(),
            jobs: Vec::new(),
            refusals: Vec::new(),
        }
    }

    /// Does nothing but what is still done.
    fn stop(&mut self, why: SkipReason, done: impl Fn(Stage) -> bool) {
        self.actions.retain(|(_, stage, _)| done(*stage));
        self.removals.clear();
        self.jobs.clear();
        self.refusals.clear();
        self.skipped = Some(why);
    }

    fn stop_refused(&mut self, api_error: RefusedObject) {
        self.actions.clear();
        self.removals.clear();
        self.jobs.clear();
        self.refusals = vec![api_error];
    }

    fn is_empty(&self) -> bool {
        let changes = |deed: &PlannedAction| match deed {
            PlannedAction::Plan(action) => action.writes() && *action != Action::Verify,
            PlannedAction::Anew | PlannedAction::TakeOver(_) | PlannedAction::Move(_) => true,
        };
        let removes = |removal: Removal| matches!(removal, Removal::Delete | Removal::Settle);
        self.refusals.is_empty()
            && self.jobs.is_empty()
            && self.handed_over.is_empty()
            && !self.actions.iter().any(|(_, _, deed)| changes(deed))
            && !self.removals.iter().any(|(_, _, removal)| removes(*removal))
    }
}
