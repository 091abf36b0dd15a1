//! How many of how many, kept as numbers for programmes and as `3/4` for the columns of `kubectl get`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::WORD;

/// How many are ready, of how many.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Count {
    /// How many are ready.
    #[schemars(range(min = 0))]
    pub ready: i32,
    /// How many there are.
    #[schemars(range(min = 0))]
    pub total: i32,
    /// Both in one word, such as 3/4.
    #[schemars(length(max = WORD))]
    pub summary: String,
}

impl Count {
    /// Counts `ready` of `total`.
    pub fn new(ready: i32, total: i32) -> Self {
        Self { ready, total, summary: format!("{ready}/{total}") }
    }
}

#[cfg(test)]
mod tests {
    use super::Count;

    #[test]
    fn a_count_reads_as_one_word() {
        assert_eq!(Count::new(3, 4).summary, "3/4");
    }
}
