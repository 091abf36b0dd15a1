//! Debian packages: fetched by name and version from whichever archive `apt-get` is set up for, checked, and read.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::digest::Digest;
use crate::error::ImageError;
use crate::layer::{Entry, Layer};
use crate::pins::{Pin, Pins};

const NEEDS_APT: &str = "images are made of Debian packages, so build them on Debian or in a container of it";

/// A package and its files.
#[derive(Clone, Debug)]
pub struct Package {
    pub name: String,
    pub pin: Pin,
    /// What `dpkg` keeps of an installed package, for those who scan images.
    pub control: String,
    pub files: Layer,
}

/// The packages that are pinned for a processor, fetched into `cache` unless they are there.
pub fn packages(pins: &Pins, architecture: &str, cache: &Path) -> Result<BTreeMap<String, Package>, ImageError> {
    let pinned = pins.of(architecture)?;
    pinned
        .iter()
        .map(|(name, pin)| {
            let file = fetch(name, pin, &pins.release, cache)?;
            Ok((name.clone(), read(name, pin, &file)?))
        })
        .collect()
}

/// What the archive has today.
pub fn newest(name: &str) -> Result<Pin, ImageError> {
    let folder = temporary(&std::env::temp_dir())?;
    download(name, folder.path())?;
    let file = only_package(folder.path())?
        .ok_or_else(|| ImageError::NoFile { package: name.to_owned(), file: "in the archive".to_owned() })?;
    let version = field(&file, "Version")?;
    Ok(Pin { version: version.trim().to_owned(), sha256: Digest::of(&read_file(&file)?).hex().to_owned() })
}

fn fetch(name: &str, pin: &Pin, release: &str, cache: &Path) -> Result<PathBuf, ImageError> {
    let target = cache.join(format!("{name}-{}.deb", pin.sha256));
    // A cache is only a cache: what it has is checked like what comes from the archive.
    if target.exists() && Digest::of(&read_file(&target)?).hex() == pin.sha256 {
        return Ok(target);
    }
    fs::create_dir_all(cache).map_err(|source| ImageError::Write { path: cache.to_owned(), source })?;
    let folder = temporary(cache)?;
    let wanted = format!("{name}={}", pin.version);
    if download(&wanted, folder.path()).is_err() {
        // A machine whose package lists were never fetched knows no package at all. Only root may fetch them.
        let _ = command::output(Command::new("apt-get").args(["update", "-qq"]), NEEDS_APT);
        download(&wanted, folder.path()).map_err(|error| not_in_archive(error, name, pin, release))?;
    }
    let not_there = || ImageError::NotInArchive {
        package: name.to_owned(),
        version: pin.version.clone(),
        release: release.to_owned(),
    };
    let file = only_package(folder.path())?.ok_or_else(not_there)?;
    let found = Digest::of(&read_file(&file)?);
    if found.hex() != pin.sha256 {
        let (package, version) = (name.to_owned(), pin.version.clone());
        let (pinned, found) = (pin.sha256.clone(), found.hex().to_owned());
        return Err(ImageError::Checksum { package, version, pinned, found });
    }
    fs::rename(&file, &target).map_err(|source| ImageError::Write { path: target.clone(), source })?;
    Ok(target)
}

/// Without `apt-get` the archive was never asked.
fn not_in_archive(error: ImageError, name: &str, pin: &Pin, release: &str) -> ImageError {
    match error {
        ImageError::Failed { message, .. }
            if message.contains("was not found") || message.contains("Unable to locate") =>
        {
            let (package, version) = (name.to_owned(), pin.version.clone());
            ImageError::NotInArchive { package, version, release: release.to_owned() }
        }
        other => other,
    }
}

fn download(wanted: &str, into: &Path) -> Result<(), ImageError> {
    let mut apt = Command::new("apt-get");
    apt.args(["download", "-qq", wanted]).current_dir(into).env("LC_ALL", "C");
    command::output(&mut apt, NEEDS_APT).map(drop)
}

fn only_package(folder: &Path) -> Result<Option<PathBuf>, ImageError> {
    let list = fs::read_dir(folder).map_err(|source| ImageError::Read { path: folder.to_owned(), source })?;
    let mut files = list.flatten().map(|entry| entry.path());
    Ok(files.find(|file| file.extension().is_some_and(|extension| extension == "deb")))
}

fn read(name: &str, pin: &Pin, file: &Path) -> Result<Package, ImageError> {
    let control = field(file, "")?;
    let tar = command::output(Command::new("dpkg-deb").arg("--fsys-tarfile").arg(file), NEEDS_APT)?;
    let files = files(&tar).map_err(|source| ImageError::Read { path: file.to_owned(), source })?;
    Ok(Package { name: name.to_owned(), pin: pin.clone(), control, files })
}

/// One field of a package, or all of them.
fn field(file: &Path, name: &str) -> Result<String, ImageError> {
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.arg("--field").arg(file).args((!name.is_empty()).then_some(name));
    command::text(&mut dpkg, NEEDS_APT)
}

/// The files of a tar archive; owners, times and devices are left out.
fn files(tar: &[u8]) -> io::Result<Layer> {
    let mut layer = Layer::default();
    for entry in tar::Archive::new(tar).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.to_string_lossy().trim_start_matches("./").to_owned();
        let mode = entry.header().mode()? & 0o7777;
        let target = entry.link_name()?.map(|target| target.to_string_lossy().into_owned()).unwrap_or_default();
        match entry.header().entry_type() {
            tar::EntryType::Directory if path.trim_matches('/').is_empty() => {}
            tar::EntryType::Directory => layer = layer.directory(&path, mode),
            tar::EntryType::Symlink => layer = layer.link(&path, &target),
            tar::EntryType::Link => {
                let same = layer.get(target.trim_start_matches("./")).cloned();
                let missing = || io::Error::other(format!("{path} is linked to {target}, which is not there"));
                layer = layer.entry(&path, same.ok_or_else(missing)?);
            }
            _ => {
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes)?;
                layer = layer.entry(&path, Entry::File { bytes, mode });
            }
        }
    }
    Ok(layer)
}

fn read_file(path: &Path) -> Result<Vec<u8>, ImageError> {
    fs::read(path).map_err(|source| ImageError::Read { path: path.to_owned(), source })
}

fn temporary(inside: &Path) -> Result<tempfile::TempDir, ImageError> {
    tempfile::tempdir_in(inside).map_err(|source| ImageError::Write { path: inside.to_owned(), source })
}
