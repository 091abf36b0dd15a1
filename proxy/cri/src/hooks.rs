//! The hooks of a node: which plugins there are, what is known of pods, and who is spared.

use std::sync::{Arc, PoisonError, RwLock};

use tokio_util::task::TaskTracker;

use crate::call::Method;
use crate::hook::Hook;
use crate::plugin::Plugin;
use crate::registration::{FailurePolicy, Mode, Registration};
use crate::registry::Registry;
use crate::store::Store;
use crate::subject::Pod;

mod forward;
mod handle;
mod pass;
mod post;
mod record;

pub(crate) use record::HookMetrics;

/// Which pods are spared.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// Pods with this label are not shown to plugins: the plugins' own pods, which must start without them.
    pub(crate) skip_label: (String, String),
    /// Plugins are asked about pods of these namespaces, but a plugin that fails does not keep them from starting.
    pub(crate) exempt_namespaces: Vec<String>,
}

impl Scope {
    fn is_skipped(&self, pod: &Pod) -> bool {
        pod.labels.get(&self.skip_label.0) == Some(&self.skip_label.1)
    }

    fn is_exempt(&self, pod: &Pod) -> bool {
        pod.is_static() || self.exempt_namespaces.contains(&pod.metadata.namespace)
    }
}

/// What all calls share.
#[derive(Debug)]
pub(crate) struct Hooks {
    plugins: RwLock<Arc<[Arc<Plugin>]>>,
    store: Store,
    scope: Scope,
    /// Hooked calls run apart from their clients: one that hangs up must not cut off what has to be noted.
    tasks: TaskTracker,
    posts: post::Queue,
    metrics: HookMetrics,
}

impl Hooks {
    pub(crate) fn new(scope: Scope, metrics: HookMetrics) -> Self {
        Self {
            plugins: RwLock::new(Arc::new([])),
            store: Store::default(),
            scope,
            tasks: TaskTracker::new(),
            posts: post::Queue::default(),
            metrics,
        }
    }

    /// Puts other registrations in force. A plugin whose registration stays the same keeps its connection and circuit.
    pub(crate) fn set(&self, registry: &Registry) {
        let mut plugins = self.plugins.write().unwrap_or_else(PoisonError::into_inner);
        let renew = |registration: &Registration| {
            let same = plugins.iter().find(|plugin| *plugin.registration == *registration);
            same.map_or_else(|| Arc::new(Plugin::new(registration.clone())), Arc::clone)
        };
        let renewed: Arc<[Arc<Plugin>]> = registry.plugins().map(renew).collect();
        if renewed.is_empty() {
            // From now on calls pass unseen.
            self.store.clear();
        }
        let names: Vec<&str> = renewed.iter().map(|plugin| plugin.registration.name.as_str()).collect();
        tracing::info!(plugins = ?names, "hooks are in force");
        *plugins = renewed;
    }

    fn plugins(&self) -> Arc<[Arc<Plugin>]> {
        Arc::clone(&self.plugins.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether calls of this method have to be looked at.
    pub(crate) fn concern(&self, method: Method) -> bool {
        match method {
            Method::RestorePod => {
                self.closed_at(Hook::PreRunPodSandbox).or_else(|| self.closed_at(Hook::PreCreateContainer)).is_some()
            }
            _ => !self.plugins().is_empty(),
        }
    }

    /// Those that are asked at `hook`, in order.
    fn asked_at(&self, hook: Hook) -> Vec<Arc<Plugin>> {
        self.plugins().iter().filter(|plugin| plugin.registration.hooks.contains_key(&hook)).cloned().collect()
    }

    /// A plugin without whose word no call may pass at `hook`.
    fn closed_at(&self, hook: Hook) -> Option<String> {
        let is_closed = |plugin: &&Arc<Plugin>| {
            let registration = &plugin.registration;
            registration.mode == Mode::Enforce && registration.hooks.get(&hook) == Some(&FailurePolicy::Fail)
        };
        self.plugins().iter().find(is_closed).map(|plugin| plugin.registration.name.clone())
    }

    /// Waits until no hooked call and no hook is under way.
    pub(crate) async fn drain(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}
