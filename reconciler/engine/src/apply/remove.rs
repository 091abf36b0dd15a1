//! Deletes one object, and only the one that was meant.

use std::time::Duration;

use futures::StreamExt as _;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Preconditions, PropagationPolicy};
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use reeve_crds::Reason;
use reeve_renderer_objects::key::ObjectKey;

use super::{Applier, ApplyError, api};
use crate::api_error::ApiError;
use crate::cluster::Kind;
use crate::live::Live;

/// What became of an object that was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// It is not there any more.
    Yes,
    /// It was not there, or another object is.
    Before,
    /// It waits for its finalizers.
    Deleting,
}

impl Applier {
    /// Deletes an object if it has this uid. One that is not there, or is another, counts as gone.
    pub async fn delete(&self, key: &ObjectKey, kind: &Kind, uid: Option<&str>) -> Result<Gone, ApplyError> {
        let api = api(self.client()?, kind, key);
        let params = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Background),
            preconditions: uid.map(|uid| Preconditions { uid: Some(uid.to_owned()), resource_version: None }),
            ..DeleteParams::default()
        };
        match self.in_time(api.delete(&key.name, &params)).await {
            Ok(deleted)
                if deleted.as_ref().left().is_some_and(|object| object.metadata.deletion_timestamp.is_some()) =>
            {
                self.cluster.breaker().answered();
                Ok(Gone::Deleting)
            }
            Ok(_) => {
                self.cluster.breaker().answered();
                self.watch_cache.gone(key, uid);
                Ok(Gone::Yes)
            }
            // 409: the precondition does not hold, so what is there is not what we made.
            Err(error) if is_gone(&error, uid.is_some()) => {
                self.watch_cache.gone(key, uid);
                Ok(Gone::Before)
            }
            Err(error) => {
                let api_error = self.answered::<()>(Err(error)).err();
                api_error.map_or(Ok(Gone::Yes), |api_error| Err(ApplyError::Refused { object: key.clone(), api_error }))
            }
        }
    }

    /// Whether a write of an object may yet be done.
    pub fn is_under_way(&self, key: &ObjectKey) -> bool {
        self.cluster.in_flight().has(key)
    }

    /// An object as it is once no write of it is under way any more; `None` if it is not there.
    pub async fn settled(&self, key: &ObjectKey, kind: &Kind) -> Result<Option<Live>, ApplyError> {
        self.cluster.in_flight().settled(key).await;
        let api = api(self.client()?, kind, key);
        let got = self.answered(self.in_time(api.get_metadata_opt(&key.name)).await);
        let got = got.map_err(|api_error| ApplyError::Refused { object: key.clone(), api_error })?;
        Ok(got.map(|object| Live::of(&object.metadata, None)))
    }

    /// Resolves when an object is gone.
    pub async fn until_gone(&self, key: &ObjectKey, kind: &Kind, within: Duration) -> Result<(), ApplyError> {
        let api: Api<PartialObjectMeta<DynamicObject>> = match &key.namespace {
            Some(namespace) => Api::namespaced_with(self.client()?, namespace, &kind.resource),
            None => Api::all_with(self.client()?, &kind.resource),
        };
        let config = watcher::Config::default().fields(&format!("metadata.name={}", key.name));
        let mut holders = String::new();
        let gone = async {
            let mut events = std::pin::pin!(kube::runtime::watcher(api, config).default_backoff());
            let mut listed = false;
            while let Some(event) = events.next().await {
                match event {
                    Ok(Event::Init) => listed = false,
                    Ok(Event::InitApply(object) | Event::Apply(object)) => {
                        listed = true;
                        holders = object.metadata.finalizers.unwrap_or_default().join(", ");
                    }
                    Ok(Event::InitDone) if !listed => return,
                    Ok(Event::Delete(_)) => return,
                    Ok(Event::InitDone) | Err(_) => {}
                }
            }
        };
        tokio::select! {
            () = gone => {}
            () = self.clock.sleep(within) => {
                return Err(ApplyError::Stuck { object: key.clone(), holders });
            }
        }
        self.watch_cache.gone(key, None);
        Ok(())
    }
}

/// Whether the object that was to be deleted is not there. One whose kind is not served, or not in that version, may be.
fn is_gone(error: &kube::Error, only_one: bool) -> bool {
    match error {
        kube::Error::Api(status) if status.code == 404 => ApiError::of(error).reason != Reason::MissingKind,
        kube::Error::Api(status) => only_one && status.code == 409 && ApiError::of(error).reason == Reason::Conflict,
        _ => false,
    }
}
