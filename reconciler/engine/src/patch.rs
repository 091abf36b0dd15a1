//! Requests about Reeve's own kinds: statuses as JSON patches, objects as merge patches.

use http::Method;
use http::header::CONTENT_TYPE;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::FIELD_MANAGER;
use crate::api_error::ApiError;
use crate::cluster::JSON_PATCH;

/// Makes the status of an object this one, whatever it was. The version of the object then; none if it is gone.
pub async fn patch_status<K: Resource + Clone>(
    api: &Api<K>,
    name: &str,
    status: &Value,
) -> Result<Option<u64>, ApiError> {
    #[derive(Deserialize)]
    struct Answer {
        metadata: ObjectMeta,
    }
    let change = json!([{ "op": "add", "path": "/status", "value": status }]);
    match send::<K, Answer>(api, Method::PATCH, &format!("/{name}/status"), JSON_PATCH, &change).await {
        Ok(answer) => Ok(Some(version_of(&answer.metadata))),
        // Whoever deleted it wants to know no more.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(ApiError::of(&error)),
    }
}

/// The version of an object, which grows with each write.
pub fn version_of(metadata: &ObjectMeta) -> u64 {
    metadata.resource_version.as_deref().and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Sends something of this type below the objects of a kind, and reads of the answer what is wanted.
pub(crate) async fn send<K: Resource + Clone, A: DeserializeOwned>(
    api: &Api<K>,
    method: Method,
    path: &str,
    content_type: &str,
    body: &Value,
) -> Result<A, kube::Error> {
    let uri = format!("{}{path}?fieldManager={FIELD_MANAGER}", api.resource_url());
    let request = http::Request::builder().method(method).uri(uri).header(CONTENT_TYPE, content_type);
    let request = request.body(body.to_string().into_bytes()).map_err(kube::Error::HttpError)?;
    api.clone().into_client().request(request).await
}

/// A status or a spec as data; nothing is an empty object.
pub fn to_json(value: &impl Serialize) -> Value {
    match serde_json::to_value(value) {
        Ok(Value::Null) | Err(_) => json!({}),
        Ok(value) => value,
    }
}
