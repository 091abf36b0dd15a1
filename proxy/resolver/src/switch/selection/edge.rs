//! Reads what the cluster itself needs, and writes the children of a selecting rule and what it says of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, Client, Resource, ResourceExt};
use reeve_crds::condition::{Condition, types};
use reeve_crds::scaling_rule::status::{ScalingRuleStatus, Selection};
use reeve_crds::{Reason, ScalingRule, State, annotation};
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use tracing::info;

use super::{Reserved, Scene, Step, choose, steps, summary};
use crate::switch::controller::Controller;
use crate::switch::execute::{SwitchError, failed, is_missing, params};
use crate::switch::snapshot::Snapshot;
use crate::switch::status;

/// What the cluster needs is read this often.
const FRESH_FOR: Duration = Duration::from_secs(30);

/// What the cluster itself needs, for all selecting rules.
#[derive(Debug, Default)]
pub(in crate::switch) struct ReservedCache(Mutex<Option<(Timestamp, Arc<Reserved>)>>);

impl ReservedCache {
    async fn get(&self, client: &Client, now: Timestamp) -> Result<Arc<Reserved>, SwitchError> {
        let mut known = self.0.lock().await;
        if let Some((read_at, reserved)) = &*known
            && Duration::try_from(now.duration_since(*read_at)).unwrap_or_default() < FRESH_FOR
        {
            return Ok(Arc::clone(reserved));
        }
        let reserved = Arc::new(read(client).await?);
        *known = Some((now, Arc::clone(&reserved)));
        Ok(reserved)
    }
}

async fn list<K>(client: &Client) -> Result<Vec<K>, SwitchError>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let listed = Api::<K>::all(client.clone()).list(&ListParams::default()).await;
    Ok(listed.map_err(failed("list all", K::kind(&())))?.items)
}

async fn read(client: &Client) -> Result<Reserved, SwitchError> {
    let mut reserved = BTreeSet::new();
    for configuration in list::<ValidatingWebhookConfiguration>(client).await? {
        let services = configuration.webhooks.into_iter().flatten().filter_map(|hook| hook.client_config.service);
        reserved.extend(services.map(|service| (service.namespace, service.name)));
    }
    for configuration in list::<MutatingWebhookConfiguration>(client).await? {
        let services = configuration.webhooks.into_iter().flatten().filter_map(|hook| hook.client_config.service);
        reserved.extend(services.map(|service| (service.namespace, service.name)));
    }
    for api in list::<APIService>(client).await? {
        let service = api.spec.and_then(|spec| spec.service);
        reserved.extend(service.and_then(|service| Some((service.namespace?, service.name?))));
    }
    Ok(reserved)
}

impl Controller {
    /// One look at a selecting rule. What changes its Services, workloads or children has it looked at again.
    pub(in crate::switch) async fn select(&self, snapshot: &Snapshot) -> Result<(), SwitchError> {
        let (parent, now) = (&*snapshot.rule, Timestamp::now());
        let reserved = self.reserved.get(&self.edge.client, now).await?;
        let (services, workloads, rules) = self.world.around(&snapshot.key().namespace);
        let scene = Scene { parent, services: &services, workloads: &workloads, rules: &rules, reserved: &reserved };
        let chosen = choose(&scene);
        let api: Api<ScalingRule> = Api::namespaced(self.edge.client.clone(), &snapshot.key().namespace);
        let steps = steps(&scene, &chosen);
        for step in &steps {
            carry_out(&api, step).await?;
        }
        if !steps.is_empty() {
            info!(rule = %snapshot.key(), changed = steps.len(), "wrote the rules of the chosen targets");
        }
        let old = parent.status.clone().unwrap_or_default();
        let new = said(&old, &scene, summary(&scene, &chosen), &chosen.children, now);
        if let Some(patch) = status::difference(&old, &new) {
            self.edge.write_status(snapshot, &patch).await?;
        }
        Ok(())
    }
}

async fn carry_out(api: &Api<ScalingRule>, step: &Step) -> Result<(), SwitchError> {
    match step {
        Step::Create(rule) => {
            api.create(&params(), rule).await.map_err(failed("create the rule", rule.name_any()))?;
        }
        Step::Update(rule) => {
            let name = rule.name_any();
            api.replace(&name, &params(), rule).await.map_err(failed("write the rule", name))?;
        }
        Step::Delete(name) => {
            let deleted = api.delete(name, &DeleteParams::default()).await;
            if !is_missing(&deleted) {
                deleted.map_err(failed("delete the rule", name))?;
            }
        }
    }
    Ok(())
}

/// The status of a selecting rule.
fn said(
    old: &ScalingRuleStatus,
    scene: &Scene<'_>,
    selection: Selection,
    children: &BTreeMap<String, ScalingRule>,
    now: Timestamp,
) -> ScalingRuleStatus {
    let generation = scene.parent.metadata.generation;
    let lagging = selection.laggards.iter().take(4).map(|one| format!("{} ({})", one.name, one.reason));
    let lagging: Vec<String> = lagging.collect();
    let counted =
        format!("{} of {} targets are ready, {} asleep", selection.ready, selection.targets, selection.asleep);
    let (state, reason, message) = match (scene.parent.spec.suspend, &lagging[..]) {
        (true, _) => (State::Suspended, Reason::Suspended, counted),
        (false, []) => (State::Ready, Reason::Succeeded, counted),
        (false, _) => {
            let is_under_way = selection.laggards.iter().all(|one| one.reason == Reason::Progressing);
            let (state, reason) = if is_under_way {
                (State::Processing, Reason::Progressing)
            } else {
                (State::Warning, Reason::DependencyNotReady)
            };
            (state, reason, format!("{counted}; not ready: {}", lagging.join(", ")))
        }
    };
    let is_ready = if state == State::Ready { "True" } else { "False" };
    let before = old.conditions.iter().find(|one| one.type_ == types::READY && one.status == is_ready);
    let ready = Condition {
        type_: types::READY.to_owned(),
        status: is_ready.to_owned(),
        observed_generation: generation,
        last_transition_time: before.map_or(Time(now), |before| before.last_transition_time.clone()),
        reason: reason.as_str().to_owned(),
        message: message.chars().take(1024).collect(),
    };
    let handled = |name: &str, of: fn(&ScalingRuleStatus) -> Option<&String>| {
        let asked = scene.parent.annotations().get(name)?;
        let has = |child: &String| {
            let rule = scene.rules.iter().find(|rule| rule.name_any() == *child);
            rule.and_then(|rule| of(rule.status.as_ref()?)) == Some(asked)
        };
        children.keys().all(has).then(|| asked.chars().take(1024).collect())
    };
    ScalingRuleStatus {
        observed_generation: generation,
        state: Some(state),
        conditions: vec![ready],
        selection: Some(selection),
        last_handled_wake_at: handled(annotation::WAKE, |status| status.last_handled_wake_at.as_ref())
            .or_else(|| old.last_handled_wake_at.clone()),
        last_handled_sleep_at: handled(annotation::SLEEP, |status| status.last_handled_sleep_at.as_ref())
            .or_else(|| old.last_handled_sleep_at.clone()),
        ..ScalingRuleStatus::default()
    }
}
