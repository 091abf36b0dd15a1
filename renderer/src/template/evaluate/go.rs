//! Go's templates: what its statements and expressions do.
//!
//! The same evaluator, slots, budget and errors as for Jinja. What differs is Go's own: maps that are changed in place,
//! nil that may be passed around, printing as `fmt` does it, and values that are poisoned.

mod carried;
mod chart;
mod data;
mod fields;
mod files;
mod functions;
mod kinds;
mod lists;
mod maps;
mod objects;
mod poison;
mod statements;
mod templates;

pub(super) use statements::settled;
pub(super) use templates::without_no_value;
