//! Kubeconfig files, written as JSON: YAML to every reader of them.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use crate::pki::Pair;

/// Writes a kubeconfig that reaches the API server at `address` as the holder of `pair`.
pub(crate) fn write(file: &Path, address: SocketAddr, authority: &str, pair: &Pair) -> Result<()> {
    let authority_file = file.with_extension("ca.crt");
    fs::write(&authority_file, authority).with_context(|| format!("cannot write {}", authority_file.display()))?;
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "tests", "cluster": {
            "server": format!("https://{address}"),
            "certificate-authority": authority_file,
        }}],
        "users": [{"name": "user", "user": {
            "client-certificate": pair.certificate,
            "client-key": pair.key,
        }}],
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "user"}}],
        "current-context": "tests",
    });
    let text = serde_json::to_string_pretty(&config).context("cannot write a kubeconfig")?;
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
