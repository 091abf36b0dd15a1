//! Values from the command line: paths with dots, and JSON or text.

use serde_json::{Map, Value};

use crate::cli::failure::Failure;

/// What was given, and what it makes.
#[derive(Debug)]
pub(super) struct Given {
    /// All of it in one map; a later one wins over an earlier.
    pub(super) values: Value,
    arguments: Vec<String>,
}

impl Default for Given {
    fn default() -> Self {
        Self { values: Value::Object(Map::new()), arguments: Vec::new() }
    }
}

impl Given {
    pub(super) fn parse(given: &[String]) -> Result<Self, Failure> {
        Ok(Self { values: parse(given)?, arguments: given.to_vec() })
    }

    /// The argument that set a value or something in it: the last, since that one won.
    pub(super) fn argument_of(&self, key: &str) -> Option<&str> {
        let covers =
            |path: &str| key.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        let sets = |argument: &&String| argument.split_once('=').is_some_and(|(path, _)| covers(path));
        self.arguments.iter().rev().find(sets).map(String::as_str)
    }
}

fn parse(given: &[String]) -> Result<Value, Failure> {
    let mut values = Value::Object(Map::new());
    for text in given {
        let (path, value) =
            text.split_once('=').filter(|(path, _)| path.split('.').all(|key| !key.is_empty())).ok_or_else(|| {
                Failure::unknown(format!("`{text}` sets no value"), Some("write it like --set image.tag=v1".to_owned()))
            })?;
        let value = serde_json::from_str(value).unwrap_or_else(|_not_json| Value::String(value.to_owned()));
        set(&mut values, path, value);
    }
    Ok(values)
}

fn set(values: &mut Value, path: &str, value: Value) {
    let (key, rest) = path.split_once('.').map_or((path, None), |(key, rest)| (key, Some(rest)));
    if !values.is_object() {
        *values = Value::Object(Map::new());
    }
    if let Value::Object(map) = values {
        match rest {
            Some(rest) => set(map.entry(key).or_insert(Value::Null), rest, value),
            None => {
                map.insert(key.to_owned(), value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(given: &[&str]) -> Option<Value> {
        parse(&given.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()).ok()
    }

    #[test]
    fn values_are_json_or_text_and_later_ones_win() {
        let given =
            ["replicas=1", "image.tag=v1", "image.repository=r/x:y=z", "replicas=3", "env={\"A\":\"1\"}", "x=\"1\""];
        let wanted = json!({
            "replicas": 3, "image": { "tag": "v1", "repository": "r/x:y=z" }, "env": { "A": "1" }, "x": "1",
        });
        assert_eq!(parsed(&given), Some(wanted));
        assert_eq!(parsed(&["a=1", "a.b=2"]), Some(json!({ "a": { "b": 2 } })));
    }

    #[test]
    fn a_value_is_found_again_in_what_was_given() {
        let given = ["image.tag=v1", "replicas=3", "image={\"tag\":\"v2\"}"].map(str::to_owned);
        let given = Given::parse(&given).unwrap_or_default();
        assert_eq!(given.argument_of("image.tag"), Some("image={\"tag\":\"v2\"}"));
        assert_eq!(given.argument_of("replicas"), Some("replicas=3"));
        assert_eq!(given.argument_of("replicasets"), None);
    }

    #[test]
    fn what_sets_nothing_is_refused() {
        for bad in ["replicas", "=1", "a..b=1", ""] {
            assert_eq!(parsed(&[bad]), None, "{bad}");
        }
    }
}
