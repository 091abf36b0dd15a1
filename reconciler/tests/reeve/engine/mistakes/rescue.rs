//! A commit that removes many runtimes, taken back in each way at each point of its publishing.

use http::Method;
use kube::api::{DeleteParams, Patch, PatchParams};
use reeve_crds::{GitSource, State, annotation};
use reeve_tests::{CommitId, until};
use serde_json::json;

use super::super::fixture::Fixture;
use super::super::proxy::{Proxy, Rule};
use super::super::reeve::Reeve;
use super::{DELETE, accepts};

/// What takes a commit back.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rescue {
    Revert,
    Suspend,
    /// A revert that cannot be read, and a good one later.
    BrokenRevert,
    /// The `GitSource` is deleted, and made again when the revert is pushed.
    DeleteSource,
    /// The process is killed, and begins again when the revert is pushed.
    Kill,
}

/// A commit that removes all runtimes but one, under way as far as it is let.
struct Mistake {
    fixture: Fixture,
    names: Vec<String>,
    proxy: Proxy,
    reeve: Option<Reeve>,
    before: std::collections::BTreeMap<String, String>,
    /// Whether so many of their objects were deleted that it came to the point.
    is_reached: bool,
}

impl Mistake {
    async fn make(runtimes: usize, after: usize) -> Self {
        let (fixture, names) = Fixture::fleet("mistake", runtimes).await;
        fixture.allow("100%");
        let first = fixture.push();
        fixture.follow().await;
        let proxy = Proxy::start(&fixture.cluster, Rule::Pass).await;
        let reeve = fixture.reeve_through(&proxy.kubeconfig(fixture.data.path()), &[]);
        fixture.source_is(State::Ready, &first, &format!("{0}/{0}", runtimes + 1)).await;
        let before = fixture.uids(&names).await;
        assert_eq!(before.len(), 2 * runtimes);
        proxy.set(Rule::Park { method: Method::DELETE, path: "/configmaps/".to_owned(), after });
        fixture.remove_files(&names);
        let mistake = fixture.push();
        let is_reached = tokio::select! {
            () = proxy.reached() => true,
            _ = fixture.source_is(State::Ready, &mistake, "1/1") => false,
        };
        fixture.write_files(&names, DELETE);
        Self { fixture, names, proxy, reeve: Some(reeve), before, is_reached }
    }

    /// Has it stopped, by the time this returns.
    async fn stop(&mut self, rescue: Rescue) {
        let fixture = &self.fixture;
        match rescue {
            Rescue::Revert => {
                let revert = fixture.push();
                if let Some(reeve) = &self.reeve {
                    accepts(reeve, &revert).await;
                }
            }
            Rescue::Suspend => {
                fixture.suspend::<GitSource>("fleet", true).await;
                fixture.all_rest().await;
            }
            Rescue::BrokenRevert => {
                fixture.runtime(&self.names[0], "labels: {");
                refused(fixture, &fixture.push()).await;
            }
            Rescue::DeleteSource => {
                fixture.api::<GitSource>().delete("fleet", &DeleteParams::default()).await.unwrap();
                fixture.gone(&fixture.api::<GitSource>(), "fleet").await;
                fixture.all_rest().await;
            }
            Rescue::Kill => {
                if let Some(reeve) = self.reeve.take() {
                    reeve.kill();
                }
            }
        }
    }

    /// Has what is under way go on, and takes the mistake back for good.
    async fn resume(&mut self, rescue: Rescue) -> CommitId {
        self.proxy.set(Rule::Pass);
        if rescue == Rescue::BrokenRevert {
            // Meanwhile there is time for what should not happen.
            for round in ["1", "2"] {
                looked_again(&self.fixture, round).await;
            }
            self.fixture.write_files(&self.names[..1], DELETE);
        }
        let revert = self.fixture.push();
        match rescue {
            Rescue::Revert | Rescue::BrokenRevert => {}
            Rescue::Suspend => self.fixture.suspend::<GitSource>("fleet", false).await,
            Rescue::DeleteSource => {
                self.fixture.follow().await;
            }
            Rescue::Kill => self.reeve = Some(self.fixture.reeve()),
        }
        revert
    }
}

/// Waits until a commit is refused.
async fn refused(fixture: &Fixture, commit: &CommitId) {
    until(&fixture.api::<GitSource>(), "fleet", "the commit is refused", |source| {
        let rejected = source.status.as_ref().and_then(|status| status.rejected.as_ref());
        rejected.is_some_and(|rejected| rejected.commit.as_deref() == Some(commit.as_str()))
    })
    .await;
}

/// Asks the source to look at Git, and waits until it has.
async fn looked_again(fixture: &Fixture, round: &str) {
    let ask = json!({ "metadata": { "annotations": { annotation::RECONCILE: round } } });
    fixture.api::<GitSource>().patch("fleet", &PatchParams::default(), &Patch::Merge(&ask)).await.unwrap();
    until(&fixture.api::<GitSource>(), "fleet", "Git was asked again", |source| {
        let status = source.status.as_ref();
        status.and_then(|status| status.last_handled_reconcile_at.as_deref()) == Some(round)
    })
    .await;
}

/// Removes many runtimes by a commit, and takes that back when so many of their objects were deleted. False if there
/// were fewer of them.
async fn rescue(rescue: Rescue, runtimes: usize, after: usize) -> bool {
    let mut mistake = Mistake::make(runtimes, after).await;
    mistake.stop(rescue).await;
    // What was asked for before may still happen.
    let asked = mistake.proxy.deletions();
    let left = mistake.fixture.uids(&mistake.names).await;
    let revert = mistake.resume(rescue).await;
    let fixture = &mistake.fixture;
    fixture.source_is(State::Ready, &revert, &format!("{0}/{0}", runtimes + 1)).await;
    let after_all = fixture.uids(&mistake.names).await;
    // A Runtime whose only object is gone may go before its worker hears of the revert; it is made again.
    let is_asked = |name: &str| {
        let own = name.rsplit('/').next().unwrap_or(name);
        asked.iter().any(|path| path.rsplit('/').next() == Some(own))
    };
    for (name, uid) in left.iter().filter(|(name, _)| !is_asked(name)) {
        assert_eq!(after_all.get(name), Some(uid), "{rescue:?} after {after}: {name}");
    }
    assert_eq!(after_all.len(), 2 * runtimes, "{rescue:?} after {after}");
    // No more than may go at once were asked for beyond the point.
    let kept = mistake.before.iter().filter(|(name, uid)| after_all.get(*name) == Some(*uid)).count();
    let most = if mistake.is_reached { after + 16 } else { runtimes };
    assert!(kept + 2 * most >= mistake.before.len(), "{rescue:?} after {after}: only {kept} are what they were");
    mistake.is_reached
}

#[tokio::test]
async fn a_commit_that_is_reverted_removes_no_more_runtimes() {
    assert!(rescue(Rescue::Revert, 24, 0).await);
}

#[tokio::test]
async fn a_source_that_is_suspended_removes_no_more_runtimes() {
    assert!(rescue(Rescue::Suspend, 24, 3).await);
}

#[tokio::test]
async fn nothing_more_is_removed_while_the_newest_commit_cannot_be_read() {
    assert!(rescue(Rescue::BrokenRevert, 24, 2).await);
}

#[tokio::test]
async fn a_source_that_is_deleted_removes_no_more_runtimes() {
    assert!(rescue(Rescue::DeleteSource, 24, 1).await);
}

/// Every object that goes may be the last before somebody notices. Of so many runtimes most wait for their turn at first.
async fn sweep(by: Rescue) {
    const RUNTIMES: usize = 40;
    let points: Vec<usize> = (0..12).chain((12..RUNTIMES).step_by(4)).collect();
    for &after in &points {
        assert!(rescue(by, RUNTIMES, after).await, "{after}");
    }
    assert!(!rescue(by, RUNTIMES, RUNTIMES).await);
    eprintln!("{by:?}: taken back at {} points of {RUNTIMES} deletions", points.len());
}

#[tokio::test]
#[ignore = "many processes: make soak"]
async fn a_mistake_may_be_reverted_at_every_point_of_its_publishing() {
    sweep(Rescue::Revert).await;
}

#[tokio::test]
#[ignore = "many processes: make soak"]
async fn a_mistake_may_be_stopped_by_suspending_at_every_point_of_its_publishing() {
    sweep(Rescue::Suspend).await;
}

#[tokio::test]
#[ignore = "many processes: make soak"]
async fn a_mistake_may_be_reverted_after_a_kill_at_every_point_of_its_publishing() {
    sweep(Rescue::Kill).await;
}

/// Before anything is removed, Runtimes are written that the same commit changes.
#[tokio::test]
#[ignore = "many processes: make soak"]
async fn a_mistake_that_is_reverted_while_runtimes_are_written_removes_none() {
    let mut points = 0;
    for after in (0..24).step_by(4) {
        let (fixture, names) = Fixture::fleet("writing", 60).await;
        fixture.allow("100%");
        let first = fixture.push();
        fixture.follow().await;
        let proxy = Proxy::start(&fixture.cluster, Rule::Pass).await;
        let reeve = fixture.reeve_through(&proxy.kubeconfig(fixture.data.path()), &[]);
        fixture.source_is(State::Ready, &first, "61/61").await;
        let before = fixture.uids(&names).await;
        proxy.set(Rule::Park { method: Method::PATCH, path: format!("/runtimes/{}-", fixture.runtime), after });
        fixture.write_files(&names[..40], &format!("labels: {{ tier: a }}\n{DELETE}"));
        fixture.remove_files(&names[40..]);
        fixture.push();
        proxy.reached().await;
        fixture.write_files(&names, DELETE);
        let revert = fixture.push();
        proxy.set(Rule::Pass);
        accepts(&reeve, &revert).await;
        fixture.source_is(State::Ready, &revert, "61/61").await;
        assert_eq!(fixture.uids(&names).await, before, "after {after}");
        points += 1;
    }
    eprintln!("reverted at {points} points of writing, nothing removed");
}
