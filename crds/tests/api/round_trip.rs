//! Reading and writing again: nothing is lost, and what a newer version wrote is no error.

use reeve_crds::definitions;
use serde_json::{Map, Value, json};

use super::schemas;
use super::subject;

/// Fields that exclude others which the samples have.
const EXCLUSIVE: [&str; 7] = [
    "spec.ref.branch",
    "spec.ref.tag",
    "spec.ref.commit",
    "spec.ref.name",
    "spec.answers[].pathPrefix",
    "spec.wakeWith.rules",
    "spec.selector",
];

#[test]
fn a_whole_object_is_written_as_it_was_read() {
    for subject in subject::all() {
        let mut object = subject.object("whole", &subject.spec);
        if !subject.status.is_null() {
            object["status"] = subject.status.clone();
        }
        let written = (subject.round_trip)(object.clone()).unwrap_or_else(|e| panic!("{}: {e}", subject.resource.kind));
        assert_eq!(written, object, "{}", subject.resource.kind);
    }
}

#[test]
fn the_samples_fill_every_field() {
    for (subject, crd) in subject::all().into_iter().zip(definitions::all().unwrap()) {
        let mut object = json!({ "spec": subject.spec, "status": subject.status });
        schemas::walk(&schemas::schema(&crd), "", &mut |at, _| {
            let is_below = |field: &&str| {
                at.strip_prefix(*field).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            };
            let excluded = at.contains("{}") || EXCLUSIVE.iter().any(is_below);
            let given = at.is_empty() || schemas::find_mut(&mut object, at).is_some();
            assert!(given || excluded, "the sample of {} lacks {at}", subject.resource.kind);
        });
    }
}

#[test]
fn a_status_with_fields_and_words_of_a_newer_version_is_read() {
    for (subject, crd) in subject::all().into_iter().zip(definitions::all().unwrap()) {
        let schema = schemas::schema(&crd);
        let mut object = json!({ "status": subject.status });
        schemas::walk(&schema, "", &mut |at, schema| {
            let is_enum = schema.get("enum").is_some_and(Value::is_array);
            if at.starts_with("status") && is_enum {
                *schemas::find_mut(&mut object, at).unwrap() = "FromTheFuture".into();
            }
        });
        let mut whole = subject.object("future", &subject.spec);
        if !subject.status.is_null() {
            whole["status"] = from_the_future(object["status"].take());
        }
        let read = (subject.round_trip)(whole);
        assert!(read.is_ok(), "{}: {}", subject.resource.kind, read.unwrap_err());
    }
}

#[test]
fn an_object_of_an_older_version_without_newer_fields_is_read() {
    for subject in subject::all() {
        let mut object = subject.object("old", &subject.spec);
        object["status"] = json!({});
        let read = (subject.round_trip)(object);
        assert!(read.is_ok(), "{}: {}", subject.resource.kind, read.unwrap_err());
    }
}

/// Adds a field that nobody knows to every object.
fn from_the_future(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Map<String, Value> =
                fields.into_iter().map(|(name, field)| (name, from_the_future(field))).collect();
            fields.insert("fromTheFuture".to_owned(), json!({ "who": "knows" }));
            Value::Object(fields)
        }
        Value::Array(items) => items.into_iter().map(from_the_future).collect(),
        plain => plain,
    }
}
