//! One values file over another: maps deep, lists replaced, `null` deletes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Dict, TooDeep, Value};

/// `over` laid on `base`. A `null` in `over` removes the key; a `null` that `base` holds by itself stays a value, as a
/// chart writes `tag: null` to show that the key exists. Folded from the left: what one file deletes, a later one can set
/// anew without finding what was deleted.
pub fn merge(base: &Dict, over: &Dict) -> Result<Dict, TooDeep> {
    if over.is_empty() {
        return Ok(base.clone());
    }
    let mut merged = base.entries().to_map();
    for (key, value) in over.entries() {
        merge_key(&mut merged, key, value)?;
    }
    Dict::new(merged.into())
}

fn merge_key(merged: &mut BTreeMap<Arc<str>, Value>, key: &Arc<str>, value: &Value) -> Result<(), TooDeep> {
    let laid = match (merged.get(key), value) {
        (_, Value::Null) => {
            merged.remove(key);
            return Ok(());
        }
        (Some(Value::Dict(base)), Value::Dict(over)) => Value::Dict(merge(base, over)?),
        (_, Value::Dict(over)) => Value::Dict(without_nulls(over)?),
        (_, value) => value.clone(),
    };
    merged.insert(key.clone(), laid);
    Ok(())
}

/// The dict without keys that are `null`, at any depth of maps: there is nothing below them to delete.
pub fn without_nulls(dict: &Dict) -> Result<Dict, TooDeep> {
    merge(&Dict::default(), dict)
}
