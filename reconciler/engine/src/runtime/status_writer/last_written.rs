//! What the cluster has of a runtime, a component or a source, and the write that makes its status another.

use http::Method;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, Resource};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::seen::SeenStatus;
use crate::api_error::ApiError;
use crate::cluster::{JSON, MERGE_PATCH};
use crate::conditions::keep_transition_times;
use crate::hash;
use crate::patch::{patch_status, send, to_json, version_of};

/// What the cluster has. Small, since there is one for every component: of what is said only the hash is kept.
#[derive(Clone, Debug, Default)]
pub(super) struct LastWritten {
    spec: Option<Box<str>>,
    status: Option<Box<str>>,
    turns: Box<str>,
    /// Version of the object after our last write.
    version: u64,
    pub(super) generation: Option<i64>,
    pub(super) uid: Option<String>,
}

/// What the API server answers to a write, as far as anybody wants to know.
#[derive(Debug, Default, Deserialize)]
struct Answer {
    metadata: ObjectMeta,
    #[serde(default)]
    status: Value,
}

impl LastWritten {
    /// What was found.
    pub(super) fn found(metadata: &ObjectMeta, status: &impl Serialize) -> Self {
        let (uid, generation) = (metadata.uid.clone(), metadata.generation);
        let mut written = Self { version: version_of(metadata), generation, uid, ..Self::default() };
        written.said(&to_json(status));
        written
    }

    /// What was found, of which this is the spec.
    pub(super) fn with_spec(mut self, spec: &impl Serialize) -> Self {
        self.spec = Some(hash::of(&to_json(spec)).into());
        self
    }

    /// The object has this generation, and a spec of this hash, which is forgotten if it is newer than ours and another.
    pub(super) fn observe(&mut self, generation: Option<i64>, spec: &str) {
        if generation > self.generation && self.spec.as_deref() != Some(spec) {
            self.spec = None;
        }
        self.generation = self.generation.max(generation);
    }

    /// Forgets what was said if somebody else wrote another status since. True if so.
    pub(super) fn on_seen(&mut self, seen: &SeenStatus) -> bool {
        let is_foreign = self.status.as_deref().is_some_and(|ours| seen.is_foreign(self.version, ours));
        if is_foreign {
            self.status = None;
        }
        is_foreign
    }

    fn said(&mut self, status: &Value) {
        self.status = Some(hash::of(status).into());
        let turn = |of: &Value| json!({ "type": of["type"], "status": of["status"], "lastTransitionTime": of["lastTransitionTime"] });
        let turns: Vec<Value> = status["conditions"].as_array().into_iter().flatten().map(turn).collect();
        self.turns = json!({ "conditions": turns }).to_string().into();
    }

    /// Has the cluster have `object` with its spec, unless it does already. True if that took a write. `change` gives the
    /// merge patch for one that is there: to apply a new object would cost the API server more than to make it.
    pub(super) async fn ensure_object<K: Resource + Clone>(
        &mut self,
        api: &Api<K>,
        name: &str,
        object: &Value,
        change: impl Fn(&Value) -> Value,
    ) -> Result<bool, ApiError> {
        let spec = hash::of(&object["spec"]);
        if self.spec.as_deref() == Some(&spec) {
            return Ok(false);
        }
        let make = async || send::<K, Answer>(api, Method::POST, "", JSON, object).await;
        let alter =
            async || send::<K, Answer>(api, Method::PATCH, &format!("/{name}"), MERGE_PATCH, &change(object)).await;
        let answer_request = if self.uid.is_none() {
            match make().await {
                Err(kube::Error::Api(status)) if status.code == 409 => alter().await,
                answer_request => answer_request,
            }
        } else {
            match alter().await {
                Err(kube::Error::Api(status)) if status.code == 404 => make().await,
                answer_request => answer_request,
            }
        };
        let Answer { metadata, status } = answer_request.map_err(|error| ApiError::of(&error))?;
        if metadata.uid != self.uid {
            // Another object, which says what it says.
            self.said(&status);
        }
        self.spec = Some(spec.into());
        self.version = version_of(&metadata);
        self.uid = metadata.uid;
        self.generation = metadata.generation;
        Ok(true)
    }

    /// Makes the status this one, unless it is.
    pub(super) async fn patch_status<K: Resource + Clone>(
        &mut self,
        api: &Api<K>,
        name: &str,
        status: &impl Serialize,
    ) -> Result<(), ApiError> {
        let Some(status) = self.to_write(status) else { return Ok(()) };
        match patch_status(api, name, &status).await {
            Ok(version) => {
                self.said(&status);
                self.version = version.unwrap_or(self.version);
                Ok(())
            }
            Err(api_error) => {
                // It may be said all the same: whatever comes next is written.
                self.status = None;
                Err(api_error)
            }
        }
    }

    /// The status as it is to be said, if that is another one than the cluster has.
    fn to_write(&self, status: &impl Serialize) -> Option<Value> {
        let before = serde_json::from_str(&self.turns).unwrap_or_default();
        let status = keep_transition_times(&before, to_json(status));
        (self.status.as_deref() != Some(&hash::of(&status))).then_some(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(ready: &str, since: &str) -> Value {
        json!({ "state": "Ready", "conditions": [{ "type": "Ready", "status": ready, "lastTransitionTime": since }] })
    }

    #[test]
    fn a_spec_that_somebody_else_changed_is_noticed_and_what_is_older_than_ours_is_not() {
        let spec = json!({ "version": "1.0.0" });
        let ours = hash::of(&spec);
        let keeps = |generation, seen: &str| {
            let mut written =
                LastWritten::found(&ObjectMeta { generation: Some(2), ..ObjectMeta::default() }, &json!({}))
                    .with_spec(&spec);
            written.observe(Some(generation), seen);
            written.spec.is_some()
        };
        assert!(keeps(3, &ours), "people suspended it");
        assert!(keeps(1, "other"), "it was ours before");
        assert!(!keeps(3, "other"));
    }

    #[test]
    fn of_a_status_so_much_is_kept_that_its_conditions_keep_their_times() {
        let before = status("True", "2026-01-01T00:00:00Z");
        let written = LastWritten::found(&ObjectMeta::default(), &before);
        assert_eq!(written.to_write(&status("True", "2026-01-02T00:00:00Z")), None, "it is no news");
        let flipped = status("False", "2026-01-02T00:00:00Z");
        assert_eq!(written.to_write(&flipped), Some(flipped.clone()));
        assert_eq!(LastWritten::default().to_write(&flipped), Some(flipped));
    }
}
