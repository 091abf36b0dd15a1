//! What is sent for an object: the object as Git has it, marked with its content, without what others may decide.
//!
//! First [`with_content_and`], which depends on Git alone, then [`without`], which depends on what lives: so the mark
//! stays the same as long as Git does. Pure, as [`options()`] and [`delegated()`] are.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reeve_crds::ObjectRef;
use reeve_crds::annotation::CONTENT;
use serde_json::{Map, Value};

use crate::fields::LAST_APPLIED;
use crate::hash;

mod delegated;
mod ignored;
mod options;
mod pointer;
mod routes;

pub use delegated::delegated;
pub use ignored::{ignored_by, without};
pub use options::{Apply, Options, OptionsError, Prune, options};
pub use pointer::{Pointer, PointerError};

/// Fields of the metadata that the API server alone writes.
const SERVERS_OWN: [&str; 6] =
    ["creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"];

/// Names the content of an object as 32 hexadecimal digits. A mark that it carries does not count.
pub fn content_hash(desired: &Value) -> String {
    hash::of(&settled(desired))
}

/// The object with its content's name in the annotation `reeve.dev/content`.
pub fn with_content(desired: &Value) -> Value {
    let object = settled(desired);
    let name = hash::of(&object);
    marked(object, name)
}

/// As [`with_content`], but named also by these: the same object made for something else, or of which something else is
/// left to others, is another.
pub fn with_content_and(desired: &Value, rest: impl IntoIterator<Item = String>) -> Value {
    let object = settled(desired);
    let name = hash::of(&object);
    let all: Vec<String> = std::iter::once(name.clone()).chain(rest).collect();
    let name = if all.len() > 1 { hash::of(&Value::from(all)) } else { name };
    marked(object, name)
}

fn marked(mut object: Value, name: String) -> Value {
    let metadata = child(&mut object, "metadata").and_then(|metadata| child(metadata, "annotations"));
    if let Some(Value::Object(annotations)) = metadata {
        annotations.insert(CONTENT.to_owned(), Value::String(name));
    }
    object
}

/// An object as it is meant: without what the API server alone writes, its status, and the marks of whoever applied it.
pub fn meant(object: &Value) -> Value {
    let mut object = settled(object);
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        let annotations = metadata.get_mut("annotations").and_then(Value::as_object_mut);
        let is_empty = annotations.is_some_and(|annotations| {
            annotations.remove(LAST_APPLIED);
            annotations.is_empty()
        });
        if is_empty {
            metadata.remove("annotations");
        }
    }
    object
}

/// Which object it is.
pub fn object_ref(object: &Value) -> ObjectRef {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    ObjectRef {
        group: group(&text("/apiVersion")).to_owned(),
        kind: text("/kind"),
        namespace: text("/metadata/namespace"),
        name: text("/metadata/name"),
    }
}

fn group(api_version: &str) -> &str {
    api_version.rsplit_once('/').map_or("", |(group, _)| group)
}

/// Without an older mark, and as the API server will keep it.
fn settled(desired: &Value) -> Value {
    let mut object = desired.clone();
    if let Some(Value::Object(annotations)) = object.pointer_mut("/metadata/annotations") {
        annotations.remove(CONTENT);
    }
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        for field in SERVERS_OWN {
            metadata.remove(field);
        }
    }
    settle_secret(&mut object);
    object
}

/// `stringData` becomes `data` at once. The API server does the same but keeps `stringData` as what we own, and then
/// nobody would see that somebody changed `data`.
fn settle_secret(object: &mut Value) {
    if object.get("apiVersion").and_then(Value::as_str) != Some("v1")
        || object.get("kind").and_then(Value::as_str) != Some("Secret")
    {
        return;
    }
    let is_text = |value: &Value| matches!(value, Value::Object(texts) if texts.values().all(Value::is_string));
    if !object.get("stringData").is_some_and(is_text) {
        return;
    }
    let Some(Value::Object(texts)) = object.as_object_mut().and_then(|fields| fields.remove("stringData")) else {
        return;
    };
    let Some(Value::Object(data)) = child(object, "data") else { return };
    for (key, text) in texts {
        data.insert(key, Value::String(STANDARD.encode(text.as_str().unwrap_or_default())));
    }
}

/// The map of that name, made if it is not there.
fn child<'a>(parent: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    let fields = parent.as_object_mut()?;
    let found = fields.entry(name).or_insert(Value::Null);
    if found.is_null() {
        *found = Value::Object(Map::new());
    }
    Some(found)
}

#[cfg(test)]
mod tests;
