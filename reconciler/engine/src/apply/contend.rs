//! What is done when others have fields, or the whole, of an object that is to be applied.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use reeve_crds::Reason;
use reeve_renderer_objects::bundle::COMPONENT_LABEL;
use serde_json::{Value, json};

use super::{Applier, ApplyError, Sending, Write, api};
use crate::api_error::ApiError;
use crate::cluster::{JSON_PATCH, KindsError, METADATA_ONLY};
use crate::fields::{self, Conflicts};
use crate::owner::{self, Owner, Settlement};

/// What the API server says of an object whose books name a version that is served no more.
pub(super) const UNSERVED_VERSION: &str = "request to convert CR to an invalid group/version";

impl Applier {
    /// What is done about a conflict: the version against which to force, if so; otherwise the plain way is free now.
    pub(super) async fn give_way(
        &self,
        write: &Write<'_>,
        conflict: Conflicts,
        freed: Option<&Owner>,
    ) -> Result<Option<String>, ApplyError> {
        let key = &write.object.key;
        let got = api(write.client.clone(), write.kind, key).get_metadata_opt(&key.name).await;
        let got = self.answered(got).map_err(|api_error| ApplyError::Refused { object: key.clone(), api_error })?;
        let Some(there) = got else { return Ok(None) };
        if self.settle(write, conflict, &there.metadata, freed)? {
            self.take_over_fields(write, &there.metadata, freed).await?;
            return Ok(None);
        }
        Ok(there.metadata.resource_version)
    }

    /// Whether the fields in the way become ours first; if not, they are overwritten.
    fn settle(
        &self,
        write: &Write<'_>,
        conflict: Conflicts,
        there: &ObjectMeta,
        freed: Option<&Owner>,
    ) -> Result<bool, ApplyError> {
        let object = write.object.key.clone();
        match self.claimant(freed).settle(&conflict, there) {
            Settlement::Force => Ok(false),
            Settlement::TakeOver => Ok(true),
            Settlement::Claimed(owner) => {
                let component = there.labels.as_ref().and_then(|labels| labels.get(COMPONENT_LABEL)).cloned();
                Err(ApplyError::Claimed { object, owner, component })
            }
            Settlement::Released(release) => Err(ApplyError::Released { object, release }),
            Settlement::Refuse => Err(ApplyError::Conflict { object, conflict }),
        }
    }

    /// Refuses to delete an object, to make it anew, that is not ours and that others apply, whatever they apply of it: no
    /// field of theirs need be in the way.
    pub(super) fn may_replace(
        &self,
        write: &Write<'_>,
        there: &ObjectMeta,
        freed: Option<&Owner>,
    ) -> Result<(), ApplyError> {
        if owner::hold(there).owner.as_ref() == Some(&self.owner) {
            return Ok(());
        }
        let managed = there.managed_fields.as_deref().unwrap_or_default();
        self.settle(write, Conflicts::of_appliers(managed, &self.owner.manager()), there, freed).map(drop)
    }

    /// Has the books of an object name the version in which it is applied, where they name one that is served no more: the
    /// API server cannot read its fields there, and refuses every apply. Whose they are stays.
    pub(super) async fn renew_versions(&self, write: &Write<'_>, refused: ApiError) -> Result<(), ApplyError> {
        let (object, kinds) = (write.object, self.cluster.kinds());
        let refuse = |api_error| ApplyError::Refused { object: object.key.clone(), api_error };
        let got = api(write.client.clone(), write.kind, &object.key).get_metadata_opt(&object.key.name).await;
        let Some(there) = self.answered(got).map_err(refuse)? else { return Ok(()) };
        let mut managed = there.metadata.managed_fields.unwrap_or_default();
        let mut renewed = false;
        for entry in &mut managed {
            let Some(version) = entry.api_version.as_deref().filter(|version| *version != &*object.api_version) else {
                continue;
            };
            kinds.forget(version);
            if matches!(kinds.find(version, &object.key.kind).await, Err(KindsError::Missing { .. })) {
                entry.api_version = Some(object.api_version.to_string());
                renewed = true;
            }
        }
        if !renewed {
            return Err(refuse(refused));
        }
        let patch = json!([
            { "op": "test", "path": "/metadata/resourceVersion", "value": there.metadata.resource_version },
            { "op": "replace", "path": "/metadata/managedFields", "value": managed },
        ]);
        let types = (JSON_PATCH, METADATA_ONLY);
        let patched = self.patch(write.client, object, write.kind, types, "", patch.to_string().as_bytes()).await;
        patched.map(drop).map_err(|sending| sending.about(object))
    }

    /// Makes the fields of `kubectl apply`, of Helm, and of runtimes that have no claim any more, ours, so that what leaves Git
    /// leaves the object. True if there were any, or if somebody wrote since: then it has to be applied once more.
    pub(super) async fn take_over_fields(
        &self,
        write: &Write<'_>,
        metadata: &ObjectMeta,
        freed: Option<&Owner>,
    ) -> Result<bool, ApplyError> {
        let managed = metadata.managed_fields.as_deref().unwrap_or_default();
        let is_free = is_free(metadata, &self.owner, freed);
        let Some(takeover) = fields::takeover(managed, &self.owner.manager(), |_| is_free) else { return Ok(false) };
        let version = metadata.resource_version.as_deref().unwrap_or_default();
        let patch = serde_json::to_vec(&takeover.patch(version)).unwrap_or_default();
        let types = (JSON_PATCH, METADATA_ONLY);
        match self.patch(write.client, write.object, write.kind, types, "", &patch).await {
            Ok(_) => Ok(true),
            Err(Sending::Refused(api_error)) if matches!(api_error.reason, Reason::Conflict | Reason::Invalid) => {
                Ok(true)
            }
            Err(sending) => Err(sending.about(write.object)),
        }
    }
}

/// Whether no other runtime has a claim to an object.
pub(super) fn is_free(metadata: &ObjectMeta, ours: &Owner, freed: Option<&Owner>) -> bool {
    owner::hold(metadata).owner.is_none_or(|owner| owner == *ours || Some(&owner) == freed)
}

/// The same, to be refused unless the object has this version.
pub(super) fn fenced(body: &[u8], version: &str) -> Arc<[u8]> {
    let mut object: Value = serde_json::from_slice(body).unwrap_or_default();
    object["metadata"]["resourceVersion"] = version.into();
    serde_json::to_vec(&object).unwrap_or_default().into()
}
