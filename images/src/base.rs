//! The layer that all images share: glibc, authorities, time zones and the few files that they are read with. Pure.

use std::collections::BTreeMap;

use crate::debian::Package;
use crate::error::ImageError;
use crate::layer::{Entry, Layer};

/// Where OpenSSL and rustls look for the authorities that everybody trusts.
pub const AUTHORITIES: &str = "etc/ssl/certs/ca-certificates.crt";

const ACCOUNTS: &str = "root:x:0:0:root:/root:/sbin/nologin\n\
                        nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n\
                        reeve:x:65532:65532:reeve:/home/reeve:/sbin/nologin\n";
const GROUPS: &str = "root:x:0:\nnogroup:x:65534:\nreeve:x:65532:\n";
/// Both sources are part of glibc itself, so there is no library to bring along.
const NAME_SERVICES: &str = "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n";

/// Libraries of every binary that Rust makes, by package.
const LIBRARIES: [(&str, &[&str]); 2] = [
    ("libc6", &["ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libc.so.6", "libm.so.6"]),
    ("libgcc-s1", &["libgcc_s.so.1"]),
];

/// Files of packages that are taken as they are.
const FILES: [(&str, &[&str]); 2] = [
    ("base-files", &["etc/debian_version", "etc/os-release", "usr/lib/os-release"]),
    ("netbase", &["etc/protocols", "etc/services"]),
];

/// Copies of the time zones that no program asks for.
const OTHER_ZONES: [&str; 2] = ["usr/share/zoneinfo/posix/", "usr/share/zoneinfo/right/"];

type Packages = BTreeMap<String, Package>;

/// The layer that all images have in common.
pub fn layer(packages: &Packages) -> Result<Layer, ImageError> {
    let mut layer = Layer::default()
        .file("etc/passwd", ACCOUNTS)
        .file("etc/group", GROUPS)
        .file("etc/nsswitch.conf", NAME_SERVICES)
        .file(AUTHORITIES, authorities(get(packages, "ca-certificates")?))
        .directory("home/reeve", 0o755)
        .directory("tmp", 0o1777)
        .directory("var/lib", 0o755);
    for (name, libraries) in LIBRARIES {
        let package = get(packages, name)?;
        layer = libraries.iter().fold(layer, |layer, library| layer.with(library_files(package, library)));
    }
    for (name, files) in FILES {
        let package = get(packages, name)?;
        for file in files {
            let missing = || ImageError::NoFile { package: name.to_owned(), file: (*file).to_owned() };
            layer = layer.entry(file, package.files.get(file).ok_or_else(missing)?.clone());
        }
    }
    let zones = get(packages, "tzdata")?.files.entries().filter(|(path, _)| {
        path.starts_with("usr/share/zoneinfo/")
            && !OTHER_ZONES.iter().any(|other| format!("{path}/").starts_with(other))
    });
    layer = zones.fold(layer, |layer, (path, entry)| layer.entry(path, entry.clone()));
    let in_base = LIBRARIES.iter().map(|(name, _)| *name).chain(FILES.iter().map(|(name, _)| *name));
    for name in in_base.chain(["ca-certificates", "tzdata"]) {
        layer = layer.with(records(packages, get(packages, name)?));
    }
    Ok(layer)
}

/// A shared library that the base does not have, with the records of its package; `None` if no package has it.
pub fn extra_library(packages: &Packages, library: &str) -> Option<Layer> {
    packages.values().find_map(|package| {
        let files = library_files(package, library);
        (files.entries().count() > 0).then(|| files.with(records(packages, package)))
    })
}

/// Whether a layer has a shared library of this name.
pub fn has_library(layer: &Layer, library: &str) -> bool {
    layer.entries().any(|(path, _)| is_library(path, library))
}

/// Only where the loader looks: packages have other builds of some libraries elsewhere.
fn is_library(path: &str, library: &str) -> bool {
    let folder = path.strip_suffix(library).and_then(|rest| rest.strip_suffix('/'));
    let loaded = |folder: &str| match folder.strip_prefix("usr/").unwrap_or(folder).split_once('/') {
        None => ["lib", "lib64"].contains(&folder),
        Some(("lib", triple)) => !triple.contains('/') && triple.ends_with("-linux-gnu"),
        Some(_) => false,
    };
    folder.is_some_and(loaded)
}

/// The library of that name in a package, and what it links to.
fn library_files(package: &Package, library: &str) -> Layer {
    let mut layer = Layer::default();
    for (path, entry) in package.files.entries().filter(|(path, _)| is_library(path, library)) {
        layer = layer.entry(path, entry.clone());
        if let Entry::Link { target } = entry {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let target = if target.starts_with('/') { target.clone() } else { format!("{folder}/{target}") };
            if let Some(found) = package.files.get(&target) {
                layer = layer.entry(&target, found.clone());
            }
        }
    }
    layer
}

/// All authorities of the package in one file, as `update-ca-certificates` writes it.
fn authorities(package: &Package) -> Vec<u8> {
    let is_authority = |path: &str| {
        path.strip_prefix("usr/share/ca-certificates/").and_then(|file| file.strip_suffix(".crt")).is_some()
    };
    let files = package.files.entries().filter_map(|(path, entry)| match entry {
        Entry::File { bytes, .. } => is_authority(path).then_some(bytes),
        Entry::Directory { .. } | Entry::Link { .. } => None,
    });
    files.fold(Vec::new(), |mut all, bytes| {
        all.extend(bytes);
        if !bytes.ends_with(b"\n") {
            all.push(b'\n');
        }
        all
    })
}

/// What says that the package is there: the licence that goes with its files, and the record that scanners read.
fn records(packages: &Packages, package: &Package) -> Layer {
    let copyright = format!("usr/share/doc/{}/copyright", package.name);
    let licence = licence(packages, package).cloned();
    let layer = Layer::default().file(&format!("var/lib/dpkg/status.d/{}", package.name), package.control.clone());
    licence.into_iter().fold(layer, |layer, entry| layer.entry(&copyright, entry))
}

/// Packages of one source may share a folder, which is then a link to that of the package that has it.
fn licence<'a>(packages: &'a Packages, package: &'a Package) -> Option<&'a Entry> {
    let file = |package: &'a Package| package.files.get(&format!("usr/share/doc/{}/copyright", package.name));
    match package.files.get(&format!("usr/share/doc/{}", package.name)) {
        Some(Entry::Link { target }) => packages.get(target).and_then(file),
        Some(Entry::Directory { .. } | Entry::File { .. }) | None => file(package),
    }
}

fn get<'a>(packages: &'a Packages, name: &str) -> Result<&'a Package, ImageError> {
    packages
        .get(name)
        .ok_or_else(|| ImageError::NoFile { package: name.to_owned(), file: "in images/debian.toml".to_owned() })
}

#[cfg(test)]
mod tests;
