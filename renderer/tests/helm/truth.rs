//! What Helm made of the small charts: a digest for each object.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use crate::objects::Objects;

pub(crate) const REGENERATE: &str = "run `make conformance`";

/// By chart and value set: the digest of each object.
pub(crate) type Truth = BTreeMap<String, BTreeMap<String, String>>;

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/helm/truth.json")
}

pub(crate) fn read() -> Truth {
    let text = std::fs::read_to_string(path()).expect("truth.json is there");
    serde_json::from_str(&text).expect("it is JSON")
}

pub(crate) fn write(truth: &Truth) {
    let text = serde_json::to_string_pretty(truth).expect("it can be written");
    std::fs::write(path(), text + "\n").expect("it can be written");
}

/// The digest of each object as JSON with its keys in order.
pub(crate) fn digests(objects: &Objects) -> BTreeMap<String, String> {
    let digest = |object: &serde_json::Value| {
        let digest = Sha256::digest(object.to_string());
        digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
    };
    objects.iter().map(|(key, object)| (key.clone(), digest(object))).collect()
}
