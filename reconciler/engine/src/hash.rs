//! Names JSON by its content: the same content gives the same short name on any machine.

use data_encoding::HEXLOWER;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Half of a SHA-256: short enough for an annotation and an inventory, and nobody attacks it.
const BYTES: usize = 16;

/// The content of `value` as 32 hexadecimal digits. Keys of objects are sorted, so their order does not count.
pub fn of(value: &Value) -> String {
    HEXLOWER.encode(&Sha256::digest(value.to_string().as_bytes())[..BYTES])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_name_depends_on_the_content_and_not_on_the_order_of_keys() {
        let one: Value = serde_json::from_str(r#"{"b": 1, "a": [1, 2]}"#).unwrap();
        let other: Value = serde_json::from_str(r#"{"a": [1, 2], "b": 1}"#).unwrap();

        assert_eq!(of(&one), of(&other));
        assert_eq!(of(&one).len(), 32);
        assert_ne!(of(&one), of(&json!({"a": [2, 1], "b": 1})));
        assert_ne!(of(&one), of(&json!({"a": [1, 2], "b": "1"})));
    }
}
