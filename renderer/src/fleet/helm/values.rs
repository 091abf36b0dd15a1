//! How Helm puts values together: files over files, a chart's values over its defaults, globals down to the charts below.
//!
//! Each function is Helm's of the same task, rule by rule. Maps that are too deep are refused by whoever calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::dependencies::{Enabled, MOST_CHARTS};
use crate::value::{Dict, TooDeep, Value};

/// Why values cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum ValuesError {
    /// They are nested too deep.
    #[error(transparent)]
    TooDeep(#[from] TooDeep),
    /// The values of a chart below are no map.
    #[error("the values of the chart `{0}` below this one must be a map")]
    NoMap(Arc<str>),
    /// Aliases of aliases make more charts than anybody means.
    #[error("with all aliases more than {MOST_CHARTS} charts take part")]
    TooManyCharts,
}

/// One values file over another: maps deep, all else replaced; `null` stays, since it removes a default later.
pub fn merge_files(base: &Dict, over: &Dict) -> Result<Dict, TooDeep> {
    if base.is_empty() {
        return Ok(over.clone());
    }
    let mut merged = base.entries().to_map();
    for (key, value) in over.entries() {
        let value = match (merged.get(key), value) {
            (Some(Value::Dict(base)), Value::Dict(over)) => Value::Dict(merge_files(base, over)?),
            (_, value) => value.clone(),
        };
        merged.insert(Arc::clone(key), value);
    }
    Dict::new(merged.into())
}

/// The values of a chart and all below it: given ones over defaults. With `merge` a `null` stays.
pub(super) fn coalesce(chart: &Enabled, given: &Dict, merge: bool) -> Result<Dict, ValuesError> {
    let mut values = with_defaults(chart, given, merge)?;
    for child in &chart.children {
        let below = match values.get(&child.name) {
            None => Dict::default(),
            Some(Value::Dict(below)) => below.clone(),
            Some(_) => return Err(ValuesError::NoMap(Arc::clone(&child.name))),
        };
        let below = with_globals(&below, &values)?;
        let below = coalesce(child, &below, merge)?;
        values.insert(Arc::clone(&child.name), Value::Dict(below));
    }
    Ok(Dict::new(values.into())?)
}

fn with_defaults(chart: &Enabled, given: &Dict, merge: bool) -> Result<BTreeMap<Arc<str>, Value>, TooDeep> {
    let mut values = given.entries().to_map();
    for (key, default) in chart.defaults.entries() {
        match (values.get(key), default) {
            (None, default) => {
                values.insert(Arc::clone(key), default.clone());
            }
            (Some(Value::Null), _) if !merge => {
                values.remove(key);
            }
            (Some(Value::Dict(given)), Value::Dict(default)) => {
                // What a chart says about one below it is merged, so that a `null` gets there.
                let merge = merge || chart.children.iter().any(|child| child.name == *key);
                let table = coalesce_tables(given, default, merge)?;
                values.insert(Arc::clone(key), Value::Dict(table));
            }
            _ => {}
        }
    }
    Ok(values)
}

/// One map over another; a `null` removes what the lower one has, unless they are merged.
pub(super) fn coalesce_tables(over: &Dict, base: &Dict, merge: bool) -> Result<Dict, TooDeep> {
    let mut result = over.entries().to_map();
    for (key, value) in base.entries() {
        match (over.get(key), value) {
            (None, value) => {
                result.insert(Arc::clone(key), value.clone());
            }
            (Some(Value::Null), value) if !merge && *value != Value::Null => {
                result.remove(key);
            }
            (Some(Value::Dict(over)), Value::Dict(base)) => {
                result.insert(Arc::clone(key), Value::Dict(coalesce_tables(over, base, merge)?));
            }
            _ => {}
        }
    }
    Dict::new(result.into())
}

const GLOBAL: &str = "global";

/// The values of a chart below with the globals of the one above over its own.
fn with_globals(below: &Dict, above: &BTreeMap<Arc<str>, Value>) -> Result<Dict, TooDeep> {
    let mut globals = match below.get(GLOBAL) {
        None => BTreeMap::new(),
        Some(Value::Dict(globals)) => globals.entries().to_map(),
        Some(_) => return Ok(below.clone()),
    };
    match above.get(GLOBAL) {
        None => {}
        Some(Value::Dict(above)) => {
            for (key, value) in above.entries() {
                let value = match (globals.get(key), value) {
                    (Some(Value::Dict(own)), Value::Dict(above)) => Value::Dict(coalesce_tables(above, own, true)?),
                    // Neither a map over something else, nor something else over a map.
                    (Some(_), Value::Dict(_)) | (Some(Value::Dict(_)), _) => continue,
                    (_, value) => value.clone(),
                };
                globals.insert(Arc::clone(key), value);
            }
        }
        Some(_) => return Ok(below.clone()),
    }
    let mut values = below.entries().to_map();
    values.insert(GLOBAL.into(), Value::Dict(Dict::new(globals.into())?));
    Dict::new(values.into())
}

/// What is at a path of keys with dots between them, unless it is a map.
pub(super) fn at_path<'v>(values: &'v Dict, path: &str) -> Option<&'v Value> {
    let (table, key) = match path.rsplit_once('.') {
        Some((table, key)) => (table_at(values, table)?, key),
        None => (values, path),
    };
    table.get(key).filter(|value| value.as_dict().is_none())
}

/// The map at a path of keys with dots between them.
pub(super) fn table_at<'v>(values: &'v Dict, path: &str) -> Option<&'v Dict> {
    path.split('.').try_fold(values, |table, key| table.get(key).and_then(Value::as_dict))
}

/// A map put below a path of keys.
pub(super) fn below_path(path: &str, table: &Dict) -> Result<Dict, TooDeep> {
    if path == "." {
        return Ok(table.clone());
    }
    path.split('.').rev().try_fold(table.clone(), |inner, key| Dict::new([(Arc::from(key), Value::Dict(inner))].into()))
}

/// The names of all charts that take part, in order: what a render depends on besides the values.
pub(super) fn names(chart: &Enabled, path: &str, all: &mut BTreeSet<String>) {
    for child in &chart.children {
        let path = format!("{path}/{}", child.name);
        names(child, &path, all);
        all.insert(path);
    }
}
