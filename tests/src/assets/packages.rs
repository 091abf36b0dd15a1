//! The Debian packages that Reeve's images are made of, as `images/debian.toml` pins them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use reeve_images::debian::{self, Package};
use reeve_images::oci::architecture;
use reeve_images::pins::Pins;

/// The pins and the packages, fetched into `base` unless they are there.
pub(super) fn find(base: &Path) -> Result<(Pins, BTreeMap<String, Package>)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../images/debian.toml");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let pins = Pins::parse(&text, &file)?;
    let packages = debian::packages(&pins, architecture(), &base.join("debian"))?;
    Ok((pins, packages))
}
