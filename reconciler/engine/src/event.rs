//! Kubernetes Events: one for each thing that happened, each with its own words.
//!
//! Not through a recorder that counts what looks alike: a second drift by someone else would keep the words of the first.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use reeve_crds::Reason;

use crate::FIELD_MANAGER;
use crate::text::truncate;

/// Longest note that the API server takes, less some room.
const NOTE: usize = 1000;

/// Something that happened to an object.
#[derive(Clone, Debug)]
pub struct EventDraft {
    /// Whether someone should look.
    pub warning: bool,
    /// In one word.
    pub reason: Reason,
    /// In a sentence.
    pub note: String,
    /// When.
    pub at: Timestamp,
}

/// Tells what happened to an object. One that nobody hears is no reason to try again.
pub async fn publish(client: Client, about: ObjectReference, draft: &EventDraft) {
    let namespace = about.namespace.clone().unwrap_or_default();
    let api: Api<Event> = Api::namespaced(client, &namespace);
    let event = event(about, draft);
    if let Err(error) = api.create(&PostParams::default(), &event).await {
        tracing::debug!("cannot write an event: {}", crate::api_error::ApiError::of(&error).message);
    }
}

fn event(about: ObjectReference, draft: &EventDraft) -> Event {
    Event {
        metadata: ObjectMeta {
            generate_name: Some(format!("{}-", about.name.as_deref().unwrap_or("reeve"))),
            namespace: about.namespace.clone(),
            ..ObjectMeta::default()
        },
        action: Some("Reconcile".to_owned()),
        event_time: Some(MicroTime(draft.at)),
        note: Some(truncate(&draft.note, NOTE)),
        reason: Some(draft.reason.to_string()),
        regarding: Some(about),
        reporting_controller: Some(FIELD_MANAGER.to_owned()),
        reporting_instance: Some(FIELD_MANAGER.to_owned()),
        type_: Some(if draft.warning { "Warning" } else { "Normal" }.to_owned()),
        ..Event::default()
    }
}
