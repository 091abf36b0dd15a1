//! The hooks of a node: which plugins there are, what is known of pods, and who is spared.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard, RwLock};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::call::Method;
use crate::hook::Hook;
use crate::plugin::Plugin;
use crate::provenance::Provenance;
use crate::recording::Recorder;
use crate::registration::{Origin, Registration};
use crate::registry::{Member, Registry, Trial};
use crate::settings::{FailurePolicy, Mode};
use crate::share::Share;
use crate::store::Store;
use crate::subject::Pod;

mod ask;
mod containers;
mod docker;
mod forward;
mod pass;
mod pods;
mod post;
mod record;
mod replay;
mod report;
mod running;

pub(crate) use record::HookMetrics;
pub(crate) use replay::{Difference, Replay};
pub(crate) use report::Identity;
pub(crate) use running::update_running;

/// Which pods are spared, as far as registrations do not say so themselves.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// Pods with this label are not shown to plugins: the plugins' own pods, which must start without them.
    pub(crate) skip_label: (String, String),
    /// Plugins are asked about pods of these namespaces, but a plugin that fails does not keep them from starting.
    pub(crate) exempt_namespaces: Vec<String>,
}

impl Scope {
    /// Whether the plugin does not see the pod: by label, which for plugins of NodeHooks counts only where pods are exempt,
    /// since whoever may create a pod may label it.
    fn is_skipped(&self, plugin: &Registration, pod: &Pod) -> bool {
        let is_labelled = pod.labels.get(&self.skip_label.0) == Some(&self.skip_label.1);
        let counts = match &plugin.origin {
            Origin::File(_) => true,
            Origin::NodeHook { .. } => {
                plugin.exempt.as_ref().is_some_and(|exempt| exempt.namespaces.contains(&pod.metadata.namespace))
            }
        };
        is_labelled && counts
    }

    /// Names of the plugins whose failure does not keep the pod from starting.
    fn exempting<'r>(&self, plugins: impl Iterator<Item = &'r Registration>, pod: &Pod) -> BTreeSet<String> {
        plugins.filter(|plugin| self.is_exempt(plugin, pod)).map(|plugin| plugin.name.clone()).collect()
    }

    /// Whether a plugin is asked about the pod at `hook`.
    fn is_asked(&self, plugin: &Registration, share: Share, hook: Hook, pod: &Pod) -> bool {
        plugin.hooks.contains_key(&hook)
            && share.has(&pod.metadata.uid)
            && plugin.is_for(pod)
            && !self.is_skipped(plugin, pod)
    }

    /// Whether the pod starts although the plugin failed.
    fn is_exempt(&self, plugin: &Registration, pod: &Pod) -> bool {
        let namespace = &pod.metadata.namespace;
        match &plugin.exempt {
            Some(exempt) => (exempt.static_pods && pod.is_static()) || exempt.namespaces.contains(namespace),
            None => pod.is_static() || self.exempt_namespaces.contains(namespace),
        }
    }
}

/// A plugin in force.
#[derive(Clone, Debug)]
pub(crate) struct Active {
    plugin: Arc<Plugin>,
    share: Share,
    trial: Option<Trial>,
    /// Commit that its revision comes from, if it is known.
    commit: Option<Arc<str>>,
}

/// What all calls share.
#[derive(Debug)]
pub(crate) struct Hooks {
    registry: Mutex<Registry>,
    active: RwLock<Arc<[Active]>>,
    /// Counts changes of what running containers are to be held to.
    running: watch::Sender<running::Wanted>,
    store: Store,
    scope: Scope,
    /// Hooked calls run apart from their clients: one that hangs up must not cut off what has to be noted.
    tasks: TaskTracker,
    posts: post::Queue,
    metrics: HookMetrics,
    provenance: Provenance,
    recorder: Recorder,
}

impl Hooks {
    /// With what is registered now.
    pub(crate) fn new(scope: Scope, metrics: HookMetrics, registry: Registry) -> Self {
        let hooks = Self {
            running: watch::Sender::new(running::Wanted::of(&registry.set())),
            active: RwLock::new(Arc::new([])),
            registry: Mutex::new(registry),
            store: Store::default(),
            scope,
            tasks: TaskTracker::new(),
            posts: post::Queue::default(),
            metrics,
            provenance: Provenance::default(),
            recorder: Recorder::default(),
        };
        hooks.activate(&hooks.registry().members());
        hooks
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock()
    }

    /// Changes what is registered, and puts it in force if it differs.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Registry)) {
        let mut registry = self.registry();
        let before = registry.members();
        change(&mut registry);
        let members = registry.members();
        if members != before {
            self.activate(&members);
        }
        let wanted = running::Wanted::of(&registry.set());
        self.running.send_if_modified(|known| wanted.replace(known));
    }

    /// A plugin whose registration stays the same keeps its connection, its circuit and its numbers.
    fn activate(&self, members: &[Member]) {
        let mut active = self.active.write();
        let renew = |member: &Member| {
            let same = active.iter().find(|active| *active.plugin.registration == member.registration);
            let plugin = same.map(|active| Arc::clone(&active.plugin));
            Active {
                plugin: plugin.unwrap_or_else(|| Arc::new(Plugin::new(member.registration.clone()))),
                share: member.share,
                trial: member.trial.clone(),
                commit: member.commit.as_deref().map(Arc::from),
            }
        };
        let renewed: Arc<[Active]> = members.iter().map(renew).collect();
        if renewed.is_empty() {
            // From now on calls pass unseen.
            self.store.clear();
        }
        let names: Vec<&str> = renewed.iter().map(|active| active.plugin.registration.name.as_str()).collect();
        tracing::info!(plugins = ?names, "hooks are in force");
        *active = renewed;
    }

    fn active(&self) -> Arc<[Active]> {
        Arc::clone(&self.active.read())
    }

    /// Whether calls of this method have to be looked at.
    pub(crate) fn concern(&self, method: Method) -> bool {
        match method {
            Method::RestorePod => {
                self.closed_at(Hook::PreRunPodSandbox).or_else(|| self.closed_at(Hook::PreCreateContainer)).is_some()
            }
            _ => !self.active().is_empty(),
        }
    }

    /// Whether anybody is asked at `hook`, of whichever pod.
    fn is_asked(&self, hook: Hook) -> bool {
        self.active().iter().any(|active| active.plugin.registration.hooks.contains_key(&hook))
    }

    /// Those that are asked about a pod at `hook`, in order.
    fn asked_at(&self, hook: Hook, pod: &Pod) -> Vec<Active> {
        let is_asked = |active: &&Active| self.scope.is_asked(&active.plugin.registration, active.share, hook, pod);
        self.active().iter().filter(is_asked).cloned().collect()
    }

    /// A plugin without whose word no call may pass at `hook`.
    fn closed_at(&self, hook: Hook) -> Option<String> {
        let is_closed = |active: &&Active| {
            let registration = &active.plugin.registration;
            let is_fail = registration.hooks.get(&hook).is_some_and(|rule| rule.policy == FailurePolicy::Fail);
            registration.mode == Mode::Enforce && is_fail
        };
        self.active().iter().find(is_closed).map(|active| active.plugin.registration.name.clone())
    }

    /// Has a revision that is not within its limits give way to the last good one.
    fn judge(&self, active: &Active) {
        let Some(trial) = &active.trial else { return };
        let plugin = &active.plugin;
        let Some(reason) = trial.verdict(&plugin.registration.name, &plugin.stats()) else { return };
        self.change(|registry| {
            if registry.return_to_last_good(trial, &reason) {
                tracing::warn!(
                    hook = trial.hook,
                    revision = trial.revision,
                    reason,
                    "returning to the last good revision"
                );
            }
        });
    }

    /// Waits until no hooked call and no hook is under way.
    pub(crate) async fn drain(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

#[cfg(test)]
mod tests;
