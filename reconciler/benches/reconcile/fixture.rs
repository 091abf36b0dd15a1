//! A control plane for one contender, someone who watches it, and someone who stirs.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Debug;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures::StreamExt as _;
use http::header::{HeaderValue, USER_AGENT};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use kube::{Api, Client, Resource, ResourceExt as _};
use reeve_tests::ControlPlane;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::outcome::Phase;
use crate::requests::{Counter, OBSERVER};
use crate::workload::{DRIFTED, LABEL, NAMESPACE, OBJECTS_PER_COMPONENT, Size, kinds};

/// After this long a wait is given up.
pub(crate) const PATIENCE: Duration = Duration::from_mins(15);

pub(crate) struct Fixture {
    pub(crate) control_plane: ControlPlane,
    /// The bench's own, whose requests are not counted.
    pub(crate) observer: Client,
    pub(crate) counter: Counter,
}

impl Fixture {
    /// A fresh API server with controllers, and the namespace that everything goes into.
    pub(crate) async fn start() -> Result<Self> {
        let control_plane = ControlPlane::start().await?.controllers().await?;
        let mut config = control_plane.config()?;
        config.headers.push((USER_AGENT, HeaderValue::from_static(OBSERVER)));
        let observer = Client::try_from(config).context("cannot make a client")?;
        let this = Self { counter: Counter::new(control_plane.audit()), control_plane, observer };
        this.namespace(NAMESPACE).await?;
        Ok(this)
    }

    pub(crate) async fn namespace(&self, name: &str) -> Result<()> {
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.to_owned());
        let created = Api::all(self.observer.clone()).create(&PostParams::default(), &namespace).await;
        created.map(drop).with_context(|| format!("cannot create the namespace {name}"))
    }

    /// An account that may do all, to be impersonated.
    pub(crate) async fn account(&self, namespace: &str, name: &str) -> Result<()> {
        let mut account = ServiceAccount::default();
        account.metadata.name = Some(name.to_owned());
        let accounts: Api<ServiceAccount> = Api::namespaced(self.observer.clone(), namespace);
        accounts.create(&PostParams::default(), &account).await.context("cannot create an account")?;
        let binding: ClusterRoleBinding = serde_json::from_value(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
            "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": namespace }],
        }))?;
        let created = Api::all(self.observer.clone()).create(&PostParams::default(), &binding).await;
        created.map(drop).context("cannot bind an account")
    }

    /// Does `work` and says how long it took and what it asked for.
    pub(crate) async fn phase(&mut self, name: &'static str, work: impl Future<Output = Result<()>>) -> Phase {
        self.counter.take();
        let begin = Instant::now();
        let took = work.await.map(|()| begin.elapsed()).map_err(|error| format!("{error:#}"));
        let phase = Phase { name, took, requests: self.counter.take() };
        println!("    {phase}");
        phase
    }
}

/// Watches until `is_done` says so of so many objects at once.
pub(crate) async fn until_all<K>(api: Api<K>, total: usize, is_done: impl Fn(&K) -> bool) -> Result<()>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut done = HashSet::new();
    let mut events = watch(api, watcher::Config::default()).default_backoff().boxed();
    let wait = async {
        while done.len() < total {
            match events.next().await {
                Some(Ok(Event::Apply(object) | Event::InitApply(object))) if is_done(&object) => {
                    done.insert(object.name_any());
                }
                Some(Ok(Event::Apply(object) | Event::InitApply(object) | Event::Delete(object))) => {
                    done.remove(&object.name_any());
                }
                // The watcher mends its own errors.
                Some(Ok(Event::Init | Event::InitDone) | Err(_)) => {}
                None => break,
            }
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, wait).await.is_ok();
    if in_time { Ok(()) } else { bail!("gave up after {} s with {} of {total}", PATIENCE.as_secs(), done.len()) }
}

/// Waits until the API server makes objects of this kind: whoever makes the first ones of a new kind is held for two
/// seconds, which is nobody's time.
pub(crate) async fn accepts<K>(api: &Api<K>, object: &K) -> Result<()>
where
    K: Clone + Debug + DeserializeOwned + Serialize,
{
    let params = PostParams { dry_run: true, ..PostParams::default() };
    api.create(&params, object).await.map(drop).context("the API server does not accept an object")
}

/// Changes one object of a hundred as someone else would, and watches until all are as they were.
pub(crate) async fn stir(client: &Client, size: Size) -> Result<()> {
    let total = (size.objects() / 100).max(1);
    let apis = kinds().map(|kind| Api::<DynamicObject>::namespaced_with(client.clone(), NAMESPACE, &kind));
    let config = watcher::Config::default().labels(&format!("{LABEL}={DRIFTED}"));
    let watches = apis.iter().enumerate().map(|(number, api)| {
        let events = watch(api.clone(), config.clone()).default_backoff();
        events.map(move |event| (number, event)).boxed()
    });
    let mut events = futures::stream::select_all(watches);
    let (mut listed, mut seen, mut now) = (0, BTreeSet::new(), BTreeSet::new());
    let wait = async {
        while seen.len() < total || !now.is_empty() {
            match events.next().await {
                Some((_, Ok(Event::InitDone))) => {
                    listed += 1;
                    // Only now is nothing missed.
                    if listed == apis.len() {
                        change(&apis, size, total).await?;
                    }
                }
                Some((kind, Ok(Event::Apply(object) | Event::InitApply(object)))) => {
                    seen.insert((kind, object.name_any()));
                    now.insert((kind, object.name_any()));
                }
                Some((kind, Ok(Event::Delete(object)))) => drop(now.remove(&(kind, object.name_any()))),
                Some((_, Ok(Event::Init) | Err(_))) => {}
                None => break,
            }
        }
        anyhow::Ok(())
    };
    let in_time = tokio::time::timeout(PATIENCE, wait).await;
    in_time.unwrap_or_else(|_| {
        bail!("gave up after {} s with {} of {total} repaired", PATIENCE.as_secs(), seen.len() - now.len())
    })
}

async fn change(apis: &[Api<DynamicObject>; OBJECTS_PER_COMPONENT], size: Size, total: usize) -> Result<()> {
    let params = PatchParams { field_manager: Some("someone".to_owned()), ..PatchParams::default() };
    for number in 0..total {
        let (kind, index) = (number % OBJECTS_PER_COMPONENT, number * size.components / total);
        let mut patch = json!({ "metadata": { "labels": { LABEL: DRIFTED } } });
        if kinds()[kind].kind == "Deployment" {
            patch["spec"]["template"]["spec"]["containers"] =
                json!([{ "name": "app", "resources": { "requests": { "cpu": "77m" } } }]);
        }
        let patched = apis[kind].patch(&format!("app-{index}"), &params, &Patch::Strategic(patch)).await;
        patched.context("cannot change an object")?;
    }
    Ok(())
}
