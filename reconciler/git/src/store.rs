//! The folder of one mirror on disk: its locks, its generations, and what may be removed from it.
//!
//! `current` links to the generation in use, a bare repository. One that is damaged or has grown too many packs is
//! replaced by a new one at once, by changing the link. `lock` is held while a fetch writes, `switch` for the moment in
//! which the link or what is kept changes.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use git2::Repository;
use sha2::{Digest as _, Sha256};

#[cfg(test)]
mod tests;

/// Refs of revisions that are in force: what they reach is never removed.
pub(super) const IN_FORCE: &str = "refs/reeve/in-force/";
/// Refs of what was fetched last, so that the next fetch brings only what is new.
pub(super) const FETCHED: &str = "refs/reeve/fetched/";

const CURRENT: &str = "current";
const GENERATION: &str = ".git";
/// Letters of the URL in the name of a folder, for people.
const READABLE: usize = 40;

/// The folder of one mirror.
#[derive(Clone, Debug)]
pub(super) struct Store {
    folder: PathBuf,
}

/// A lock that ends when this is dropped, or with the process.
#[derive(Debug)]
pub(super) struct Held {
    _file: File,
}

impl Store {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether a mirror was ever fetched here.
    pub(super) fn exists(&self) -> bool {
        self.current().is_ok()
    }

    /// The home folder of a fetch: nothing of the user's is looked at.
    pub(super) fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// The generation in use, if there is one.
    pub(super) fn current(&self) -> io::Result<PathBuf> {
        fs::read_link(self.folder.join(CURRENT)).map(|name| self.folder.join(name))
    }

    pub(super) fn open(&self) -> Result<Repository, git2::Error> {
        let path = self.current().map_err(|error| os_error(&error))?;
        Repository::open_bare(path)
    }

    /// The generation in use with its settings written anew, for what can still be read of it.
    pub(super) fn salvage(&self) -> Result<Repository, git2::Error> {
        let path = self.current().map_err(|error| os_error(&error))?;
        for name in ["HEAD", "config"] {
            // One that is not there is written all the same.
            let _ = fs::remove_file(path.join(name));
        }
        Repository::init_bare(path)
    }

    /// Waits until no other fetch writes here.
    pub(super) fn lock(&self) -> io::Result<Held> {
        self.held("lock", true)
    }

    /// As [`lock`](Self::lock), without waiting: [`io::ErrorKind::WouldBlock`] when there is one.
    pub(super) fn try_lock(&self) -> io::Result<Held> {
        self.held("lock", false)
    }

    /// Waits until nobody changes the link or what is kept.
    pub(super) fn lock_switch(&self) -> io::Result<Held> {
        self.held("switch", true)
    }

    fn held(&self, name: &str, wait: bool) -> io::Result<Held> {
        fs::create_dir_all(&self.folder)?;
        let file = File::options().create(true).truncate(false).write(true).open(self.folder.join(name))?;
        if wait {
            file.lock()?;
        } else {
            file.try_lock()?;
        }
        Ok(Held { _file: file })
    }

    /// An empty generation beside the one in use.
    pub(super) fn start_generation(&self) -> Result<(PathBuf, Repository), git2::Error> {
        let number = |path: PathBuf| path.file_stem()?.to_str()?.parse::<u64>().ok();
        let last = self.current().ok().and_then(number).unwrap_or_default();
        let path = self.folder.join(format!("{}{GENERATION}", last + 1));
        if path.exists() {
            fs::remove_dir_all(&path).map_err(|error| os_error(&error))?;
        }
        let repository = Repository::init_bare(&path)?;
        Ok((path, repository))
    }

    /// Makes a generation the one in use. Whoever reads the old one still can until the next fetch.
    pub(super) fn switch_to(&self, generation: &Path) -> io::Result<()> {
        let name = generation.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let link = self.folder.join("next");
        match fs::remove_file(&link) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        std::os::unix::fs::symlink(name, &link)?;
        fs::rename(&link, self.folder.join(CURRENT))
    }

    /// Removes what a killed fetch has left: other generations, half-written packs, locks of refs. Needs the lock.
    pub(super) fn sweep(&self) -> io::Result<()> {
        let current = self.current().ok();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let is_generation = path.extension().is_some_and(|extension| extension == "git");
            if is_generation && current.as_ref() != Some(&path) {
                fs::remove_dir_all(&path)?;
            }
        }
        let Some(current) = current.filter(|path| path.is_dir()) else { return Ok(()) };
        let packs = current.join("objects/pack");
        remove_files(&packs, &|name| !PACK_FILES.iter().any(|extension| name.ends_with(extension)))?;
        remove_files(&current, &is_lock)?;
        remove_files(&current.join(FETCHED), &is_lock)
    }

    /// How many packs the generation in use has.
    pub(super) fn packs(&self) -> usize {
        let names = self.current().and_then(|path| fs::read_dir(path.join("objects/pack")));
        names.map_or(0, |names| {
            let is_pack = |path: PathBuf| path.extension().is_some_and(|extension| extension == "pack");
            names.flatten().filter(|entry| is_pack(entry.path())).count()
        })
    }
}

/// What belongs into the folder of packs for good.
const PACK_FILES: [&str; 4] = [".pack", ".idx", ".rev", ".keep"];

fn is_lock(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "lock")
}

fn remove_files(folder: &Path, is_left_over: &dyn Fn(&str) -> bool) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_file() && entry.file_name().to_str().is_none_or(is_left_over) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// As libgit2 words an error of the system, so that both are understood alike.
pub(super) fn os_error(error: &io::Error) -> git2::Error {
    git2::Error::new(git2::ErrorCode::GenericError, git2::ErrorClass::Os, error.to_string())
}

/// The name of the folder for a URL: something to recognise it by, and a hash.
pub(super) fn folder_name(url: &str) -> String {
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (authority, path) = after_scheme.split_once('/').unwrap_or((after_scheme, ""));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path = path.trim_end_matches('/').trim_end_matches(".git");
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let mut readable: Vec<char> = format!("{host}/{path}").chars().map(plain).collect();
    readable.dedup_by(|a, b| *a == '-' && *b == '-');
    let start = readable.len().saturating_sub(READABLE);
    let readable: String = readable.into_iter().skip(start).collect();
    format!("{}-{}", readable.trim_matches('-'), hash(url)).trim_start_matches('-').to_owned()
}

/// Any name as one that a ref may end in; different names stay different.
pub(super) fn ref_name(name: &str) -> String {
    use std::fmt::Write as _;
    name.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || byte == b'-' {
            encoded.push(byte.into());
        } else {
            let _ = write!(encoded, "_{byte:02x}");
        }
        encoded
    })
}

fn hash(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text.as_bytes())[..8])
}
