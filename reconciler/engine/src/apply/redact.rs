//! Takes the values of a Secret out of what others say about it. A webhook may repeat what it was shown.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reeve_renderer_objects::key::ObjectKey;
use serde_json::Value;

/// Shorter values, and shorter rests of a value that was cut off, are found in ordinary words too.
const SHORTEST: usize = 3;
const SHOWN: &str = "(a value of the Secret)";
/// How a message ends that was too long.
const CUT: &str = "...";

/// A message about an object, without the values that the object has if it is a Secret.
pub(super) fn redact(message: &str, key: &ObjectKey, object: &Value) -> String {
    if !(key.group.is_empty() && &*key.kind == "Secret") {
        return message.to_owned();
    }
    let mut values: Vec<String> =
        object.get("data").and_then(Value::as_object).into_iter().flatten().flat_map(texts).collect();
    values.retain(|value| value.len() >= SHORTEST);
    // What contains another value goes first.
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    let mut message = values.iter().fold(message.to_owned(), |message, value| message.replace(value.as_str(), SHOWN));
    // A message that was cut may end in the middle of a value.
    if let Some(rest) = message.strip_suffix(CUT).map(str::to_owned) {
        let cut = values.iter().filter_map(|value| overlap(&rest, value)).max().unwrap_or(0);
        if cut > 0 {
            message = format!("{}{SHOWN}{CUT}", &rest[..rest.len() - cut]);
        }
    }
    message
}

/// How a value may be written: as the API server keeps it, as it is meant, and as that is quoted.
fn texts((_, value): (&String, &Value)) -> Vec<String> {
    let encoded = value.as_str().unwrap_or_default();
    let decoded = STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let quoted = Value::from(decoded.as_str()).to_string();
    let quoted = quoted.trim_matches('"').to_owned();
    let mut texts = vec![encoded.to_owned(), decoded.trim().to_owned(), decoded, quoted];
    texts.dedup();
    texts
}

/// How many bytes at the end of a text begin a value.
fn overlap(text: &str, value: &str) -> Option<usize> {
    let starts = value.char_indices().map(|(at, _)| at).filter(|at| *at >= SHORTEST);
    starts.filter(|at| text.ends_with(&value[..*at])).max()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(kind: &str) -> ObjectKey {
        ObjectKey { group: "".into(), kind: kind.into(), namespace: Some("shop".into()), name: "db".into() }
    }

    #[test]
    fn the_values_of_a_secret_are_not_repeated_in_any_writing() {
        let secret = json!({ "data": { "password": STANDARD.encode("hunter2\"x"), "user": STANDARD.encode("me") } });
        let encoded = STANDARD.encode("hunter2\"x");
        for said in ["hunter2\"x", "hunter2\\\"x", &encoded] {
            let told = redact(&format!("denied: {said} is too weak for me"), &key("Secret"), &secret);
            assert_eq!(told, "denied: (a value of the Secret) is too weak for me");
        }
        assert_eq!(redact("denied: hunt...", &key("Secret"), &secret), "denied: (a value of the Secret)...");
        assert_eq!(redact("denied: hunter2", &key("ConfigMap"), &secret), "denied: hunter2");
    }
}
