use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::health::{HealthState, assess};

fn rule(current: &str) -> Result<Expressions, ExpressionError> {
    Expressions::parse("example.com/v1", "Thing", current, None, None)
}

fn judged(rules: &Expressions, status: &Value) -> (HealthState, String) {
    let object = json!({
        "apiVersion": "example.com/v1", "kind": "Thing", "metadata": { "name": "a", "generation": 3 },
        "spec": { "size": 2 }, "status": status,
    });
    let health = assess(&object, std::slice::from_ref(rules), Timestamp::UNIX_EPOCH);
    (health.state, health.message)
}

#[test]
fn an_expression_sees_the_fields_of_the_object_and_the_whole() {
    let rules = rule(
        "status.conditions.filter(c, c.type == 'Synced').all(c, c.status == 'True' && c.seen == metadata.generation)
        && self.spec.size == status.size && has(status.conditions)",
    )
    .unwrap();
    let synced = |status: &str| json!({ "size": 2, "conditions": [{ "type": "Synced", "status": status, "seen": 3 }] });

    assert_eq!(judged(&rules, &synced("True")).0, HealthState::Current);
    let waits = (HealthState::InProgress, "the expression current is not true yet".to_owned());
    assert_eq!(judged(&rules, &synced("False")), waits);
}

#[test]
fn in_progress_is_asked_before_failed_and_failed_before_current() {
    let all = |in_progress, failed, current| {
        let rules = Expressions::parse("example.com/v1", "Thing", current, Some(in_progress), Some(failed)).unwrap();
        judged(&rules, &json!({})).0
    };

    assert_eq!(all("true", "true", "true"), HealthState::InProgress);
    assert_eq!(all("false", "true", "true"), HealthState::Failed);
    assert_eq!(all("false", "false", "true"), HealthState::Current);
    assert_eq!(all("false", "false", "false"), HealthState::InProgress);
}

#[test]
fn what_is_not_there_yet_has_not_failed() {
    let rules =
        Expressions::parse("example.com/v1", "Thing", "status.ready", None, Some("status.phase == 'Failed'")).unwrap();
    let waits = (HealthState::InProgress, "the expression current waits: there is no ready".to_owned());
    assert_eq!(judged(&rules, &json!({})), waits);
    assert_eq!(judged(&rules, &json!({ "ready": true })).0, HealthState::Current);
    assert_eq!(judged(&rules, &json!({ "ready": false, "phase": "Failed" })).0, HealthState::Failed);
}

#[test]
fn what_is_not_there_yet_is_waited_for_and_named() {
    let cases = [
        ("status.phase == 'Ready'", "the expression current waits: there is no phase"),
        ("nothing.here", "the expression current waits: there is no nothing"),
        ("status.list[3] == 1", "the expression current waits: a list is too short"),
    ];
    for (text, message) in cases {
        let waits = (HealthState::InProgress, message.to_owned());
        assert_eq!(judged(&rule(text).unwrap(), &json!({ "list": [] })), waits, "{text}");
    }
}

#[test]
fn an_answer_that_is_not_true_or_false_and_a_wrong_type_are_mistakes() {
    for text in ["status.phase", "1 + 1", "status.phase > 1", "size(status.phase)"] {
        let (state, message) = judged(&rule(text).unwrap(), &json!({ "phase": "hunter2" }));
        assert_eq!(state, HealthState::Failed, "{text}: {message}");
        assert!(message.starts_with("the expression current for Thing: "), "{message}");
        assert!(!message.contains("hunter2"), "{message}");
    }
}

#[test]
fn an_expression_is_only_for_its_own_version_and_kind() {
    let rules = [rule("false").unwrap()];
    let other = json!({ "apiVersion": "example.com/v2", "kind": "Thing", "metadata": { "name": "a" } });

    assert!(assess(&other, &rules, Timestamp::UNIX_EPOCH).is_current());
}

#[test]
fn an_object_that_is_going_away_is_not_asked() {
    let object = json!({
        "apiVersion": "example.com/v1", "kind": "Thing", "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" },
    });

    let health = assess(&object, &[rule("true").unwrap()], Timestamp::UNIX_EPOCH);

    assert_eq!(health.state, HealthState::Terminating);
}

#[test]
fn what_is_not_cel_is_refused_with_its_place() {
    let error = rule("status.phase ==").unwrap_err().to_string();
    assert!(error.starts_with("the expression current for Thing is not CEL: ") && error.contains("line 1"), "{error}");
    assert!(!error.contains('\n'), "{error}");
    assert!(rule("").is_err());
    assert!(Expressions::parse("", "Thing", "true", None, None).is_err());
}

#[test]
fn what_could_grow_without_bound_is_refused() {
    let refused = [
        ("[1].map(a, self).map(b, [1, 2].map(c, b)) == []", "may not use map"),
        ("status.x.map(a, a > 1, self) == []", "may not use map"),
        ("[status] == []", "constants only"),
        ("{'a': status} == {}", "constants only"),
        ("status.x.matches(status.pattern)", "matches needs a constant"),
        ("status.x.matches('(a{1000}){1000}')", "matches needs a constant"),
        ("status.a.all(a, status.a.all(b, status.a.all(c, true)))", "loops are nested more than 2 deep"),
        ("status.x.join(',') == ''", "there is no function join"),
        ("example.Thing{a: 1} == 1", "objects cannot be made"),
    ];
    for (text, why) in refused {
        let error = rule(text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
    let long = format!("true || '{}' == ''", "x".repeat(1000));
    assert!(matches!(rule(&long), Err(ExpressionError::TooLong { length: 1016, .. })), "{:?}", rule(&long).err());
}

#[test]
fn nesting_does_not_overflow_the_stack() {
    let deep = [
        "(".repeat(490) + "1" + &")".repeat(490),
        "[".repeat(490) + &"]".repeat(490),
        "{1:".repeat(300) + "1" + &"}".repeat(300),
        "!".repeat(990) + "true",
        "-".repeat(990) + "1",
        "1".to_owned() + &"+1".repeat(490),
        "a".to_owned() + &".b".repeat(490),
        "a".to_owned() + &"[0]".repeat(320),
        "true".to_owned() + &"?true:true".repeat(99),
        "true".to_owned() + &"&&true".repeat(160),
        "size(".repeat(190),
        "a".to_owned() + &".all(b,b".repeat(110) + &")".repeat(110),
        "a.b(".repeat(240),
    ];
    for text in deep {
        // Whether it is refused or judged does not matter: it must come to an end.
        if let Ok(rules) = rule(&text) {
            judged(&rules, &json!({}));
        }
    }
}

#[test]
fn a_loop_over_a_large_object_is_refused_before_it_runs() {
    let rules = rule("status.items.all(a, status.items.exists(b, a == b))").unwrap();
    let items = |count: usize| json!({ "items": (0..count).collect::<Vec<_>>() });

    assert_eq!(judged(&rules, &items(100)).0, HealthState::Current);
    let (state, message) = judged(&rules, &items(100_000));
    assert_eq!(state, HealthState::Failed);
    assert!(message.ends_with("it would take too long on an object of this size"), "{message}");
}

#[test]
fn a_large_object_is_judged_by_the_small_part_that_is_asked_for() {
    let rules = rule("status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')").unwrap();
    let object = json!({
        "apiVersion": "example.com/v1", "kind": "Thing", "spec": { "items": (0..200_000).collect::<Vec<_>>() },
        "status": { "conditions": [{ "type": "Ready", "status": "True" }] },
    });

    assert!(assess(&object, &[rules], Timestamp::UNIX_EPOCH).is_current());
}

#[test]
fn rules_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Expressions>();
}

#[test]
fn rules_are_the_same_if_they_are_written_alike() {
    let [good, great, again] = ["good", "great", "good"].map(|mood| rule(&format!("status.mood == '{mood}'")).unwrap());
    let one = std::slice::from_ref;
    assert!(Expressions::differing(one(&good), one(&again)).is_empty());
    assert_eq!(Expressions::differing(one(&good), one(&great)), [&good, &great]);
    assert_eq!(Expressions::differing(&[], one(&good)), [&good]);
}
