//! `reeve reconcile`.

use kube::Resource;
use kube::ResourceExt as _;
use kube::core::NamespaceResourceScope;
use reeve_crds::{GitSource, Runtime, annotation};
use reeve_tests::until;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::people::estate::{Estate, state, with};
use crate::people::watching::Watching;

impl Estate {
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
    let estate = Estate::new("reconcile").await;
    estate.runtime("eu-1", "fleet", state("Ready", "Succeeded", "")).await;
    let told = estate.reeve(&["reconcile", "runtime", "eu-1"]).await.with(0);
    assert_eq!(told.out, "runtime/eu-1 asked\n");
    let first = estate.asked::<Runtime>("eu-1").await;
    estate.reeve(&["reconcile", "runtime", "eu-1"]).await.with(0);
    assert_ne!(estate.asked::<Runtime>("eu-1").await, first);
    estate.reeve(&["reconcile", "runtime", "eu-2"]).await.with(2);
}

#[tokio::test]
async fn waiting_ends_when_the_request_was_handled_and_nothing_is_under_way() {
    let estate = Estate::new("reconcile-wait").await;
    estate.runtime("eu-1", "fleet", state("Ready", "Succeeded", "")).await;
    let mut watching = Watching::start(&estate, &["reconcile", "runtime", "eu-1", "--wait"]);
    assert_eq!(watching.line().await, "runtime/eu-1 asked");
    let token = estate.asked::<Runtime>("eu-1").await;
    assert_eq!(watching.line().await, "runtime/eu-1 waits to be looked at", "Ready of before does not count");
    let handled = |status| with(status, json!({ "lastHandledReconcileAt": token.clone() }));
    estate.report::<Runtime>("eu-1", handled(state("Processing", "Progressing", "applying"))).await;
    assert_eq!(watching.line().await, "runtime/eu-1 Processing (Progressing): applying");
    estate.report::<Runtime>("eu-1", handled(state("Ready", "Succeeded", ""))).await;
    assert_eq!(watching.line().await, "runtime/eu-1 Ready (Succeeded)");
    assert_eq!(watching.end().await, 0);
}

#[tokio::test]
async fn what_is_not_ready_in_the_end_shows_in_the_status() {
    let estate = Estate::new("reconcile-error").await;
    estate.source("fleet", state("Ready", "Succeeded", "")).await;
    estate.runtime("eu-1", "fleet", state("Ready", "Succeeded", "")).await;
    let mut watching = Watching::start(&estate, &["reconcile", "runtime", "eu-1", "--with-source", "--wait"]);
    assert_eq!(watching.line().await, "source/fleet asked");
    let token = estate.asked::<GitSource>("fleet").await;
    let handled = |status| with(status, json!({ "lastHandledReconcileAt": token.clone() }));
    assert_eq!(watching.line().await, "source/fleet waits to be looked at");
    estate.report::<GitSource>("fleet", handled(state("Ready", "Succeeded", ""))).await;
    assert_eq!(watching.line().await, "source/fleet Ready (Succeeded)");
    assert_eq!(watching.line().await, "runtime/eu-1 asked");
    assert_eq!(watching.line().await, "runtime/eu-1 waits to be looked at");
    estate.report::<Runtime>("eu-1", handled(state("Error", "Refused", "quota exceeded"))).await;
    assert_eq!(watching.line().await, "runtime/eu-1 Error (Refused): quota exceeded");
    assert_eq!(watching.end().await, 1);
}

#[tokio::test]
async fn waiting_has_an_end() {
    let estate = Estate::new("reconcile-late").await;
    estate.source("fleet", state("Ready", "Succeeded", "")).await;
    let told = estate.reeve(&["reconcile", "source", "fleet", "--wait", "--timeout", "1s"]).await.with(2);
    assert!(told.err.starts_with("error: it was not done within 1 s\n  help: see `reeve get`"), "{}", told.err);
}

#[tokio::test]
async fn what_is_suspended_is_not_waited_for() {
    let estate = Estate::new("reconcile-suspended").await;
    estate.runtime("eu-1", "fleet", state("Suspended", "Suspended", "")).await;
    estate.reeve(&["suspend", "runtime", "eu-1"]).await.with(0);
    let told = estate.reeve(&["reconcile", "runtime", "eu-1", "--wait", "--timeout", "10s"]).await.with(2);
    assert_eq!(told.out, "runtime/eu-1 asked, which is suspended: nothing happens until it is resumed\n");
    let wanted =
        "error: runtime/eu-1 is suspended: there is nothing to wait for\n  help: `reeve resume runtime eu-1`, ";
    assert!(told.err.starts_with(wanted), "{}", told.err);
    estate.reeve(&["reconcile", "runtime", "eu-1"]).await.with(0);
}
