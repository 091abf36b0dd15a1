//! The chart of this bench: one `Chart.yaml` and one `values.yaml`, its templates twice, for Helm and for us.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The files of a folder of the chart: name and text.
pub(crate) fn files(folder: &str) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder_of(folder)).with_context(|| format!("cannot list {folder}"))? {
        let path = entry.with_context(|| format!("cannot list {folder}"))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).context("a file has no name")?;
        found.push((name.to_owned(), read(&path)?));
    }
    found.sort();
    Ok(found)
}

/// The whole of it for Helm: path and content.
pub(crate) fn of_helm() -> Result<BTreeMap<String, String>> {
    let templates = files("helm")?.into_iter().map(|(name, text)| (format!("templates/{name}"), text));
    let rest = [("Chart.yaml".to_owned(), metadata()?), ("values.yaml".to_owned(), values()?)];
    Ok(templates.chain(rest).collect())
}

/// `values.yaml`, the same for both.
pub(crate) fn values() -> Result<String> {
    read(&folder_of("values.yaml"))
}

/// `Chart.yaml`, the same for both.
pub(crate) fn metadata() -> Result<String> {
    read(&folder_of("Chart.yaml"))
}

fn folder_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/render/chart").join(name)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
