//! Semantic versions and constraints on them, as Helm reads them.
//!
//! A version may be short (`1.2`) and start with `v`. `semver` gives a map with the names Go's type has for its parts.

use std::collections::BTreeMap;
use std::sync::Arc;

use reeve_renderer_objects::version::{Range, Version};

use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::Value;

use super::Entry;
use super::arguments::text;

#[cfg(test)]
mod tests;

pub(super) static TABLE: &[Entry] =
    &[Entry::new("semver", 1, 1, semver), Entry::new("semverCompare", 2, 2, semver_compare)];

fn semver(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let original = text(arguments, 0)?;
    let version = read(original)?;
    budget.memory(original.len() as u64 * 4 + 512)?;
    let number = |part: u64| {
        let fits = i64::try_from(part).map(Value::Int);
        fits.map_err(|_| Failure::argument(format!("{part} is too large a part of a version")))
    };
    let entries: BTreeMap<Arc<str>, Value> = BTreeMap::from([
        ("Major".into(), number(version.major)?),
        ("Minor".into(), number(version.minor)?),
        ("Patch".into(), number(version.patch)?),
        ("Prerelease".into(), Value::from(version.prerelease)),
        ("Metadata".into(), Value::from(version.metadata)),
        ("Original".into(), Value::from(original)),
        ("String".into(), version.to_string().into()),
    ]);
    Ok(Value::dict(entries.into())?)
}

fn semver_compare(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (wanted, version) = (text(arguments, 0)?, text(arguments, 1)?);
    budget.steps(wanted.len() as u64 / 8 + 1)?;
    let range = Range::parse(wanted).ok_or_else(|| {
        let shown = &wanted[..wanted.floor_char_boundary(80)];
        Failure::argument(format!("`{shown}` is no constraint on versions"))
    })?;
    let version = read(version)?;
    Ok(range.admits(&version).into())
}

fn read(version: &str) -> Result<Version<'_>, Failure> {
    Version::parse(version).ok_or_else(|| {
        let shown = &version[..version.floor_char_boundary(80)];
        Failure::argument(format!("`{shown}` is no semantic version"))
    })
}
