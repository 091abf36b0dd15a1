//! Pages of `docs/` that speak of the reconciler: what they say is so.

use std::path::PathBuf;

mod readme;
mod reasons;
mod tutorial;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(page: &str) -> String {
    std::fs::read_to_string(root().join("docs").join(page)).unwrap()
}
