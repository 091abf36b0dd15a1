//! A kind is watched as long as a runtime has need of it.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::DeleteParams;
use reeve_crds::Reason;
use reeve_reconciler_engine::clock::{Clock, ManualClock};
use reeve_reconciler_engine::cluster::Account;
use reeve_reconciler_engine::live::{Scope, WatchCache};
use reeve_reconciler_engine::target::Targets;
use reeve_renderer_objects::key::ObjectKey;
use reeve_tests::{eventually, until};
use serde_json::json;

use super::fixture::{Fixture, config};
use super::kept::{Kept, target};
use super::proxy::{Proxy, Rule};

/// Turns the hands until there are this many watches.
async fn there_are(number: usize, watch_cache: &WatchCache, clock: &ManualClock) {
    eventually(&format!("there are {number} watches"), || async {
        clock.advance(Duration::from_mins(1));
        let watches = watch_cache.watches();
        if watches == number { Ok(()) } else { Err(watches.to_string()) }
    })
    .await;
}

#[tokio::test]
async fn a_kind_is_watched_as_long_as_a_runtime_has_objects_of_it() {
    let home = Fixture::new("watches").await;
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: { name: token }\n---\n";
    home.component("web", "1.0.0", &format!("{}{secret}", config("settings", "git")));
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH);
    let target = target(&home, Clock::new(clock.clone()));
    let watch_cache = target.watch_cache.clone();
    let kept = Kept::start(home, Targets::one(target)).await;
    kept.is_ready().await;
    assert_eq!(watch_cache.watches(), 2);

    kept.home.component("web", "1.1.0", &config("settings", "git"));
    kept.send();
    kept.home.gone(&kept.home.there::<Secret>(), "token").await;
    there_are(1, &watch_cache, &clock).await;

    // The other kind is watched still.
    let settings = kept.home.there::<ConfigMap>();
    let before = settings.get("settings").await.unwrap().metadata.uid;
    settings.delete("settings", &DeleteParams::default()).await.unwrap();
    until(&settings, "settings", "it is made anew", |made: &ConfigMap| made.metadata.uid != before).await;

    kept.delete().await;
    there_are(0, &watch_cache, &clock).await;
}

#[tokio::test]
async fn what_an_ended_watch_showed_is_known_no_longer() {
    let fixture = Fixture::new("unwatched").await;
    let labels = json!({ "metadata": { "labels": { "app.kubernetes.io/managed-by": "reeve" } } });
    fixture.apply("v1", "ConfigMap", Some(&fixture.target), "settings", labels).await;
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH);
    let target = target(&fixture, Clock::new(clock.clone()));
    let watch_cache = target.watch_cache.clone();
    let kind = target.cluster.kinds().find("v1", "ConfigMap").await.unwrap();
    let key = ObjectKey {
        group: "".into(),
        kind: "ConfigMap".into(),
        namespace: Some(fixture.target.as_str().into()),
        name: "settings".into(),
    };
    let (everywhere, here) = (None, Some(fixture.target.as_str().into()));
    let [everywhere, here] = [everywhere, here].map(|namespace| Scope { account: Account::Own, namespace });
    let first = watch_cache.watch(&everywhere, &kind).await.unwrap();
    let second = watch_cache.watch(&here, &kind).await.unwrap();
    assert!(watch_cache.get(&key).is_some());
    // What another watch shows is known still.
    drop(first);
    there_are(1, &watch_cache, &clock).await;
    assert!(watch_cache.get(&key).is_some());
    drop(second);
    there_are(0, &watch_cache, &clock).await;
    assert!(watch_cache.get(&key).is_none());
    // And it is seen again.
    let _third = watch_cache.watch(&here, &kind).await.unwrap();
    assert!(watch_cache.get(&key).is_some());
}

#[tokio::test]
async fn a_watch_that_failed_is_tried_when_somebody_asks_for_it_not_when_it_has_rested() {
    let fixture = Fixture::new("asked").await;
    let refused = Rule::RefuseReads { code: 403, path: "/api/v1/configmaps".to_owned(), times: 1 };
    let proxy = Proxy::start(&fixture.cluster, refused).await;
    let cluster = proxy.engine_cluster(fixture.data.path()).await;
    // A clock that stands still: no rest is ever over.
    let watch_cache = WatchCache::new(cluster.clone(), Clock::new(ManualClock::new(Timestamp::UNIX_EPOCH)));
    let scope = Scope { account: Account::Own, namespace: None };
    let kind = cluster.kinds().find("v1", "ConfigMap").await.unwrap();
    assert_eq!(watch_cache.watch(&scope, &kind).await.unwrap_err().reason, Reason::Forbidden);
    watch_cache.watch(&scope, &kind).await.unwrap();
}
