//! The functions that chart writers know from Helm and Sprig, by the same names and with the same results.
//!
//! Each is a plain function from values to a value: it knows no template, no scope and no syntax, so that any engine can
//! offer it, as a function or as a filter (the piped value is the last argument). It pays the budget before it makes or
//! walks anything. What needs the engine (`include`, `tpl`, `Files`) lives there.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::Value;

mod arguments;
mod conversions;
mod cost;
mod data;
mod dates;
mod dicts;
mod encoding;
mod go_format;
mod hashes;
#[cfg(test)]
mod hostile;
mod json;
mod letters;
mod lists;
mod logic;
mod math;
mod numbers;
mod paths;
pub mod refused;
mod regexes;
mod splitting;
mod strings;
mod toml;
mod urls;
pub mod versions;
mod words;

pub(crate) use data::to_yaml_exact;
pub(crate) use dates::{duration, methods as times};
pub(crate) use letters::is_printable;

/// A function of the library.
pub type Function = fn(&Budget, &[Value]) -> Result<Value, Failure>;

/// A function and how it may be called.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name, as in Helm.
    pub name: &'static str,
    /// What it does.
    pub call: Function,
    /// The least and the most arguments it takes; `None` is any number.
    pub arity: (usize, Option<usize>),
    /// Whether it takes values that are not set; they reach it as null. All others are refused before the call.
    pub lenient: bool,
}

impl Entry {
    const fn new(name: &'static str, least: usize, most: usize, call: Function) -> Self {
        Self { name, call, arity: (least, Some(most)), lenient: false }
    }

    const fn variadic(name: &'static str, least: usize, call: Function) -> Self {
        Self { name, call, arity: (least, None), lenient: false }
    }

    const fn lenient(self) -> Self {
        Self { lenient: true, ..self }
    }
}

static TABLES: &[&[Entry]] = &[
    conversions::TABLE,
    data::TABLE,
    dates::TABLE,
    dicts::TABLE,
    encoding::TABLE,
    hashes::TABLE,
    lists::TABLE,
    logic::TABLE,
    math::TABLE,
    paths::TABLE,
    regexes::TABLE,
    splitting::TABLE,
    strings::TABLE,
    urls::TABLE,
    versions::TABLE,
    words::TABLE,
];

static INDEX: LazyLock<HashMap<&'static str, &'static Entry>> =
    LazyLock::new(|| TABLES.iter().copied().flatten().map(|entry| (entry.name, entry)).collect());

/// The function of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    INDEX.get(name).copied()
}

/// All functions, in the order of their names.
pub fn all() -> Vec<&'static Entry> {
    let mut all: Vec<_> = INDEX.values().copied().collect();
    all.sort_by_key(|entry| entry.name);
    all
}
