//! Words in statuses (enums, durations) of which a newer version of Reeve may have written one that this does not know.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

/// A value of a closed set, or the word of a newer version, kept as it is when written back.
///
/// The schema is that of the closed set: only reading is lenient.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Lenient<T> {
    /// A value that this version knows.
    Known(T),
    /// A word that this version does not know.
    Other(String),
}

impl<T> Lenient<T> {
    /// The value, if this version knows it.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Other(_) => None,
        }
    }
}

impl<T> From<T> for Lenient<T> {
    fn from(value: T) -> Self {
        Self::Known(value)
    }
}

impl<T: JsonSchema> JsonSchema for Lenient<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::Lenient;
    use crate::state::State;

    #[test]
    fn an_unknown_word_is_kept_and_written_back() {
        #[derive(Debug, PartialEq, serde::Deserialize, serde::Serialize)]
        enum Light {
            On,
        }
        let read: Vec<Lenient<Light>> = serde_json::from_str(r#"["On","Dimmed"]"#).unwrap();
        assert_eq!(read, [Lenient::Known(Light::On), Lenient::Other("Dimmed".to_owned())]);
        assert_eq!(serde_json::to_string(&read).unwrap(), r#"["On","Dimmed"]"#);
        assert_eq!(read[1].known(), None);
        assert_eq!(Lenient::from(State::Ready).known(), Some(&State::Ready));
    }
}
