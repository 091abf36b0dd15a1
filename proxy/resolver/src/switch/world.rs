//! The objects that rules are about, kept up to date by watches.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use reeve_crds::ScalingRule;
use reeve_crds::scaling_rule::switch::door;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tracing::warn;

use super::keda::{self, KedaState, ScaledJob};
use super::names;
use super::reports::Queue;
use super::snapshot::{Snapshot, key};
use super::target::{self, Workload};
use crate::report::{RULE_LABEL, RuleKey};
use crate::scaler::is_scaled_job;

mod istio_world;
mod keda_world;

use istio_world::IstioWorld;
use keda_world::KedaWorld;

/// Stores of all watched kinds.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) rules: Store<ScalingRule>,
    services: Store<Service>,
    slices: Store<EndpointSlice>,
    deployments: Store<Deployment>,
    stateful_sets: Store<StatefulSet>,
    keda: KedaWorld,
    istio: IstioWorld,
}

impl World {
    /// Starts the watches and waits until all is known. They end with `tasks`.
    pub(super) async fn watch(client: &Client, queue: &Arc<Queue>, tasks: &mut JoinSet<()>) -> Self {
        let (rules, write_rules) = reflector::store();
        let (services, write_services) = reflector::store();
        let (slices, write_slices) = reflector::store();
        let (deployments, write_deployments) = reflector::store();
        let (stateful_sets, write_stateful_sets) = reflector::store();
        let starts = Arc::new(Notify::new());
        let keda = KedaWorld::watch(client, queue, &rules, &starts, tasks);
        let starts_istio = Arc::new(Notify::new());
        let istio = IstioWorld::watch(client, queue, &rules, &starts_istio, tasks);
        let world = Self { rules, services, slices, deployments, stateful_sets, keda, istio };
        let about = world.clone();
        tasks.spawn(follow(client.clone(), write_rules, Arc::clone(queue), move |rule: &ScalingRule| {
            if rule.spec.keda.is_some() {
                starts.notify_one();
            }
            if istio_world::names(rule).is_some() {
                starts_istio.notify_one();
            }
            selecting(&about, rule).chain([key(rule)]).collect()
        }));
        let about = world.clone();
        tasks.spawn(follow(client.clone(), write_services, Arc::clone(queue), move |service: &Service| {
            about.of_service(service)
        }));
        let about = world.clone();
        tasks.spawn(follow(client.clone(), write_slices, Arc::clone(queue), move |slice: &EndpointSlice| {
            about.of_slice(slice)
        }));
        let about = world.clone();
        tasks.spawn(follow(client.clone(), write_deployments, Arc::clone(queue), move |one: &Deployment| {
            about.of_workload(one.namespace(), &Workload::from(one))
        }));
        let about = world.clone();
        tasks.spawn(follow(client.clone(), write_stateful_sets, Arc::clone(queue), move |one: &StatefulSet| {
            about.of_workload(one.namespace(), &Workload::from(one))
        }));
        // An error says that the watch is gone for good, and then so is the term.
        let _ = world.rules.wait_until_ready().await;
        let _ = world.services.wait_until_ready().await;
        let _ = world.slices.wait_until_ready().await;
        let _ = world.deployments.wait_until_ready().await;
        let _ = world.stateful_sets.wait_until_ready().await;
        world
    }

    pub(super) fn rule(&self, key: &RuleKey) -> Option<Arc<ScalingRule>> {
        self.rules.get(&ObjectRef::new(&key.name).within(&key.namespace))
    }

    /// All that there is around a rule.
    pub(super) fn snapshot(&self, rule: Arc<ScalingRule>) -> Snapshot {
        let namespace = rule.namespace().unwrap_or_default();
        let find = |name: &str| self.services.get(&ObjectRef::new(name).within(&namespace));
        let services: Vec<Arc<Service>> = rule.spec.services.iter().filter_map(|service| find(&service.name)).collect();
        let shadows = services.iter().filter_map(|service| find(&names::shadow(&service.name_any()))).collect();
        let has_doors = |_: &&Arc<Service>| rule.spec.switch.is_some();
        let doors = services.iter().filter(has_doors).filter_map(|service| find(&door(&service.name_any()))).collect();
        let istio = self.istio.of(&rule);
        let mut target = target::find(&rule, &services, &self.workloads(&namespace));
        let (keda_objects, keda_jobs) = (self.keda.objects_in(&namespace), self.keda.jobs_in(&namespace));
        let is_target = |job: &&Arc<ScaledJob>| target.reference.as_ref().is_some_and(|one| one.name == job.name_any());
        if target.reference.as_ref().is_some_and(is_scaled_job)
            && let Some(job) = keda_jobs.iter().find(is_target)
        {
            target.labels = keda::pod_labels(job);
        }
        let uncovered = self.uncovered(&namespace, &target.labels);
        let is_about = |slice: &EndpointSlice| {
            let labels = slice.labels();
            let of_service = labels
                .get(names::SERVICE_NAME)
                .is_some_and(|name| services.iter().any(|service| service.metadata.name.as_ref() == Some(name)));
            slice.metadata.namespace.as_ref() == Some(&namespace)
                && (of_service
                    || [RULE_LABEL, names::SLICE_LABEL]
                        .iter()
                        .any(|label| labels.get(*label) == rule.metadata.name.as_ref()))
        };
        let slices = self.slices.state().into_iter().filter(|slice| is_about(slice)).collect();
        Snapshot {
            rule,
            services,
            shadows,
            doors,
            istio,
            slices,
            target,
            uncovered,
            pods_quiet: false,
            keda_objects,
            keda_jobs,
            keda: KedaState::Unused,
            keda_told: None,
        }
    }

    /// All Services, workloads and rules of a namespace.
    pub(super) fn around(&self, namespace: &str) -> (Vec<Arc<Service>>, Vec<Workload>, Vec<Arc<ScalingRule>>) {
        let local = |service: &Arc<Service>| service.metadata.namespace.as_deref() == Some(namespace);
        let services = self.services.state().into_iter().filter(local).collect();
        (services, self.workloads(namespace), self.in_namespace(namespace))
    }

    fn workloads(&self, namespace: &str) -> Vec<Workload> {
        let deployments = self.deployments.state();
        let deployments = deployments.iter().filter(|one| one.metadata.namespace.as_deref() == Some(namespace));
        let sets = self.stateful_sets.state();
        let sets = sets.iter().filter(|one| one.metadata.namespace.as_deref() == Some(namespace));
        deployments.map(|one| Workload::from(&**one)).chain(sets.map(|one| Workload::from(&**one))).collect()
    }

    fn uncovered(&self, namespace: &str, labels: &std::collections::BTreeMap<String, String>) -> Vec<String> {
        if labels.is_empty() {
            return Vec::new();
        }
        let rules = self.in_namespace(namespace);
        let is_covered =
            |name: &str| rules.iter().any(|rule| rule.spec.services.iter().any(|service| service.name == name));
        let services = self.services.state();
        let local = services.iter().filter(|one| one.metadata.namespace.as_deref() == Some(namespace));
        target::uncovered(labels, local.map(|service| &**service), is_covered)
    }

    fn in_namespace(&self, namespace: &str) -> Vec<Arc<ScalingRule>> {
        let rules = self.rules.state().into_iter();
        rules.filter(|rule| rule.metadata.namespace.as_deref() == Some(namespace)).collect()
    }

    /// A Service may cover or uncover the target of any rule of its namespace.
    fn of_service(&self, service: &Service) -> BTreeSet<RuleKey> {
        self.in_namespace(&service.namespace().unwrap_or_default()).iter().map(|rule| key(rule)).collect()
    }

    fn of_slice(&self, slice: &EndpointSlice) -> BTreeSet<RuleKey> {
        let namespace = slice.namespace().unwrap_or_default();
        if let Some(rule) = slice.labels().get(RULE_LABEL).or_else(|| slice.labels().get(names::SLICE_LABEL)) {
            return BTreeSet::from([RuleKey::new(namespace, rule)]);
        }
        let Some(service) = slice.labels().get(names::SERVICE_NAME) else { return BTreeSet::new() };
        let has = |rule: &&Arc<ScalingRule>| rule.spec.services.iter().any(|one| one.name == *service);
        self.in_namespace(&namespace).iter().filter(has).map(|rule| key(rule)).collect()
    }

    fn of_workload(&self, namespace: Option<String>, workload: &Workload) -> BTreeSet<RuleKey> {
        let may_be = |rule: &&Arc<ScalingRule>| {
            rule.spec.scale_target.as_ref().is_none_or(|target| *target == workload.reference)
        };
        let rules = self.in_namespace(&namespace.unwrap_or_default());
        rules.iter().filter(may_be).map(|rule| key(rule)).collect()
    }
}

/// What selecting rules choose depends on every other rule of the namespace.
fn selecting(world: &World, changed: &ScalingRule) -> impl Iterator<Item = RuleKey> {
    let rules = world.in_namespace(&changed.namespace().unwrap_or_default());
    rules.into_iter().filter(|rule| rule.spec.selector.is_some()).map(|rule| key(&rule))
}

/// Watches a kind for ever, and queues the rules that a change is about.
async fn follow<K>(
    client: Client,
    writer: reflector::store::Writer<K>,
    queue: Arc<Queue>,
    about: impl Fn(&K) -> BTreeSet<RuleKey> + Send + 'static,
) where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Hash + Eq,
{
    let events = watcher(Api::<K>::all(client), watcher::Config::default()).default_backoff().modify(|object| {
        object.managed_fields_mut().clear();
    });
    let mut changes = Box::pin(events.reflect(writer).touched_objects());
    while let Some(change) = changes.next().await {
        match change {
            Ok(object) => {
                let keys = about(&object);
                if !keys.is_empty() {
                    queue.push(keys);
                }
            }
            Err(error) => warn!(kind = %K::kind(&()), error = %reeve_process::error_chain(&error), "a watch broke off"),
        }
    }
}
