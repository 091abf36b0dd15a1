use kube::core::response::{StatusCause, StatusDetails};
use reeve_crds::Reason;
use serde_json::json;

use super::*;

fn api(status: serde_json::Value) -> ApiError {
    let status: Status = serde_json::from_value(status).unwrap();
    ApiError::of(&kube::Error::Api(status.boxed()))
}

fn invalid(causes: &[(&str, &str, &str)]) -> ApiError {
    let cause = |(reason, field, message): &(&str, &str, &str)| StatusCause {
        reason: (*reason).to_owned(),
        message: (*message).to_owned(),
        field: (*field).to_owned(),
    };
    let details = StatusDetails {
        name: "x".to_owned(),
        group: String::new(),
        kind: "X".to_owned(),
        uid: String::new(),
        causes: causes.iter().map(cause).collect(),
        retry_after_seconds: 0,
    };
    let status = Status::failure("X \"x\" is invalid: everything", "Invalid").with_code(422).with_details(details);
    ApiError::of(&kube::Error::Api(status.boxed()))
}

/// Code, reason, message, what it means, whether it passes, whether the server is down.
#[test]
fn each_answer_has_its_meaning() {
    use Reason::{
        AlreadyExists, Conflict, Forbidden, Gone, Invalid, MissingKind, Other, QuotaExceeded, RefusedByWebhook,
        StorageFull, Throttled, Timeout, TooLarge, Unauthorized, Unavailable, WebhookUnavailable,
    };
    let table = [
        (401, "Unauthorized", "Unauthorized", Unauthorized, true, false),
        (403, "Forbidden", "configmaps \"q\" is forbidden: User \"x\" cannot patch", Forbidden, false, false),
        (403, "Forbidden", "pods \"a\" is forbidden: exceeded quota: q, requested: pods=1", QuotaExceeded, true, false),
        (403, "", "admission webhook \"a.b\" denied the request: no", RefusedByWebhook, false, false),
        (400, "", "admission webhook \"a.b\" denied the request: no", RefusedByWebhook, false, false),
        (
            500,
            "InternalError",
            "Internal error occurred: failed calling webhook \"a.b\"",
            WebhookUnavailable,
            true,
            false,
        ),
        (500, "", "conversion webhook for a/v1, Kind=B failed: Post", WebhookUnavailable, true, false),
        (404, "NotFound", "the server could not find the requested resource", MissingKind, true, false),
        (404, "Failed to parse error data", "404 page not found", MissingKind, true, false),
        (409, "AlreadyExists", "configmaps \"cm\" already exists", AlreadyExists, true, false),
        (409, "Conflict", "the object has been modified", Conflict, true, false),
        (410, "Expired", "too old resource version", Gone, true, false),
        (413, "RequestEntityTooLarge", "limit is 3145728", TooLarge, false, false),
        (500, "", "etcdserver: request is too large", TooLarge, false, false),
        (500, "", "etcdserver: mvcc: database space exceeded", StorageFull, true, true),
        (500, "", "etcdserver: request timed out", Timeout, true, true),
        (500, "", "failed to create typed patch object (/x): .spec.y: field not declared", Invalid, false, false),
        (400, "BadRequest", "cannot be handled as a Deployment", Invalid, false, false),
        (429, "TooManyRequests", "Too many requests", Throttled, true, false),
        (503, "ServiceUnavailable", "apiserver not ready", Unavailable, true, true),
        (503, "Failed to parse error data", "service unavailable", Unavailable, true, false),
        (502, "Failed to parse error data", "<html>", Unavailable, true, true),
        (504, "Timeout", "request did not complete within requested timeout", Timeout, true, true),
        (500, "InternalError", "boom", Other, true, false),
        (418, "", "teapot", Other, false, false),
    ];
    for (code, reason, message, means, transient, server_down) in table {
        let api_error = api(json!({ "code": code, "reason": reason, "message": message }));
        let read = (api_error.reason, api_error.transient, api_error.server_down);
        assert_eq!(read, (means, transient, server_down), "{code} {message}");
    }
}

#[test]
fn the_wait_that_the_server_asks_for_is_told() {
    let asked = json!({ "code": 429, "reason": "TooManyRequests", "details": { "retryAfterSeconds": 7 } });

    assert_eq!(api(asked).retry_after, Some(Duration::from_secs(7)));
    assert_eq!(api(json!({ "code": 429 })).retry_after, None);
}

#[test]
fn a_missing_object_is_told_from_a_missing_namespace_and_a_missing_kind() {
    let missing = |details| api(json!({ "code": 404, "reason": "NotFound", "details": details })).reason;

    assert_eq!(missing(json!({ "name": "nope", "kind": "namespaces" })), Reason::MissingNamespace);
    assert_eq!(missing(json!({ "name": "nope", "kind": "configmaps" })), Reason::Gone);
    assert_eq!(missing(json!({})), Reason::MissingKind);
}

#[test]
fn only_texts_that_say_so_are_immutable() {
    let immutable = [
        ("FieldValueInvalid", "Invalid value: {\"matchLabels\":{\"app\":\"b\"}}: field is immutable"),
        ("FieldValueInvalid", "Invalid value: [\"None\"]: may not change once set"),
        ("FieldValueInvalid", "Invalid value: {\"Name\":\"b\"}: cannot change roleRef"),
        ("FieldValueForbidden", "Forbidden: updates to provisioner are forbidden."),
        ("FieldValueForbidden", "Forbidden: may not be changed in an update."),
        ("FieldValueForbidden", "Forbidden: field is immutable when `immutable` is set"),
    ];
    for (reason, message) in immutable {
        assert_eq!(invalid(&[(reason, "spec", message)]).reason, Reason::Immutable, "{message}");
    }
    let merely_invalid = [
        ("FieldValueInvalid", "Invalid value: {\"app\":\"b\"}: `selector` does not match template `labels`"),
        ("FieldValueInvalid", "Invalid value: \"immutable\": must be one of these"),
        ("FieldValueInvalid", "Invalid value: {\"text\":\"x: field is immutable\"}: must be short"),
        ("FieldValueRequired", "Required value: immutable fields need a value"),
        ("FieldValueForbidden", "Forbidden: may not be specified for non-apply patch"),
        ("FieldValueForbidden", "Forbidden: field can not be less than status.capacity"),
    ];
    for (reason, message) in merely_invalid {
        assert_eq!(invalid(&[(reason, "spec", message)]).reason, Reason::Invalid, "{message}");
    }
    assert_eq!(invalid(&[]).reason, Reason::Invalid);
}

#[test]
fn what_somebody_wrote_into_an_object_is_not_taken_for_the_servers_word() {
    let api_error = api(json!({
        "code": 422, "reason": "Invalid", "message": "X \"x\" is invalid: etcdserver: mvcc: database space exceeded",
        "details": { "causes": [{ "reason": "FieldValueInvalid", "message": "Invalid value: 1: no", "field": "spec.x" }] },
    }));

    assert_eq!((api_error.reason, api_error.server_down), (Reason::Invalid, false));
}

#[test]
fn an_object_with_another_mistake_in_it_is_not_recreated() {
    let api_error = invalid(&[
        ("FieldValueInvalid", "spec.selector", "Invalid value: {}: field is immutable"),
        ("FieldValueInvalid", "spec.replicas", "Invalid value: -1: must be greater than or equal to 0"),
    ]);

    assert_eq!(api_error.reason, Reason::Invalid);
    assert_eq!(
        api_error.message,
        "spec.selector: field is immutable; spec.replicas: must be greater than or equal to 0"
    );
}

#[test]
fn messages_hold_no_values_of_fields() {
    let api_error = invalid(&[
        (
            "FieldValueInvalid",
            "spec.template",
            "Invalid value: {\"Env\":[{\"Value\":\"hunter2: x\"}]}: field is immutable",
        ),
        ("FieldValueForbidden", "spec", "Forbidden: spec is immutable\n@@ -1 +1 @@\n+ \"Value\": \"hunter2\""),
        ("FieldValueDuplicate", "spec.env[1]", "Duplicate value: \"hunter2\""),
        ("FieldValueNotSupported", "spec.type", "Unsupported value: \"hunter2\": supported values: \"A\", \"B\""),
        ("FieldValueInvalid", "spec.x", "Invalid value: hunter2: must not be so"),
    ]);

    assert_eq!(
        api_error.message,
        "spec.template: field is immutable; spec: spec is immutable; spec.env[1]: duplicate value; and 2 more"
    );
    let rest = invalid(&[
        ("FieldValueNotSupported", "spec.type", "Unsupported value: \"hunter2\": supported values: \"A\", \"B\""),
        ("FieldValueInvalid", "spec.x", "Invalid value: hunter2: must not be so"),
    ]);
    assert_eq!(rest.message, "spec.type: supported values: \"A\", \"B\"; spec.x: must not be so");
}

#[test]
fn messages_that_name_no_fields_beside_themselves_hold_no_values_either() {
    let typed = "failed to create typed patch object (shop/web; /v1, Kind=Secret)";
    let list = "expected string, got &value.valueUnstructured{Value:[]interface {}{\"hunter2\"}}";
    for (said, told) in [
        (format!("{typed}: .stringData.a: {list}"), format!("{typed}: .stringData.a: expected string")),
        (
            format!("{typed}: errors:\n  .stringData.a: {list}\n  .stringData.b: {list}\n"),
            format!("{typed}: .stringData.a: expected string; .stringData.b: expected string"),
        ),
        (
            "ParseInt: parsing \"hunter2\": invalid syntax".to_owned(),
            "ParseInt: parsing the value: invalid syntax".to_owned(),
        ),
        (
            "Secret is invalid: data: Invalid value: \"hunter2\": must not".to_owned(),
            "Secret is invalid: data: must not".to_owned(),
        ),
        ("namespaces \"shop\" not found".to_owned(), "namespaces \"shop\" not found".to_owned()),
    ] {
        assert_eq!(api(json!({ "code": 500, "message": said })).message, told);
    }
}

#[test]
fn messages_are_one_short_line_without_credentials() {
    let long = format!("first https://user:hunter2@host/ {}\nsecond", "x".repeat(1000));

    let api_error = api(json!({ "code": 500, "message": long }));

    assert!(api_error.message.starts_with("first https://[redacted]@host/"), "{}", api_error.message);
    assert!(api_error.message.ends_with("x...") && api_error.message.chars().count() < 450, "{}", api_error.message);
}

#[test]
fn a_conflict_with_an_applier_names_it_and_does_not_pass_by_itself() {
    let api_error = api(json!({ "code": 409, "reason": "Conflict", "message": "Apply failed", "details": { "causes": [
        { "reason": "FieldManagerConflict", "message": "conflict with \"flux\"", "field": ".data.a" },
    ] } }));

    assert_eq!((api_error.reason, api_error.transient), (Reason::Conflict, false));
    assert_eq!(api_error.message, "data.a is applied by flux");
}

#[test]
fn a_connection_that_fails_a_slow_one_and_our_own_gate_are_told_apart() {
    let io = |kind| kube::Error::Service(Box::new(std::io::Error::new(kind, "no luck")));

    let refused = ApiError::of(&io(std::io::ErrorKind::ConnectionRefused));
    assert_eq!((refused.reason, refused.server_down), (Reason::Unreachable, true));
    let slow = ApiError::of(&io(std::io::ErrorKind::TimedOut));
    assert_eq!((slow.reason, slow.server_down), (Reason::Timeout, true));
    let gate = ApiError::of(&kube::Error::Service(Box::new(NotLeader)));
    assert_eq!((gate.reason, gate.transient, gate.server_down), (Reason::NotLeader, true, false));
    let wrapped = ApiError::of(&kube::Error::Service(Box::new(std::io::Error::other(NotLeader))));
    assert_eq!(wrapped.reason, Reason::NotLeader);
}

#[test]
fn what_to_do_about_a_refused_object_is_never_cut_off() {
    let hint = format!("{} set keda to have more replicas than wake", "a rule that goes on ".repeat(11));
    let value = format!("Invalid value: {{\"a\": 1}}: {hint}");
    let both = [("FieldValueInvalid", "spec", value.as_str()), ("FieldValueInvalid", "spec.replicas", value.as_str())];
    let message = invalid(&both).message;
    assert_eq!(message, format!("spec: {hint}; and 1 more"));
}
