//! To and from `serde_json`, for the schema check and for output.

use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::{Dict, List, TooDeep, Value};

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Int(value) => serializer.serialize_i64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(list) => list.serialize(serializer),
            Self::Dict(dict) => dict.serialize(serializer),
        }
    }
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(Some(self.len()))?;
        for item in self.items() {
            sequence.serialize_element(item)?;
        }
        sequence.end()
    }
}

impl Serialize for Dict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (key, value) in self.entries() {
            map.serialize_entry(&**key, value)?;
        }
        map.end()
    }
}

impl From<&Value> for serde_json::Value {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) => Self::from(*value),
            Value::Float(value) => Self::from(*value),
            Value::Text(text) => Self::String(text.to_string()),
            Value::List(list) => Self::Array(list.items().iter().map(Self::from).collect()),
            Value::Dict(dict) => {
                Self::Object(dict.entries().iter().map(|(key, value)| (key.to_string(), Self::from(value))).collect())
            }
        }
    }
}

impl TryFrom<serde_json::Value> for Value {
    type Error = TooDeep;

    fn try_from(value: serde_json::Value) -> Result<Self, TooDeep> {
        Ok(match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(value),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(value) => Self::Int(value),
                None => Self::Float(number.as_f64().unwrap_or(f64::MAX)),
            },
            serde_json::Value::String(text) => Self::text(text),
            serde_json::Value::Array(items) => {
                Self::list(items.into_iter().map(Self::try_from).collect::<Result<_, _>>()?)?
            }
            serde_json::Value::Object(entries) => Self::dict(
                entries.into_iter().map(|(key, value)| Ok((Arc::from(key), Self::try_from(value)?))).collect::<Result<
                    _,
                    TooDeep,
                >>(
                )?,
            )?,
        })
    }
}
