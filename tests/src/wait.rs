//! Waiting on conditions, with the last state seen in the message when it never comes.

use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

use anyhow::Context;
use futures::StreamExt;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

/// How long a condition may take before a test gives up. Generous: machines are busy, and a pass never waits it out.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Asks again and again until `probe` answers `Ok`, and panics with its last `Err` when it does not in time.
pub async fn eventually<T, E, F>(what: &str, probe: impl FnMut() -> F) -> T
where
    E: std::fmt::Display,
    F: Future<Output = Result<T, E>>,
{
    within(PATIENCE, what, probe).await.unwrap_or_else(|error| panic!("{error:#}"))
}

/// As [`eventually`], with a limit of its own and an error instead of a panic.
pub async fn within<T, E, F>(limit: Duration, what: &str, mut probe: impl FnMut() -> F) -> anyhow::Result<T>
where
    E: std::fmt::Display,
    F: Future<Output = Result<T, E>>,
{
    let started = Instant::now();
    let mut pause = Duration::from_millis(5);
    let mut last = "nothing was seen".to_owned();
    while started.elapsed() < limit {
        let remaining = limit.saturating_sub(started.elapsed());
        match tokio::time::timeout(remaining, probe()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(state)) => last = state.to_string(),
            Err(_elapsed) => last = format!("the last look took too long (before it: {last})"),
        }
        tokio::time::sleep(pause.min(limit.saturating_sub(started.elapsed()))).await;
        pause = (pause * 2).min(Duration::from_millis(200));
    }
    anyhow::bail!("{what}: not within {} s; last seen: {last}", limit.as_secs())
}

/// Watches one object until `is_met` says so of it, and panics with the last state seen when it does not in time.
pub async fn until<K>(api: &Api<K>, name: &str, what: &str, mut is_met: impl FnMut(&K) -> bool) -> K
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let mut last = "nothing".to_owned();
    let wait = async {
        let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
        let mut objects = watcher(api.clone(), config).default_backoff().applied_objects().boxed();
        // The watcher mends its own errors.
        while let Some(event) = objects.next().await {
            match event {
                Ok(object) if is_met(&object) => return Some(object),
                Ok(object) => last = format!("{object:#?}"),
                Err(error) => last = format!("{:#}", anyhow::Error::from(error)),
            }
        }
        None
    };
    let found = tokio::time::timeout(PATIENCE, wait).await.ok().flatten();
    found
        .with_context(|| format!("{what}: not within {} s; last seen of {name}: {last}", PATIENCE.as_secs()))
        .unwrap_or_else(|error| panic!("{error:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_condition_that_never_comes_shows_the_last_state_seen() {
        let mut asked = 0;
        let error = within(Duration::from_millis(50), "the pod is ready", || {
            asked += 1;
            let state = format!("phase Pending, look {asked}");
            async move { Err::<(), _>(state) }
        })
        .await
        .unwrap_err();
        let message = format!("{error:#}");
        assert!(message.starts_with("the pod is ready: not within"), "{message}");
        assert!(message.contains("last seen: phase Pending, look"), "{message}");
    }

    #[tokio::test]
    async fn a_probe_that_hangs_does_not_hang_the_wait() {
        let outcome = within(Duration::from_millis(20), "an answer", std::future::pending::<Result<(), String>>).await;
        assert!(format!("{:#}", outcome.unwrap_err()).contains("took too long"));
    }
}
