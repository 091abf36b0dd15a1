//! Puts an image together: the base, the binary, what libraries it needs besides, and its SBOM.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::base;
use crate::catalog::Shipped;
use crate::crates::Crate;
use crate::debian::Package;
use crate::elf::{self, Version};
use crate::error::ImageError;
use crate::layer::Layer;
use crate::oci::{Compression, Image, Settings, architecture};
use crate::revision::Revision;
use crate::sbom::{self, DebianPackage, Subject};

/// What an image is made of.
#[derive(Debug)]
pub struct Parts<'a> {
    pub shipped: &'a Shipped,
    /// Of all crates, and so of the image.
    pub version: &'a str,
    pub revision: &'a Revision,
    /// The binary, as it was compiled.
    pub program: &'a Path,
    pub crates: &'a BTreeSet<Crate>,
    /// Those that are pinned.
    pub packages: &'a BTreeMap<String, Package>,
    /// Of Debian.
    pub release: &'a str,
}

/// What becomes an image.
#[derive(Debug)]
pub struct Assembled {
    pub name: String,
    pub settings: Settings,
    /// The one that all images share, then its own.
    pub layers: [Layer; 2],
    /// Also in the image, at `usr/share/sbom/<name>.spdx.json`, so that its digest vouches for it.
    pub sbom: String,
}

impl Assembled {
    /// The image. The same parts give the same bytes.
    pub fn image(&self, compression: Compression) -> Result<Image, ImageError> {
        Image::new(&self.name, &self.settings, &self.layers, compression)
    }
}

/// Puts the parts where they belong.
pub fn assemble(parts: &Parts<'_>) -> Result<Assembled, ImageError> {
    let read = |source| ImageError::Read { path: parts.program.to_owned(), source };
    let binary = std::fs::read(parts.program).map_err(read)?;
    let base = base::layer(parts.packages)?;
    let libraries = libraries(parts, &base)?;
    let sbom = describe(parts, &[&base, &libraries]);
    let own = libraries
        .program(&parts.shipped.path(), binary)
        .file(&format!("usr/share/sbom/{}.spdx.json", parts.shipped.name), sbom.clone());
    let name = parts.shipped.local_name(parts.version);
    Ok(Assembled { name, settings: settings(parts), layers: [base, own], sbom })
}

/// The libraries that the binary needs and the base does not have.
fn libraries(parts: &Parts<'_>, base: &Layer) -> Result<Layer, ImageError> {
    let needs = elf::needs(parts.program)?;
    let glibc = parts.packages.get("libc6").map_or_else(Version::default, |libc| Version::leading(&libc.pin.version));
    if needs.glibc > glibc {
        let (needed, pinned) = (needs.glibc.to_string(), glibc.to_string());
        return Err(ImageError::TooNew { program: parts.program.to_owned(), needed, pinned });
    }
    let missing = needs.libraries.iter().filter(|library| !base::has_library(base, library));
    missing.into_iter().try_fold(Layer::default(), |layer, library| {
        let none = || ImageError::NoLibrary { program: parts.program.to_owned(), library: library.clone() };
        Ok(layer.with(base::extra_library(parts.packages, library).ok_or_else(none)?))
    })
}

/// The SBOM. Which packages are in the image is read from the image: each has left its record there.
fn describe(parts: &Parts<'_>, layers: &[&Layer]) -> String {
    let is_there =
        |name: &str| layers.iter().any(|layer| layer.get(&format!("var/lib/dpkg/status.d/{name}")).is_some());
    let debian = parts.packages.values().filter(|package| is_there(&package.name)).map(|package| DebianPackage {
        name: package.name.clone(),
        version: package.pin.version.clone(),
        sha256: package.pin.sha256.clone(),
    });
    let subject = Subject {
        image: parts.shipped.name,
        version: parts.version,
        commit: &parts.revision.commit,
        created: &parts.revision.time.to_string(),
        architecture: architecture(),
        release: parts.release,
    };
    sbom::document(&subject, parts.crates, &debian.collect())
}

fn settings(parts: &Parts<'_>) -> Settings {
    let says = [
        ("created", parts.revision.time.to_string()),
        ("description", parts.shipped.description.to_owned()),
        ("licenses", env!("CARGO_PKG_LICENSE").to_owned()),
        ("revision", parts.revision.commit.clone()),
        ("title", parts.shipped.name.to_owned()),
        ("version", parts.version.to_owned()),
    ];
    Settings {
        entrypoint: vec![parts.shipped.path()],
        env: vec!["PATH=/usr/local/bin".to_owned(), "HOME=/home/reeve".to_owned()],
        user: parts.shipped.user.to_owned(),
        annotations: says.map(|(key, value)| (format!("org.opencontainers.image.{key}"), value)).into(),
        created: Some(parts.revision.time.to_string()),
    }
}
