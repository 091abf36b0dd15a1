//! Deletes one object, and only the one that was meant: for good, or to make it anew.

use std::time::Duration;

use futures::StreamExt as _;
use http::header::{ACCEPT, CONTENT_TYPE};
use kube::api::{DeleteParams, DynamicObject, Preconditions, PropagationPolicy};
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Resource as _};
use reeve_crds::Reason;
use reeve_crds::runtime::policy::Recreate;
use reeve_renderer_objects::key::ObjectKey;
use serde_json::Value;

use super::{Applier, ApplyError, Sending, Write, api, redact};
use crate::api_error::ApiError;
use crate::cluster::{JSON, Kind, METADATA_ONLY};
use crate::desired::{DesiredObject, is_protected};
use crate::live::Live;
use crate::owner::Owner;

/// How long the old object may take to go before the new one is made.
const RECREATE_WITHIN: Duration = Duration::from_mins(1);

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
    /// Whether there is a definition of an object's kind, although no version of it is served.
    pub async fn is_defined(&self, key: &ObjectKey) -> Result<bool, ApplyError> {
        let asked = self.cluster.kinds().is_defined(self.client()?, &key.group, &key.kind);
        let found = self.answered(self.in_time(asked).await);
        found.map_err(|api_error| ApplyError::Refused { object: key.clone(), api_error })
    }

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

    /// Whether an object may be deleted and made anew, since it cannot be changed.
    pub(super) fn may_recreate(&self, object: &DesiredObject, api_error: &ApiError) -> Result<(), ApplyError> {
        let precious = is_protected(&object.key.group, &object.key.kind);
        let advice = match (precious, self.recreate) {
            (false, Recreate::OnImmutable) => return Ok(()),
            (true, _) => "objects of this kind are never deleted for it: change it back, or replace it by hand",
            (false, Recreate::Never) => {
                "change it back, or set policy.recreate: OnImmutable in the runtime's file (spec.recreate of a Runtime that has none) to delete it and make it anew"
            }
        };
        let message = redact(&api_error.message, &object.key, &object.value());
        Err(ApplyError::Immutable { object: object.key.clone(), message, advice })
    }

    /// Deletes what cannot be changed, if that is allowed, so that it can be made anew.
    pub(super) async fn make_room(
        &self,
        write: &Write<'_>,
        api_error: &ApiError,
        freed: Option<&Owner>,
    ) -> Result<(), ApplyError> {
        self.may_recreate(write.object, api_error)?;
        let key = &write.object.key;
        let got = self.in_time(api(write.client.clone(), write.kind, key).get_metadata_opt(&key.name)).await;
        let got = self.answered(got).map_err(|api_error| ApplyError::Refused { object: key.clone(), api_error })?;
        let Some(there) = got else { return Ok(()) };
        self.may_replace(write, &there.metadata, freed)?;
        self.check_create(write).await?;
        let uid = there.metadata.uid;
        match self.delete(&write.object.key, write.kind, uid.as_deref()).await? {
            Gone::Yes | Gone::Before => Ok(()),
            Gone::Deleting => self.until_gone(&write.object.key, write.kind, uid.as_deref(), RECREATE_WITHIN).await,
        }
    }

    /// Asks whether the new object would be let in, before the old one is deleted. Only rights, policies and quotas count:
    /// they are asked before it is noticed that the old one is there, and what else is said may be because of that.
    async fn check_create(&self, write: &Write<'_>) -> Result<(), ApplyError> {
        let path = DynamicObject::url_path(&write.kind.resource, write.object.key.namespace.as_deref());
        let uri = format!("{path}?dryRun=All&fieldManager={}", self.owner.manager());
        let request = http::Request::post(uri).header(CONTENT_TYPE, JSON).header(ACCEPT, METADATA_ONLY);
        let request = request.body(write.body.to_vec());
        let request = request.map_err(|error| Sending::Refused(ApiError::of(&kube::Error::HttpError(error))));
        let request = request.map_err(|sending| sending.about(write.object))?;
        let answer = self.answered(self.in_time(write.client.request::<Value>(request)).await);
        let refuses = |reason| matches!(reason, Reason::Forbidden | Reason::RefusedByWebhook | Reason::QuotaExceeded);
        match answer {
            // That the old one is there is noticed last.
            Err(api_error) if api_error.reason == Reason::AlreadyExists => Ok(()),
            Err(api_error) if api_error.transient || refuses(api_error.reason) => {
                Err(Sending::Refused(api_error).about(write.object))
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Resolves when an object is gone. Another one of its name, if its uid is known, is not it.
    pub async fn until_gone(
        &self,
        key: &ObjectKey,
        kind: &Kind,
        uid: Option<&str>,
        within: Duration,
    ) -> Result<(), ApplyError> {
        let api: Api<PartialObjectMeta<DynamicObject>> = match &key.namespace {
            Some(namespace) => Api::namespaced_with(self.client()?, namespace, &kind.resource),
            None => Api::all_with(self.client()?, &kind.resource),
        };
        let config = watcher::Config::default().fields(&format!("metadata.name={}", key.name));
        let mut holders = String::new();
        let gone = async {
            let mut events = std::pin::pin!(kube::runtime::watcher(api, config).default_backoff());
            let mut listed = false;
            let is_another = |there: &PartialObjectMeta<DynamicObject>| {
                uid.is_some_and(|uid| there.metadata.uid.as_deref().is_some_and(|other| other != uid))
            };
            while let Some(event) = events.next().await {
                match event {
                    Ok(Event::Init) => listed = false,
                    Ok(Event::InitApply(object) | Event::Apply(object)) if is_another(&object) => return,
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
        self.watch_cache.gone(key, uid);
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
