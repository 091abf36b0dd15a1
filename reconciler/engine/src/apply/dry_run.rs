//! Asks the API server what an apply would make of an object, without making it.
//!
//! The same payload, conflicts, adoption and recreation as in `apply`, so that what is foreseen is what will be.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use reeve_crds::Reason;
use reeve_crds::runtime::policy::Adoption;
use reeve_renderer_objects::bundle::{COMPONENT_LABEL, MANAGED_BY};
use serde::Deserialize as _;
use serde_json::Value;

use super::contend::is_free;
use super::{Applier, ApplyError, Sending, body};
use crate::cluster::{APPLY_PATCH, JSON, Kind, MERGE_PATCH};
use crate::desired::DesiredObject;
use crate::fields::{self, managed_fields};
use crate::merge_patch;
use crate::owner::Settlement;

/// What an apply would do.
#[derive(Clone, Debug, PartialEq)]
pub enum DryRun {
    /// The object would be like this.
    Applied(Value),
    /// It would be deleted and made anew, since a field of it cannot change: why.
    Anew(String),
}

/// What [`Applier::apply`] would make of an object that is like `live` now, whole. `known` as there.
pub async fn dry_run(
    applier: &Applier,
    object: &DesiredObject,
    live: Option<&Value>,
    known: bool,
) -> Result<DryRun, ApplyError> {
    let kind = applier.kind(object).await?;
    let ours = live.filter(|live| is_ours(live));
    if applier.adoption == Adoption::Never && !known && live.is_some() && ours.is_none() {
        return Err(ApplyError::Exists { object: object.key.clone() });
    }
    let body = body(object, ours, &applier.owner);
    let metadata = live.and_then(|live| ObjectMeta::deserialize(&live["metadata"]).ok()).unwrap_or_default();
    let asked = match ask(applier, object, &kind, APPLY_PATCH, "force=false", &body).await? {
        Err(Sending::Conflict(conflict)) => match applier.claimant(None).settle(&conflict, &metadata) {
            Settlement::Force | Settlement::TakeOver => {
                ask(applier, object, &kind, APPLY_PATCH, "force=true", &body).await?
            }
            Settlement::Claimed(owner) => {
                let component = metadata.labels.and_then(|mut labels| labels.remove(COMPONENT_LABEL));
                return Err(ApplyError::Claimed { object: object.key.clone(), owner, component });
            }
            Settlement::Released(release) => {
                return Err(ApplyError::Released { object: object.key.clone(), release });
            }
            Settlement::Refuse => Err(Sending::Conflict(conflict)),
        },
        other => other,
    };
    let value = match asked {
        Err(Sending::Refused(api_error)) if api_error.reason == Reason::Immutable => {
            let message = api_error.message.clone();
            return applier.may_recreate(object, &api_error).map(|()| DryRun::Anew(message));
        }
        other => other.map_err(|sending| sending.about(object))?,
    };
    take_over(applier, object, &kind, live, value).await.map(DryRun::Applied)
}

/// An apply makes the fields of `kubectl apply` and of Helm ours and applies once more, which one request cannot foresee: what
/// that takes away is taken away here, and the API server is asked what it makes of the rest.
async fn take_over(
    applier: &Applier,
    object: &DesiredObject,
    kind: &Kind,
    live: Option<&Value>,
    value: Value,
) -> Result<Value, ApplyError> {
    let managed = managed_fields(&value);
    let metadata = ObjectMeta::deserialize(&value["metadata"]).unwrap_or_default();
    let is_free = is_free(&metadata, &applier.owner, None);
    let takeover = fields::takeover(&managed, &applier.owner.manager(), |_| is_free);
    let (Some(live), Some(takeover)) = (live, takeover) else { return Ok(value) };
    let mut left = takeover.without_leftovers(&value, &managed, &applier.owner.manager());
    let mut live = live.clone();
    for side in [&mut live, &mut left] {
        if let Some(Value::Object(metadata)) = side.get_mut("metadata") {
            metadata.remove("managedFields");
            metadata.remove("resourceVersion");
        }
    }
    let Some(patch) = merge_patch::difference(&live, &left) else { return Ok(value) };
    let patch = serde_json::to_vec(&patch).unwrap_or_default();
    ask(applier, object, kind, MERGE_PATCH, "", &patch).await?.map_err(|sending| sending.about(object))
}

async fn ask(
    applier: &Applier,
    object: &DesiredObject,
    kind: &Kind,
    content_type: &str,
    options: &str,
    body: &[u8],
) -> Result<Result<Value, Sending>, ApplyError> {
    let options = format!("dryRun=All&{options}");
    Ok(applier.patch(&applier.client()?, object, kind, (content_type, JSON), &options, body).await)
}

/// Whether an object is one that Reeve applied: those are all that its watches show.
fn is_ours(live: &Value) -> bool {
    live.pointer("/metadata/labels").and_then(|labels| labels.get(MANAGED_BY)?.as_str()) == Some("reeve")
}
