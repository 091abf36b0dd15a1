//! A runtime whose target is moved elsewhere is applied here no more, and what was applied here is not forgotten.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::DeleteParams;
use reeve_crds::{GitSource, Runtime, State};
use reeve_tests::{CommitId, until};

use super::fixture::{Fixture, config};

const TARGET: &str = "target: { type: Agent }\n";
const DELETE: &str = "policy: { deletionPolicy: Delete }\n";

impl Fixture {
    /// Two runtimes with one object each: that of the first is called as it is.
    async fn pair(prefix: &str, policy: &str) -> (Self, String) {
        let fixture = Self::new(prefix).await;
        let moves = format!("{}-moves", fixture.runtime);
        fixture.runtime(&moves, policy);
        fixture.component("web", "1.0.0", &config("{{ Runtime.name }}", "one"));
        (fixture, moves)
    }

    async fn applied_to_both(&self, other: &str, commit: &CommitId) {
        self.applied(commit).await;
        self.applied_to(other, commit).await;
    }

    /// Waits until it is told that the target is not served.
    async fn is_unsupported(&self, runtime: &str) -> Runtime {
        let is_told = |runtime: &Runtime| {
            let status = runtime.status.clone().unwrap_or_default();
            let ready = status.conditions.into_iter().find(|condition| condition.type_ == "Ready");
            status.observed_generation == runtime.metadata.generation
                && ready.is_some_and(|ready| ready.reason == "Unsupported")
        };
        until(&self.api::<Runtime>(), runtime, "it is told that its target is not served", is_told).await
    }

    async fn uid(&self, name: &str) -> Option<String> {
        self.there::<ConfigMap>().get_opt(name).await.unwrap()?.metadata.uid
    }
}

#[tokio::test]
async fn a_runtime_whose_target_is_moved_elsewhere_is_applied_here_no_more_until_it_comes_back() {
    let (fixture, moves) = Fixture::pair("retarget", "").await;
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied_to_both(&moves, &first).await;
    let uid = fixture.uid(&moves).await;

    fixture.runtime(&moves, TARGET);
    fixture.component("web", "1.1.0", &config("{{ Runtime.name }}", "two"));
    let second = fixture.push();
    fixture.applied(&second).await;
    assert_eq!(fixture.is_unsupported(&moves).await.status.unwrap().state, Some(State::Warning));
    assert_eq!(fixture.says(&moves).await.as_deref(), Some("one"));
    fixture.meddle(&moves, "hand").await;
    fixture.component("web", "1.2.0", &config("{{ Runtime.name }}", "three"));
    let third = fixture.push();
    fixture.applied(&third).await;
    fixture.is_unsupported(&moves).await;
    assert_eq!(fixture.says(&moves).await.as_deref(), Some("hand"));
    until(&fixture.api::<GitSource>(), "fleet", "its source says so too", |source| {
        let status = source.status.clone().unwrap_or_default();
        let is_newest = status.commit.is_some_and(|commit| commit.id == third.as_str());
        is_newest && status.state == Some(State::Warning)
    })
    .await;

    fixture.runtime(&moves, "");
    let back = fixture.push();
    fixture.applied_to(&moves, &back).await;
    fixture.comes_to_say(&moves, "three").await;
    assert_eq!(fixture.uid(&moves).await, uid);
}

#[tokio::test]
async fn a_runtime_whose_target_was_moved_elsewhere_takes_along_what_was_applied_here_as_its_policy_says() {
    for (policy, by_hand) in [(DELETE, false), (DELETE, true), ("", false), ("", true)] {
        let (fixture, moves) = Fixture::pair("retarget-goes", policy).await;
        let first = fixture.push();
        fixture.follow().await;
        let reeve = fixture.reeve();
        fixture.applied_to_both(&moves, &first).await;
        fixture.runtime(&moves, &format!("{TARGET}{policy}"));
        fixture.push();
        fixture.is_unsupported(&moves).await;
        // Nor does a process forget it that never applied it.
        reeve.terminate().await;
        let _reeve = fixture.reeve();

        fixture.repository.remove(&format!("runtimes/{moves}.yaml")).unwrap();
        if by_hand {
            fixture.api::<Runtime>().delete(&moves, &DeleteParams::default()).await.unwrap();
        }
        fixture.push();
        fixture.gone(&fixture.api::<Runtime>(), &moves).await;
        let says = fixture.says(&moves).await;
        let wanted = if policy == DELETE { None } else { Some("one") };
        assert_eq!(says.as_deref(), wanted, "{policy}, by hand: {by_hand}");
    }
}
