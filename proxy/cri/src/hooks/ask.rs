//! Asks the plugins of a hook, one after the other, as the chain says.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;
use tonic::Status;

use super::forward::Call;
use super::post::Post;
use super::{Active, Hooks, record};
use crate::chain::{self, Chain, Effect};
use crate::field::Fields;
use crate::hook::Hook;
use crate::hook_set::Budget;
use crate::stats::{self, About};
use crate::subject::{Container, Pod};

/// Whom a hook is about, and what may be changed.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) hook: Hook,
    pub(super) pod: &'a Pod,
    pub(super) container: Option<&'a Container>,
    pub(super) fields: Fields,
    /// The cgroup parent that kubelet chose.
    pub(super) cgroup_parent: &'a str,
}

impl Hooks {
    /// Asks all plugins of a hook before a call.
    pub(super) async fn ask(&self, call: &Call, asked: Asked<'_>) -> Result<Chain, Status> {
        let left = call.timeout().map(|timeout| timeout.saturating_sub(call.begun.elapsed()));
        self.ask_within(asked, left).await
    }

    /// Asks all plugins of a hook; `left` is what the caller has left, if it says so.
    pub(super) async fn ask_within(&self, asked: Asked<'_>, left: Option<Duration>) -> Result<Chain, Status> {
        let Asked { hook, pod, container, fields, cgroup_parent } = asked;
        let plugins = self.asked_at(hook, pod);
        let mut recording = self.recorder.begin(hook, pod, container, &fields, cgroup_parent);
        let registrations: Vec<_> = plugins.iter().map(|active| Arc::clone(&active.plugin.registration)).collect();
        let exempt = self.scope.exempting(registrations.iter().map(|registration| &**registration), pod);
        let budget = budget(registrations.iter().map(|registration| registration.budget), left);
        let deadline = Instant::now() + budget;
        let call = chain::Call { hook, fields, cgroup_parent: cgroup_parent.to_owned(), exempt, deadline };
        let mut chain = Chain::new(call, registrations);
        let mut effect = chain.begin(Instant::now());
        let outcome = loop {
            match effect {
                Effect::Forward => break Ok(()),
                Effect::Refuse(status) => break Err(status),
                Effect::Ask { plugin, shown, timeout } => {
                    let (active, begun) = (&plugins[plugin], Instant::now());
                    let answer = active.plugin.ask(hook, pod, container, &shown, timeout).await;
                    let took = begun.elapsed();
                    if let Some(recording) = &mut recording {
                        recording.answered(&active.plugin.registration, &shown, &answer);
                    }
                    self.metrics.observe(&active.plugin.registration.name, hook, &answer, took);
                    let (timed_out, noted) = (stats::is_timeout(&answer), chain.notes().len());
                    effect = chain.step(answer, Instant::now());
                    self.count(active, timed_out, took, &chain.notes()[noted..], hook, pod);
                }
            }
        };
        record::log(hook, pod, container, chain.notes());
        self.provenance.record(record::decisions(hook, pod, container, chain.notes(), &plugins, Timestamp::now()));
        if let Some(recording) = recording {
            self.recorder.end(recording, outcome.as_ref().map(|()| chain.changes()));
        }
        outcome.map(|()| chain)
    }

    fn count(&self, active: &Active, timed_out: bool, took: Duration, notes: &[chain::Note], hook: Hook, pod: &Pod) {
        let about = About { hook, namespace: &pod.metadata.namespace, pod: &pod.metadata.name };
        let max_latency = active.trial.as_ref().and_then(|trial| trial.limits.max_latency);
        active.plugin.stats().observe(timed_out, took, notes, max_latency, about, Timestamp::now());
        self.judge(active);
    }

    /// Tells plugins what has happened, after what happened to the same pod before.
    pub(super) async fn run_post(&self, post: Post) {
        let id = post.pod_id.clone();
        if !self.posts.push(post) {
            return;
        }
        while let Some(Post { hook, pod, container, .. }) = self.posts.pop(&id) {
            let container = container.as_deref();
            let fields = container.map_or_else(|| pod.fields(), |container| container.fields(&pod.cgroup_parent));
            let asked = Asked { hook, pod: &pod, container, fields, cgroup_parent: &pod.cgroup_parent };
            // Nothing can be refused any more.
            let _ = self.ask_within(asked, None).await;
        }
    }
}

/// What all plugins of a call have together: the smallest of their budgets.
fn budget(budgets: impl Iterator<Item = Budget>, left: Option<Duration>) -> Duration {
    let of_one = |budget: Budget| {
        let share = left.map(|left| left * u32::from(budget.percent) / 100);
        share.map_or(budget.max, |share| share.min(budget.max))
    };
    budgets.map(of_one).min().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_budget_counts_and_never_more_than_its_share_of_what_is_left() {
        let second = Duration::from_secs(1);
        let budgets = [Budget { percent: 25, max: 10 * second }, Budget { percent: 50, max: 3 * second }];
        assert_eq!(budget(budgets.into_iter(), None), 3 * second);
        assert_eq!(budget(budgets.into_iter(), Some(8 * second)), 2 * second);
        assert_eq!(budget(budgets.into_iter(), Some(120 * second)), 3 * second);
    }
}
