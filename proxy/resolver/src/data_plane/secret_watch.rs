//! Follows the Secrets that rules name, and no others.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use tokio::task::{AbortHandle, JoinSet};
use tracing::info;

use super::plane::Plane;
use super::secrets::{SecretKey, Use};

/// Follows for ever.
pub(crate) async fn follow(client: Client, plane: Plane) {
    let mut tasks = JoinSet::new();
    let mut followed: BTreeMap<(SecretKey, Use), AbortHandle> = BTreeMap::new();
    loop {
        // Before the look, so that what comes in between is not missed.
        let changed = plane.signals().secrets.notified();
        let wanted: BTreeSet<(SecretKey, Use)> = plane.secrets_wanted();
        followed.retain(|one, task| {
            let stays = wanted.contains(one);
            if !stays {
                task.abort();
                plane.secrets().forget(&one.0, one.1);
            }
            stays
        });
        for (key, wanted) in wanted {
            let follow = || tasks.spawn(follow_one(client.clone(), plane.clone(), key.clone(), wanted));
            followed.entry((key.clone(), wanted)).or_insert_with(follow);
        }
        changed.await;
        while tasks.try_join_next().is_some() {}
    }
}

async fn follow_one(client: Client, plane: Plane, key: SecretKey, wanted: Use) {
    let api = Api::<Secret>::namespaced(client, &key.namespace);
    let config = watcher::Config::default().fields(&format!("metadata.name={}", key.name));
    let mut events = watcher(api, config).default_backoff().boxed();
    let mut is_listed = false;
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Init) => is_listed = false,
            Ok(watcher::Event::Apply(secret) | watcher::Event::InitApply(secret)) => {
                is_listed = true;
                info!(secret = %key.name, namespace = %key.namespace, "read a Secret");
                plane.secrets().set(&key, wanted, Some(&secret));
            }
            Ok(watcher::Event::InitDone) if is_listed => continue,
            Ok(watcher::Event::InitDone | watcher::Event::Delete(_)) => plane.secrets().set(&key, wanted, None),
            Err(error) => plane.secrets().fail(&key, wanted, reeve_process::error_chain(&error)),
        }
        plane.signals().report.notify_one();
    }
}
