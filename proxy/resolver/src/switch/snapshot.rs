//! What the objects around one rule say, judged. Pure; the objects come from watches.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use reeve_crds::scaling_rule::path::HandOverPolicy;
use reeve_crds::scaling_rule::status::{ResolverPort, TrafficMode};
use reeve_crds::scaling_rule::switch::door;
use reeve_crds::scaling_rule::{RuleMode, ScalingRuleSpec};
use reeve_crds::{ScalingRule, annotation};

use super::istio;
use super::keda::{self, KedaState, Plan, ScaledJob, ScaledObject, Surroundings};
use super::machine::{Asked, Extent, HandOver, Intent, Observed, Policy, SleepBy, Slice};
use super::objects::{self, Resolver};
use super::replicas::Replicas;
use super::target::Target;
use super::{names, windows};
use crate::report::{RULE_LABEL, RuleKey, SERVICE_LABEL};
use crate::scaler::is_scaled_job;

mod routes;

pub(super) use routes::IstioObjects;

/// How long KEDA may take beside its interval.
const KEDA_SLACK: std::time::Duration = std::time::Duration::from_secs(5);

/// The objects of one rule.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    pub rule: Arc<ScalingRule>,
    /// Those of the rule's Services that exist.
    pub services: Vec<Arc<Service>>,
    /// Shadow Services of the rule.
    pub shadows: Vec<Arc<Service>>,
    /// Doors of the rule's Services.
    pub doors: Vec<Arc<Service>>,
    /// What Istio has for the rule, if it names routes.
    pub istio: IstioObjects,
    /// Slices of the rule's Services, of their shadows and of their doors.
    pub slices: Vec<Arc<EndpointSlice>>,
    pub target: Target,
    /// Services that lead to the target and are in no rule.
    pub uncovered: Vec<String>,
    /// Whether no pod can have connections that bypass the resolver.
    pub pods_quiet: bool,
    /// KEDA's objects in the rule's namespace; nothing while they are not known.
    pub keda_objects: Option<Vec<Arc<ScaledObject>>>,
    pub keda_jobs: Vec<Arc<ScaledJob>>,
    /// How it stands with KEDA.
    pub keda: KedaState,
    /// When KEDA was last told that the target may sleep.
    pub keda_told: Option<Timestamp>,
}

impl Snapshot {
    pub(super) fn key(&self) -> RuleKey {
        key(&self.rule)
    }

    pub(super) fn ports(&self) -> &[ResolverPort] {
        self.rule.status.as_ref().map(|status| &*status.ports).unwrap_or_default()
    }

    pub(super) fn owner(&self) -> OwnerReference {
        OwnerReference {
            api_version: "reeve.dev/v1alpha1".to_owned(),
            kind: "ScalingRule".to_owned(),
            name: self.rule.name_any(),
            uid: self.rule.uid().unwrap_or_default(),
            controller: Some(true),
            block_owner_deletion: None,
        }
    }

    /// The mode in the status and how often it has changed.
    pub(super) fn epoch(&self) -> Option<(TrafficMode, i64)> {
        let status = self.rule.status.as_ref()?;
        Some((*status.mode.as_ref()?.known()?, status.mode_changes.unwrap_or_default()))
    }

    /// What the spec cannot have here, if anything.
    pub(super) fn unsupported(&self) -> Option<String> {
        if self.rule.name_any().len() > names::LABEL {
            return Some("the rule's name is longer than 63 characters, and cannot be a label".to_owned());
        }
        let missing = |name: &String| !self.services.iter().any(|service| service.name_any() == *name);
        if let Some(service) = self.rule.spec.services.iter().map(|service| &service.name).find(|name| missing(name)) {
            return Some(format!("there is no Service {service}"));
        }
        if let Some(routes) = self.routes() {
            return self
                .services
                .iter()
                .find_map(|service| objects::without_pods(service))
                .or_else(|| self.unroutable(&routes));
        }
        let mine = self.rule.name_any();
        let taken = |service: &&Arc<Service>| objects::captured_by(service).is_some_and(|rule| rule != mine);
        if let Some(service) = self.services.iter().find(taken) {
            let rule = objects::captured_by(service).unwrap_or_default();
            return Some(format!("Service {} is captured by the rule {rule}", service.name_any()));
        }
        self.services.iter().find_map(|service| objects::unsupported(service))
    }

    /// What leads to the target beside the rule and keeps it awake, if anything does.
    pub(super) fn uncovered_ways(&self) -> Option<String> {
        if !self.uncovered.is_empty() {
            let names = self.uncovered.join(", ");
            return Some(format!("{names} lead to the target too and are in no rule: it does not sleep"));
        }
        self.routes()?.uncovered()
    }

    /// All that the machine decides by.
    pub(super) fn observe(&self, replicas: &Replicas, now: Timestamp) -> Observed {
        let usable = replicas.usable(&self.key(), &self.wanted_ports(), now);
        let epoch = self.epoch();
        let held = replicas.held(&self.key());
        Observed {
            policy: self.policy(held, now),
            replicas: self.replicas(),
            shadow: self.has_shadows(),
            ready_pods: self.fewest(|service| self.ready(service, true)),
            direct_pods: self.fewest(|service| self.ready(service, false)),
            direct_endpoints: if self.routes().is_some() { 0 } else { self.direct_endpoints() },
            capture: self.routes().map_or_else(|| self.capture(), |routes| routes.extent()),
            slice: self.slice(usable.as_deref()),
            routes_settle: self.routes().map(|routes| istio::settle(routes.switch)),
            resolvers: usable.map(|usable| usable.len()),
            traffic: epoch.and_then(|epoch| replicas.traffic(&self.key(), epoch, now)),
            held,
            pods_quiet: self.pods_quiet,
            keda_told: self.keda_told,
        }
    }

    /// What is asked of KEDA, and how it stands with it.
    pub(super) fn keda_plan(&self, scaler: &str) -> Plan {
        let owner = self.owner();
        keda::plan(&Surroundings {
            rule: &self.rule,
            owner: &owner,
            target: self.target.reference.as_ref(),
            objects: self.keda_objects.as_deref(),
            jobs: &self.keda_jobs,
            scaler,
            is_unsupported: self.unsupported().is_some(),
        })
    }

    pub(super) fn scales_jobs(&self) -> bool {
        self.target.reference.as_ref().is_some_and(is_scaled_job)
    }

    /// Jobs have no scale: their pods count, and none of them is owed to anybody who leaves.
    fn replicas(&self) -> Option<i32> {
        if !self.scales_jobs() {
            return self.target.replicas;
        }
        let terminates = |endpoint: &Endpoint| {
            endpoint.conditions.as_ref().is_some_and(|conditions| conditions.terminating == Some(true))
        };
        let ours = self.our_slices();
        let theirs = self.slices.iter().filter(|slice| !ours.iter().any(|ours| ours.name_any() == slice.name_any()));
        let pods = theirs.flat_map(|slice| &slice.endpoints).filter(|endpoint| !terminates(endpoint)).count();
        (self.intent() == Intent::Govern).then(|| i32::try_from(pods).unwrap_or(i32::MAX))
    }

    fn sleep_by(&self) -> SleepBy {
        let Some(keda) = &self.rule.spec.keda else { return SleepBy::Switch };
        match self.keda {
            KedaState::Ready(_) if !self.scales_jobs() => {
                // Right after an answer that it is awake it may still cool down when it asks next.
                let polling = std::time::Duration::from(keda.polling_interval);
                SleepBy::Keda { within: polling * 2 + KEDA_SLACK }
            }
            KedaState::Ready(_) | KedaState::NotReady { .. } | KedaState::Unused => SleepBy::Nobody,
        }
    }

    /// Why the rule's windows keep the target awake, if they do.
    pub(super) fn kept_awake(&self, now: Timestamp) -> Option<String> {
        self.rule.spec.awake.iter().find_map(|window| match windows::is_open(window, now) {
            Ok(true) => Some(format!("kept awake by the window {}", window.name)),
            Ok(false) => None,
            Err(problem) => Some(format!("kept awake: in the window {} {problem}", window.name)),
        })
    }

    fn policy(&self, held: u32, now: Timestamp) -> Policy {
        let spec = &self.rule.spec;
        Policy {
            intent: self.intent(),
            idle_after: spec.idle_after.into(),
            min_awake: spec.min_awake.into(),
            wake: keda::wake_replicas(spec, held),
            sleep_by: self.sleep_by(),
            hand_over: hand_over(spec),
            asked: self.asked(),
            keep_awake: self.uncovered_ways().is_some() || self.kept_awake(now).is_some(),
        }
    }

    /// What a person asked for and did not get yet; who asked for both wants it awake.
    fn asked(&self) -> Option<Asked> {
        let status = self.rule.status.as_ref();
        let is_new = |name: &str, handled: Option<&String>| {
            self.rule.annotations().get(name).is_some_and(|value| Some(value) != handled)
        };
        if is_new(annotation::WAKE, status.and_then(|status| status.last_handled_wake_at.as_ref())) {
            return Some(Asked::Wake);
        }
        let slept = status.and_then(|status| status.last_handled_sleep_at.as_ref());
        is_new(annotation::SLEEP, slept).then_some(Asked::Sleep)
    }

    /// Whether the rule touches nothing, and tells what it would have done.
    pub(super) fn only_observes(&self) -> bool {
        let spec = &self.rule.spec;
        spec.mode == RuleMode::Observe && !spec.suspend && self.rule.metadata.deletion_timestamp.is_none()
    }

    fn intent(&self) -> Intent {
        let spec = &self.rule.spec;
        if self.rule.metadata.deletion_timestamp.is_some() {
            return Intent::Leave { finish: true };
        }
        let stays_out = spec.suspend || spec.mode == RuleMode::Observe || self.unsupported().is_some();
        if stays_out { Intent::Leave { finish: false } } else { Intent::Govern }
    }

    fn wanted_ports(&self) -> BTreeSet<i32> {
        self.ports().iter().map(|port| port.resolver_port).collect()
    }

    fn has_shadows(&self) -> bool {
        let (rule, owner) = (self.rule.name_any(), self.owner());
        !self.services.is_empty()
            && self.services.iter().all(|service| {
                let wanted = objects::shadow(service, &rule, &owner);
                let found = self.shadows.iter().find(|shadow| shadow.name_any() == wanted.name_any());
                found.is_some_and(|found| objects::is_shadow(found, &wanted))
            })
            && self.has_doors()
    }

    fn fewest(&self, count: impl Fn(&Service) -> u32) -> u32 {
        self.services.iter().map(|service| count(service)).min().unwrap_or_default()
    }

    /// Ready pods of a Service, in its own slices or in those of its shadow.
    fn ready(&self, service: &Service, shadow: bool) -> u32 {
        let slices = self.slices.iter().filter(|slice| {
            if shadow { shadows(slice, &service.name_any()) } else { is_own(slice, &service.name_any()) }
        });
        let ready = slices
            .flat_map(|slice| &slice.endpoints)
            .filter(|endpoint| endpoint.conditions.as_ref().is_none_or(|conditions| conditions.ready.unwrap_or(true)));
        u32::try_from(ready.count()).unwrap_or(u32::MAX)
    }

    fn direct_endpoints(&self) -> u32 {
        let own = |slice: &&Arc<EndpointSlice>| self.services.iter().any(|service| is_own(slice, &service.name_any()));
        let endpoints = self.slices.iter().filter(own).map(|slice| slice.endpoints.len()).sum::<usize>();
        u32::try_from(endpoints).unwrap_or(u32::MAX)
    }

    fn capture(&self) -> Extent {
        let captured = self.services.iter().filter(|service| objects::captured_by(service).is_some()).count();
        match captured {
            0 => Extent::None,
            all if all == self.rule.spec.services.len() => Extent::All,
            _ => Extent::Some,
        }
    }

    /// Our slices as they should be.
    pub(super) fn wanted_slices(&self, resolvers: &[Resolver]) -> Vec<EndpointSlice> {
        let (rule, owner) = (self.rule.name_any(), self.owner());
        let has_doors = self.rule.spec.switch.is_some();
        let of = |service: &Arc<Service>| {
            let families = objects::families(service).into_iter();
            let service = Arc::clone(service);
            let (rule, owner) = (rule.clone(), owner.clone());
            let front = if has_doors { door(&service.name_any()) } else { service.name_any() };
            families
                .map(move |family| objects::slice(&service, &front, &family, &rule, &owner, resolvers, self.ports()))
        };
        self.services.iter().flat_map(of).collect()
    }

    /// Our slices as they are.
    pub(super) fn our_slices(&self) -> Vec<&Arc<EndpointSlice>> {
        let rule = self.rule.name_any();
        let ours = |slice: &&Arc<EndpointSlice>| slice.labels().get(names::SLICE_LABEL) == Some(&rule);
        self.slices.iter().filter(ours).collect()
    }

    fn slice(&self, usable: Option<&[Resolver]>) -> Slice {
        let ours = self.our_slices();
        if ours.is_empty() {
            return Slice::Absent;
        }
        let Some(usable) = usable.filter(|usable| !usable.is_empty()) else { return Slice::Stale };
        let wanted = self.wanted_slices(usable);
        let is_there = |wanted: &EndpointSlice| {
            let found = ours.iter().find(|slice| slice.name_any() == wanted.name_any());
            found.is_some_and(|found| objects::is_slice(found, wanted))
        };
        if wanted.iter().all(is_there) { Slice::Current } else { Slice::Stale }
    }

    /// Since when all Services are captured.
    pub(super) fn captured_at(&self) -> Option<Timestamp> {
        if let Some(routes) = self.routes() {
            return routes.captured_at().filter(|_| routes.extent() == Extent::All);
        }
        let times: Option<Vec<Timestamp>> = self.services.iter().map(|service| objects::captured_at(service)).collect();
        times?.into_iter().max()
    }
}

/// Names a rule.
pub(super) fn key(rule: &ScalingRule) -> RuleKey {
    RuleKey::new(rule.namespace().unwrap_or_default(), rule.name_any())
}

fn hand_over(spec: &ScalingRuleSpec) -> Option<HandOver> {
    let hand_over = &spec.hand_over;
    match hand_over.policy {
        HandOverPolicy::Never => None,
        HandOverPolicy::Auto => Some(HandOver {
            in_flight: u32::try_from(hand_over.in_flight).unwrap_or(u32::MAX),
            requests_per_second: u32::try_from(hand_over.requests_per_second).ok().filter(|limit| *limit > 0),
            after: hand_over.after.into(),
            look_after: hand_over.look_after.into(),
            look_after_max: hand_over.look_after_max.into(),
        }),
    }
}

/// Whether a slice is of the Service and not ours.
fn is_own(slice: &EndpointSlice, service: &str) -> bool {
    let labels = slice.labels();
    labels.get(names::SERVICE_NAME).is_some_and(|name| name == service)
        && labels.get(names::MANAGED_BY).is_none_or(|manager| manager != names::SLICE_MANAGER)
}

fn shadows(slice: &EndpointSlice, service: &str) -> bool {
    let labels = slice.labels();
    labels.contains_key(RULE_LABEL) && labels.get(SERVICE_LABEL).is_some_and(|name| name == service)
}
