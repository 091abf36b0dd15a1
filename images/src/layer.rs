//! The files of one layer, and their archive: the same files give the same bytes.

use std::collections::BTreeMap;
use std::io::{self, Write};

/// Files by their path below `/`. Owner, times and order are not theirs to say: root, 1970, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layer {
    entries: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    Directory { mode: u32 },
    File { bytes: Vec<u8>, mode: u32 },
    Link { target: String },
}

impl Layer {
    /// Adds a file that everyone may read.
    #[must_use]
    pub fn file(self, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.entry(path, Entry::File { bytes: bytes.into(), mode: 0o644 })
    }

    /// Adds a file that everyone may run.
    #[must_use]
    pub fn program(self, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.entry(path, Entry::File { bytes: bytes.into(), mode: 0o755 })
    }

    /// Adds a symbolic link.
    #[must_use]
    pub fn link(self, path: &str, target: &str) -> Self {
        self.entry(path, Entry::Link { target: target.to_owned() })
    }

    /// Adds a folder. The folders above a file are there without it.
    #[must_use]
    pub fn directory(self, path: &str, mode: u32) -> Self {
        self.entry(path, Entry::Directory { mode })
    }

    /// Adds what is at a path, instead of what was there.
    #[must_use]
    pub fn entry(mut self, path: &str, entry: Entry) -> Self {
        let path = path.trim_matches('/').to_owned();
        let above = path.match_indices('/').map(|(end, _)| path[..end].to_owned());
        for folder in above.collect::<Vec<_>>() {
            self.entries.entry(folder).or_insert(Entry::Directory { mode: 0o755 });
        }
        self.entries.insert(path, entry);
        self
    }

    /// Adds all that another layer has.
    #[must_use]
    pub fn with(mut self, other: Layer) -> Self {
        self.entries.extend(other.entries);
        self
    }

    pub fn get(&self, path: &str) -> Option<&Entry> {
        self.entries.get(path.trim_matches('/'))
    }

    /// All entries, by path.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(path, entry)| (path.as_str(), entry))
    }

    /// The layer as a tar archive.
    pub fn archive(&self) -> io::Result<Vec<u8>> {
        let mut archive = tar::Builder::new(Vec::new());
        for (path, entry) in &self.entries {
            match entry {
                Entry::Directory { mode } => {
                    let mut header = header(tar::EntryType::Directory, *mode, 0);
                    archive.append_data(&mut header, format!("{path}/"), io::empty())?;
                }
                Entry::File { bytes, mode } => append_file(&mut archive, path, bytes, *mode)?,
                Entry::Link { target } => {
                    archive.append_link(&mut header(tar::EntryType::Symlink, 0o777, 0), path, target)?;
                }
            }
        }
        archive.into_inner()
    }
}

/// Appends a file that has no history: no owner but root, no time but 1970.
pub(crate) fn append_file<W: Write>(
    archive: &mut tar::Builder<W>,
    path: &str,
    bytes: &[u8],
    mode: u32,
) -> io::Result<()> {
    archive.append_data(&mut header(tar::EntryType::Regular, mode, bytes.len() as u64), path, bytes)
}

fn header(kind: tar::EntryType, mode: u32, size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_in_which_files_were_added_is_not_seen() {
        let one = Layer::default().file("/etc/b", "b").program("bin/a", "a").link("/etc/a", "b");
        let other = Layer::default().link("/etc/a", "b").program("/bin/a", "a").file("etc/b", "b");
        assert_eq!(one.archive().unwrap(), other.archive().unwrap());
        assert_ne!(one.archive().unwrap(), other.file("/etc/b", "c").archive().unwrap());
    }

    #[test]
    fn an_entry_has_no_owner_no_time_and_a_folder_above_it() {
        let bytes = Layer::default().program("usr/bin/x", "x").directory("/tmp", 0o1777).archive().unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let mut seen = Vec::new();
        for entry in archive.entries().unwrap() {
            let entry = entry.unwrap();
            let header = entry.header();
            assert_eq!((header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap()), (0, 0, 0));
            seen.push((entry.path().unwrap().display().to_string(), header.mode().unwrap()));
        }
        let wanted = [("tmp/", 0o1777), ("usr/", 0o755), ("usr/bin/", 0o755), ("usr/bin/x", 0o755)];
        assert_eq!(seen, wanted.map(|(path, mode)| (path.to_owned(), mode)));
    }
}
