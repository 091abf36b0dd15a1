//! Small pieces that every kind's schema is made of: size limits, admission rules, enums with their meanings.
//!
//! It owns what goes into a schema by hand; what is taken out again is in `definitions`.

use schemars::Schema;
use serde_json::{Value, json};

/// Longest name of a Kubernetes object (a DNS subdomain).
pub(crate) const OBJECT_NAME: u32 = 253;
/// Longest name of a namespace, component, plugin, channel or wave (a DNS label).
pub(crate) const LABEL: u32 = 63;
/// Longest text for people: a message, an error, a commit's subject.
pub(crate) const MESSAGE: u32 = 1024;
/// Longest path of a file or a field.
pub(crate) const PATH: u32 = 1024;
/// Longest digest or commit id, with its algorithm in front.
pub(crate) const DIGEST: u32 = 128;
/// Longest revision as people read it: a ref and a commit.
pub(crate) const REVISION: u32 = 320;
/// Longest version of a chart, a sidecar or a server.
pub(crate) const VERSION: u32 = 128;
/// Longest word of a programme: a reason, a rule's number, a summary such as `3/4`.
pub(crate) const WORD: u32 = 128;

/// What the API server says when a name in a spec is no DNS label.
pub(crate) const LABEL_MESSAGE: &str = "write a name of lower case letters, digits and dashes that starts and ends with a letter or digit, such as payments-2";

/// One admission rule: a CEL expression, and what to write instead when it does not hold.
pub(crate) fn rule(expression: &str, message: &str) -> Value {
    json!({ "rule": expression, "message": message })
}

/// The rule for a name that becomes a Kubernetes name or label value.
pub(crate) fn label_rule() -> Value {
    rule("self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')", LABEL_MESSAGE)
}

/// The rule for a file or a folder of the fleet repository.
pub(crate) fn relative_path() -> Value {
    rule(
        "!self.startsWith('/') && !self.matches('(^|/)[.][.]?(/|$)')",
        "write a path relative to the root of the repository without . or .., such as clusters/eu",
    )
}

/// The rule for the name of a namespace.
pub(crate) fn namespace_rule() -> Value {
    rule(
        "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
        "write the name of a namespace: lower case letters, digits and dashes, such as shop",
    )
}

/// The rule for a field that never changes once it is set; `instead` says how to get what was wanted.
///
/// For an optional field the parent needs a rule of its own: this one is not asked when the field is removed.
pub(crate) fn immutable(instead: &str) -> Value {
    rule("self == oldSelf", instead)
}

/// Makes a documented enum a closed set of strings and keeps the meaning of each value.
///
/// The generator drops the documentation of variants, so it travels in `title` until `definitions` appends it to
/// the description of the field.
pub(crate) fn closed_set(schema: &mut Schema) {
    let Some(variants) = schema.get("oneOf").and_then(Value::as_array).cloned() else {
        return;
    };
    let values: Vec<Value> = variants.iter().filter_map(|v| v.get("const").cloned()).collect();
    let meanings: Vec<String> = variants.iter().filter_map(meaning).collect();
    let object = schema.ensure_object();
    object.remove("oneOf");
    object.insert("type".to_owned(), json!("string"));
    object.insert("enum".to_owned(), Value::Array(values));
    object.insert("title".to_owned(), json!(meanings.join("\n\n")));
}

fn meaning(variant: &Value) -> Option<String> {
    let name = variant.get("const")?.as_str()?;
    let text = variant.get("description")?.as_str()?;
    Some(format!("{name}: {text}"))
}
