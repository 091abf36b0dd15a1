//! Objects as data, by what they are called.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// By kind, group, namespace and name.
pub(crate) type Objects = BTreeMap<String, Value>;

/// What an object is called.
pub(crate) fn key(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let group = text(&object["apiVersion"]);
    let metadata = &object["metadata"];
    format!("{group} {} {}/{}", text(&object["kind"]), text(&metadata["namespace"]), text(&metadata["name"]))
}

/// Hooks that nothing here runs: tests, and those of deletion and rollback.
pub(crate) fn is_left_out(object: &Value) -> bool {
    let hook = object["metadata"]["annotations"]["helm.sh/hook"].as_str();
    let runs = ["pre-install", "post-install", "pre-upgrade", "post-upgrade"];
    hook.is_some_and(|hook| !hook.split(',').any(|word| runs.contains(&word.trim())))
}

/// The objects in a stream of YAML, as an API server would read each document: the last of two equal keys wins.
pub(crate) fn read(text: &str) -> Result<Objects, String> {
    let mut objects = Objects::new();
    for document in text.split_inclusive("\n---\n") {
        let document = document.strip_suffix("---\n").unwrap_or(document);
        for part in serde_yaml::Deserializer::from_str(document) {
            let value = serde_yaml::Value::deserialize(part).map_err(|error| format!("{error}: {document}"))?;
            add(json(value)?, &mut objects);
        }
    }
    Ok(objects)
}

pub(crate) fn add(object: Value, objects: &mut Objects) {
    let nameless = object["metadata"]["name"].is_null();
    let is_list = nameless && object["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
    if let (true, Some(items)) = (is_list, object["items"].as_array()) {
        for item in items {
            add(item.clone(), objects);
        }
    } else if !object.is_null() && !is_left_out(&object) {
        objects.insert(key(&object), object);
    }
}

fn json(value: serde_yaml::Value) -> Result<Value, String> {
    use serde_yaml::Value as Yaml;
    Ok(match value {
        Yaml::Null => Value::Null,
        Yaml::Bool(truth) => Value::Bool(truth),
        Yaml::Number(number) => match number.as_f64() {
            // As Go writes JSON, a fraction that is none is a whole number.
            #[expect(clippy::cast_possible_truncation, reason = "it is whole, and small")]
            Some(whole) if number.is_f64() && whole.fract() == 0.0 && whole.abs() < 1e18 => Value::from(whole as i64),
            _ => serde_json::to_value(number).map_err(|error| error.to_string())?,
        },
        Yaml::String(text) => Value::String(text),
        Yaml::Sequence(items) => Value::Array(items.into_iter().map(json).collect::<Result<_, _>>()?),
        Yaml::Mapping(entries) => {
            let mut map = serde_json::Map::new();
            for (key, value) in entries {
                let key = match key {
                    Yaml::String(text) => text,
                    Yaml::Bool(truth) => truth.to_string(),
                    Yaml::Number(number) => number.to_string(),
                    other => return Err(format!("{other:?} is no key")),
                };
                map.insert(key, json(value)?);
            }
            Value::Object(map)
        }
        Yaml::Tagged(tagged) => json(tagged.value)?,
    })
}

/// Where two values begin to differ.
pub(crate) fn first_difference(helm: &Value, ours: &Value, path: &str) -> String {
    match (helm, ours) {
        (Value::Object(helm), Value::Object(ours)) => {
            for (key, value) in helm {
                match ours.get(key) {
                    Some(other) if other == value => {}
                    Some(other) => return first_difference(value, other, &format!("{path}.{key}")),
                    None => return format!("{path}.{key} is missing, Helm has {value}"),
                }
            }
            let more = ours.keys().find(|key| !helm.contains_key(*key)).cloned().unwrap_or_default();
            format!("{path}.{more} is too much")
        }
        (Value::Array(helm), Value::Array(ours)) if helm.len() == ours.len() => {
            let at = helm.iter().zip(ours).position(|(one, other)| one != other).unwrap_or(0);
            first_difference(&helm[at], &ours[at], &format!("{path}[{at}]"))
        }
        _ => format!("{path}: Helm {helm}, ours {ours}"),
    }
}
