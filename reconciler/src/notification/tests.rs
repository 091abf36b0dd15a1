use reeve_crds::Reason;

use super::*;

fn notification(body: NotificationBody) -> Notification {
    Notification { namespace: "fleet".into(), source: "shop".into(), runtime: Some("shop-eu".into()), body }
}

fn address() -> Address {
    Address { url: Secret::new("https://hooks.acme/x".to_owned()), token: Some(Secret::new("t0ken".to_owned())) }
}

#[test]
fn a_cloud_event_says_who_and_what_in_its_headers_and_why_in_its_body() {
    let failed = notification(NotificationBody::Failed { reason: Reason::Conflict, message: "web: taken".into() });
    let request = request(&failed, NotificationFormat::CloudEvent, &address(), "1", Timestamp::UNIX_EPOCH).unwrap();
    let header = |name: &str| request.headers()[name].to_str().unwrap();
    assert_eq!(header("ce-type"), "dev.reeve.failed");
    assert_eq!(header("ce-source"), "/namespaces/fleet/gitsources/shop");
    assert_eq!(header("ce-subject"), "shop-eu");
    assert_eq!((header("ce-specversion"), header("ce-id"), header("authorization")), ("1.0", "1", "Bearer t0ken"));
    let body: Value = serde_json::from_slice(request.body()).unwrap();
    assert_eq!(
        body,
        json!({
            "event": "Failed", "namespace": "fleet", "source": "shop", "runtime": "shop-eu", "reason": "Conflict",
            "message": "web: taken", "time": "1970-01-01T00:00:00Z",
        })
    );
}

#[test]
fn slack_gets_one_text_without_marks_of_its_own_in_what_others_wrote() {
    let held =
        notification(NotificationBody::Rejected { revision: "main@1".into(), message: "<!channel> & co".into() });
    let request = request(&held, NotificationFormat::Slack, &address(), "1", Timestamp::UNIX_EPOCH).unwrap();
    let body: Value = serde_json::from_slice(request.body()).unwrap();
    assert_eq!(body["text"], "*Rejected* runtime shop-eu: main@1 is refused: &lt;!channel&gt; &amp; co");
}

#[test]
fn neither_the_address_nor_the_token_shows_in_a_debug_line() {
    assert!(!format!("{:?}", address()).contains("acme"));
    let failed = notification(NotificationBody::Recovered { message: "x".into() });
    let request = request(&failed, NotificationFormat::Slack, &address(), "1", Timestamp::UNIX_EPOCH).unwrap();
    assert!(!format!("{:?}", request.headers()).contains("t0ken"));
}

#[test]
fn only_what_was_asked_for_is_told() {
    let notification: Receiver =
        serde_json::from_value(json!({ "name": "a", "secretRef": { "name": "s" }, "events": ["Failed"] })).unwrap();
    assert!(wants(
        &notification,
        &NotificationBody::Failed { reason: reeve_crds::Reason::Other, message: String::new() }
    ));
    assert!(!wants(&notification, &NotificationBody::Recovered { message: String::new() }));
}
