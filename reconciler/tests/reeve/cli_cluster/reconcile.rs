//! `reeve reconcile`.

use kube::Resource;
use kube::ResourceExt as _;
use kube::api::DeleteParams;
use kube::core::NamespaceResourceScope;
use reeve_crds::{GitSource, Runtime, RuntimeComponent, annotation};
use reeve_tests::until;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::cli_cluster::fixture::{CliFixture, state, with};
use crate::cli_cluster::watching::Watching;

impl CliFixture {
    /// The value by which a reconciliation was asked for.
    async fn asked<K>(&self, name: &str) -> String
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + std::fmt::Debug
            + Send
            + 'static,
    {
        let is_asked = |object: &K| object.annotations().contains_key(annotation::RECONCILE);
        let object = until(&self.api::<K>(), name, "it is asked", is_asked).await;
        object.annotations()[annotation::RECONCILE].clone()
    }
}

#[tokio::test]
async fn each_request_has_a_value_of_its_own() {
    let fixture = CliFixture::new("reconcile").await;
    fixture.source("fleet", state("Ready", "Succeeded", "")).await;
    fixture.runtime("eu-1", "fleet", state("Ready", "Succeeded", "")).await;
    let told = fixture.reeve(&["reconcile", "runtime", "eu-1"]).await.with(0);
    assert_eq!(told.out, "runtime/eu-1 asked\n");
    let first = fixture.asked::<Runtime>("eu-1").await;
    fixture.reeve(&["reconcile", "runtime", "eu-1"]).await.with(0);
    assert_ne!(fixture.asked::<Runtime>("eu-1").await, first);
    fixture.reeve(&["reconcile", "runtime", "eu-2"]).await.with(2);
}

#[tokio::test]
async fn waiting_ends_when_the_request_was_handled_and_nothing_is_under_way() {
    let fixture = CliFixture::new("reconcile-wait").await;
    fixture.source("fleet", state("Ready", "Succeeded", "")).await;
    fixture.runtime("eu-1", "fleet", state("Ready", "Succeeded", "")).await;
    let mut watching = Watching::start(&fixture, &["reconcile", "runtime", "eu-1", "--wait"]);
    assert_eq!(watching.line().await, "runtime/eu-1 asked");
    let token = fixture.asked::<Runtime>("eu-1").await;
    assert_eq!(watching.line().await, "runtime/eu-1 waits to be looked at", "Ready of before does not count");
    let handled = |status| with(status, json!({ "lastHandledReconcileAt": token.clone() }));
    fixture.report::<Runtime>("eu-1", handled(state("Processing", "Progressing", "applying"))).await;
    assert_eq!(watching.line().await, "runtime/eu-1 Processing (Progressing): applying");
    fixture.report::<Runtime>("eu-1", handled(state("Ready", "Succeeded", ""))).await;
    assert_eq!(watching.line().await, "runtime/eu-1 Ready (Succeeded)");
    assert_eq!(watching.end().await, 0);
}

#[tokio::test]
async fn what_is_not_ready_in_the_end_shows_in_the_status() {
    let fixture = CliFixture::new("reconcile-error").await;
    fixture.source("fleet", state("Ready", "Succeeded", "")).await;
    fixture.runtime("eu-1", "fleet", state("Ready", "Succeeded", "")).await;
    let mut watching = Watching::start(&fixture, &["reconcile", "runtime", "eu-1", "--with-source", "--wait"]);
    assert_eq!(watching.line().await, "source/fleet asked");
    let token = fixture.asked::<GitSource>("fleet").await;
    let handled = |status| with(status, json!({ "lastHandledReconcileAt": token.clone() }));
    assert_eq!(watching.line().await, "source/fleet waits to be looked at");
    fixture.report::<GitSource>("fleet", handled(state("Ready", "Succeeded", ""))).await;
    assert_eq!(watching.line().await, "source/fleet fetched");
    assert_eq!(watching.line().await, "runtime/eu-1 asked");
    assert_eq!(watching.line().await, "runtime/eu-1 waits to be looked at");
    fixture.report::<Runtime>("eu-1", handled(state("Error", "Refused", "quota exceeded"))).await;
    assert_eq!(watching.line().await, "runtime/eu-1 Error (Refused): quota exceeded");
    assert_eq!(watching.end().await, 1);
}

#[tokio::test]
async fn waiting_has_an_end() {
    let fixture = CliFixture::new("reconcile-late").await;
    fixture.source("fleet", state("Ready", "Succeeded", "")).await;
    let told = fixture.reeve(&["reconcile", "source", "fleet", "--wait", "--timeout", "1s"]).await.with(2);
    assert!(told.err.starts_with("error: it was not done within 1 s\n  help: see `reeve get`"), "{}", told.err);
}

#[tokio::test]
async fn what_is_suspended_is_not_waited_for() {
    let fixture = CliFixture::new("reconcile-suspended").await;
    fixture.runtime("eu-1", "fleet", state("Suspended", "Suspended", "")).await;
    fixture.reeve(&["suspend", "runtime", "eu-1"]).await.with(0);
    let told = fixture.reeve(&["reconcile", "runtime", "eu-1", "--wait", "--timeout", "10s"]).await.with(2);
    assert_eq!(told.out, "runtime/eu-1 asked, which is suspended: nothing happens until it is resumed\n");
    let wanted =
        "error: runtime/eu-1 is suspended: there is nothing to wait for\n  help: `reeve resume runtime eu-1`, ";
    assert!(told.err.starts_with(wanted), "{}", told.err);
    fixture.reeve(&["reconcile", "runtime", "eu-1"]).await.with(0);
}

/// A status with one more condition.
fn and(mut status: Value, kind: &str, holds: bool, reason: &str) -> Value {
    let mut condition = status["conditions"][0].clone();
    condition["type"] = json!(kind);
    condition["status"] = json!(if holds { "True" } else { "False" });
    condition["reason"] = json!(reason);
    status["conditions"].as_array_mut().unwrap().push(condition);
    status
}

#[tokio::test]
async fn with_source_goes_on_once_the_source_was_fetched_however_its_other_runtimes_are_doing() {
    let fixture = CliFixture::new("reconcile-fetched").await;
    fixture.source("fleet", state("Ready", "Succeeded", "")).await;
    fixture.runtime("eu-1", "fleet", state("Ready", "Succeeded", "")).await;
    let mut watching = Watching::start(&fixture, &["reconcile", "runtime", "eu-1", "--with-source", "--wait"]);
    let token = fixture.asked::<GitSource>("fleet").await;
    let handled = json!({ "lastHandledReconcileAt": token, "revision": "main@4f1c2aa90b3d" });
    let other = and(state("Error", "RuntimeNotReady", "us-1: quota exceeded"), "Fetched", true, "Succeeded");
    fixture.report::<GitSource>("fleet", with(other, handled.clone())).await;
    fixture.asked::<Runtime>("eu-1").await;
    let ready = with(state("Ready", "Succeeded", ""), json!({ "lastHandledReconcileAt": token }));
    fixture.report::<Runtime>("eu-1", ready).await;
    let mut lines = Vec::new();
    while lines.last().is_none_or(|line| line != "runtime/eu-1 Ready (Succeeded)") {
        lines.push(watching.line().await);
    }
    assert!(lines.contains(&"source/fleet fetched main@4f1c2aa90b3d".to_owned()), "{lines:?}");
    assert_eq!(watching.end().await, 0);
}

#[tokio::test]
async fn with_source_ends_if_the_newest_commit_could_not_be_put_in_force() {
    let fixture = CliFixture::new("reconcile-unfetched").await;
    fixture.source("fleet", state("Ready", "Succeeded", "")).await;
    fixture.runtime("eu-1", "fleet", state("Ready", "Succeeded", "")).await;
    for (kind, reason) in [("Fetched", "Unreachable"), ("Validated", "Invalid"), ("Verified", "Unsigned")] {
        let mut watching = Watching::start(&fixture, &["reconcile", "runtime", "eu-1", "--with-source", "--wait"]);
        assert_eq!(watching.line().await, "source/fleet asked");
        assert_eq!(watching.line().await, "source/fleet waits to be looked at");
        let token = json!({ "lastHandledReconcileAt": fixture.asked::<GitSource>("fleet").await });
        let failed = and(state("Warning", reason, "look at it"), kind, false, reason);
        fixture.report::<GitSource>("fleet", with(failed, token)).await;
        assert_eq!(watching.line().await, format!("source/fleet Warning ({reason}): look at it"));
        assert_eq!(watching.end().await, 1, "{kind}");
    }
}

#[tokio::test]
async fn a_component_that_failed_again_is_waited_for_no_longer() {
    let fixture = CliFixture::new("reconcile-failed").await;
    fixture.source("fleet", state("Ready", "Succeeded", "")).await;
    fixture.runtime("eu-1", "fleet", state("Ready", "Succeeded", "")).await;
    fixture.component("eu-1", "web", state("Error", "Refused", "of before")).await;
    for state_after in ["Error", "Warning"] {
        let mut watching = Watching::start(&fixture, &["reconcile", "component", "eu-1-web", "--wait"]);
        assert_eq!(watching.line().await, "component/eu-1-web asked");
        assert_eq!(watching.line().await, "component/eu-1-web waits to be looked at");
        let token = json!({ "lastHandledReconcileAt": fixture.asked::<RuntimeComponent>("eu-1-web").await });
        let failed = with(state(state_after, "Refused", "quota exceeded"), token);
        fixture.report::<RuntimeComponent>("eu-1-web", failed).await;
        let line = watching.line().await;
        assert_eq!(line, format!("component/eu-1-web {state_after} (Refused): quota exceeded"));
        assert_eq!(watching.end().await, 1);
    }
}

#[tokio::test]
async fn what_is_below_something_suspended_or_gone_is_not_waited_for() {
    let fixture = CliFixture::new("reconcile-below").await;
    fixture.source("fleet", state("Ready", "Succeeded", "")).await;
    fixture.runtime("eu-1", "fleet", state("Ready", "Succeeded", "")).await;
    fixture.component("eu-1", "web", state("Ready", "Succeeded", "")).await;
    let waits = async |noun: &str, name: &str, why: &str| {
        let told = fixture.reeve(&["reconcile", noun, name, "--wait"]).await.with(2);
        assert!(
            told.out.starts_with(&format!("{noun}/{name} asked, but {why}: nothing happens until ")),
            "{}",
            told.out
        );
        assert!(told.err.starts_with(&format!("error: {why}: there is nothing to wait for\n")), "{}", told.err);
        fixture.reeve(&["reconcile", noun, name]).await.with(0);
    };
    fixture.reeve(&["suspend", "source", "fleet"]).await.with(0);
    waits("runtime", "eu-1", "source/fleet is suspended").await;
    waits("component", "eu-1-web", "source/fleet is suspended").await;
    fixture.reeve(&["suspend", "runtime", "eu-1"]).await.with(0);
    waits("component", "eu-1-web", "runtime/eu-1 is suspended").await;
    fixture.reeve(&["resume", "runtime", "eu-1"]).await.with(0);
    fixture.api::<GitSource>().delete("fleet", &DeleteParams::default()).await.unwrap();
    waits("runtime", "eu-1", "source/fleet is gone").await;
}

#[tokio::test]
async fn waiting_ends_when_it_is_suspended_meanwhile() {
    let fixture = CliFixture::new("reconcile-meanwhile").await;
    fixture.source("fleet", state("Ready", "Succeeded", "")).await;
    fixture.runtime("eu-1", "fleet", state("Ready", "Succeeded", "")).await;
    let mut watching = Watching::start(&fixture, &["reconcile", "runtime", "eu-1", "--wait"]);
    assert_eq!(watching.line().await, "runtime/eu-1 asked");
    assert_eq!(watching.line().await, "runtime/eu-1 waits to be looked at");
    fixture.reeve(&["suspend", "runtime", "eu-1"]).await.with(0);
    assert_eq!(watching.end().await, 2);
}
